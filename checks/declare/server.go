package declare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/client"
)

// OnServer returns what the key of a client manages on a server as a target. The key must be a read-write or an admin key; with an
// admin key the target is an [Administrator].
//
//   - With an admin key, a plan makes projects, channels, checks and status pages match the file, like a monitor in this process.
//     A key of the installation does so in all projects, one of a project in its own.
//   - A read-write key manages the checks and the maintenance of its project (section 4 of the API). It can neither create projects nor manage channels
//     or status pages, and [NewPlan] refuses a plan that needs that. The server hides the settings of channels, so a plan does not
//     compare them. It also hides the name of the project: whatever project a file names, its checks go to the project of the key.
//
// The server shows no secret settings of channels, and no values with a source, to any key. So a plan cannot compare them:
//
//   - A secret that the channel lacks is a change, and so is one that the file removes by "".
//   - A secret that both have counts as unchanged, and [Plan].Notes names it. If another setting of the channel changes, the secrets
//     of the file are sent along. [Options].ResendSecrets sends them in any case.
//   - A secret that the file leaves out stays as it is. The plan is refused if another change could send it to another receiver;
//     the file must give the secret then.
func OnServer(c *client.Client) Target {
	if c != nil && c.HasAdminKey() {
		return admin{remote{c}}
	}
	return remote{c}
}

// remote is what a read-write key may manage: the checks of its project. A zero project stands for that of the key.
type remote struct{ client *client.Client }

// Read returns the project of the key under the given name, because the API does not reveal its real one.
func (r remote) Read(ctx context.Context, project string) (State, error) {
	state := State{Project: checks.Project{Name: project}, SettingsHidden: true}
	var err error
	if state.Channels, err = r.client.Channels(ctx); err != nil {
		return State{}, err
	}
	state.Checks, err = r.checks(ctx, uuid.Nil)
	return state, err
}

func (r remote) Maintenance(ctx context.Context, projectID uuid.UUID) ([]gate.Window, error) {
	return r.client.Project(projectID).Windows(ctx, kept)
}

func (r remote) AddWindow(ctx context.Context, projectID uuid.UUID, w gate.Window) error {
	_, err := r.client.Project(projectID).AddWindow(ctx, w)
	return err
}

func (r remote) EndWindow(ctx context.Context, projectID, id uuid.UUID) error {
	_, err := r.client.Project(projectID).EndWindow(ctx, id)
	return unlessGone(err)
}

func (r remote) checks(ctx context.Context, projectID uuid.UUID) ([]checks.Check, error) {
	all, err := r.client.Project(projectID).Checks(ctx, checks.Query{})
	if err != nil {
		return nil, err
	}
	list := make([]checks.Check, len(all))
	for i, c := range all {
		if c.ID == uuid.Nil {
			return nil, errors.New("the API key is read-only, a read-write or admin key is needed")
		}
		list[i] = checks.Check{ID: c.ID, ProjectID: projectID, Settings: c.Settings, Channels: c.Channels}
	}
	return list, nil
}

// CreateCheck upserts, so that a retried request creates no second check.
func (r remote) CreateCheck(ctx context.Context, projectID uuid.UUID, spec checks.Spec) error {
	_, _, err := r.client.Project(projectID).Upsert(ctx, spec, checks.UniqueSlug)
	return err
}

func (r remote) UpdateCheck(ctx context.Context, projectID, id uuid.UUID, spec checks.Spec) error {
	_, err := r.client.Project(projectID).Update(ctx, id, spec)
	return err
}

func (r remote) DeleteCheck(ctx context.Context, projectID, id uuid.UUID) error {
	_, err := r.client.Project(projectID).Delete(ctx, id)
	return unlessGone(err)
}

// admin is what an admin key may manage.
type admin struct{ remote }

func (a admin) Read(ctx context.Context, name string) (state State, err error) {
	if state.Types, err = a.types(ctx); err != nil {
		return state, err
	}
	if state.Project, err = a.project(ctx, name); err != nil {
		return state, err
	}
	c := a.client.Project(state.Project.ID)
	list, err := c.Channels(ctx)
	if err != nil {
		return state, err
	}
	for _, short := range list {
		channel, err := c.Channel(ctx, short.ID)
		if errors.Is(err, checks.ErrNotFound) { // deleted a moment ago
			continue
		} else if err != nil {
			return state, err
		}
		state.Channels = append(state.Channels, channel)
	}
	if state.Escalation, err = c.Escalation(ctx); unlessGone(err) != nil { // by a server that knows of no policies
		return state, err
	}
	if state.Checks, err = a.checks(ctx, state.Project.ID); err != nil {
		return state, err
	}
	state.StatusPages, err = c.StatusPages(ctx)
	return state, err
}

