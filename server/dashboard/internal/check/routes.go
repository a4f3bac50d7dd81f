// Package check has the page of one check: its verdict, history, log and pings.
package check

import (
	"embed"
	"html/template"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, template.FuncMap{"mark": mark, "bytes": bytesText, "lag": lag})

	s.Look("GET /projects/{project}/rehearsal", projectRehearsal)
	s.Look("GET /checks/{check}", checkPage)
	s.Change("POST /checks/{check}/test", testPing)
	s.Look("GET /checks/{check}/pings/{number}", bodyPage)
	s.Look("GET /checks/{check}/pings/{number}/raw", rawBody)
}
