package dashboard

import (
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// ErrSignedOut is the error of Config.Authorize for a request of somebody who is not signed in.
var ErrSignedOut = ui.ErrSignedOut

// Access says what a viewer may see and change. Config.Authorize returns it for each request.
type Access struct {
	// Name is shown as that of the viewer, such as an e-mail address. It may be empty.
	Name string
	// Projects are the projects that the viewer may see, in the order in which pages list them.
	Projects []ProjectAccess
}

// ProjectAccess says what a viewer may do in one project.
type ProjectAccess struct {
	ProjectID uuid.UUID
	// Edit allows changes. Without it, the viewer only looks, and sees no identifiers or addresses that take pings.
	Edit bool
}

func (a Access) internal() ui.Access {
	access := ui.Access{Name: a.Name}
	for _, p := range a.Projects {
		access.Projects = append(access.Projects, ui.ProjectAccess(p))
	}
	return access
}
