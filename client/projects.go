package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

const projectsPath = "/api/v3/projects/"

// Projects administers the projects of a server, as [Client.Projects] returns it. The key must have the scope admin. It is a
// [checks.Projects] and safe for concurrent use.
type Projects struct{ c *Client } // whose requests name no project

var _ checks.Projects = (*Projects)(nil)

// Projects returns the projects that the key administers: all if it is one of the installation, or else that of the key.
func (c *Client) Projects() *Projects {
	if c == nil {
		return nil
	}
	return &Projects{c.Project(uuid.Nil)}
}

// client returns the client, or nil.
func (p *Projects) client() *Client {
	if p == nil {
		return nil
	}
	return p.c
}

// Project is [Client.Project].
func (p *Projects) Project(id uuid.UUID) checks.Administrator { return p.client().Project(id) }

// List returns the projects by name.
func (p *Projects) List(ctx context.Context) ([]checks.Project, error) {
	return get(ctx, p.client(), "list projects", projectsPath, func(d wire.Projects) ([]checks.Project, error) {
		return each("projects", d.Projects, projectOf)
	})
}

// ByID returns a project. The error is [checks.ErrNotFound] if the project does not exist, and [ErrUnauthorized] if it is not that of the
// key.
func (p *Projects) ByID(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return get(ctx, p.client(), "get project "+id.String(), projectsPath+id.String(), projectOf)
}

// ByName returns the project with this name. If the key is one of a project, no name stands for that project, and the error for another
// name is [ErrUnauthorized]. Otherwise the error is [checks.ErrNotFound] if there is no such project.
func (p *Projects) ByName(ctx context.Context, name string) (checks.Project, error) {
	list, err := p.List(ctx)
	if err != nil {
		return checks.Project{}, err
	}
	if i := slices.IndexFunc(list, func(p checks.Project) bool { return p.Name == name }); i >= 0 {
		return list[i], nil
	}
	err = checks.ErrNotFound
	if len(list) == 1 {
		ofAll, askErr := p.ofInstallation(ctx)
		switch {
		case askErr != nil:
			return checks.Project{}, askErr
		case !ofAll && name == "":
			return list[0], nil
		case !ofAll:
			err = fmt.Errorf("%w: the API key is one of the project %q; use a key of the other one or of the installation", ErrUnauthorized, list[0].Name)
		}
	}
	return checks.Project{}, fmt.Errorf("client: get project %q: %w", name, err)
}

// ofInstallation reports whether the key is one of the installation: the server then asks for the project of a request.
func (p *Projects) ofInstallation(ctx context.Context) (bool, error) {
	_, err := p.client().Channels(ctx)
	if field, ok := errors.AsType[*checks.FieldError](err); ok && field.Field == "project" {
		return true, nil
	}
	return false, err
}

// Kinds returns the kinds of channels that the server knows, as [Client.ChannelKinds] does, without the rules of the server.
func (p *Projects) Kinds(ctx context.Context) ([]channels.Type, error) {
	kinds, err := p.client().ChannelKinds(ctx)
	types := make([]channels.Type, len(kinds))
	for i, k := range kinds {
		types[i] = channels.Type{
			Kind: channels.Kind(k.Kind), Title: k.Title, Category: channels.Category(k.Category), Privileged: k.Privileged, Doc: k.Doc, Setup: k.Setup,
		}
		for _, s := range k.Settings {
			types[i].Settings = append(types[i].Settings, channels.Setting{
				Name: s.Name, Doc: s.Doc, Required: s.Required, Primary: s.Primary, Secret: s.Secret, Default: s.Default, Options: s.Options, Lines: s.Lines,
				Subscription: s.NeedsBrowser, KeepsSecrets: s.KeepsSecrets,
			})
		}
	}
	return types, err
}

func projectOf(d wire.Project) (checks.Project, error) {
	id, err := idOf("project", d.ID)
	storm := gate.Storm{Checks: d.StormChecks, Window: time.Duration(d.StormWindow) * time.Second}
	return checks.Project{
		ID: id, Name: d.Name, Account: d.Account, Plan: d.Plan, MaxChecks: d.MaxChecks, PingKey: d.PingKey, Storm: storm,
	}, err
}

