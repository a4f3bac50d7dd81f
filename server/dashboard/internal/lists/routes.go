// Package lists is the room of the list of checks and of the board.
package lists

import (
	"embed"
	"html/template"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages of the room.
func Register(s *ui.Site) {
	s.AddTemplates(templates, template.FuncMap{"rows": tableRows})

	s.Look("GET /projects/{project}/", checksPage)
	s.Change("POST /projects/{project}/bulk", bulk)

	s.Look("GET /projects/{project}/board", new(boardCache).boardPage)
}
