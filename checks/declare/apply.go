package declare

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// Created is a project that was made, with its keys, which cannot be had again.
type Created struct {
	Project checks.Project
	Keys    monitor.Keys
}

// applying is what the changes of a plan share.
type applying struct {
	target  Target
	admin   Administrator // nil when target is none
	ids     map[string]uuid.UUID
	created []Created
}

// project returns the identifier of a project.
func (a *applying) project(ctx context.Context, name string) (uuid.UUID, error) {
	if id, ok := a.ids[name]; ok {
		return id, nil
	}
	state, err := a.target.Read(ctx, name)
	if err != nil {
		return uuid.Nil, err
	}
	a.ids[name] = state.Project.ID
	return state.Project.ID, nil
}

// Apply makes the changes of a plan one after the other, at the target that the plan was made for, and returns the
// projects that it has made. After each change it calls done, unless that is nil. When a change fails, those before it
// have been made and those after it have not; the error says which failed, and wraps that of the target. Planning and
// applying again makes the rest.
func (p Plan) Apply(ctx context.Context, target Target, done func(Change)) ([]Created, error) {
	a := &applying{target: target, ids: make(map[string]uuid.UUID)}
	a.admin, _ = target.(Administrator)
	for i, c := range p.Changes {
		if a.admin == nil && c.Type != "check" {
			return nil, errors.New("declare: the plan was made for another target")
		}
		if err := c.run(ctx, a); err != nil {
			return a.created, fmt.Errorf("%s the %s %q of the project %q (%d of %d changes were made before): %w",
				c.Action, c.Type, c.Name, c.Project, i, len(p.Changes), err)
		}
		if done != nil {
			done(c)
		}
	}
	return a.created, nil
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

// String shows the changes by project: + for what is created, ~ for what is changed, - for what is deleted. It ends
// with a line break, and is "" when nothing is to be changed.
func (p Plan) String() string {
	var b strings.Builder
	var projects []string
	byProject := make(map[string][]Change)
	for _, c := range p.Changes {
		if byProject[c.Project] == nil {
			projects = append(projects, c.Project)
		}
		byProject[c.Project] = append(byProject[c.Project], c)
	}
	for _, name := range projects {
		fmt.Fprintf(&b, "project %q\n", name)
		for _, c := range byProject[name] {
			c.write(&b)
		}
	}
	return b.String()
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