// Create creates a project with a read-write and a read-only key. The zero values of spec stand for the defaults of the server. The key
// must be one of the installation. The error is a *[checks.FieldError] for a value that the server refuses, also for First, NoKeys and
// PingKey, which only a monitor knows, and [checks.ErrExists] for a name in use. If no response arrives, the server may still have
// created the project; nobody has its keys then, and rollcall key create makes new ones.
func (p *Projects) Create(ctx context.Context, spec checks.ProjectSpec) (checks.Project, checks.ProjectKeys, error) {
	var keys checks.ProjectKeys
	name := "create project " + strconv.Quote(spec.Name)
	for field, given := range map[string]bool{"first": spec.First, "no-keys": spec.NoKeys, "ping-key": spec.PingKey != ""} {
		if given {
			return checks.Project{}, keys, fmt.Errorf("client: %s: %w", name, &checks.FieldError{Field: field, Reason: "cannot be set: the API does not take it"})
		}
	}
	document := wire.ProjectRequest{Name: &spec.Name}
	if spec.Account != "" {
		document.Account = &spec.Account
	}
	if spec.Plan != "" {
		document.Plan = &spec.Plan
	}
	if spec.MaxChecks != 0 {
		document.MaxChecks = &spec.MaxChecks
	}
	if spec.Storm != (gate.Storm{}) {
		document.StormChecks, document.StormWindow = &spec.Storm.Checks, new(int64(spec.Storm.Window/time.Second))
	}
	created, _, err := do(ctx, p.client(), call{name: name, method: http.MethodPost, path: projectsPath, body: document, causes: exists},
		func(d wire.CreatedProject) (checks.Project, error) {
			if keys = (checks.ProjectKeys{ReadWrite: d.APIKey, ReadOnly: d.APIKeyReadOnly}); keys.ReadWrite == "" {
				return checks.Project{}, errMissing("api_key")
			}
			return projectOf(d.Project)
		})
	return created, keys, err
}

// Update changes a project and returns it. A nil field stays as it is. The error is a *[checks.FieldError] for a value that the server
// refuses, [checks.ErrExists] for a name in use, and [checks.ErrNotFound] if the project does not exist.
func (p *Projects) Update(ctx context.Context, id uuid.UUID, change checks.ProjectUpdate) (checks.Project, error) {
	document := wire.ProjectRequest{Name: change.Name, StormChecks: change.StormChecks}
	if window := change.StormWindow; window != nil {
		if *window%time.Second != 0 {
			return checks.Project{}, &checks.FieldError{Field: "storm_window", Reason: fmt.Sprintf("is not a whole number of seconds: %v", *window)}
		}
		document.StormWindow = new(int64(*window / time.Second))
	}
	return p.change(ctx, call{
		name: "change project " + id.String(), method: http.MethodPut, path: projectsPath + id.String(), body: document,
		idempotent: true, causes: exists,
	})
}

// RotatePingKey gives a project another ping key and returns the project. The server refuses pings by slug with the old key at
// once. The error is [checks.ErrNotFound] if the project does not exist.
func (p *Projects) RotatePingKey(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return p.change(ctx, call{
		name: "rotate the ping key of project " + id.String(), method: http.MethodPost, path: projectsPath + id.String() + "/ping-key",
	})
}

// Delete deletes a project with its checks, keys, channels and status pages for good. The error is [checks.ErrNotFound] if the project
// does not exist.
func (p *Projects) Delete(ctx context.Context, id uuid.UUID) error {
	_, err := p.change(ctx, call{name: "delete project " + id.String(), method: http.MethodDelete, path: projectsPath + id.String()})
	return err
}

// change makes a call whose response is a project.
func (p *Projects) change(ctx context.Context, k call) (checks.Project, error) {
	project, _, err := do(ctx, p.client(), k, projectOf)
	return project, err
}
