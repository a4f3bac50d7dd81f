package statuspage

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	dayStep   = 8 // the width of a day with the gap after it
	dayWidth  = 6
	barHeight = 28
	leastPart = 7 // the least height of a part, so that a minute of downtime can be seen
	stub      = 3 // the height of an unwatched day
)

// bar draws days from left to right. The height of a day is the part of it that was watched, and red from the bottom is
// the part of that in which the check was down. A day that was not watched is a stub. Days with nothing to tell are one
// path, and the others have a title. Time down for maintenance is as if not watched, but has a title.
func bar(list []day) template.HTML {
	var whole, stubs, others strings.Builder
	for n, d := range list {
		x := n * dayStep
		switch {
		case d.watched() == 0 && d.maintained == 0:
			fmt.Fprintf(&stubs, "M%d %dh%dv%dh-%dz", x, barHeight-stub, dayWidth, stub, dayWidth)
		case d.up == d.length():
			fmt.Fprintf(&whole, "M%d 0h%dv%dh-%dz", x, dayWidth, barHeight, dayWidth)
		default:
			others.WriteString(dayParts(x, d))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="bar" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`,
		len(list)*dayStep-dayStep+dayWidth, barHeight, template.HTMLEscapeString(barText(list)))
	if whole.Len() > 0 {
		fmt.Fprintf(&out, `<path class="u" d="%s"/>`, whole.String())
	}
	if stubs.Len() > 0 {
		fmt.Fprintf(&out, `<path class="n" d="%s"/>`, stubs.String())
	}
	out.WriteString(others.String())
	out.WriteString("</svg>")
	return template.HTML(out.String())
}

// dayParts draws a day of which a part was not watched or down.
func dayParts(x int, d day) string {
	height := max(leastPart, int(barHeight*d.watched()/d.length()))
	red := 0
	if d.down > 0 {
		red = max(leastPart, int(time.Duration(height)*d.down/d.watched()))
	}
	var out strings.Builder
	fmt.Fprintf(&out, "<g><title>%s: %s</title>", dateText(d.date), dayText(d))
	if d.watched() == 0 {
		height = 0
		fmt.Fprintf(&out, `<path class="n" d="M%d %dh%dv%dh-%dz"/>`, x, barHeight-stub, dayWidth, stub, dayWidth)
	}
	if green := height - red; green > 0 {
		fmt.Fprintf(&out, `<path class="u" d="M%d %dh%dv%dh-%dz"/>`, x, barHeight-height, dayWidth, green, dayWidth)
	}
	if red > 0 {
		fmt.Fprintf(&out, `<path class="d" d="M%d %dh%dv%dh-%dz"/>`, x, barHeight-red, dayWidth, red, dayWidth)
	}
	out.WriteString("</g>")
	return out.String()
}

// dayText says how a check spent a day.
func dayText(d day) string {
	if d.unwatched == d.length() {
		return "not monitored"
	}
	var parts []string
	if d.up > 0 {
		parts = append(parts, "up "+prose.Duration(d.up))
	}
	if d.down > 0 {
		parts = append(parts, "down "+prose.Duration(d.down))
	}
	if d.maintained > 0 {
		parts = append(parts, "down for maintenance "+prose.Duration(d.maintained))
	}
	if d.unwatched > 0 {
		parts = append(parts, "not monitored "+prose.Duration(d.unwatched))
	}
	return strings.Join(parts, ", ")
}

// namedDays is how many days barText names.
const namedDays = 5

// barText says in words what the bar shows, the latest days first: "Since 24 Aug: down on 2 days (22 Nov for 41 min, …)."
func barText(list []day) string {
	var bad []string
	idle := 0
	for _, d := range slices.Backward(list) {
		if d.down > 0 {
			bad = append(bad, dateText(d.date)+" for "+prose.Duration(d.down))
		}
		if d.watched() == 0 && d.maintained == 0 {
			idle++
		}
	}
	text := "Since " + dateText(list[0].date) + ": "
	switch {
	case idle == len(list):
		return text + "not monitored."
	case len(bad) == 0:
		text += "never down"
	case len(bad) > namedDays:
		text += fmt.Sprintf("down on %d days (%s, …)", len(bad), strings.Join(bad[:namedDays], ", "))
	default:
		text += fmt.Sprintf("down on %s (%s)", prose.Count(len(bad), "day"), strings.Join(bad, ", "))
	}
	if idle > 0 {
		text += ", not monitored on " + prose.Count(idle, "day")
	}
	return text + "."
}

func dateText(t time.Time) string { return t.Format("2 Jan") }
