package declare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Options say how a plan is made. The zero value of a field stands for its default.
type Options struct {
	// Project is the name of the project that a file without project names is about. Default: "default".
	Project string
	// Prune plans the deletion of the checks and channels of the file's projects that are not in the file.
	Prune bool
	// Kinds are the kinds of channels that there are. Default: [channels.Kinds].
	Kinds []channels.KindInfo
	// Now decides whether a schedule has a time yet to come. Default: the current time.
	Now time.Time
}

// Action is what a change does.
type Action string

// The actions.
const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one difference between a file and what there is.
type Change struct {
	Action  Action  `json:"action"`
	Project string  `json:"project"`
	Type    string  `json:"type"` // "project", "channel" or "check"
	Name    string  `json:"name"` // of the project or channel, or the slug of the check
	Fields  []Field `json:"fields"`

	at  Position
	run func(ctx context.Context, a *applying) error
}

// Plan is the difference between a document and what there is.
type Plan struct {
	// Changes are in the order in which they are made: first checks are deleted, so that a check limit is not in the
	// way, and last channels.
	Changes []Change
	// Notes are sentences about what was left alone although it may not be what was meant.
	Notes []string
}

// NewPlan compares a document with what there is at a target. It changes nothing. The error is [Errors] for what cannot
// be done, or that of the target.
func NewPlan(ctx context.Context, target Target, doc Document, options *Options) (Plan, error) {
	var o Options
	if options != nil {
		o = *options
	}
	if o.Project == "" {
		o.Project = "default"
	}
	if o.Kinds == nil {
		o.Kinds = channels.Kinds()
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	p := planner{report: report{file: doc.File}, options: o}
	_, p.admin = target.(Administrator)
	for i, project := range doc.Projects {
		if project.Name == "" {
			project.Name = o.Project
		}
		if i > 0 && !p.admin {
			p.add(project.places.of("name"), "an API key gives access to one project, and the file has %d; choose one", len(doc.Projects))
			break
		}
		state, err := target.Read(ctx, project.Name)
		exists := !errors.Is(err, checks.ErrNotFound)
		if err != nil && exists {
			return Plan{}, err
		}
		p.project(project, state, exists)
	}
	if err := p.err(); err != nil {
		return Plan{}, err
	}
	return p.plan(), nil
}

// planner compares.
type planner struct {
	report
	options Options
	admin   bool
	notes   []string
	// deletions of checks come first, and those of channels last.
	first, middle, last []Change
}

func (p *planner) plan() Plan {
	return Plan{Changes: slices.Concat(p.first, p.middle, p.last), Notes: p.notes}
}

func (p *planner) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// change plans a change of a check.
func (p *planner) change(into *[]Change, c Change) { *into = append(*into, c) }

// administer plans a change that only an Administrator can make.
func (p *planner) administer(into *[]Change, c Change, instead string) {
	if !p.admin {
		p.add(c.at, "the %s %q cannot be %sd through the interface of a server: %s", c.Type, shorten(c.Name), c.Action, instead)
		return
	}
	p.change(into, c)
}

func (p *planner) project(project Project, state State, exists bool) {
	if !exists {
		p.createProject(project)
	} else {
		p.compareProject(project, state.Project)
	}
	available := p.channels(project, state)
	if project.Checks != nil {
		p.checks(project, state, available)
	}
}

func (p *planner) compareProject(want Project, have checks.Project) {
	for _, f := range []struct{ name, want, have string }{
		{"account", want.Account, have.Account},
		{"plan", string(want.Plan), string(have.Plan)},
		{"max_checks", optional(want.MaxChecks), strconv.Itoa(have.MaxChecks)},
	} {
		if f.want == "" || f.want == f.have {
			continue
		}
		if !p.admin { // it does not tell
			p.note("the %s of the project %q cannot be seen through the interface of a server, and was not compared", f.name, want.Name)
			continue
		}
		p.add(want.places.of(f.name), "%s of the project %q is %s and cannot be changed to %s", f.name, want.Name, f.have, f.want)
	}
}

func optional(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// checks plans the checks of a project.
func (p *planner) checks(project Project, state State, available []channels.Channel) {
	bySlug := make(map[string][]checks.Check)
	for _, c := range state.Checks {
		bySlug[c.Slug] = append(bySlug[c.Slug], c)
	}
	wanted := make(map[string]bool)
	for _, want := range project.Checks {
		if want.Slug == nil || *want.Slug == "" {
			p.add(want.places.of("slug"), "a check has no slug")
			continue
		}
		slug := *want.Slug
		wanted[slug] = true
		target, err := p.wanted(want, available)
		if err != nil {
			continue
		}
		switch have := bySlug[slug]; len(have) {
		case 0:
			p.createCheck(project, want, target, available)
		case 1:
			p.compareCheck(project, want, have[0], target, available)
		default:
			p.add(want.places.of("slug"), "the slug is ambiguous: %d checks of the project %q have it: %s", len(have), project.Name, slug)
		}
	}
	if !p.options.Prune {
		return
	}
	for _, have := range state.Checks {
		if have.Slug != "" && !wanted[have.Slug] && len(bySlug[have.Slug]) == 1 {
			p.deleteCheck(project, have)
		}
	}
}

// wanted returns the check that an entry stands for.
func (p *planner) wanted(want Check, available []channels.Channel) (checks.Check, error) {
	c, err := checks.New(uuid.Nil, want.Spec, p.options.Now)
	if err != nil {
		place := want.places.of("")
		if field, ok := errors.AsType[*checks.FieldError](err); ok {
			place = want.places.of(field.Field)
		}
		p.add(place, "%v", err)
		return checks.Check{}, err
	}
	if want.Channels == nil {
		return c, nil
	}
	if c.Channels, err = channels.Select(available, *want.Channels); err != nil {
		p.add(want.places.of("channels"), "%v", err)
	}
	return c, err
}

func (p *planner) compareCheck(project Project, want Check, have, target checks.Check, available []channels.Channel) {
	fields, spec := Compare(have, target)
	if !sameIDs(have.Channels, target.Channels) {
		fields = append(fields, Field{Name: "channels", Old: names(available, have.Channels), New: names(available, target.Channels)})
		spec.Channels = new("")
		if want.Channels != nil {
			spec.Channels = want.Channels
		}
	}
	if len(fields) > 0 {
		p.updateCheck(project, want, have.ID, spec, fields)
	}
}

func sameIDs(a, b []uuid.UUID) bool {
	if len(a) != len(b) {
		return false
	}
	for _, id := range a {
		if !slices.Contains(b, id) {
			return false
		}
	}
	return true
}

// names shows the channels of a check.
func names(available []channels.Channel, ids []uuid.UUID) string {
	var list []string
	for _, c := range available {
		if slices.Contains(ids, c.ID) {
			list = append(list, reference(available, c))
		}
	}
	if len(list) < len(ids) {
		list = append(list, fmt.Sprintf("(%d deleted)", len(ids)-len(list)))
	}
	return strconv.Quote(strings.Join(list, ","))
}

// reference returns the text by which a list of channels names one: its name if that is clear, or its identifier.
func reference(available []channels.Channel, c channels.Channel) string {
	ids, err := channels.Select(available, c.Name)
	if err != nil || len(ids) != 1 || ids[0] != c.ID || c.Name == channels.All {
		return c.ID.String()
	}
	return c.Name
}
