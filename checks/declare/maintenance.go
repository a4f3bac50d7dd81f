package declare

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Maintenance is a maintenance window of the project. It is known by its Note, which the file calls name. It either has a Schedule, a
// Duration and a TZ, or a Start and an End. Only those, Tags and Slugs have an effect.
type Maintenance struct {
	gate.Window
	// Slugs select checks.
	Slugs []string

	places places
}

// maintenance reads the maintenance windows of a project.
func (p *parser) maintenance(n *yaml.Node, project *Project) {
	seen := make(names)
	p.atMost(n, checks.MaxWindows, "maintenance windows")
	project.Maintenance = each(p, n, "maintenance", func(item *yaml.Node) Maintenance {
		m := p.window(item)
		p.unique(seen, "maintenance window", m.Note, m.places.of("name"))
		return m
	})
}

func (p *parser) window(n *yaml.Node) Maintenance {
	m := Maintenance{Window: gate.Window{Kind: gate.Maintenance}}
	before := len(p.list)
	text := func(name string, to *string) key {
		return key{name, func(n *yaml.Node) {
			if text := p.text(n, name); text != nil {
				*to = *text
			}
		}}
	}
	words := func(name string, to *[]string) key {
		return key{name, func(n *yaml.Node) {
			if words := p.words(n, name, " "); words != nil {
				if *to = strings.Fields(*words); len(*to) == 0 { // as of a variable that is not set
					p.add(position(n), "%s is empty: leave it out, or to cover the whole project both checks and tags", name)
				}
			}
		}}
	}
	instant := func(name string, to *time.Time) key {
		return key{name, func(n *yaml.Node) {
			at, err := time.Parse(time.RFC3339, n.Value)
			if *to = at; err != nil {
				p.add(position(n), "%s is not a time like 2026-12-01T22:00:00Z: %q", name, shorten(n.Value))
			}
		}}
	}
	m.places = p.object(n, "a maintenance window", []key{
		{"name", func(n *yaml.Node) { m.Note = p.name(n, "name", checks.ValidateName) }},
		words("checks", &m.Slugs), words("tags", &m.Tags), instant("start", &m.Start), instant("end", &m.End),
		text("schedule", &m.Schedule), {"duration", func(n *yaml.Node) {
			if d, ok := p.period(n, "duration").(time.Duration); ok {
				m.Duration = d
			}
		}}, text("tz", &m.TZ),
	})
	p.require(m.places, "a maintenance window", "name")
	if _, recurs := m.places["schedule"]; !recurs {
		p.require(m.places, "a maintenance window without a schedule", "start")
		p.require(m.places, "a maintenance window without a schedule", "end")
	} else if _, bound := m.places["start"]; bound || !m.End.IsZero() {
		p.add(m.places.of("schedule"), "schedule cannot be combined with start and end")
	}
	if len(p.list) == before && !p.full() {
		p.asKept(m, p.config.Now)
	}
	return m
}

// asKept returns a window as it is kept. It reports an error. A window that is over need only make sense.
func (r *report) asKept(m Maintenance, now time.Time) (w gate.Window, ok bool) {
	w = m.Window
	if w.Schedule == "" && w.Over(now) {
		now = w.Start
	} else if w.Schedule == "" && w.Start.Before(now.Add(-gate.MaxPast)) {
		w.Start = now // it began too long ago to be added as it is
	}
	w, err := w.Normalize(now)
	if err == nil {
		if w.Schedule == "" {
			w.Start = m.Start.UTC().Truncate(time.Microsecond)
		}
		return w, true
	}
	field := ""
	if e, ok := errors.AsType[*gate.Error](err); ok {
		field = e.Field
	}
	r.add(m.places.of(field), "%v", err)
	return w, false
}

