package declare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Options say how [NewPlan] and [Diff] make a plan. The zero value of a field stands for its default.
type Options struct {
	// Project is the name of a project that has none in the file. Default: the project of the target's API key, or else
	// "default".
	Project string
	// Prune deletes the checks, channels and status pages of the file's projects that are not in the file. With a Tag, it
	// deletes only checks that have the tag, and nothing else.
	Prune bool
	// ResendSecrets sends the secrets of the file to channels that have them already, although the target does not show
	// theirs. Without it such secrets count as unchanged, and Notes name them. It has no effect on a monitor, which compares
	// secrets.
	ResendSecrets bool
	// Tag is a tag that each check of the file or the specs gets. Default: none.
	Tag string
	// Now is the time for validation: a schedule that never fires after it is refused. Default: the current time.
	Now time.Time

	specs bool // for Diff
}

// Action is what a change does.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one difference between a file and what exists.
type Change struct {
	Action  Action  `json:"action"`
	Project string  `json:"project"`
	Type    string  `json:"type"` // "project", "channel", "escalation policy", "check", "status page" or "maintenance"
	Name    string  `json:"name"` // name of the project or channel, or slug of the check or status page
	Fields  []Field `json:"fields"`

	projectID uuid.UUID // zero if the plan creates the project
	run       func(ctx context.Context, a *applying, projectID uuid.UUID) error
	check     *checks.CheckEdit // of a check, instead of run
}

// edits reports whether a read-write key may make the change.
func (c Change) edits() bool { return c.Type == "check" || c.Type == "maintenance" }

// Plan is the difference between a document and what exists.
type Plan struct {
	// Changes are in the order in which [Plan.Apply] makes them. Deletions of checks and status pages come first, to make
	// room within the limits and to free slugs, and deletions of channels last.
	Changes []Change
	// Notes say what the plan does not compare, because the target does not show it, and which checks nobody would hear of.
	Notes []string
}

