// Package forms has the form of a check, and the pages that ask before an action.
package forms

import (
	"embed"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, nil)

	s.Change("GET /projects/{project}/checks/new", newCheckPage)
	s.Change("POST /projects/{project}/checks/new", createCheck)
	s.Change("GET /checks/{check}/edit", editPage)
	s.Change("POST /checks/{check}/edit", saveCheck)
	s.Change("GET /checks/{check}/copy", copyPage)
	s.Change("POST /projects/{project}/preview/{part}", preview)
	for name, action := range checkActions {
		s.Change("GET /checks/{check}/"+name, action.ask)
		s.Change("POST /checks/{check}/"+name, action.take)
	}
}
