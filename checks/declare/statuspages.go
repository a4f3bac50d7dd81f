package declare

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

// StatusPage is a public page about some checks of the project. Its ID, ProjectID, Names and CreatedAt have no effect.
type StatusPage struct {
	checks.StatusPage
	// PublicNames are the public names of checks by their slugs, or by the UUIDs of checks without a unique slug.
	PublicNames map[string]string

	places places
}

// statusPages reads the status pages of a project.
func (p *parser) statusPages(n *yaml.Node, project *Project) {
	p.atMost(n, checks.MaxStatusPages, "status pages")
	project.StatusPages = each(p, n, "status_pages", func(item *yaml.Node) StatusPage {
		page := p.statusPage(item)
		p.unique(p.pages, "slug of a status page", page.Slug, page.places.of("slug"))
		return page
	})
}

func (p *parser) statusPage(n *yaml.Node) StatusPage {
	var page StatusPage
	before := len(p.list)
	text := func(name string, to *string) key {
		return key{name, func(n *yaml.Node) {
			if text := p.text(n, name); text != nil {
				*to = *text
			}
		}}
	}
	page.places = p.object(n, "a status page", []key{
		text("slug", &page.Slug), text("title", &page.Title), text("description", &page.Description),
		{"tags", func(n *yaml.Node) {
			if tags := p.words(n, "tags", " "); tags != nil {
				page.Tags = strings.Fields(*tags)
			}
		}},
		{"names", func(n *yaml.Node) {
			page.PublicNames = make(map[string]string)
			for _, e := range p.mapping(n, "names") {
				if name := p.text(e.value, "a name"); name != nil {
					page.PublicNames[e.key] = *name
				}
			}
		}},
		{"min_outage", func(n *yaml.Node) { page.MinOutage, _ = p.period(n, "min_outage").(time.Duration) }},
	})
	p.require(page.places, "a status page", "slug")
	p.require(page.places, "a status page", "title")
	if len(p.list) == before && !p.full() {
		p.normalize(page)
	}
	return page
}

// exportStatusPages takes the status pages from the state of a project.
func (p *Project) exportStatusPages(state State) {
	if state.SettingsHidden {
		return
	}
	p.StatusPages = make([]StatusPage, len(state.StatusPages)) // not nil
	for i, page := range state.StatusPages {
		p.StatusPages[i] = StatusPage{StatusPage: page, PublicNames: namesByCheck(page.Names, state.Checks)}
	}
}

// namesByCheck returns the public names of checks that exist by their slugs, or by the UUIDs of those without a unique slug.
func namesByCheck(names map[uuid.UUID]string, list []checks.Check) map[string]string {
	known, keys := bySlug(list), make(map[string]string)
	for _, c := range list {
		if name, ok := names[c.ID]; ok && known[c.Slug] == c.ID {
			keys[c.Slug] = name
		} else if ok {
			keys[c.ID.String()] = name
		}
	}
	return keys
}

// namesOf returns the public names of checks that exist by their IDs, and the keys of the others.
func (p StatusPage) namesOf(list []checks.Check) (names map[uuid.UUID]string, unknown []string) {
	known := bySlug(list)
	names = make(map[uuid.UUID]string, len(p.PublicNames))
	for _, key := range slices.Sorted(maps.Keys(p.PublicNames)) {
		id, ok := known[key]
		if parsed, err := uuid.Parse(key); !ok && err == nil {
			id, ok = parsed, slices.ContainsFunc(list, func(c checks.Check) bool { return c.ID == parsed })
		}
		if ok {
			names[id] = p.PublicNames[key]
		} else {
			unknown = append(unknown, key)
		}
	}
	return names, unknown
}

func (p StatusPage) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "slug", text(p.Slug))
	add(n, "title", text(p.Title))
	if p.Description != "" {
		add(n, "description", text(p.Description))
	}
	if len(p.Tags) > 0 {
		add(n, "tags", text(strings.Join(p.Tags, " ")))
	}
	if len(p.PublicNames) > 0 {
		names := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(p.PublicNames)) {
			add(names, key, text(p.PublicNames[key]))
		}
		add(n, "names", names)
	}
	if p.MinOutage > 0 {
		add(n, "min_outage", text(periodText(p.MinOutage)))
	}
	return n
}

