package lists

import (
	"cmp"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
)

// The vertical places in a lane, in pixels. Counts stand above the marks.
const (
	laneHeight = 36
	laneMiddle = 21
	textBase   = 10
)

// drawing writes SVG. Positions along the axis are percentages, so that a lane fits any width without distortion.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.Builder, format, args...) }

// p writes a percentage.
func p(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "%" }

// rect draws a bar around the middle of a lane.
func (d *drawing) rect(class string, x, w float64, y, height int) {
	d.add(`<rect class="%s" x="%s" y="%d" width="%s" height="%d" rx="2"/>`, class, p(x), y, p(w), height)
}

// Line is the SVG of a lane.
func (l boardLane) Line() template.HTML {
	var d drawing
	d.add(`<svg class="line" width="100%%" height="%d" aria-hidden="true" focusable="false">`, laneHeight)
	for _, w := range l.maintenance {
		for _, span := range w.Spans(l.axis.From, l.axis.To) {
			from := l.axis.X(span.Start)
			d.add(`<g class="window"><title>%s</title><rect x="%s" width="%s" height="%d"/></g>`,
				template.HTMLEscapeString(l.windowWords(w, span)), p(from), p(l.axis.X(span.End)-from), laneHeight)
		}
	}
	if l.Known > 0 {
		d.add(`<g class="m unknown"><title>The log begins %s</title><line x1="0" x2="%s" y1="%d" y2="%d"/></g>`,
			template.HTMLEscapeString(l.moment(l.Since)), p(l.Known), laneMiddle, laneMiddle)
	}
	if note := l.note(); note != "" {
		d.add(`<text class="note" x="100%%" y="%d">%s</text>`, laneMiddle+4, template.HTMLEscapeString(note))
	}
	for _, m := range l.Marks {
		d.add(`<g class="m %s">`, m.Kind)
		n := pingOf(m)
		if n > 0 { // the lane is one stop of the keyboard, and its arrows choose a mark
			d.add(`<a href="%s/pings/%d" tabindex="-1">`, l.path, n)
		}
		d.mark(m)
		if n > 0 && m.Bad > 0 {
			d.add(`<rect class="hit" x="%s" width="2" height="%d"/>`, p(m.X), laneHeight) // easier to hit
		}
		if n > 0 {
			d.add(`</a>`)
		}
		d.add(`<title>%s</title></g>`, template.HTMLEscapeString(l.detail(m)))
	}
	d.add(`</svg>`)
	return template.HTML(d.String())
}

// pingOf returns the number of the ping with the output of a mark's run, or 0. Of several runs it is that of a failure.
func pingOf(m board.Mark) int64 {
	if m.Count > 1 && m.Bad == 0 || m.Kind == board.Band {
		return 0
	}
	return cmp.Or(m.Run.EndN, m.Run.StartN)
}

// mark draws a mark.
func (d *drawing) mark(m board.Mark) {
	y, height := laneMiddle-6, 12
	switch m.Rows {
	case 2:
		y, height = laneMiddle-8+9*m.Row, 7
	case 3:
		y, height = laneMiddle-9+7*m.Row, 5
	}
	switch m.Kind {
	case board.Failed: // taller, so that it differs not only in colour
		y, height = y-2, height+4
		if m.Of > 1 { // as tall as the share of failures
			share := 6 + 6*m.Bad/m.Of
			y, height = laneMiddle+6-share, share
		}
		d.rect("bar", m.X, m.W, y, height)
	case board.Slow:
		d.rect("bar", m.X, m.W, y, height)
		d.rect("over", m.Limit, m.X+m.W-m.Limit, y+height+1, 2)
	case board.Running:
		d.rect("bar", m.X, m.W, y, height)
		d.add(`<svg x="%s" y="%d" class="at"><path d="M-4-4 2 0-4 4z"/></svg>`, p(m.X+m.W), y+height/2)
	case board.Overrun:
		d.rect("bar", m.X, m.W, y, height)
		d.wait(m.X+m.W, m.Wait, y+height/2)
	case board.Missed:
		d.missed(m)
	case board.Expected:
		d.add(`<circle cx="%s" cy="%d" r="3"/>`, p(m.X), laneMiddle)
	case board.Band:
		d.rect("bar", m.X, m.W, y, height)
		text := prose.Count(m.Count, "run")
		if m.Bad > 0 {
			text += fmt.Sprintf(", %d failed", m.Bad)
		}
		d.text(m, text)
	case board.Many:
		d.rect("bar", m.X, m.W, laneMiddle-2, 4)
		text := fmt.Sprintf("%d expected", m.Count)
		if m.More {
			text = "over " + text
		}
		d.text(m, text)
	default:
		d.rect("bar", m.X, m.W, y, height)
	}
}

// missed draws runs that are missing.
func (d *drawing) missed(m board.Mark) {
	d.wait(m.X, m.Wait, laneMiddle)
	d.add(`<svg x="%s" y="%d" class="at"><path d="M0-7 6.5 5h-13z"/></svg>`, p(max(m.X, .7)), laneMiddle)
	if m.Count <= 1 {
		return
	}
	class := "number"
	if m.X > 30 { // on a narrow axis, the words about the future are close
		class += " roomy"
	}
	text := fmt.Sprintf("%d missing", m.Count)
	if m.More {
		text = "over " + text
	}
	d.add(`<text class="%s" x="%s" dx="8" y="%d">%s</text>`, class, p(m.X), textBase, text)
}

