package dashboard

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// funcs are the functions of the templates.
func (d *Dashboard) funcs() template.FuncMap {
	return template.FuncMap{
		"asset":  func(name string) string { return d.assets.paths[name] },
		"state":  stateMark,
		"glyph":  glyph,
		"ago":    ago,
		"took":   verdict.Duration,
		"clock":  clock,
		"title":  documentTitle,
		"icon":   func(p *page) string { return d.assets.paths[iconOf(p.Down, p.Late)] },
		"plural": verdict.Count[int],
		"dict":   dict,
		"join":   strings.Join,
		"name":   words.Name,

		"sentMark": sentMark,
		"kind":     kindMark,
		"bytes":    bytesText,
		"lag":      lag,
		"rows":     tableRows,
	}
}

// zoneCookie has the name of the viewer's time zone, which a script of ours sets.
const zoneCookie = "rollcall_zone"

// zone returns the viewer's time zone: UTC until a script has said which.
func (q *request) zone() *time.Location {
	if c, err := q.r.Cookie(zoneCookie); err == nil && len(c.Value) < 64 {
		if zone, err := schedule.LoadLocation(c.Value); err == nil {
			return zone
		}
	}
	return time.UTC
}

// stateWord is the word for a status that pages show: grace is late, as on badges.
func stateWord(s checks.Status) string {
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
	"paused": `<path d="M3.5 2.5h2.4v9H3.5zM8.1 2.5h2.4v9H8.1z" fill="currentColor"/>`,
}

// glyph is the shape of a state, in its colour, for an eye that reads the word elsewhere. The word is that of stateWord.
func glyph(word string) template.HTML {
	return `<svg class="st ` + template.HTML(word) + `" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">` + shapes[word] + `</svg>`
}

// stateMark is the shape and the word of a status.
func stateMark(s checks.Status) template.HTML {
	word := stateWord(s)
	return `<span class="st ` + template.HTML(word) + `">` + glyph(word) + template.HTML(word) + `</span>`
}

// ago is a time element that says how far an instant is from now: "3 min ago", "in 19 min". A script of ours keeps it
// current and adds the full time in the viewer's zone. It is "never" for the zero time.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return template.HTML(`<time data-ago datetime="` + t.UTC().Format(time.RFC3339) + `">` + agoText(t, now) + `</time>`)
}

func agoText(t, now time.Time) string {
	if t.After(now) {
		return "in " + roughly(t.Sub(now))
	}
	if now.Sub(t) < time.Second {
		return "just now"
	}
	return roughly(now.Sub(t)) + " ago"
}

// roughly writes a duration with its largest unit: "41 s", "3 min", "2 h", "9 days".
func roughly(d time.Duration) string {
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

// clock is a time element with date and time of day in a zone.
func clock(t time.Time, zone *time.Location) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + t.In(zone).Format("2 Jan 2006 15:04:05") + `</time>`)
}

// documentTitle is the title of a page in the browser, which begins with how many checks are down.
func documentTitle(p *page) string {
	parts := []string{p.Title}
	if p.Down > 0 {
		parts = []string{fmt.Sprintf("%d down", p.Down), p.Title}
	}
	if p.HasProject() && p.Title != p.Project.Name {
		parts = append(parts, p.Project.Name)
	}
	return strings.Join(append(parts, "Rollcall"), " · ")
}

// iconOf names the icon for a project with that many checks down and late.
func iconOf(down, late int) string {
	switch {
	case down > 0:
		return "icon-down.svg"
	case late > 0:
		return "icon-late.svg"
	}
	return "icon-up.svg"
}

// dict makes a map for a nested template, from names and values in turn.
func dict(pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: argument %d is not a name", i)
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// kindMark is the word for a kind of pings, in the colour of what it means.
func kindMark(kind pings.Kind) template.HTML {
	class := "idle"
	switch kind {
	case pings.Success:
		class = "up"
	case pings.Fail:
		class = "down"
	}
	return template.HTML(`<span class="st ` + class + `">` + template.HTMLEscapeString(kindWord(kind)) + `</span>`)
}

// bytesText writes a size: "512 bytes", "14 kB", "1.2 MB".
func bytesText(n int64) string {
	switch {
	case n < 1000:
		return verdict.Count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// lag says how long after an event something happened: "2 s later", "at once".
func lag(event, at time.Time) string {
	if d := at.Sub(event); d >= time.Second {
		return verdict.Duration(d) + " later"
	}
	return "immediately"
}
