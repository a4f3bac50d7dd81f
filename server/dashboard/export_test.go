package dashboard

import "github.com/google/uuid"

// ForgetKeys ends the time for which the keys of a project are kept, and whether sessions have ended.
func ForgetKeys(d *Dashboard, project uuid.UUID) {
	d.sessions.Forget(project)
}

// Patterns returns the methods and paths of all pages.
func Patterns(d *Dashboard) []string { return d.site.Patterns }
