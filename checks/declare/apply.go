package declare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// Created is a new project with its keys, which cannot be read again.
type Created struct {
	Project checks.Project
	Keys    checks.ProjectKeys
}

// applying is the shared state of the changes that Apply makes.
type applying struct {
	target  Target
	ids     map[string]uuid.UUID // ids of the created projects, by name
	created []Created
}

// Apply makes the changes of a plan in order and returns the projects that it created. Target must be the one that the
// plan was made for. Apply calls done after each change, unless done is nil. It stops at the first change that fails and
// keeps the changes before it; the error names the failed change and wraps the target's error. A new plan has the rest.
func (p Plan) Apply(ctx context.Context, target Target, done func(Change)) ([]Created, error) {
	if err := target.usable(); err != nil {
		return nil, err
	}
	a := &applying{target: target, ids: make(map[string]uuid.UUID)}
	for n := 0; n < len(p.Changes); {
		if target.projects == nil && !p.Changes[n].edits() {
			return nil, errors.New("declare: this target manages only checks and maintenance; apply the plan to the target that it was made for")
		}
		made, err := a.next(ctx, p.Changes[n:], done)
		if n += made; err != nil {
			c := p.Changes[n]
			return a.created, fmt.Errorf("%s the %s %q of the project %q, after %d of %d changes: %w",
				c.Action, c.Type, c.Name, c.Project, n, len(p.Changes), err)
		}
	}
	return a.created, nil
}

// admin returns a project of the target, for a change that needs an administrator.
func (a *applying) admin(id uuid.UUID) checks.Administrator { return a.target.projects.Project(id) }

// next makes the next change of a list, or the changes of checks with which it begins. It returns how many it has made.
func (a *applying) next(ctx context.Context, list []Change, done func(Change)) (made int, err error) {
	c := list[0]
	id := c.projectID
	if id == uuid.Nil {
		id = a.ids[c.Project]
	}
	if done == nil {
		done = func(Change) {}
	}
	if c.check == nil {
		err := bare(c.run(ctx, a, id))
		if c.Action == Delete {
			err = unlessGone(err)
		}
		if err != nil {
			return 0, err
		}
		done(c)
		return 1, nil
	}
	var edits []checks.CheckEdit
	for _, other := range list {
		if other.check == nil || other.Project != c.Project || (other.Action == Delete) != (c.Action == Delete) {
			break
		}
		edits = append(edits, *other.check)
	}
	skip := func(err error) bool { return c.Action == Delete && errors.Is(err, checks.ErrNotFound) }
	err = a.target.manager(id).EditChecks(ctx, edits, skip, func(int, error) {
		done(list[made])
		made++
	})
	return made, bare(err)
}

// Count returns how many changes create, update and delete something.
func (p Plan) Count() (created, updated, deleted int) {
	for _, c := range p.Changes {
		switch c.Action {
		case Create:
			created++
		case Update:
			updated++
		case Delete:
			deleted++
		}
	}
	return created, updated, deleted
}

// String lists the changes by project: + creates, ~ changes and - deletes. The text ends with a line break, or is ""
// if there are no changes.
func (p Plan) String() string {
	var projects []string
	byProject := make(map[string]*strings.Builder)
	for _, c := range p.Changes {
		b := byProject[c.Project]
		if b == nil {
			b = new(strings.Builder)
			fmt.Fprintf(b, "project %q\n", c.Project)
			byProject[c.Project] = b
			projects = append(projects, c.Project)
		}
		c.write(b)
	}
	var all strings.Builder
	for _, name := range projects {
		all.WriteString(byProject[name].String())
	}
	return all.String()
}

func (c Change) write(b *strings.Builder) {
	sign := map[Action]string{Create: "+", Update: "~", Delete: "-"}[c.Action]
	fmt.Fprintf(b, "  %s %s %q\n", sign, c.Type, c.Name)
	for _, f := range c.Fields {
		switch {
		case f.Old == "":
			fmt.Fprintf(b, "      + %s: %s\n", f.Name, f.New)
		case f.New == "":
			fmt.Fprintf(b, "      - %s: %s\n", f.Name, f.Old)
		default:
			fmt.Fprintf(b, "      ~ %s: %s -> %s\n", f.Name, f.Old, f.New)
		}
	}
}
