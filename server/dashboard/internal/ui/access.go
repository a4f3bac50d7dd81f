package ui

import (
	"errors"

	"github.com/google/uuid"
)

// ErrSignedOut is the error of [Site].Authorize for a request of somebody who is not signed in.
var ErrSignedOut = errors.New("dashboard: nobody is signed in")

// Access says what a viewer may see and change. [Site].Authorize returns it for each request.
type Access struct {
	// Name is shown as that of the viewer, such as an e-mail address. It may be empty.
	Name string
	// Projects are the projects that the viewer may see, in the order in which pages list them.
	Projects []ProjectAccess

	Keys map[uuid.UUID]uuid.UUID // the API key for each project, if the viewer has signed in with keys
}

// ProjectAccess says what a viewer may do in one project.
type ProjectAccess struct {
	ProjectID uuid.UUID
	// Edit allows changes. Without it, the viewer only looks, and sees no identifiers or addresses that take pings.
	Edit bool
}

// Project returns the access to a project, and whether there is any.
func (a Access) Project(id uuid.UUID) (ProjectAccess, bool) {
	for _, p := range a.Projects {
		if p.ProjectID == id {
			return p, true
		}
	}
	return ProjectAccess{}, false
}

// countedBy is whose pages of a project count together.
type countedBy struct {
	project, key uuid.UUID
	name         string
}
