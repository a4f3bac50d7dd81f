package declare

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

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
	// Maintenance are the project's maintenance windows. Read leaves them to the method Maintenance of the target.
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

// Target stores checks: a database or a server.
type Target interface {
	// Read returns the state of the named project. No name stands for the project of an API key, or else for "default". The
	// error is [checks.ErrNotFound] if there is none; the state then has only the Types and the name of the project.
	Read(ctx context.Context, project string) (State, error)
	// CreateCheck creates a check. The spec has a slug.
	CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error
	// UpdateCheck changes the settings of a check that are not nil in spec.
	UpdateCheck(ctx context.Context, projectID, id uuid.UUID, spec checks.Spec) error
	// DeleteCheck deletes a check. It succeeds if the check is already gone.
	DeleteCheck(ctx context.Context, projectID, id uuid.UUID) error
	// Maintenance returns the maintenance windows of a project, those that have ended lately among them, in the order of their starts.
	Maintenance(ctx context.Context, projectID uuid.UUID) ([]gate.Window, error)
	// AddWindow adds a maintenance window.
	AddWindow(ctx context.Context, projectID uuid.UUID, w gate.Window) error
	// EndWindow ends a maintenance window. It succeeds if that is already gone.
	EndWindow(ctx context.Context, projectID, id uuid.UUID) error
}

// Administrator is a [Target] that can also create projects and manage channels and status pages.
type Administrator interface {
	Target
	// CreateProject creates a project and returns it with its keys.
	CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error)
	// UpdateProject changes the settings of a project that are not nil.
	UpdateProject(ctx context.Context, id uuid.UUID, update checks.ProjectUpdate) error
	// CreateChannel creates a channel with the ProjectID, Kind, Name, Settings and Sources of c.
	CreateChannel(ctx context.Context, c channels.Channel) error
	// UpdateChannel replaces the Settings and Sources of the channel that the ID and ProjectID of c identify. A setting
	// in Hidden that c lacks keeps its value and source; "" removes it.
	UpdateChannel(ctx context.Context, c channels.Channel) error
	// DeleteChannel deletes a channel. It succeeds if the channel is already gone.
	DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error
	// SetEscalation replaces the escalation policy of a project.
	SetEscalation(ctx context.Context, projectID uuid.UUID, steps []checks.NamedStep) error
	// CreateStatusPage creates a status page with the ProjectID, Slug, Title, Description and Tags of page.
	CreateStatusPage(ctx context.Context, page checks.StatusPage) error
	// UpdateStatusPage replaces the Title, Description and Tags of the page that the ID and ProjectID of page identify.
	UpdateStatusPage(ctx context.Context, page checks.StatusPage) error
	// DeleteStatusPage deletes a status page. It succeeds if the page is already gone.
	DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error
}

// usable returns an error for no target, and for one of a monitor or a client that is nil, as one that could not be made is.
func usable(target Target) error {
	missing := target == nil
	switch t := target.(type) {
	case local:
		missing = t.mon == nil
	case remote:
		missing = t.client == nil
	}
	if missing {
		return errors.New("declare: there is no target: pass that of OnMonitor or OnServer, with a monitor or a client that is not nil")
	}
	return nil
}

// OnMonitor returns a monitor in this process as a target.
func OnMonitor(mon *monitor.Monitor) Administrator { return local{mon} }

type local struct{ mon *monitor.Monitor }

func (l local) Read(ctx context.Context, project string) (State, error) {
	s := State{Types: l.mon.Kinds()}
	project = cmp.Or(project, "default")
	var err error
	if s.Project, err = l.mon.Projects().ByName(ctx, project); err != nil {
		s.Project.Name = project
		return s, err
	}
	if s.Channels, err = l.mon.Project(s.Project.ID).Channels(ctx); err != nil {
		return State{}, err
	}
	if s.Escalation, err = l.mon.Project(s.Project.ID).Escalation(ctx); err != nil {
		return State{}, err
	}
	if s.Checks, err = checks.Stored(l.mon.Project(s.Project.ID).Checks(ctx, checks.Query{})); err != nil {
		return State{}, err
	}
	if s.StatusPages, err = l.mon.Project(s.Project.ID).StatusPages(ctx); err != nil {
		return State{}, err
	}
	return s, nil
}

