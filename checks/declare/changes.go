package declare

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// What to do where a server's interface does not suffice.
const (
	makeProject = "an API key belongs to a project that exists; make it there with rollcall project create"
	makeChannel = "make it there with rollcall channel create, or apply the file there"
	dropChannel = "delete it there with rollcall channel delete, or apply the file there"
)

func (p *planner) createProject(want Project) {
	spec := monitor.ProjectSpec{Name: want.Name, Account: want.Account, Plan: want.Plan}
	var fields []Field
	for _, f := range []Field{{Name: "account", New: quoted(want.Account)}, {Name: "plan", New: quoted(string(want.Plan))}} {
		if f.New != "" {
			fields = append(fields, f)
		}
	}
	if want.MaxChecks != nil {
		spec.MaxChecks = *want.MaxChecks
		fields = append(fields, Field{Name: "max_checks", New: strconv.Itoa(spec.MaxChecks)})
	}
	p.administer(&p.middle, Change{
		Action: Create, Project: want.Name, Type: "project", Name: want.Name, Fields: fields, at: want.places.of("name"),
		run: func(ctx context.Context, a *applying) error {
			project, keys, err := a.admin.CreateProject(ctx, spec)
			if err == nil {
				a.ids[want.Name] = project.ID
				a.created = append(a.created, Created{project, keys})
			}
			return err
		},
	}, makeProject)
}

func (p *planner) createChannel(project Project, want Channel, available []channels.Channel) {
	valid, err := channels.Validate(p.options.Kinds, want.Kind, want.values())
	if err != nil {
		p.add(want.places.of("settings"), "%v", err)
		return
	}
	if want.Kind == channels.Group {
		p.compareGroup(want, channels.Channel{}, valid, available)
	}
	fields := append([]Field{{Name: "kind", New: string(want.Kind)}}, p.compareSettings(want, nil, valid)...)
	p.administer(&p.middle, Change{
		Action: Create, Project: project.Name, Type: "channel", Name: want.Name, Fields: fields, at: want.places.of("name"),
		run: func(ctx context.Context, a *applying) error {
			id, err := a.project(ctx, project.Name)
			if err != nil {
				return err
			}
			return a.admin.CreateChannel(ctx, id, want.Kind, want.Name, valid)
		},
	}, makeChannel)
}

func (p *planner) updateChannel(project Project, want Channel, id uuid.UUID, settings map[string]string, fields []Field) {
	p.administer(&p.middle, Change{
		Action: Update, Project: project.Name, Type: "channel", Name: want.Name, Fields: fields, at: want.places.of("settings"),
		run: func(ctx context.Context, a *applying) error {
			projectID, err := a.project(ctx, project.Name)
			if err != nil {
				return err
			}
			return a.admin.UpdateChannel(ctx, projectID, id, settings)
		},
	}, makeChannel)
}

func (p *planner) deleteChannel(project Project, have channels.Channel) {
	p.administer(&p.last, Change{
		Action: Delete, Project: project.Name, Type: "channel", Name: have.Name, at: project.places.of("channels"),
		run: func(ctx context.Context, a *applying) error {
			projectID, err := a.project(ctx, project.Name)
			if err != nil {
				return err
			}
			return a.admin.DeleteChannel(ctx, projectID, have.ID)
		},
	}, dropChannel)
}

func (p *planner) createCheck(project Project, want Check, target checks.Check, available []channels.Channel) {
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
		fields = append(fields, Field{Name: "channels", New: names(available, target.Channels)})
	}
	spec := want.Spec
	spec.ID = uuid.Nil
	p.change(&p.middle, Change{
		Action: Create, Project: project.Name, Type: "check", Name: target.Slug, Fields: drop(fields), at: want.places.of(""),
		run: func(ctx context.Context, a *applying) error {
			id, err := a.project(ctx, project.Name)
			if err != nil {
				return err
			}
			return a.target.CreateCheck(ctx, id, spec)
		},
	})
}

// drop removes the fields that set nothing.
func drop(fields []Field) []Field {
	var kept []Field
	for _, f := range fields {
		if f.New != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

func (p *planner) updateCheck(project Project, want Check, id uuid.UUID, spec checks.Spec, fields []Field) {
	p.change(&p.middle, Change{
		Action: Update, Project: project.Name, Type: "check", Name: *want.Slug, Fields: fields, at: want.places.of(""),
		run: func(ctx context.Context, a *applying) error { return a.target.UpdateCheck(ctx, id, spec) },
	})
}

func (p *planner) deleteCheck(project Project, have checks.Check) {
	p.change(&p.first, Change{
		Action: Delete, Project: project.Name, Type: "check", Name: have.Slug, at: project.places.of("checks"),
		run: func(ctx context.Context, a *applying) error { return a.target.DeleteCheck(ctx, have.ID) },
	})
}
