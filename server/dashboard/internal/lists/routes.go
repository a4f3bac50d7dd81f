// Package lists has the list of checks and the board.
package lists

import (
	"embed"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, nil)

	s.Look("GET /projects/{project}/", new(openLists).checksPage)
	s.Look("POST /projects/{project}/view", saveView)
	s.Change("POST /projects/{project}/bulk", bulk)
	s.Change("POST /projects/{project}/bulk/edit", bulkSave)
	s.Change("POST /projects/{project}/bulk/delete", bulkDelete)

	s.Look("GET /projects/{project}/failures", failuresPage)
	s.Look("GET /projects/{project}/board", new(boardCache).boardPage)
}
