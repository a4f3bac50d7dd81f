package words

import (
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// Clock is the clock by which a viewer reads times.
type Clock struct {
	Zone *time.Location
	// TwelveHours writes "3:04 pm" in place of "15:04".
	TwelveHours bool
}

// In returns the same clock in another time zone.
func (c Clock) In(zone *time.Location) Clock { return Clock{zone, c.TwelveHours} }

var twelveHours = strings.NewReplacer("15:04:05", "3:04:05 pm", "15:04", "3:04 pm")

// Format is [time.Time.Format] by the clock. The layout has the time of day as 15:04 or 15:04:05.
func (c Clock) Format(t time.Time, layout string) string {
	if c.TwelveHours {
		layout = twelveHours.Replace(layout)
	}
	return t.In(c.Zone).Format(layout)
}

// Text is [verdict.Time] by the clock: "yesterday 03:04".
func (c Clock) Text(t, now time.Time) string {
	v := verdict.Verdict{Now: now, TwelveHours: c.TwelveHours}
	return v.Words(verdict.Part{Kind: verdict.Instant, At: t}, c.Zone)
}

// Reach says by the clock whether alerts arrive at an integration; see [verdict.Reach.Words].
func (c Clock) Reach(r verdict.Reach, now time.Time) string {
	if r.Untried() {
		return "no alert yet"
	}
	v := verdict.Verdict{Now: now, TwelveHours: c.TwelveHours}
	var b strings.Builder
	for _, p := range r.Words() {
		b.WriteString(v.Words(p, c.Zone))
	}
	return prose.Plain(b.String())
}

// instants matches the instants in errors of the monitor.
var instants = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// durations matches the durations in them.
var durations = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+s\b`)

// Spoken writes the instants of an error, such as 2026-11-24T22:00:00Z, by the clock: "25 Nov 2026 00:00". Durations, such as 744h0m0s,
// become words: "31 days".
func (c Clock) Spoken(text string) string {
	text = durations.ReplaceAllStringFunc(text, func(text string) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			return text
		}
		return SpellPeriod(d)
	})
	return instants.ReplaceAllStringFunc(text, func(text string) string {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return text
		}
		return c.Format(t, "2 Jan 2006 15:04") + zoneOf(t, c.Zone)
	})
}

// When is a time element with the words of [Clock.Text]. It is "never" for the zero time.
func (c Clock) When(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "never"
	}
	return element(t, c.Text(t, now))
}

// Stamp is a time element with date and time of day, and after it the time of day in the zone of the check that it is about,
// where that differs. It is "–" for the zero time.
func (c Clock) Stamp(t time.Time, own *time.Location) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return c.dated(t) + c.beside(t, own)
}

// Hour is a time element with the time of day.
func (c Clock) Hour(t time.Time) template.HTML {
	return element(t, c.Format(t, "15:04:05")+zoneOf(t, c.Zone))
}

// dated is a time element with date and time of day.
func (c Clock) dated(t time.Time) template.HTML {
	return element(t, c.Format(t, "2 Jan 2006 15:04:05")+zoneOf(t, c.Zone))
}

// beside is Beside after a blank, or "".
func (c Clock) beside(t time.Time, own *time.Location) template.HTML {
	there := c.Beside(t, own)
	if there == "" {
		return ""
	}
	return template.HTML(` <span class="own">` + template.HTMLEscapeString(there) + `</span>`)
}

// Span is Stamp from one instant to another, whose date stands only if it is another one. One of them may be the zero time.
func (c Clock) Span(from, to time.Time, own *time.Location) template.HTML {
	switch {
	case from.IsZero() || from.Equal(to):
		return c.Stamp(to, own)
	case to.IsZero():
		return c.Stamp(from, own) + " –"
	}
	end := c.Hour(to)
	if from.In(c.Zone).Format(time.DateOnly) != to.In(c.Zone).Format(time.DateOnly) {
		end = c.dated(to)
	}
	return c.dated(from) + " – " + end + c.beside(from, own)
}

// Stretch is When from one instant to another, whose date stands only if it is another one.
func (c Clock) Stretch(from, to, now time.Time) template.HTML {
	if from.In(c.Zone).Format(time.DateOnly) == to.In(c.Zone).Format(time.DateOnly) {
		return c.When(from, now) + " – " + element(to, c.Format(to, "15:04")+zoneOf(to, c.Zone))
	}
	return c.When(from, now) + " – " + c.When(to, now)
}

// element is a time element.
func element(t time.Time, text string) template.HTML {
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339) + `">` + template.HTMLEscapeString(text) + `</time>`)
}

// Beside says in parentheses what the clock of a check shows at a time that stands in the viewer's zone: "(02:05 New York)",
// with the date if that is another one, "(25 Nov 02:05 Auckland)". It is "" if the viewer's clock shows the same.
func (c Clock) Beside(t time.Time, own *time.Location) string {
	here, there := t.In(c.Zone), t.In(own)
	if here.Format("2 15:04") == there.Format("2 15:04") {
		return ""
	}
	layout := "15:04"
	if here.Day() != there.Day() {
		layout = "2 Jan 15:04"
	}
	return "(" + c.In(own).Format(t, layout) + zoneOf(t, own) + " " + City(own) + ")"
}

// zoneOf is the abbreviation of a zone, after a blank, at a time of day that comes twice because clocks are set back.
func zoneOf(t time.Time, zone *time.Location) string {
	return strings.TrimPrefix(verdict.Time(t, t, zone), t.In(zone).Format("15:04"))
}

// City is the part of the name of a time zone that people say: "New York", "UTC".
func City(zone *time.Location) string {
	name := zone.String()
	return strings.ReplaceAll(name[strings.LastIndexByte(name, '/')+1:], "_", " ")
}