// types returns the kinds of channels that the server knows. Their rules stay with the server.
func (a admin) types(ctx context.Context) ([]channels.Type, error) {
	kinds, err := a.client.ChannelKinds(ctx)
	types := make([]channels.Type, len(kinds))
	for i, k := range kinds {
		types[i] = channels.Type{Kind: channels.Kind(k.Kind)}
		for _, s := range k.Settings {
			types[i].Settings = append(types[i].Settings, channels.Setting{
				Name: s.Name, Required: s.Required, Secret: s.Secret, Default: s.Default, Options: s.Options, KeepsSecrets: s.KeepsSecrets,
			})
		}
	}
	return types, err
}

// project returns the project with a name. No name stands for the project of the key, or for "default" with a key of the
// installation.
func (a admin) project(ctx context.Context, name string) (checks.Project, error) {
	list, err := a.client.Projects(ctx)
	if err != nil {
		return checks.Project{}, err
	}
	if len(list) == 1 && list[0].Name != name {
		ofAll, err := a.ofInstallation(ctx)
		switch {
		case err != nil:
			return checks.Project{}, err
		case !ofAll && name == "":
			return list[0], nil
		case !ofAll:
			return checks.Project{}, fmt.Errorf("the API key is one of the project %q, but the file describes the project %q; use a key of that project or of the installation",
				list[0].Name, name)
		}
	}
	name = cmp.Or(name, "default")
	if i := slices.IndexFunc(list, func(p checks.Project) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	return checks.Project{Name: name}, checks.ErrNotFound
}

// ofInstallation reports whether the key is one of the installation: the server then asks for the project of a request.
func (a admin) ofInstallation(ctx context.Context) (bool, error) {
	_, err := a.client.Project(uuid.Nil).Channels(ctx)
	if field, ok := errors.AsType[*checks.FieldError](err); ok && field.Field == "project" {
		return true, nil
	}
	return false, err
}

func (a admin) CreateProject(ctx context.Context, spec monitor.ProjectSpec) (checks.Project, monitor.Keys, error) {
	project, keys, err := a.client.CreateProject(ctx, checks.Project{
		Name: spec.Name, Account: spec.Account, Plan: spec.Plan, MaxChecks: spec.MaxChecks, Storm: spec.Storm,
	})
	return project, monitor.Keys(keys), err
}

func (a admin) UpdateProject(ctx context.Context, id uuid.UUID, update checks.ProjectUpdate) error {
	_, err := a.client.UpdateProject(ctx, id, update)
	return err
}

// CreateChannel upserts, so that a retried request creates no second channel.
func (a admin) CreateChannel(ctx context.Context, c channels.Channel) error {
	_, _, err := a.client.Project(c.ProjectID).UpsertChannel(ctx, c)
	return err
}

func (a admin) UpdateChannel(ctx context.Context, c channels.Channel) error {
	_, err := a.client.Project(c.ProjectID).UpdateChannel(ctx, c.ID, func(saved channels.Channel) (channels.Channel, error) {
		saved.Settings, saved.Sources = c.Settings, c.Sources
		return saved, nil
	})
	return err
}

func (a admin) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	return unlessGone(a.client.Project(projectID).DeleteChannel(ctx, id))
}

func (a admin) SetEscalation(ctx context.Context, projectID uuid.UUID, steps []checks.NamedStep) error {
	return setEscalation(ctx, a.client.Project(projectID), steps)
}

func (a admin) CreateStatusPage(ctx context.Context, page checks.StatusPage) error {
	_, err := a.client.Project(page.ProjectID).CreateStatusPage(ctx, page)
	return err
}

func (a admin) UpdateStatusPage(ctx context.Context, page checks.StatusPage) error {
	_, err := a.client.Project(page.ProjectID).UpdateStatusPage(ctx, page)
	return err
}

func (a admin) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	return unlessGone(a.client.Project(projectID).DeleteStatusPage(ctx, id))
}
