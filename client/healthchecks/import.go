package healthchecks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Options changes how checks are imported. The zero value of a field selects its default.
type Options struct {
	// SkipInvalid imports the valid checks even if others are refused. Default: none is imported then.
	SkipInvalid bool
	// Malformed are the entries that [Source.Checks] could not read. They count as refused.
	Malformed Malformed
	// DryRun changes nothing and returns what would be done.
	DryRun bool
	// Progress, unless nil, is called after each check.
	Progress func(done, total int)
}

// Result counts what an import did.
type Result struct {
	Created, Updated, Unchanged int
	// Refused are the entries that were not imported.
	Refused []Refusal
}

// ErrRefused means that nothing was imported, because some checks are invalid. Result.Refused lists them.
var ErrRefused = errors.New("some checks cannot be imported")

// Import creates checks in a project with the UUIDs that they have at their source. It updates a check that exists to
// the settings at the source and keeps its integrations, so that an import can be repeated.
//
// Import pauses a check that is paused at the source when it creates the check, and later as long as the check has had
// no ping here. Once pings arrive here, the source is out of date.
//
// Import validates all checks before it creates the first one. The error is ErrRefused or an error of the monitor, such
// as [checks.ErrCheckLimit]; the Result then tells what was done before.
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
			return i.result, fmt.Errorf("check %q (%s), after %d of %d: %w", it.wanted.Name, it.ID, n, len(items), err)
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
	c.Channels, c.Spec.Channels = nil, nil
	refuse := func(err error) error { return Refusal{ID: c.ID, Name: *or(c.Name, ""), Err: err} }
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
			if _, err := i.mon.Create(ctx, i.projectID, it.Spec); err != nil {
				return err
			}
		}
		i.result.Created++
		return i.pause(ctx, it.ID, it.Paused)
	}
	fields, spec := declare.Compare(*it.have, it.wanted)
	if it.have.Slug != it.wanted.Slug {
		spec.Slug = &it.wanted.Slug
	}
	pause := it.Paused && it.have.Stored == checks.StatusNew && it.have.NPings == 0
	if len(fields) == 0 && spec.Slug == nil && !pause {
		i.result.Unchanged++
		return nil
	}
	if !i.options.DryRun {
		if _, err := i.mon.Update(ctx, it.ID, spec); err != nil {
			return err
		}
	}
	i.result.Updated++
	return i.pause(ctx, it.ID, pause)
}

func (i *importing) pause(ctx context.Context, id uuid.UUID, wanted bool) error {
	if !wanted || i.options.DryRun {
		return nil
	}
	_, err := i.mon.Pause(ctx, id)
	return err
}

// String returns the counts, such as "10 created, 2 updated, 1 unchanged, 0 refused".
func (r Result) String() string {
	return fmt.Sprintf("%d created, %d updated, %d unchanged, %d refused", r.Created, r.Updated, r.Unchanged, len(r.Refused))
}