// exportMaintenance takes the maintenance windows that have not ended from the state of a project.
func (p *Project) exportMaintenance(state State) {
	seen := make(map[string]bool)
	for _, w := range state.Maintenance {
		m := Maintenance{Window: w, Slugs: slugsOf(w, state.Checks)}
		switch {
		case w.Over(state.now()):
			continue
		case checks.ValidateName("name", w.Note) != nil || seen[w.Note]:
			p.remark("Left out, because it has no unique name: the maintenance window %q (%s).", w.Note, w.ID)
			continue
		case len(m.Slugs) < len(w.Checks):
			p.remark("Left out, because it covers a check without a unique slug: the maintenance window %q (%s).", w.Note, w.ID)
			continue
		case w.Schedule != "" && !w.End.IsZero():
			p.remark("Left out, because it recurs until %s: the maintenance window %q (%s).", w.End.Format(time.RFC3339), w.Note, w.ID)
			continue
		}
		seen[w.Note] = true
		p.Maintenance = append(p.Maintenance, m)
	}
}

func (m Maintenance) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(m.Note))
	for _, f := range m.fields(m.Slugs) {
		if f.New != "" {
			add(n, f.Name, text(f.New))
		}
	}
	return n
}

// fields are what a file says of a window beside its name.
func (m Maintenance) fields(slugs []string) []Field {
	list := []Field{
		{Name: "checks", New: strings.Join(slugs, " ")}, {Name: "tags", New: strings.Join(m.Tags, " ")},
		{Name: "schedule", New: m.Schedule}, {Name: "duration"}, {Name: "tz", New: m.TZ}, {Name: "start"}, {Name: "end"},
	}
	if m.Schedule != "" {
		list[3].New = checks.ValueText(m.Duration)
	} else {
		list[5].New, list[6].New = m.Start.Format(time.RFC3339), m.End.Format(time.RFC3339)
	}
	return list
}

// bySlug returns the checks with a unique slug.
func bySlug(list []checks.Check) map[string]uuid.UUID {
	ids, seen := make(map[string]uuid.UUID), make(map[string]int)
	for _, c := range list {
		ids[c.Slug] = c.ID
		seen[c.Slug]++
	}
	for slug, n := range seen {
		if slug == "" || n > 1 {
			delete(ids, slug)
		}
	}
	return ids
}

// slugsOf returns the unique slugs of the checks that a window names.
func slugsOf(w gate.Window, list []checks.Check) (slugs []string) {
	known := bySlug(list)
	for _, id := range w.Checks {
		i := slices.IndexFunc(list, func(c checks.Check) bool { return c.ID == id && known[c.Slug] == id })
		if i >= 0 {
			slugs = append(slugs, list[i].Slug)
		}
	}
	return slugs
}

// maintenance plans the maintenance windows of the project. One that occurs once and is over is left alone.
func (p *projectPlanner) maintenance() {
	now, ids, wanted := p.options.Now, bySlug(p.have.Checks), make(map[string]bool)
	for _, want := range p.want.Maintenance {
		wanted[want.Note] = true
		w, ok := p.asKept(want, now)
		if !ok || w.Over(now) {
			continue
		}
		for _, slug := range want.Slugs {
			inFile := slices.ContainsFunc(p.want.Checks, func(c Check) bool { return c.Slug != nil && *c.Slug == slug })
			if id, ok := ids[slug]; ok {
				w.Checks = append(w.Checks, id)
			} else if !inFile {
				p.add(want.places.of("checks"), "checks has a slug that no check of the project has, or several: %q", shorten(slug))
			}
		}
		p.noteTags(w)
		p.window(want, w, now)
	}
	if !p.options.Prune || p.options.Tag != "" || p.want.Maintenance == nil {
		return
	}
	for _, have := range p.have.Maintenance {
		if have.Schedule != "" && !have.Over(now) && !wanted[have.Note] {
			p.change(p.want.places.of("maintenance"), Change{
				Action: Delete, Type: "maintenance", Name: have.Note,
				run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
					_, err := a.target.manager(projectID).EndWindow(ctx, have.ID)
					return err
				},
			})
		}
	}
}

