package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// listProjects answers GET /api/v3/projects/ with all projects, or with that of the key.
func (c *call) listProjects() error {
	var list []checks.Project
	var err error
	if c.installation {
		list, err = c.mon.Projects().List(c.r.Context())
	} else {
		list = make([]checks.Project, 1)
		list[0], err = c.mon.Projects().ByID(c.r.Context(), c.key.ProjectID)
	}
	if err != nil {
		return err
	}
	document := wire.Projects{Projects: make([]wire.Project, len(list))}
	for i, project := range list {
		document.Projects[i] = projectDocument(project)
	}
	return c.answer(http.StatusOK, document)
}

// getProject answers GET /api/v3/projects/<id>.
func (c *call) getProject() error {
	return c.answer(http.StatusOK, projectDocument(c.project))
}

// createProject answers POST /api/v3/projects/.
func (c *call) createProject() error {
	if !c.installation {
		return errNotInstallation
	}
	wanted, err := requested(c, request.Body.Project)
	if err == nil && wanted.Name == nil {
		err = &checks.FieldError{Field: "name", Reason: "is missing"}
	}
	if err != nil {
		return err
	}
	spec := checks.ProjectSpec{Name: *wanted.Name}
	if wanted.Account != nil {
		spec.Account = *wanted.Account
	}
	if wanted.Plan != nil {
		spec.Plan = *wanted.Plan
	}
	if wanted.MaxChecks != nil {
		spec.MaxChecks = int(*wanted.MaxChecks)
	}
	if wanted.StormChecks != nil || wanted.StormWindow != nil {
		given, err := checks.ProjectUpdate{StormChecks: wanted.StormChecks, StormWindow: wanted.StormWindow}.Of(checks.Project{Storm: gate.DefaultStorm()})
		if err != nil {
			return err
		}
		spec.Storm = given.Storm
	}
	project, keys, err := c.mon.Projects().Create(c.r.Context(), spec)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, wire.CreatedProject{
		Project: projectDocument(project), APIKey: keys.ReadWrite, APIKeyReadOnly: keys.ReadOnly,
	})
}

// updateProject answers PUT /api/v3/projects/<id>.
func (c *call) updateProject() error {
	wanted, err := requested(c, request.Body.Project)
	if err != nil {
		return err
	}
	for _, field := range []struct {
		name  string
		given *string
		is    string
	}{{"account", wanted.Account, c.project.Account}, {"plan", wanted.Plan, c.project.Plan}} {
		if field.given != nil && *field.given != field.is {
			return &checks.FieldError{Field: field.name, Reason: fmt.Sprintf("cannot change: it is %q", field.is)}
		}
	}
	if n := wanted.MaxChecks; n != nil && *n != int64(c.project.MaxChecks) {
		return &checks.FieldError{Field: "max_checks", Reason: fmt.Sprintf("cannot change: it is %d", c.project.MaxChecks)}
	}
	project, err := c.mon.Projects().Update(c.r.Context(), c.project.ID, checks.ProjectUpdate{
		Name: wanted.Name, StormChecks: wanted.StormChecks, StormWindow: wanted.StormWindow,
	})
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, projectDocument(project))
}

// rotatePingKey answers POST /api/v3/projects/<id>/ping-key.
func (c *call) rotatePingKey() error {
	project, err := c.mon.Projects().RotatePingKey(c.r.Context(), c.project.ID)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, projectDocument(project))
}

// deleteProject answers DELETE /api/v3/projects/<id>.
func (c *call) deleteProject() error {
	if err := c.mon.Projects().Delete(c.r.Context(), c.project.ID); err != nil {
		return err
	}
	return c.answer(http.StatusOK, projectDocument(c.project))
}

func projectDocument(p checks.Project) wire.Project {
	return wire.Project{
		ID: p.ID.String(), Name: p.Name, Account: p.Account, Plan: p.Plan, MaxChecks: p.MaxChecks, PingKey: p.PingKey,
		StormChecks: p.Storm.Checks, StormWindow: int64(p.Storm.Window / time.Second),
	}
}