// NewPlan compares a document with the state of a target and changes nothing. Nil options stand for the defaults. The
// error is [Errors] if the document cannot be applied, or else the target's error.
func NewPlan(ctx context.Context, target Target, doc Document, options *Options) (Plan, error) {
	if err := target.usable(); err != nil {
		return Plan{}, err
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	p := planner{report: report{file: doc.File}, options: o, admin: target.projects != nil, toFunction: target.callsFunction()}
	for i, want := range doc.Projects {
		if want.Name == "" {
			want.Name = o.Project
		}
		if i > 0 && !p.admin {
			p.add(want.places.of("name"), "a read-write key gives access to one project, and the file has %d; choose one, or use an admin key", len(doc.Projects))
			break
		}
		have, err := target.Read(ctx, want.Name)
		missing := errors.Is(err, checks.ErrNotFound)
		if err != nil && !missing {
			return Plan{}, err
		}
		want.Name = cmp.Or(want.Name, have.Project.Name, "default")
		project := projectPlanner{planner: &p, want: want, have: have}
		project.plan(missing)
	}
	if err := p.err(); err != nil {
		return Plan{}, err
	}
	return Plan{Changes: slices.Concat(p.first, p.middle, p.last), Notes: p.notes}, nil
}

// planner collects the changes of a plan.
type planner struct {
	report
	options             Options
	admin               bool // whether the target is that of OnProjects
	toFunction          bool // whether it is a monitor whose OnAlert gets all alerts
	notes               []string
	first, middle, last []Change // in the order of Plan.Changes
}

func (p *planner) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// projectPlanner compares one project.
type projectPlanner struct {
	*planner
	want Project
	have State // with only the Types and a name if there is no such project
	// available are the channels after the changes. New ones have random IDs, so that checks can select them.
	available []channels.Channel
}

func (p *projectPlanner) plan(missing bool) {
	if missing {
		p.create()
	} else {
		p.compare()
	}
	for _, l := range projectLists {
		l.plan(p)
	}
}

// change plans a change. It reports an error at the position if the target cannot make the change.
func (p *projectPlanner) change(at Position, c Change) {
	c.Project, c.projectID = p.want.Name, p.have.Project.ID
	switch {
	case !c.edits() && !p.admin:
		p.add(at, "the %s %q cannot be %sd with a read-write key: use an admin key, or apply the file on the server", c.Type, shorten(c.Name), c.Action)
	case c.Action != Delete:
		p.middle = append(p.middle, c)
	case c.Type != "channel":
		p.first = append(p.first, c)
	default:
		p.last = append(p.last, c)
	}
}

func (p *projectPlanner) create() {
	spec := checks.ProjectSpec{Name: p.want.Name, Account: p.want.Account, Plan: p.want.Plan}
	fields := []Field{
		{Name: "account", New: quoted(spec.Account)},
		{Name: "plan", New: quoted(spec.Plan)},
		{Name: "max_checks", New: optional(p.want.MaxChecks)},
	}
	if p.want.MaxChecks != nil {
		spec.MaxChecks = *p.want.MaxChecks
	}
	update := checks.ProjectUpdate{StormChecks: p.want.StormChecks, StormWindow: p.want.StormWindow}
	if update != (checks.ProjectUpdate{}) { // the parser has checked the values
		project, _ := update.Of(checks.Project{Storm: gate.DefaultStorm()})
		spec.Storm = project.Storm
		for _, f := range p.stormFields(gate.DefaultStorm()) {
			fields = append(fields, Field{Name: f.Name, New: f.New})
		}
	}
	p.change(p.want.places.of("name"), Change{
		Action: Create, Type: "project", Name: spec.Name, Fields: set(fields),
		run: func(ctx context.Context, a *applying, _ uuid.UUID) error {
			project, keys, err := a.target.projects.Create(ctx, spec)
			if err == nil {
				a.ids[spec.Name] = project.ID
				a.created = append(a.created, Created{project, keys})
			}
			return err
		},
	})
}

// set returns the fields with a new value. It reuses the slice.
func set(fields []Field) []Field {
	return slices.DeleteFunc(fields, func(f Field) bool { return f.New == "" })
}

// quoted returns a value in quotes, or "" for none.
func quoted(value string) string {
	if value == "" {
		return ""
	}
	return strconv.Quote(value)
}

func optional(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// stormFields returns the differences between the settings of storms of the file and those of the project.
func (p *projectPlanner) stormFields(have gate.Storm) (fields []Field) {
	if n := p.want.StormChecks; n != nil && *n != have.Checks {
		fields = append(fields, Field{Name: "storm_checks", Old: strconv.Itoa(have.Checks), New: strconv.Itoa(*n)})
	}
	if d := p.want.StormWindow; d != nil && *d != have.Window {
		fields = append(fields, Field{Name: "storm_window", Old: checks.ValueText(have.Window), New: checks.ValueText(*d)})
	}
	return fields
}

// compare plans the changes of the project itself, and reports the differences that no change can fix.
func (p *projectPlanner) compare() {
	want, have := p.want, p.have.Project
	if fields := p.stormFields(have.Storm); p.admin && len(fields) > 0 {
		update := checks.ProjectUpdate{StormChecks: want.StormChecks, StormWindow: want.StormWindow}
		p.change(want.places.of(fields[0].Name), Change{
			Action: Update, Type: "project", Name: want.Name, Fields: fields,
			run: func(ctx context.Context, a *applying, id uuid.UUID) error {
				_, err := a.target.projects.Update(ctx, id, update)
				return err
			},
		})
	} else if len(fields) > 0 {
		p.note("the API shows storm_checks and storm_window of the project %q only to admin keys, so the plan neither compares nor changes them", want.Name)
	}
	for _, f := range []struct{ name, want, have string }{
		{"account", want.Account, have.Account},
		{"plan", want.Plan, have.Plan},
		{"max_checks", optional(want.MaxChecks), strconv.Itoa(have.MaxChecks)},
	} {
		switch {
		case f.want == "" || f.want == f.have:
		case p.admin:
			p.add(want.places.of(f.name), "%s of the project %q is %s and cannot be changed to %s", f.name, want.Name, f.have, f.want)
		default:
			p.note("the API does not show the %s of the project %q, so the plan does not compare it", f.name, want.Name)
		}
	}
}
