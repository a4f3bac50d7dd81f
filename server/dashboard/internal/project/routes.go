// Package project has the other pages of a project: settings, escalation policy, badges, status pages, maintenance and imports.
package project

import (
	"embed"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, nil)

	s.Look("GET /projects/{project}/settings", settingsPage)
	s.Own("POST /projects/{project}/settings", renameProject)
	s.Own("POST /projects/{project}/grouping", saveGrouping)
	s.Look("GET /projects/{project}/escalation", escalationPage)
	s.Own("POST /projects/{project}/escalation", saveEscalation)
	s.Change("GET /projects/{project}/export", export)
	s.Own("GET /projects/{project}/delete", deleteProjectPage)
	s.Own("POST /projects/{project}/delete", deleteProject)

	s.Look("GET /projects/{project}/badges", badgesPage)

	s.Look("GET /projects/{project}/status", statusPagesPage)
	s.Change("GET /projects/{project}/status/{page}", ui.OrNew("page", newStatusPagePage, statusPagePage))
	s.Change("POST /projects/{project}/status/{page}", saveStatusPage)
	s.Change("GET /projects/{project}/status/{page}/delete", deleteStatusPagePage)
	s.Change("POST /projects/{project}/status/{page}/delete", deleteStatusPage)

	s.Look("GET /projects/{project}/maintenance", windowsPage)
	s.Change("POST /projects/{project}/maintenance", addWindow)
	s.Change("POST /projects/{project}/maintenance/{window}/end", endWindow)
	s.Change("POST /checks/{check}/snooze", snoozeCheck)

	s.Change("GET /projects/{project}/import", importPage)
	s.Change("POST /projects/{project}/import", planImport)
}