// statusPages plans the status pages of the project. Deletions come first, because a slug may move to another project.
func (p *projectPlanner) statusPages() {
	if p.want.StatusPages != nil && p.have.SettingsHidden {
		p.note("the API shows status pages only to admin keys, so the plan does not compare those of the project %q", p.want.Name)
		return
	}
	wanted := make(map[string]bool)
	for _, want := range p.want.StatusPages {
		wanted[want.Slug] = true
		page, ok := p.normalize(want)
		if !ok {
			continue
		}
		i := slices.IndexFunc(p.have.StatusPages, func(have checks.StatusPage) bool { return have.Slug == page.Slug })
		if i < 0 {
			p.savePage(Create, checks.StatusPage{}, page)
		} else {
			page.ID = p.have.StatusPages[i].ID
			p.savePage(Update, p.have.StatusPages[i], page)
		}
	}
	if !p.options.Prune || p.options.Tag != "" || p.want.StatusPages == nil {
		return
	}
	for _, have := range p.have.StatusPages {
		if wanted[have.Slug] {
			continue
		}
		p.change(p.want.places.of("status_pages"), Change{
			Action: Delete, Type: "status page", Name: have.Slug,
			run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
				return a.admin(projectID).DeleteStatusPage(ctx, have.ID)
			},
		})
	}
}

// normalize returns a status page as it is stored. It reports an error.
func (r *report) normalize(want StatusPage) (page StatusPage, ok bool) {
	page, want.Names = want, make(map[uuid.UUID]string, len(want.PublicNames))
	for key, name := range want.PublicNames {
		want.Names[uuid.NewSHA1(uuid.Nil, []byte(key))] = name // the rules for names do not depend on their checks
	}
	stored, err := want.Normalize()
	if err == nil {
		page.StatusPage, page.Names, page.PublicNames = stored, nil, make(map[string]string, len(stored.Names))
		for key := range want.PublicNames {
			if name := stored.Names[uuid.NewSHA1(uuid.Nil, []byte(key))]; name != "" {
				page.PublicNames[key] = name
			}
		}
		return page, true
	}
	key := ""
	if field, ok := errors.AsType[*checks.FieldError](err); ok {
		key = field.Field
	}
	r.add(want.places.of(key), "%v", err)
	return page, false
}

// savePage plans to create or update a status page, unless it is already as it should be.
func (p *projectPlanner) savePage(action Action, have checks.StatusPage, want StatusPage) {
	named, further := want.namesOf(p.have.Checks)
	for _, key := range further {
		if !slices.ContainsFunc(p.want.Checks, func(c Check) bool { return c.Slug != nil && *c.Slug == key }) {
			p.add(want.places.of("names"), "names has a slug or UUID that no check of the project has, or several: %q", shorten(key))
		}
	}
	want.Names = named
	fields := []Field{
		{"title", have.Title, want.Title},
		{"description", have.Description, want.Description},
		{"tags", strings.Join(have.Tags, " "), strings.Join(want.Tags, " ")},
		{"min_outage", periodText(have.MinOutage), periodText(want.MinOutage)},
	}
	old, now := namesByCheck(have.Names, p.have.Checks), namesByCheck(named, p.have.Checks)
	for _, key := range further {
		now[key] = want.PublicNames[key]
	}
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		fields = append(fields, Field{"name of " + key, old[key], now[key]})
	}
	fields = slices.DeleteFunc(fields, func(f Field) bool { return f.Old == f.New })
	if len(fields) == 0 {
		return
	}
	for i, f := range fields {
		fields[i] = Field{f.Name, quoted(f.Old), quoted(f.New)}
	}
	p.change(want.places.of(""), Change{
		Action: action, Type: "status page", Name: want.Slug, Fields: fields,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			return a.savePage(ctx, action, p.want.Name, projectID, want)
		},
	})
}

// periodText returns a duration as files have it, or "" for none.
func periodText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return checks.ValueText(d)
}

// savePage creates or updates a status page.
func (a *applying) savePage(ctx context.Context, action Action, project string, projectID uuid.UUID, page StatusPage) error {
	if len(page.Names) < len(page.PublicNames) { // the plan has created some of the checks
		state, err := a.target.Read(ctx, project)
		if err != nil {
			return err
		}
		var unknown []string
		if page.Names, unknown = page.namesOf(state.Checks); len(unknown) > 0 { // their own names would be public
			return &checks.FieldError{Field: "names", Reason: "has a slug or UUID that no check of the project has, or several"}
		}
	}
	save := a.admin(projectID).UpdateStatusPage
	if action == Create {
		save = a.admin(projectID).CreateStatusPage
	}
	_, err := save(ctx, page.StatusPage)
	return err
}
