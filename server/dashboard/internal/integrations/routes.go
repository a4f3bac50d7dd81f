// Package integrations has the pages of integrations and of the deliveries of alerts.
package integrations

import (
	"embed"
	"html/template"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

//go:embed templates/*.html
var templates embed.FS

// Register adds the pages to a site.
func Register(s *ui.Site) {
	s.AddTemplates(templates, template.FuncMap{"sentMark": sentMark, "warn": warnMark})

	s.Look("GET /projects/{project}/integrations", integrationsPage)
	s.Change("GET /projects/{project}/integrations/{channel}", ui.OrNew("channel", newIntegrationPage, integrationPage))
	s.Change("POST /projects/{project}/integrations/{channel}", ui.OrNew("channel", createIntegration, saveIntegration))
	s.Change("GET /projects/{project}/integrations/{channel}/assign", usePage)
	s.Change("POST /projects/{project}/integrations/{channel}/assign", useIntegration)
	s.Change("GET /projects/{project}/integrations/{channel}/delete", deleteIntegrationPage)
	s.Change("POST /projects/{project}/integrations/{channel}/delete", deleteIntegration)

	s.Look("GET /projects/{project}/history", historyPage)
	s.Look("GET /projects/{project}/deliveries", deliveriesPage)
	s.Change("POST /projects/{project}/deliveries/retry", retryDelivery)
	s.Change("GET /projects/{project}/deliveries/retry-failed", retryFailedPage)
	s.Change("POST /projects/{project}/deliveries/retry-failed", retryFailed)
}
