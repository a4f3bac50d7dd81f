package verdict

import (
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
	Output      PartKind = "output"      // the beginning of a job's output
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
	if zone == nil {
		zone = v.Zone
	}
	if zone == nil {
		zone = time.UTC
	}
	text := p.instant(v.Now.In(zone), zone, v.Dated)
	if p.namesZone {
		text += " " + zone.String()
	}
	return text
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
