package words

import (
	"fmt"
	"html/template"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// State is the word for a status that pages show: grace is late, as on badges.
func State(s checks.Status) string {
	if s == checks.StatusGrace {
		return "late"
	}
	return string(s)
}

// shapes are the shapes of the states: disc up, half disc late, triangle down, dashed ring new, bars paused, ring
// with a bar maintenance, which only status pages have.
var shapes = map[string]template.HTML{
	"up":          `<circle cx="7" cy="7" r="5" fill="currentColor"/>`,
	"late":        `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M7 2.5a4.5 4.5 0 0 1 0 9z" fill="currentColor"/>`,
	"down":        `<path d="M7 1.5 13 12.5H1z" fill="currentColor"/>`,
	"new":         `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6"/>`,
	"idle":        `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6"/>`,
	"maintenance": `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M4.5 7h5" stroke="currentColor" stroke-width="1.6"/>`,
	"paused":      `<path d="M3.5 2.5h2.4v9H3.5zM8.1 2.5h2.4v9H8.1z" fill="currentColor"/>`,
}

// Shape is the shape of a state, for an image of 14 by 14. The word is that of [State], or idle.
func Shape(word string) template.HTML { return shapes[word] }

// Glyph is the shape of a state, in its colour, for an eye that reads the word elsewhere. The word is that of [State].
func Glyph(word string) template.HTML {
	return `<svg class="st ` + template.HTML(word) + `" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">` + shapes[word] + `</svg>`
}

// Mark is the shape and the word of a status.
func Mark(s checks.Status) template.HTML {
	word := State(s)
	return `<span class="st ` + template.HTML(word) + `">` + Glyph(word) + template.HTML(word) + `</span>`
}

// Ago is a time element that says how far an instant is from now: "3 min ago", "in 19 min". A script of ours keeps it
// current and adds the full time in the viewer's zone. It is "never" for the zero time.
func Ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return template.HTML(`<time data-ago datetime="` + t.UTC().Format(time.RFC3339) + `">` + AgoText(t, now) + `</time>`)
}

// For is a time element that says how long ago an instant is: "15 h". A script of ours keeps it current.
func For(t, now time.Time) template.HTML {
	return template.HTML(`<time data-for datetime="` + t.UTC().Format(time.RFC3339) + `">` + ForText(t, now) + `</time>`)
}

// ForText is the text of [For].
func ForText(t, now time.Time) string { return Rough(max(now.Sub(t), 0)) }

// AgoText is the text of [Ago].
func AgoText(t, now time.Time) string {
	if t.After(now) {
		return "in " + Rough(t.Sub(now))
	}
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return Rough(now.Sub(t)) + " ago"
}

// Rough writes a duration with its largest unit: "41 s", "3 min", "2 h", "9 days".
func Rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	}
	return fmt.Sprintf("%d days", int(d/(24*time.Hour)))
}
