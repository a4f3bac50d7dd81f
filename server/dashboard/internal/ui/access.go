package ui

import (
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server"
)

// Access says what a viewer may see and change. [Site].Authorize returns it for each request.
type Access struct {
	server.Access
	Keys map[uuid.UUID]uuid.UUID // the API key for each project, if the viewer has signed in with keys
}

// Project returns the access to a project, and whether there is any.
func (a Access) Project(id uuid.UUID) (server.ProjectAccess, bool) {
	for _, p := range a.Projects {
		if p.ProjectID == id {
			return p, true
		}
	}
	return server.ProjectAccess{}, false
}

// countedBy is whose pages of a project count together.
type countedBy struct {
	project, key uuid.UUID
	name         string
}
