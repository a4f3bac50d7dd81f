package declare

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Target is what plans are made for: the projects of a monitor or a server, or one project. [OnProjects] and [OnProject] return one.
type Target struct {
	projects checks.Projects // nil for one project
	project  checks.Manager
}

// OnProjects returns all projects of a monitor or a server as a target. Pass mon.Projects(), or c.Projects() of a client whose key has the
// scope admin. A plan makes projects, channels, checks, status pages and maintenance match the file; a key of one project does so in its
// own.
//
// A server shows no secret settings of channels, and no values with a source, to any key. So a plan cannot compare them:
//
//   - A secret that the channel lacks is a change, and so is one that the file removes by "".
//   - A secret that both have counts as unchanged, and [Plan].Notes names it. If another setting of the channel changes, the secrets
//     of the file are sent along. [Options].ResendSecrets sends them in any case.
//   - A secret that the file leaves out stays as it is. The plan is refused if another change could send it to another receiver;
//     the file must give the secret then.
func OnProjects(p checks.Projects) Target { return Target{projects: p} }

// OnProject returns the checks and the maintenance of one project as a target. That is all that a client with a read-write key manages
// (section 4 of the API): it can neither create projects nor manage channels or status pages, and [NewPlan] refuses a plan that needs
// that. The server hides the settings of channels, so a plan does not compare them. It also hides the name of the project: whatever
// project a file names, its checks go to this one.
func OnProject(m checks.Manager) Target { return Target{project: m} }

// State is the current state of a project.
type State struct {
	Project checks.Project
	// Channels are the project's channels, oldest first. A target that does not show all values lists the others in Hidden.
	Channels []channels.Channel
	// Types are the kinds of channels that the target knows. A setting of another kind counts as secret, and cannot change.
	Types []channels.Type
	// SettingsHidden reports that the target shows neither the settings of channels nor status pages.
	SettingsHidden bool
	// Escalation is the project's escalation policy.
	Escalation []gate.Step
	// Checks are the project's checks, oldest first.
	Checks []checks.Check
	// StatusPages are the project's status pages, oldest first.
	StatusPages []checks.StatusPage
	// Maintenance are the project's maintenance windows, those that have ended lately among them, in the order of their starts.
	Maintenance []gate.Window
	// Now is when the state was read. The zero time is the current one.
	Now time.Time
}

func (s State) now() time.Time {
	if s.Now.IsZero() {
		return time.Now()
	}
	return s.Now
}

// Read returns the state of the named project. No name stands for the project of an API key, or else for "default". The error is
// [checks.ErrNotFound] if there is none; the state then has only the Types and the name of the project.
func (t Target) Read(ctx context.Context, project string) (State, error) {
	if err := t.usable(); err != nil {
		return State{}, err
	}
	s := State{Project: checks.Project{Name: project}, SettingsHidden: t.projects == nil}
	err := s.read(ctx, t)
	return s, err
}

func (s *State) read(ctx context.Context, t Target) (err error) {
	if !s.SettingsHidden {
		if s.Types, err = t.projects.Kinds(ctx); err != nil {
			return err
		}
		if err = s.find(ctx, t.projects); err != nil {
			return err
		}
	}
	in := t.manager(s.Project.ID)
	if s.SettingsHidden {
		s.Channels, err = in.Channels(ctx)
	} else {
		err = s.readSettings(ctx, t.projects.Project(s.Project.ID))
	}
	if err != nil {
		return bare(err)
	}
	list, err := in.Checks(ctx, checks.Query{})
	if err != nil {
		return bare(err)
	}
	for _, c := range list {
		switch {
		case c.ID == uuid.Nil:
			return errors.New("the API key is read-only, a read-write or admin key is needed")
		case c.Check == nil:
			c.Check = &checks.Check{ID: c.ID, Settings: c.Settings, Channels: c.Channels}
		}
		s.Checks = append(s.Checks, *c.Check)
	}
	s.Maintenance, err = in.Windows(ctx, checks.WindowQuery{Kind: gate.Maintenance, EndsAfter: time.Unix(0, 0)}) // all that are kept
	return bare(err)
}

// find finds the project by its name.
func (s *State) find(ctx context.Context, all checks.Projects) error {
	name := s.Project.Name
	found, err := all.ByName(ctx, name)
	if name == "" && errors.Is(err, checks.ErrNotFound) {
		name = "default"
		found, err = all.ByName(ctx, name)
	}
	if err == nil {
		s.Project = found
	} else {
		s.Project.Name = name
	}
	return bare(err)
}

// readSettings reads what only an administrator sees.
func (s *State) readSettings(ctx context.Context, in checks.Administrator) (err error) {
	if s.Channels, err = in.ChannelsWithSettings(ctx); err != nil {
		return err
	}
	if s.Escalation, err = in.Escalation(ctx); err != nil {
		return err
	}
	s.StatusPages, err = in.StatusPages(ctx)
	return err
}

// manager returns a project of the target.
func (t Target) manager(id uuid.UUID) checks.Manager {
	if t.projects == nil {
		return t.project
	}
	return t.projects.Project(id)
}

// usable returns an error for no target, and for one of a monitor or a client that is nil, as one that could not be made is.
func (t Target) usable() error {
	for _, from := range []any{t.projects, t.project} {
		if v := reflect.ValueOf(from); v.IsValid() && !(v.Kind() == reflect.Pointer && v.IsNil()) {
			return nil
		}
	}
	return errors.New("declare: there is no target: pass that of OnProjects or OnProject, with a monitor or a client that is not nil")
}

// callsFunction reports whether all alerts of the target also go to a function, as those of a monitor with OnAlert do.
func (t Target) callsFunction() bool {
	mon, is := t.projects.(interface {
		Configured(kind channels.Kind) error
	})
	return is && mon.Configured(channels.Function) == nil
}

// bare returns an error without what it says it is about, as one of a monitor does: a plan names its steps itself.
func bare(err error) error {
	if e, says := err.(interface{ Bare() error }); says {
		return e.Bare()
	}
	return err
}

// unlessGone returns the error of a deletion, or nil if there was nothing left to delete.
func unlessGone(err error) error {
	if errors.Is(err, checks.ErrNotFound) {
		return nil
	}
	return err
}
