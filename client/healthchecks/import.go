package healthchecks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Options say how checks are imported. The zero value of a field stands for its default.
type Options struct {
	// SkipInvalid imports the checks that are right, when others are not. Default: then none is imported.
	SkipInvalid bool
	// DryRun changes nothing, and tells what would be done.
	DryRun bool
	// Progress, if not nil, is called after each check.
	Progress func(done, total int)
}

// Result counts what an import has done.
type Result struct {
	Created, Updated, Unchanged int
	// Refused are the checks that were not imported.
	Refused []Refusal
}

// Refusal says why a check cannot be imported.
type Refusal struct {
	ID   uuid.UUID
	Name string
	Err  error
}

// Error names the check and the reason.
func (r Refusal) Error() string { return fmt.Sprintf("check %q (%s): %v", r.Name, r.ID, r.Err) }

// ErrRefused says that nothing was imported, because some checks cannot be; they are in Result.Refused.
var ErrRefused = errors.New("some checks cannot be imported")

// Import makes checks in a project with the UUIDs that they have at their source. A check that exists already is
// updated to the settings at the source, so that an import can be repeated; its integrations stay. A check that is
// paused at the source is paused when it is made, or as long as it has had no ping here: once pings arrive here, the
// source knows nothing of them. Checks are validated before the first is made. The errors are ErrRefused and those of
// the monitor, as [checks.ErrCheckLimit]; then the Result tells what was done before.
func Import(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, list []Check, options *Options) (Result, error) {
	var o Options
	if options != nil {
		o = *options
	}
	i := importing{mon: mon, projectID: projectID, options: o}
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

type importing struct {
	mon       *monitor.Monitor
	projectID uuid.UUID
	options   Options
	result    Result
}

// item is a check that can be imported.
type item struct {
	Check
	wanted checks.Check
	have   *checks.Check // nil when it is new
}

// prepare validates a check. The error is a Refusal when the check cannot be imported.
func (i *importing) prepare(ctx context.Context, c Check) (item, error) {
	c.Channels, c.Spec.Channels = nil, nil
	refuse := func(err error) error { return Refusal{c.ID, *or(c.Name, ""), err} }
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

func (i *importing) one(ctx context.Context, it item) error {
	if it.have == nil {
		i.result.Created++
		if i.options.DryRun {
			return nil
		}
		if _, err := i.mon.Create(ctx, i.projectID, it.Spec); err != nil {
			i.result.Created--
			return err
		}
		return i.pause(ctx, it)
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
	i.result.Updated++
	if i.options.DryRun {
		return nil
	}
	if _, err := i.mon.Update(ctx, it.ID, spec); err != nil {
		i.result.Updated--
		return err
	}
	if pause {
		return i.pause(ctx, it)
	}
	return nil
}

func (i *importing) pause(ctx context.Context, it item) error {
	if !it.Paused {
		return nil
	}
	_, err := i.mon.Pause(ctx, it.ID)
	return err
}

// String tells the counts, as in "10 created, 2 updated, 1 unchanged, 0 refused".
func (r Result) String() string {
	return strings.Join([]string{
		fmt.Sprintf("%d created", r.Created), fmt.Sprintf("%d updated", r.Updated),
		fmt.Sprintf("%d unchanged", r.Unchanged), fmt.Sprintf("%d refused", len(r.Refused)),
	}, ", ")
}
