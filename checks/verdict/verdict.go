package verdict

import (
	"cmp"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Verdict says how a check is.
type Verdict struct {
	// Status is the status of the check at Now, and Since when it began. In a verdict for an alert they are those of the
	// flip.
	Status checks.Status
	Since  time.Time
	// Now is the instant to which words such as "yesterday" refer.
	Now time.Time
	// Zone is the time zone of the check, UTC if that is unknown.
	Zone *time.Location
	// Dated gives each time its date, for a message that people read later: "Down since 22 Nov 03:20." and not "Down
	// since yesterday 03:20."
	Dated bool
	// TwelveHours writes times of day as "3:04 pm", for readers whose clock has 12 hours.
	TwelveHours bool
	// Sentences begin with the status.
	Sentences []Sentence
}

// Sentence is one sentence. Its parts have the blanks and the full stop.
type Sentence []Part

// PartKind says what a part of a sentence is.
type PartKind string

// The kinds of parts.
const (
	Plain       PartKind = "plain"       // words of this package, or the error of an integration
	Emphasis    PartKind = "emphasis"    // the words that matter most, such as the status
	Integration PartKind = "integration" // the name of an integration, or else its kind
	Output      PartKind = "output"      // the line of a job's output that says why it failed
	Instant     PartKind = "instant"     // a time
)

// Part is a part of a sentence.
type Part struct {
	Kind PartKind
	// Text is the text of a part that is no Instant.
	Text string
	// At is the time of an Instant.
	At time.Time

	precise   bool      // with seconds
	namesZone bool      // names the time zone
	adverbial bool      // "at 03:00" and not "03:00"
	follows   time.Time // an instant just before it in the sentence, whose day need not be repeated
}

// Words returns the text of a part as it stands in the sentence. Times are in the given zone, or in that of the check
// for nil.
func (v Verdict) Words(p Part, zone *time.Location) string {
	if p.Kind != Instant {
		return p.Text
	}
	zone = cmp.Or(zone, v.Zone, time.UTC)
	t, now := p.At.In(zone), v.Now.In(zone)
	layout := "15:04"
	if p.precise {
		layout = "15:04:05"
	}
	if v.TwelveHours {
		layout = "3" + layout[2:] + " pm"
	}
	clock := t.Format(layout)
	if repeated(t) {
		clock += " " + abbreviation(t)
	}
	if p.namesZone {
		clock += " " + zone.String()
	}
	at, on := "", ""
	if p.adverbial {
		at, on = "at ", "on "
	}
	if !p.follows.IsZero() && days(p.follows.In(zone), t) == 0 {
		return clock
	}
	n := 0
	if !v.Dated {
		n = days(now, t)
	}
	switch far := v.Dated || n < -6 || n > 6; {
	case far && t.Year() != now.Year():
		return on + t.Format("2 Jan 2006 ") + clock
	case far:
		return on + t.Format("2 Jan ") + clock
	case n == 0:
		return at + clock
	case n == -1:
		return "yesterday " + clock
	case n == 1:
		return "tomorrow " + clock
	}
	return on + t.Format("Mon ") + clock
}

// Text returns all sentences as plain text on one line, in the given zone or in that of the check for nil. Names of
// integrations are between asterisks, and output between quotation marks.
func (v Verdict) Text(zone *time.Location) string {
	var b strings.Builder
	for i, s := range v.Sentences {
		if i > 0 {
			b.WriteByte(' ')
		}
		for _, p := range s {
			switch p.Kind {
			case Integration:
				b.WriteString("*" + p.Text + "*")
			case Output:
				b.WriteString("“" + p.Text + "”")
			default:
				b.WriteString(v.Words(p, zone))
			}
		}
	}
	return b.String()
}

// nameZone makes one time name its zone: the first that was marked, or else the first of all.
func (v *Verdict) nameZone() {
	var first *Part
	for i := range v.Sentences {
		for j := range v.Sentences[i] {
			p := &v.Sentences[i][j]
			switch {
			case p.Kind != Instant:
			case p.namesZone:
				return
			case first == nil:
				first = p
			}
		}
	}
	if first != nil {
		first.namesZone = true
	}
}

// Time returns an instant in words for a reader at another instant, in a time zone: "03:04" on the same day, "yesterday
// 03:04", "tomorrow 03:04", "Fri 03:39" within six days, "3 Oct 03:00" in the same year, or "3 Oct 2025 03:00". A time
// that occurs twice on that day, because clocks are set back, has its abbreviation: "03:20 EEST".
func Time(t, now time.Time, zone *time.Location) string {
	return Verdict{Now: now}.Words(Part{Kind: Instant, At: t}, zone)
}

// days returns how many calendar days b is after a. Both are in the same zone.
func days(a, b time.Time) int {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(day(b).Sub(day(a)) / (24 * time.Hour))
}

// repeated reports whether another instant, before or after a clock change, has the same time of day.
func repeated(t time.Time) bool {
	_, offset := t.Zone()
	for _, far := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, other := t.Add(far).Zone()
		if other == offset {
			continue
		}
		twin := t.Add(time.Duration(offset-other) * time.Second)
		if _, o := twin.Zone(); o == other {
			return true
		}
	}
	return false
}

// abbreviation returns the abbreviation of the zone at an instant, such as EEST or UTC-03.
func abbreviation(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return "UTC" + name
	}
	return name
}
