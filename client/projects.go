package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
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
	return checks.Project{ID: id, Name: d.Name, Account: d.Account, Plan: d.Plan, MaxChecks: d.MaxChecks, PingKey: d.PingKey}, err
}

// CreateProject creates a project with the name, account, plan and check limit of project, and a read-write and a
// read-only key. The zero values stand for the defaults of the server. The key must be one of the installation. The error is
// a *[checks.FieldError] for a value that the server refuses, and [checks.ErrExists] for a name in use. If no response
// arrives, the server may still have created the project; nobody has its keys then, and rollcall key create makes new ones.
func (c *Client) CreateProject(ctx context.Context, project checks.Project) (checks.Project, Keys, error) {
	document := wire.ProjectRequest{Name: project.Name}
	if project.Account != "" {
		document.Account = &project.Account
	}
	if project.Plan != "" {
		document.Plan = &project.Plan
	}
	if project.MaxChecks != 0 {
		document.MaxChecks = &project.MaxChecks
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
	renamed, _, err := do(ctx, c.Project(uuid.Nil), call{
		name: "rename project " + id.String(), method: http.MethodPut, path: projectsPath + id.String(), body: wire.ProjectRequest{Name: name},
		idempotent: true, causes: exists,
	}, projectOf)
	return renamed, err
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
