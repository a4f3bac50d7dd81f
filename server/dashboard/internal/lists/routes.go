// Package lists has the list of checks and the board.
package lists

import (
	"embed"
	"html/template"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, template.FuncMap{"rows": tableRows})

	s.Look("GET /projects/{project}/", checksPage)
	s.Change("POST /projects/{project}/bulk", bulk)
	s.Change("POST /projects/{project}/bulk/edit", bulkSave)
	s.Change("POST /projects/{project}/bulk/delete", bulkDelete)

	s.Look("GET /projects/{project}/board", new(boardCache).boardPage)
}
