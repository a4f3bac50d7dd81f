package dashboard

// Patterns returns the methods and paths of all pages.
func Patterns(d *Dashboard) []string { return d.site.Patterns }