func (l local) Maintenance(ctx context.Context, projectID uuid.UUID) ([]gate.Window, error) {
	return l.mon.Project(projectID).Windows(ctx, kept)
}

// kept selects all maintenance windows that a target has.
var kept = checks.WindowQuery{Kind: gate.Maintenance, EndsAfter: time.Unix(0, 0)}

func (l local) AddWindow(ctx context.Context, projectID uuid.UUID, w gate.Window) error {
	_, err := l.mon.Project(projectID).AddWindow(ctx, w)
	return bare(err)
}

func (l local) EndWindow(ctx context.Context, projectID, id uuid.UUID) error {
	_, err := l.mon.Project(projectID).EndWindow(ctx, id)
	return unlessGone(err)
}

// CreateCheck upserts, so that two programs that apply the same file at once create only one check.
func (l local) CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error {
	_, _, err := l.mon.Project(projectID).Upsert(ctx, spec, checks.UniqueSlug)
	return bare(err)
}

func (l local) UpdateCheck(ctx context.Context, projectID, id uuid.UUID, spec checks.Spec) error {
	_, err := l.mon.Project(projectID).Update(ctx, id, spec)
	return bare(err)
}

func (l local) SetEscalation(ctx context.Context, projectID uuid.UUID, steps []checks.NamedStep) error {
	return bare(setEscalation(ctx, l.mon.Project(projectID), steps))
}

func (l local) DeleteCheck(ctx context.Context, projectID, id uuid.UUID) error {
	_, err := l.mon.Project(projectID).Delete(ctx, id)
	return unlessGone(err)
}

func (l local) changeChecks(ctx context.Context, projectID uuid.UUID, list []monitor.Change, gone bool, done func()) error {
	skip := func(err error) bool { return gone && errors.Is(err, checks.ErrNotFound) }
	return bare(l.mon.Project(projectID).ChangeMany(ctx, list, skip, func(int, monitor.Changed) { done() }))
}

func (l local) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	project, keys, err := l.mon.Projects().Create(ctx, spec)
	return project, keys, bare(err)
}

func (l local) UpdateProject(ctx context.Context, id uuid.UUID, update checks.ProjectUpdate) error {
	_, err := l.mon.Projects().Update(ctx, id, update)
	return bare(err)
}

// CreateChannel upserts, so that two programs that apply the same file at once create only one channel.
func (l local) CreateChannel(ctx context.Context, c channels.Channel) error {
	_, _, err := l.mon.Project(c.ProjectID).UpsertChannel(ctx, c)
	return bare(err)
}

func (l local) UpdateChannel(ctx context.Context, c channels.Channel) error {
	_, err := l.mon.Project(c.ProjectID).UpdateChannel(ctx, c.ID, func(saved channels.Channel) (channels.Channel, error) {
		saved.Settings, saved.Sources = c.Settings, c.Sources
		return saved, nil
	})
	return bare(err)
}

func (l local) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return unlessGone(l.mon.Project(projectID).DeleteChannel(ctx, id))
}

func (l local) CreateStatusPage(ctx context.Context, page checks.StatusPage) error {
	_, err := l.mon.Project(page.ProjectID).CreateStatusPage(ctx, page)
	return bare(err)
}

func (l local) UpdateStatusPage(ctx context.Context, page checks.StatusPage) error {
	_, err := l.mon.Project(page.ProjectID).UpdateStatusPage(ctx, page)
	return bare(err)
}

func (l local) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return unlessGone(l.mon.Project(projectID).DeleteStatusPage(ctx, id))
}

// bare returns an error without what a monitor says it is about: a plan names its steps itself.
func bare(err error) error {
	if e, ok := err.(*monitor.Error); ok {
		return e.Err
	}
	return err
}

// unlessGone returns the error of a deletion, or nil if there was nothing left to delete.
func unlessGone(err error) error {
	if errors.Is(err, checks.ErrNotFound) {
		return nil
	}
	return bare(err)
}
