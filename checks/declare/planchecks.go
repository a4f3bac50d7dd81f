package declare

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// checks plans the checks of the project.
func (p *projectPlanner) checks() {
	if p.want.Checks == nil {
		return
	}
	bySlug := make(map[string][]checks.Check)
	for _, c := range p.have.Checks {
		bySlug[c.Slug] = append(bySlug[c.Slug], c)
	}
	wanted := make(map[string]bool)
	var planned []plannedCheck
	for _, want := range p.want.Checks {
		want.Spec = p.options.tagged(want.Spec)
		if want.Slug == nil || *want.Slug == "" {
			p.add(want.places.of("slug"), "a check has no slug")
			continue
		}
		slug := *want.Slug
		wanted[slug] = true
		target, err := p.target(want)
		if err != nil {
			continue
		}
		switch have := bySlug[slug]; len(have) {
		case 0:
			planned = append(planned, plannedCheck{want: want, target: target})
		case 1:
			target.ID = have[0].ID
			planned = append(planned, plannedCheck{want, target, &have[0]})
		default:
			p.add(want.places.of("slug"), "%d checks of the project %q have the slug %q; only one may have it", len(have), p.want.Name, slug)
		}
	}
	var kept []checks.Check
	for _, have := range p.have.Checks {
		ours := p.options.Tag == "" || slices.Contains(have.Tags, p.options.Tag)
		if p.options.Prune && ours && have.Slug != "" && !wanted[have.Slug] && len(bySlug[have.Slug]) == 1 {
			p.deleteCheck(have)
		} else if !wanted[have.Slug] || have.Slug == "" {
			kept = append(kept, have)
		}
	}
	for _, c := range p.inOrder(planned, kept) {
		if c.have == nil {
			p.createCheck(c.want, c.target)
		} else {
			p.compareCheck(c.want, *c.have, c.target)
		}
	}
	p.noteUnheard(planned)
	p.noteFollowing(planned, kept)
}

// notedMost bounds the checks that a note names.
const notedMost = 10

// noteUnheard notes which of the checks nobody would hear of once the plan is applied. Only the target of [OnProjects]
// shows the escalation policy, and a monitor how old a check is.
func (p *projectPlanner) noteUnheard(planned []plannedCheck) {
	if !p.admin {
		return
	}
	policy := p.have.Escalation
	if p.want.Escalation != nil {
		policy = make([]gate.Step, len(p.want.Escalation))
	}
	var nobody, waiting []string
	for _, c := range planned {
		if len(p.withChannels(c).Channels) == 0 && !c.target.RecordOnly && len(policy) == 0 && !p.toFunction {
			nobody = append(nobody, strconv.Quote(c.target.Slug))
		}
		if c.have != nil && c.have.NewTooLong(p.options.Now) {
			waiting = append(waiting, strconv.Quote(c.target.Slug))
		}
	}
	if len(nobody) > 0 {
		p.note("nobody is notified of these checks of the project %q, because they have no channels: %s", p.want.Name, listed(nobody))
	}
	if len(waiting) > 0 {
		p.note("no ping has started the watch of these checks of the project %q, for longer than their period and grace: %s", p.want.Name, listed(waiting))
	}
}

// noteFollowing notes which of the checks follow one that holds no alert back; see [verdict.Following]. Kept are the other checks of the
// project. Only the target of [OnProjects] shows the escalation policy.
func (p *projectPlanner) noteFollowing(planned []plannedCheck, kept []checks.Check) {
	follows := func(c plannedCheck) bool { return c.target.After != "" && !c.target.RecordOnly }
	if !p.admin || p.toFunction || !slices.ContainsFunc(planned, follows) {
		return
	}
	var g selection.Graph
	byID := make(map[uuid.UUID]checks.Check)
	add := func(c checks.Check) {
		g.Add(selection.NodeOf(c))
		byID[c.ID] = c
	}
	for _, c := range kept {
		add(c)
	}
	for i := range planned {
		c := &planned[i]
		if c.have == nil {
			c.target.ID = uuid.New()
		}
		add(p.withChannels(*c))
	}
	policy := p.policy()
	for _, c := range planned {
		if !follows(c) {
			continue
		}
		for _, parent := range g.Parents(selection.NodeOf(c.target)) {
			receivers := verdict.Receivers(byID[parent.ID], p.available, verdict.Reaches(p.available, nil, policy))
			for _, text := range verdict.Following(byID[parent.ID], receivers) {
				p.note("%q of the project %q follows others, but %s", c.target.Slug, p.want.Name, text)
			}
		}
	}
}

// withChannels returns a planned check with the channels that it will have.
func (p *projectPlanner) withChannels(c plannedCheck) checks.Check {
	switch {
	case !p.options.specs || c.want.Channels != nil:
	case c.have != nil:
		c.target.Channels = c.have.Channels
	default: // a new check gets all then
		for _, channel := range p.available {
			c.target.Channels = append(c.target.Channels, channel.ID)
		}
	}
	return c.target
}

// policy returns the steps of the escalation policy once the plan is applied.
func (p *projectPlanner) policy() []gate.Step {
	if p.want.Escalation == nil {
		return p.have.Escalation
	}
	named := make([]checks.NamedStep, len(p.want.Escalation))
	for i, step := range p.want.Escalation {
		named[i] = step.NamedStep
	}
	steps, _ := checks.FindSteps(named, p.available) // escalation reports an error
	return steps
}

// listed lists the first of some names.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), notedMost)], ", ")
	if more := len(names) - notedMost; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// plannedCheck is an entry of the file with the check that it describes, and the one that exists, or nil.
