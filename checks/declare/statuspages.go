package declare

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

// StatusPage is a public page about some checks of the project. Only its slug, title, description and tags have an effect.
type StatusPage struct {
	checks.StatusPage

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
		p.StatusPages[i].StatusPage = page
	}
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
			p.savePage(want.places.of(""), Create, checks.StatusPage{}, page)
		} else {
			page.ID = p.have.StatusPages[i].ID
			p.savePage(want.places.of(""), Update, p.have.StatusPages[i], page)
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
func (r *report) normalize(want StatusPage) (page checks.StatusPage, ok bool) {
	page, err := want.Normalize()
	if err == nil {
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
func (p *projectPlanner) savePage(at Position, action Action, have, want checks.StatusPage) {
	var fields []Field
	for _, f := range []Field{
		{"title", have.Title, want.Title},
		{"description", have.Description, want.Description},
		{"tags", strings.Join(have.Tags, " "), strings.Join(want.Tags, " ")},
	} {
		if f.Old != f.New {
			fields = append(fields, Field{f.Name, quoted(f.Old), quoted(f.New)})
		}
	}
	if len(fields) == 0 {
		return
	}
	p.change(at, Change{
		Action: action, Type: "status page", Name: want.Slug, Fields: fields,
		run: func(ctx context.Context, a *applying, projectID uuid.UUID) error {
			save := a.admin(projectID).UpdateStatusPage
			if action == Create {
				save = a.admin(projectID).CreateStatusPage
			}
			_, err := save(ctx, want)
			return err
		},
	})
}
