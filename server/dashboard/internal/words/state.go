package words

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// State is the word for a status that pages show: grace is late, as on badges.
func State(s checks.Status) string {
	if s == checks.StatusGrace {
		return "late"
	}
	return string(s)
}

// shapes are the shapes of the states: disc up, half disc late, triangle down, dashed ring new, bars paused.
var shapes = map[string]template.HTML{
	"up":     `<circle cx="7" cy="7" r="5" fill="currentColor"/>`,
	"late":   `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M7 2.5a4.5 4.5 0 0 1 0 9z" fill="currentColor"/>`,
	"down":   `<path d="M7 1.5 13 12.5H1z" fill="currentColor"/>`,
	"new":    `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6"/>`,
	"idle":   `<circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" stroke-dasharray="2.2 1.6"/>`,
	"paused": `<path d="M3.5 2.5h2.4v9H3.5zM8.1 2.5h2.4v9H8.1z" fill="currentColor"/>`,
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

// Clock is a time element with date and time of day in the viewer's zone, and after it the time of day in the zone of the
// check that it is about, where that differs.
func Clock(t time.Time, viewer, own *time.Location) template.HTML {
	if t.IsZero() {
		return "–"
	}
	text := verdict.Format(t.In(viewer), "2 Jan 2006 15:04:05") + zoneOf(t, viewer)
	html := `<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + template.HTMLEscapeString(text) + `</time>`
	if there := Beside(t, viewer, own); there != "" {
		html += ` <span class="own">` + template.HTMLEscapeString(there) + `</span>`
	}
	return template.HTML(html)
}

// Beside says in parentheses what the clock of a check shows at a time that stands in the viewer's zone: "(02:05 New York)",
// with the date if that is another one, "(25 Nov 02:05 Auckland)". It is "" if the viewer's clock shows the same.
func Beside(t time.Time, viewer, own *time.Location) string {
	here, there := t.In(viewer), t.In(own)
	if here.Format("2 15:04") == there.Format("2 15:04") {
		return ""
	}
	layout := "15:04"
	if here.Day() != there.Day() {
		layout = "2 Jan 15:04"
	}
	return "(" + verdict.Format(t.In(verdict.LikeClock(own, viewer)), layout) + zoneOf(t, own) + " " + City(own) + ")"
}

// zoneOf is the abbreviation of a zone, after a blank, at a time of day that comes twice because clocks are set back.
func zoneOf(t time.Time, zone *time.Location) string {
	return strings.TrimPrefix(verdict.Time(t, t, zone), verdict.Format(t.In(zone), "15:04"))
}

// City is the part of the name of a time zone that people say: "New York", "UTC".
func City(zone *time.Location) string {
	name := zone.String()
	return strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
}