type plannedCheck struct {
	want   Check
	target checks.Check
	have   *checks.Check
}

// inOrder puts those that others follow in front of these, and reports what follows no check or itself. Kept are the other checks
// of the project.
func (p *projectPlanner) inOrder(planned []plannedCheck, kept []checks.Check) []plannedCheck {
	var g selection.Graph
	for _, c := range planned {
		g.Add(selection.NodeOf(c.target))
	}
	for _, c := range kept {
		g.Add(selection.NodeOf(c))
	}
	for _, c := range planned {
		if err := g.Check(selection.NodeOf(c.target), true); err != nil {
			p.wrong(c.want, "after", err)
		}
	}
	list, done := make([]plannedCheck, 0, len(planned)), make(map[string]bool)
	var add func(slug string)
	bySlug := make(map[string]plannedCheck, len(planned))
	for _, c := range planned {
		bySlug[c.target.Slug] = c
	}
	add = func(slug string) {
		c, known := bySlug[slug]
		if !known || done[slug] {
			return
		}
		done[slug] = true
		for _, name := range c.target.Parents() {
			for _, parent := range g.Find(name) {
				add(parent.Slug)
			}
		}
		list = append(list, c)
	}
	for _, c := range planned {
		add(c.target.Slug)
	}
	return list
}

// target returns the check that an entry of the file describes, and reports its errors.
func (p *projectPlanner) target(want Check) (checks.Check, error) {
	c, err := checks.New(uuid.Nil, want.Spec, p.options.Now)
	if err != nil {
		key := ""
		if field, ok := errors.AsType[*checks.FieldError](err); ok {
			key = field.Field
		}
		p.wrong(want, key, err)
		return checks.Check{}, err
	}
	if want.Channels == nil {
		return c, nil
	}
	if c.Channels, err = selection.Select(p.available, *want.Channels); err != nil {
		p.wrong(want, "channels", err)
	}
	return c, err
}

// wrong reports an error of a check: at the place of a key, or with its slug if there is no file.
func (p *projectPlanner) wrong(want Check, key string, err error) {
	if p.options.specs {
		p.add(Position{}, "check %q: %v", shorten(*want.Slug), err)
		return
	}
	p.add(want.places.of(key), "%v", err)
}

func (p *projectPlanner) createCheck(want Check, target checks.Check) {
	spec := want.Spec
	spec.ID = uuid.Nil
	switch {
	case spec.Channels != nil:
	case p.options.specs: // as a check that a program creates itself
		spec.Channels = new("*")
		for _, c := range p.available {
			target.Channels = append(target.Channels, c.ID)
		}
	default:
		spec.Channels = new("")
	}
	defaults, err := checks.New(uuid.Nil, checks.Spec{}, p.options.Now)
	if err != nil {
		p.add(want.places.of(""), "%v", err)
		return
	}
	fields, _ := Compare(defaults, target)
	for i := range fields {
		fields[i].Old = ""
	}
	if len(target.Channels) > 0 {
		fields = append(fields, Field{Name: "channels", New: p.names(target.Channels)})
	}
	p.change(want.places.of(""), Change{
		Action: Create, Type: "check", Name: target.Slug, Fields: set(fields),
		check: &checks.CheckEdit{Spec: spec}, // by its slug, so that two programs that apply the same file at once create only one
	})
}

func (p *projectPlanner) compareCheck(want Check, have, target checks.Check) {
	fields, spec := Compare(have, target)
	kept := p.options.specs && want.Channels == nil
	if !kept && !sameIDs(have.Channels, target.Channels) {
		fields = append(fields, Field{Name: "channels", Old: p.names(have.Channels), New: p.names(target.Channels)})
		spec.Channels = new("")
		if want.Channels != nil {
			spec.Channels = want.Channels
		}
	}
	if len(fields) == 0 {
		return
	}
	p.change(want.places.of(""), Change{
		Action: Update, Type: "check", Name: *want.Slug, Fields: fields,
		check: &checks.CheckEdit{ID: have.ID, Spec: spec},
	})
}

func (p *projectPlanner) deleteCheck(have checks.Check) {
	p.change(p.want.places.of("checks"), Change{
		Action: Delete, Type: "check", Name: have.Slug,
		check: &checks.CheckEdit{ID: have.ID, Delete: true},
	})
}

// sameIDs reports whether two lists without duplicates have the same elements.
func sameIDs(a, b []uuid.UUID) bool {
	known := setOf(b)
	return len(a) == len(b) && !slices.ContainsFunc(a, func(id uuid.UUID) bool { return !known[id] })
}

func setOf(ids []uuid.UUID) map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// names returns the names of channels as quoted text.
func (p *projectPlanner) names(ids []uuid.UUID) string {
	list := references(p.available, ids)
	if len(list) < len(ids) {
		list = append(list, fmt.Sprintf("(%d deleted)", len(ids)-len(list)))
	}
	return strconv.Quote(strings.Join(list, ","))
}

// references returns how a check or a group refers to channels, in the order of the available ones: by name if the name
// selects only that channel, or else by ID.
func references(available []channels.Channel, ids []uuid.UUID) []string {
	var list []string
	selected, named := setOf(ids), map[string]int{}
	for _, c := range available {
		named[c.Name]++
	}
	for _, c := range available {
		if !selected[c.ID] {
			continue
		}
		if _, isID := uuid.Parse(c.Name); named[c.Name] > 1 || c.Name == "" || c.Name == "*" || isID == nil || strings.Contains(c.Name, ",") {
			list = append(list, c.ID.String())
		} else {
			list = append(list, c.Name)
		}
	}
	return list
}