// noteTags notes which tags of a window no check has, neither in the file nor in the project.
func (p *projectPlanner) noteTags(w gate.Window) {
	for _, tag := range w.Tags {
		inFile := slices.ContainsFunc(p.want.Checks, func(c Check) bool { return slices.Contains(c.Tags, tag) })
		if !inFile && !slices.ContainsFunc(p.have.Checks, func(c checks.Check) bool { return slices.Contains(c.TagList(), tag) }) {
			p.note("no check of the project %q has the tag %q, which the maintenance window %q names", p.want.Name, tag, shorten(w.Note))
		}
	}
}

// isThere reports whether a window that the project has is the one that the file wants. Its checks are those of the file that exist, of
// so many.
func isThere(have, want gate.Window, slugs int, now time.Time) bool {
	switch {
	case have.Note != want.Note || have.Schedule != want.Schedule || have.Duration != want.Duration || have.TZ != want.TZ:
		return false
	case len(want.Checks) < slugs || !sameItems(have.Tags, want.Tags) || !sameItems(have.Checks, want.Checks):
		return false
	case want.Schedule != "":
		return have.End.IsZero()
	case have.Start.Equal(want.Start):
		return have.End.Equal(want.End) || have.Over(now) // it may have been ended early
	}
	return have.End.Equal(want.End) && !have.Start.After(now) && !want.Start.After(now) // one that began long ago is added as one that begins now
}

// sameItems reports whether two lists have the same items, in any order.
func sameItems[T comparable](a, b []T) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(item T) bool { return !slices.Contains(b, item) })
}

// window plans to add a window, unless it is there already. It replaces those with its name that have not ended.
func (p *projectPlanner) window(want Maintenance, w gate.Window, now time.Time) {
	var old []gate.Window
	for _, have := range p.have.Maintenance {
		if isThere(have, w, len(want.Slugs), now) {
			return
		}
		if have.Note == w.Note && !have.Over(now) {
			old = append(old, have)
		}
	}
	action, fields := Create, Maintenance{Window: w}.fields(want.Slugs)
	if len(old) > 0 {
		action = Update
		for i, f := range (Maintenance{Window: old[0]}).fields(slugsOf(old[0], p.have.Checks)) {
			fields[i].Old = f.New
		}
	}
	if action == Update && w.Schedule != "" {
		w.Start = now.Add(-w.Duration) // an occurrence that is running goes on
	} else if w.Start.Before(now.Add(-gate.MaxPast)) {
		w.Start = now
	}
	fields = slices.DeleteFunc(fields, func(f Field) bool { return f.Old == f.New })
	p.change(want.places.of(""), Change{Action: action, Type: "maintenance", Name: w.Note, Fields: fields,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			return a.maintain(ctx, p.want.Name, projectID, w, want.Slugs, old)
		}})
}

// maintain adds a window, and ends those that it replaces.
func (a *applying) maintain(ctx context.Context, project string, projectID uuid.UUID, w gate.Window, slugs []string, old []gate.Window) error {
	if len(w.Checks) < len(slugs) { // the plan has created some
		state, err := a.target.Read(ctx, project)
		if err != nil {
			return err
		}
		ids := bySlug(state.Checks)
		w.Checks = nil
		for _, slug := range slugs {
			if id, ok := ids[slug]; ok {
				w.Checks = append(w.Checks, id)
			}
		}
		if len(w.Checks) < len(slugs) { // without them it could cover the whole project
			return &checks.FieldError{Field: "checks", Reason: "has a slug that no check of the project has, or several"}
		}
	}
	in := a.target.manager(projectID)
	if _, err := in.AddWindow(ctx, w); err != nil {
		return err
	}
	for _, o := range old {
		if _, err := in.EndWindow(ctx, o.ID); unlessGone(err) != nil {
			return err
		}
	}
	return nil
}