// wait draws the dotted line of a wait.
func (d *drawing) wait(from, to float64, y int) {
	if to > from {
		d.add(`<line class="wait" x1="%s" x2="%s" y1="%d" y2="%d"/>`, p(from), p(to), y, y)
	}
}

// text writes words above the end of a mark that is long enough.
func (d *drawing) text(m board.Mark, text string) {
	class := "words"
	switch {
	case m.W < 9:
		return
	case m.W < 35:
		class = "words roomy"
	}
	d.add(`<text class="%s" x="%s" dx="-4" y="%d">%s</text>`, class, p(m.X+m.W), textBase, text)
}

// Ruling is the SVG behind all lanes: hours, days, changes of the clock, the future and now.
func (v boardView) Ruling() template.HTML {
	var d drawing
	d.add(`<svg width="100%%" height="100%%" aria-hidden="true" focusable="false">`)
	line := func(class string, x float64) {
		d.add(`<line class="%s" x1="%s" x2="%s" y1="0" y2="100%%"/>`, class, p(x), p(x))
	}
	for _, t := range v.Axis.Ticks {
		if t.Day {
			line("midnight", t.X)
		} else {
			line("hour", t.X)
		}
	}
	for _, c := range v.Axis.Changes {
		line("change", c.X)
	}
	if v.Axis.Past() {
		line("at", 50)
	}
	if now := v.Axis.X(v.Axis.Now); now < 100 {
		d.add(`<rect class="future" x="%s" width="%s" height="100%%"/>`, p(now), p(100-now))
		line("now", now)
	}
	d.add(`</svg>`)
	return template.HTML(d.String())
}

// densityHeight is the height of the strip in pixels.
const densityHeight = 24

// Busy is the SVG that shows how many runs begin when.
func (v boardView) Busy() template.HTML {
	peak, most := v.Density.Peak()
	if most < 2 {
		return ""
	}
	l := boardLane{axis: v.Axis}
	var d drawing
	d.add(`<svg class="density" width="100%%" height="%d" aria-hidden="true" focusable="false">`, densityHeight)
	for i, n := range v.Density.Counts {
		if n == 0 {
			continue
		}
		from, to := v.Density.Part(i)
		x := v.Axis.X(from)
		height := max(densityHeight*n/most, 1)
		class := "b"
		if n == most && i == peak {
			class = "b peak"
		}
		d.add(`<rect class="%s" x="%s" y="%d" width="%s" height="%d"><title>%s: %s</title></rect>`,
			class, p(x), densityHeight-height, p(v.Axis.X(to)-x), height, l.between(from, to), many(n, "run begins", "runs begin"))
	}
	d.add(`</svg>`)
	return template.HTML(d.String())
}

// Busiest says in words when most runs begin, or is "".
func (v boardView) Busiest() string {
	part, runs := v.Density.Peak()
	if runs < 2 {
		return ""
	}
	from, to := v.Density.Part(part)
	return fmt.Sprintf("%d runs begin %s", runs, boardLane{axis: v.Axis}.moments(from, to))
}

// Labels is the SVG of the axis.
func (v boardView) Labels() template.HTML {
	var d drawing
	height := 28
	if len(v.Axis.Changes) > 0 {
		height = 44
	}
	d.add(`<svg class="labels" width="100%%" height="%d" aria-hidden="true" focusable="false">`, height)
	for _, t := range v.Axis.Ticks {
		class := "t"
		for _, size := range []struct {
			room bool
			name string
		}{{t.Wide, " w"}, {t.Middle, " m"}, {t.Narrow, " n"}, {t.Day && v.Query.Span != "7d", " day"}} {
			if size.room {
				class += size.name
			}
		}
		if class != "t" && class != "t day" {
			d.add(`<text class="%s" x="%s" y="18">%s</text>`, class, p(t.X), t.Label)
		}
	}
	for _, c := range v.Axis.Changes {
		class, text := "", "clocks go forward "
		if c.Back {
			text = "clocks go back "
		}
		if c.X < 30 {
			class = " left"
		} else if c.X > 70 {
			class = " right"
		}
		d.add(`<text class="clock%s" x="%s" y="36">%s</text>`, class, p(c.X), text+c.Before+"→"+c.After)
	}
	middle := "now"
	if v.Axis.Past() {
		middle = v.Axis.Format(v.Axis.At, "15:04")
	}
	d.add(`<svg x="50%%" class="at pill"><rect x="-22" y="5" width="44" height="18" rx="9"/><text y="18">%s</text></svg></svg>`, middle)
	return template.HTML(d.String())
}

// Changed says in words when the clocks change.
func (v boardView) Changed() (texts []string) {
	for _, c := range v.Axis.Changes {
		way := "forward"
		if c.Back {
			way = "back"
		}
		texts = append(texts, fmt.Sprintf("Clocks go %s from %s to %s on %s", way, c.Before, c.After, c.At.Format("Monday 2 January")))
	}
	return texts
}
