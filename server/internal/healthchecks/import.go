package healthchecks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Options configures an import. The zero value of a field selects its default.
type Options struct {
	// SkipInvalid imports the valid checks even if others are refused. Default: if one is refused, none is imported.
	SkipInvalid bool
	// Malformed are the entries that [Source.Checks] could not read. They count as refused.
	Malformed Malformed
	// DryRun changes nothing and counts what an import would do.
	DryRun bool
	// Progress, unless nil, is called after each check.
	Progress func(done, total int)
}

// Result counts what an import did.
type Result struct {
	Created, Updated, Unchanged int
	// Refused are the entries that were not imported.
	Refused []Refusal
	// Changes are what the import did with each of the other entries, in their order.
	Changes []Change
}

// Change is what an import did with one check.
type Change struct {
	ID   uuid.UUID
	Name string
	// Action is declare.Create, declare.Update, or "" for a check that stayed the same.
	Action declare.Action
	// Fields are the settings that an update changed.
	Fields []declare.Field
	// Paused reports that the import paused the check.
	Paused bool
}

// ErrRefused means that nothing was imported, because some checks are invalid. Result.Refused lists them.
var ErrRefused = errors.New("some checks cannot be imported")

// Import copies checks into a project with their UUIDs. It updates the settings of a check that exists already but
// keeps its channels, so that an import can be repeated.
//
// Import pauses a check that is paused at the source, unless the check has had pings here: then the source is out of
// date.
//
// Import validates all checks before it creates the first one. The error is ErrRefused or an error of the monitor, such
// as [checks.ErrCheckLimit]. The Result then counts the changes made before it.
func Import(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, list []Check, options *Options) (Result, error) {
	var o Options
	if options != nil {
		o = *options
	}
	i := importing{mon: mon, projectID: projectID, options: o, result: Result{Refused: slices.Clone(o.Malformed)}}
	var items []item
	for _, c := range list {
		it, err := i.prepare(ctx, c)
		if refusal, ok := errors.AsType[Refusal](err); ok {
			i.result.Refused = append(i.result.Refused, refusal)
			continue
		}
		if err != nil {
			return i.result, err
		}
		items = append(items, it)
	}
	if len(i.result.Refused) > 0 && !o.SkipInvalid {
		return i.result, ErrRefused
	}
	for n, it := range items {
		if err := i.one(ctx, it); err != nil {
			return i.result, fmt.Errorf("check %q (%s), after %d of %d checks: %w", it.wanted.Name, it.ID, n, len(items), err)
		}
		if o.Progress != nil {
			o.Progress(n+1, len(items))
		}
	}
	return i.result, nil
}

// importing is an import in progress.
type importing struct {
	mon       *monitor.Monitor
	projectID uuid.UUID
	options   Options
	result    Result
}

// item is a valid check.
type item struct {
	Check
	wanted checks.Check
	have   *checks.Check // nil if it is new
}

// prepare validates a check. The error is a Refusal if the check is not valid here.
func (i *importing) prepare(ctx context.Context, c Check) (item, error) {
	c.Channels, c.Spec.Channels = nil, new("") // whoever imports assigns them
	refuse := func(err error) error {
		return Refusal{ID: c.ID, Name: *cmp.Or(c.Name, new("")), Err: err}
	}
	wanted, err := checks.New(i.projectID, c.Spec, i.mon.Now())
	if err != nil {
		return item{}, refuse(err)
	}
	have, err := i.mon.Check(ctx, c.ID)
	switch {
	case errors.Is(err, checks.ErrNotFound):
		return item{c, wanted, nil}, nil
	case err != nil:
		return item{}, err
	case have.ProjectID != i.projectID:
		return item{}, refuse(errors.New("another project has a check with this uuid"))
	}
	return item{c, wanted, &have}, nil
}

// one creates or updates a check.
func (i *importing) one(ctx context.Context, it item) error {
	if it.have == nil {
		if !i.options.DryRun {
			if _, err := i.mon.Project(i.projectID).Create(ctx, it.Spec); err != nil {
				return err
			}
		}
		i.result.Created++
		i.note(it, declare.Create, nil, it.Paused)
		return i.pause(ctx, it.ID, it.Paused)
	}
	fields, spec := declare.Compare(*it.have, it.wanted)
	if it.have.Slug != it.wanted.Slug {
		spec.Slug = &it.wanted.Slug
		fields = append(fields, declare.Field{Name: "slug", Old: strconv.Quote(it.have.Slug), New: strconv.Quote(it.wanted.Slug)})
	}
	pause := it.Paused && it.have.Stored == checks.StatusNew && it.have.NPings == 0
	if len(fields) == 0 && !pause {
		i.result.Unchanged++
		i.note(it, "", nil, false)
		return nil
	}
	if !i.options.DryRun {
		if _, err := i.mon.Project(i.projectID).Update(ctx, it.ID, spec); err != nil {
			return err
		}
	}
	i.result.Updated++
	i.note(it, declare.Update, fields, pause)
	return i.pause(ctx, it.ID, pause)
}

func (i *importing) note(it item, action declare.Action, fields []declare.Field, paused bool) {
	i.result.Changes = append(i.result.Changes, Change{ID: it.ID, Name: it.wanted.Name, Action: action, Fields: fields, Paused: paused})
}

func (i *importing) pause(ctx context.Context, id uuid.UUID, wanted bool) error {
	if !wanted || i.options.DryRun {
		return nil
	}
	_, err := i.mon.Project(i.projectID).Pause(ctx, id)
	return err
}

// String returns the counts, such as "10 created, 2 updated, 1 unchanged, 0 refused".
func (r Result) String() string {
	return fmt.Sprintf("%d created, %d updated, %d unchanged, %d refused", r.Created, r.Updated, r.Unchanged, len(r.Refused))
}
