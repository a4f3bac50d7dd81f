package forms

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// weekPreview draws the quiet hours of a form on seven days from today.
type weekPreview struct {
	// Words say when quiet hours begin or end next.
	Words string
	// Problem says what is wrong with an input.
	Problem, Field string
	Zone           string
	Days           []weekDay
}

// weekDay is a day of the drawing.
type weekDay struct {
	Label string
	// Note says that the clock changes on this day.
	Note  string
	Spans []weekSpan
	// Now is the place of the present in percent of the day, "" on other days.
	Now string
}

// weekSpan is a stretch of quiet hours on one day.
type weekSpan struct {
	// X and Width are in percent of the day.
	X, Width string
	// Text is the stretch in words: 22:00–24:00.
	Text string
}

// Text says in words when a day is quiet.
func (d weekDay) Text() string {
	if len(d.Spans) == 0 {
		return "not quiet"
	}
	texts := make([]string, len(d.Spans))
	for i, s := range d.Spans {
		texts[i] = s.Text
	}
	return strings.Join(texts, ", ")
}

// previewWeek makes the preview of quiet hours.
func previewWeek(f form, viewer words.Clock, now time.Time) (p weekPreview) {
	text := f["quiet_hours"]
	if err := (checks.Spec{QuietHours: &text}).Validate(now); err != nil {
		p.Problem, p.Field = words.Sentence(reasonOf(err)), "quiet_hours"
		return p
	}
	if strings.Trim(text, " ;\n") == "" {
		p.Words = "No quiet hours: alerts are sent at any time."
		return p
	}
	zone, err := schedule.LoadLocation(f["tz"])
	if err != nil {
		p.Problem, p.Field = words.ZoneProblem(err), "tz"
		return p
	}
	hours, err := quiet.Parse(text, zone)
	if err != nil {
		p.Problem, p.Field = words.Sentence(err.Error()), "quiet_hours"
		return p
	}
	now = now.In(zone)
	p.Zone, p.Words = zone.String(), quietWords(hours, viewer.In(zone), now)
	p.draw(hours, now)
	return p
}

// reasonOf returns the cause of an error about quiet hours, or the reason of the library.
func reasonOf(err error) string {
	if found, ok := errors.AsType[*quiet.Error](err); ok {
		return found.Error()
	}
	return explain(err)
}

// quietWords says when quiet hours end or begin.
func quietWords(h quiet.Hours, clock words.Clock, now time.Time) string {
	if end, isQuiet := h.Until(now); isQuiet {
		return "Quiet now, until " + dayAndTime(clock, end, now) + "."
	}
	begin, end, ok := h.Next(now)
	if !ok {
		return "No more quiet hours: all windows have passed."
	}
	return fmt.Sprintf("Not quiet now. Next from %s to %s, for %s.", dayAndTime(clock, begin, now), dayAndTime(clock, end, now), prose.Duration(end.Sub(begin)))
}

// draw adds the seven days that begin with today.
func (p *weekPreview) draw(h quiet.Hours, now time.Time) {
	midnight := func(days int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, 0, 0, 0, 0, now.Location())
	}
	for i := range 7 {
		from, to := midnight(i), midnight(i+1)
		d := weekDay{Label: from.Format("Mon 2 Jan")}
		if _, before := from.Zone(); !sameOffset(before, to.Add(-time.Second)) {
			d.Note = "clocks change"
		}
		if i == 0 {
			d.Now = percent(minuteOf(now))
		}
		for at := from; at.Before(to); {
			end, isQuiet := h.Until(at)
			if !isQuiet {
				begin, _, ok := h.Next(at)
				if !ok {
					break
				}
				at = begin
				continue
			}
			d.add(at.In(now.Location()), end.In(now.Location()), from, to)
			at = end
		}
		p.Days = append(p.Days, d)
	}
}

func sameOffset(offset int, at time.Time) bool {
	_, other := at.Zone()
	return offset == other
}

// add adds a stretch, cut at the ends of the day.
func (d *weekDay) add(begin, end, from, to time.Time) {
	first, last, until := 0, 24*60, "24:00"
	if begin.After(from) {
		first = minuteOf(begin)
	}
	if end.Before(to) {
		last, until = minuteOf(end), end.Format("15:04")
	}
	since := fmt.Sprintf("%02d:%02d", first/60, first%60)
	// A clock that is set back can show an earlier time at the end.
	d.Spans = append(d.Spans, weekSpan{X: percent(first), Width: percent(max(last-first, 5)), Text: since + "–" + until})
}

// minuteOf is the time of day that the clock shows, in minutes.
func minuteOf(t time.Time) int { return t.Hour()*60 + t.Minute() }

// percent writes a number of minutes as part of a day.
func percent(minutes int) string { return fmt.Sprintf("%.2f%%", float64(minutes)/(24*60)*100) }
