package integrations

import "html/template"

// sentMarks are the shapes of the states of deliveries: a tick, a cross, a dotted ring for what is to come, a dash.
var sentMarks = map[string]template.HTML{
	"sent":     `<path d="M2.5 7.5l3 3 6-7" fill="none" stroke="currentColor" stroke-width="1.8"/>`,
	"failed":   `<path d="M3 3l8 8M11 3l-8 8" fill="none" stroke="currentColor" stroke-width="1.8"/>`,
	"retrying": `<path d="M11.5 7A4.5 4.5 0 1 1 9.8 3.5M10 1v3H7" fill="none" stroke="currentColor" stroke-width="1.6"/>`,
	"replaced": `<path d="M3 7h8" stroke="currentColor" stroke-width="1.8"/>`,
	"skipped":  `<path d="M3 7h8" stroke="currentColor" stroke-width="1.8"/>`,
	"":         `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6"/>`,
}

// warnMark is the shape of a warning.
func warnMark() template.HTML {
	return `<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="M7 1 13 7 7 13 1 7z" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M7 4.2v3.4M7 9v1.2" stroke="currentColor" stroke-width="1.6"/></svg> `
}

// sentMark is the shape of a delivery's state; see [deliveryRow].Word.
func sentMark(word string) template.HTML {
	shape, ok := sentMarks[word]
	if !ok {
		shape = sentMarks[""]
	}
	return `<svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">` + shape + `</svg>`
}
