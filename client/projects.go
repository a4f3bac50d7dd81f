package client

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
)

const projectsPath = "/api/v3/projects/"

// Keys are the API keys of a new project. The server shows them once.
type Keys struct {
	ReadWrite string
	ReadOnly  string
}

// Projects returns all projects if the key is one of the installation, or else the project of the key. The key must have
// the scope admin.
func (c *Client) Projects(ctx context.Context) ([]checks.Project, error) {
	return get(ctx, c.Project(uuid.Nil), "list projects", projectsPath, func(d wire.Projects) ([]checks.Project, error) {
		return each("projects", d.Projects, projectOf)
	})
}

// ProjectByID returns a project. The key must have the scope admin. The error is [checks.ErrNotFound] if the project does
// not exist, and [ErrUnauthorized] if it is not that of the key.
func (c *Client) ProjectByID(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return get(ctx, c.Project(uuid.Nil), "get project "+id.String(), projectsPath+id.String(), projectOf)
}

func projectOf(d wire.Project) (checks.Project, error) {
	id, err := idOf("project", d.ID)
	storm := gate.Storm{Checks: d.StormChecks, Window: time.Duration(d.StormWindow) * time.Second}
	return checks.Project{
		ID: id, Name: d.Name, Account: d.Account, Plan: d.Plan, MaxChecks: d.MaxChecks, PingKey: d.PingKey, Storm: storm,
	}, err
}

// CreateProject creates a project with the name, account, plan, check limit and Storm of project, and a read-write and a
// read-only key. The zero values stand for the defaults of the server. The key must be one of the installation. The error is
// a *[checks.FieldError] for a value that the server refuses, and [checks.ErrExists] for a name in use. If no response
// arrives, the server may still have created the project; nobody has its keys then, and rollcall key create makes new ones.
func (c *Client) CreateProject(ctx context.Context, project checks.Project) (checks.Project, Keys, error) {
	document := wire.ProjectRequest{Name: &project.Name}
	if project.Account != "" {
		document.Account = &project.Account
	}
	if project.Plan != "" {
		document.Plan = &project.Plan
	}
	if project.MaxChecks != 0 {
		document.MaxChecks = &project.MaxChecks
	}
	if project.Storm != (gate.Storm{}) {
		document.StormChecks, document.StormWindow = &project.Storm.Checks, new(int64(project.Storm.Window/time.Second))
	}
	var keys Keys
	created, _, err := do(ctx, c.Project(uuid.Nil), call{
		name: "create project " + strconv.Quote(project.Name), method: http.MethodPost, path: projectsPath, body: document, causes: exists,
	}, func(d wire.CreatedProject) (checks.Project, error) {
		if keys = (Keys{d.APIKey, d.APIKeyReadOnly}); keys.ReadWrite == "" {
			return checks.Project{}, errMissing("api_key")
		}
		return projectOf(d.Project)
	})
	return created, keys, err
}

// RenameProject changes the name of a project. The key must have the scope admin. The error is a *[checks.FieldError] for
// a name that the server refuses, [checks.ErrExists] for one in use, and [checks.ErrNotFound] if the project does not exist.
func (c *Client) RenameProject(ctx context.Context, id uuid.UUID, name string) (checks.Project, error) {
	return c.UpdateProject(ctx, id, checks.ProjectUpdate{Name: &name})
}

// UpdateProject changes a project and returns it. A nil field stays as it is. The key must have the scope admin. The
// errors are those of RenameProject.
func (c *Client) UpdateProject(ctx context.Context, id uuid.UUID, change checks.ProjectUpdate) (checks.Project, error) {
	document := wire.ProjectRequest{Name: change.Name, StormChecks: change.StormChecks}
	if window := change.StormWindow; window != nil {
		if *window%time.Second != 0 {
			return checks.Project{}, &checks.FieldError{Field: "storm_window", Reason: fmt.Sprintf("is not a whole number of seconds: %v", *window)}
		}
		document.StormWindow = new(int64(*window / time.Second))
	}
	changed, _, err := do(ctx, c.Project(uuid.Nil), call{
		name: "change project " + id.String(), method: http.MethodPut, path: projectsPath + id.String(), body: document,
		idempotent: true, causes: exists,
	}, projectOf)
	return changed, err
}

// RotatePingKey gives a project another ping key and returns the project. The server refuses pings by slug with the old key at
// once. The key must have the scope admin. The error is [checks.ErrNotFound] if the project does not exist.
func (c *Client) RotatePingKey(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	project, _, err := do(ctx, c.Project(uuid.Nil), call{
		name: "rotate the ping key of project " + id.String(), method: http.MethodPost, path: projectsPath + id.String() + "/ping-key",
	}, projectOf)
	return project, err
}

// DeleteProject deletes a project with its checks, keys, channels and status pages for good. The key must have the scope
// admin. The error is [checks.ErrNotFound] if the project does not exist.
func (c *Client) DeleteProject(ctx context.Context, id uuid.UUID) error {
	_, _, err := do(ctx, c.Project(uuid.Nil), call{name: "delete project " + id.String(), method: http.MethodDelete, path: projectsPath + id.String()}, projectOf)
	return err
}
