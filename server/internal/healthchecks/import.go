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
	ids := make([]uuid.UUID, len(list))
	for n, c := range list {
		ids[n] = c.ID
	}
	have, err := mon.Projects().ChecksByID(ctx, ids)
	if err != nil {
		return i.result, err
	}
	var items []item
	for _, c := range list {
		it, err := i.prepare(c, have)
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
	return i.result, i.all(ctx, items)
}

// importing is an import in progress.
type importing struct {
	mon       *monitor.Monitor
	projectID uuid.UUID
	options   Options
	result    Result
}

// item is a valid check, what becomes of it, and how.
type item struct {
	Check
	wanted  checks.Check
	become  Change
	changes []monitor.Change
}

// prepare validates a check. have has those that exist. The error is a Refusal if the check is not valid here.
func (i *importing) prepare(c Check, have map[uuid.UUID]checks.Check) (item, error) {
	c.Channels, c.Spec.Channels = nil, new("") // whoever imports assigns them
	refuse := func(err error) error {
		return Refusal{ID: c.ID, Name: *cmp.Or(c.Name, new("")), Err: err}
	}
	wanted, err := checks.New(i.projectID, c.Spec, i.mon.Now())
	if err != nil {
		return item{}, refuse(err)
	}
	it := item{Check: c, wanted: wanted, become: Change{ID: c.ID, Name: wanted.Name}}
	now, exists := have[c.ID]
	switch {
	case !exists:
		it.create()
	case now.ProjectID != i.projectID:
		return item{}, refuse(errors.New("another project has a check with this uuid"))
	default:
		it.update(now)
	}
	if it.become.Paused {
		it.changes = append(it.changes, monitor.Pausing(c.ID))
	}
	return it, nil
}

// create plans the creation of a check.
func (it *item) create() {
	it.become.Action, it.become.Paused = declare.Create, it.Paused
	it.changes = []monitor.Change{monitor.Creating(it.Spec)}
}

// update plans the update of a check, if it needs one.
func (it *item) update(have checks.Check) {
	fields, spec := declare.Compare(have, it.wanted)
	if have.Slug != it.wanted.Slug {
		spec.Slug = &it.wanted.Slug
		fields = append(fields, declare.Field{Name: "slug", Old: strconv.Quote(have.Slug), New: strconv.Quote(it.wanted.Slug)})
	}
	pause := it.Paused && have.Stored == checks.StatusNew && have.NPings == 0
	if len(fields) == 0 && !pause {
		return
	}
	it.become.Action, it.become.Fields, it.become.Paused = declare.Update, fields, pause
	it.changes = []monitor.Change{monitor.Updating(it.ID, func(checks.Check) (checks.Spec, error) { return spec, nil })}
}

// all creates and updates checks.
func (i *importing) all(ctx context.Context, items []item) error {
	var changes []monitor.Change
	var of []int // the item of each change
	for n, it := range items {
		if i.options.DryRun {
			break
		}
		for _, c := range it.changes {
			changes, of = append(changes, c), append(of, n)
		}
	}
	done := 0
	finish := func(upTo int) {
		for ; done < upTo; done++ {
			i.note(items[done].become)
			if i.options.Progress != nil {
				i.options.Progress(done+1, len(items))
			}
		}
	}
	err := i.mon.Project(i.projectID).ChangeMany(ctx, changes, nil, func(n int, _ monitor.Changed) {
		if n+1 == len(changes) {
			finish(len(items))
		} else {
			finish(of[n+1])
		}
	})
	if err == nil {
		finish(len(items)) // without changes
		return nil
	}
	it := items[done]
	return fmt.Errorf("check %q (%s), after %d of %d checks: %w", it.wanted.Name, it.ID, done, len(items), err)
}

// note counts what became of a check.
func (i *importing) note(c Change) {
	switch c.Action {
	case declare.Create:
		i.result.Created++
	case declare.Update:
		i.result.Updated++
	default:
		i.result.Unchanged++
	}
	i.result.Changes = append(i.result.Changes, c)
}

// String returns the counts, such as "10 created, 2 updated, 1 unchanged, 0 refused".
func (r Result) String() string {
	return fmt.Sprintf("%d created, %d updated, %d unchanged, %d refused", r.Created, r.Updated, r.Unchanged, len(r.Refused))
}
