package gate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
)

func spansText(loc *time.Location, list []flips.Span) (text []string) {
	for _, s := range list {
		text = append(text, s.Start.In(loc).Format("Jan 2 15:04 -07:00")+" to "+s.End.In(loc).Format("Jan 2 15:04 -07:00"))
	}
	return text
}

// TestSpansOverClockChanges has windows that begin by the wall clock and last their time, whatever the clock does.
func TestSpansOverClockChanges(t *testing.T) {
	for _, test := range []struct {
		tz, schedule string
		duration     time.Duration
		from         string
		want         []string
	}{
		{"Europe/Riga", "0 2 * * *", 3 * time.Hour, "2026-03-28T12:00:00Z", []string{
			"Mar 29 02:00 +02:00 to Mar 29 06:00 +03:00", "Mar 30 02:00 +03:00 to Mar 30 05:00 +03:00"}},
		{"Europe/Riga", "30 3 * * *", time.Hour, "2026-03-28T12:00:00Z", []string{ // 03:30 is in the gap
			"Mar 29 04:00 +03:00 to Mar 29 05:00 +03:00", "Mar 30 03:30 +03:00 to Mar 30 04:30 +03:00"}},
		{"Europe/Riga", "30 3 * * *", time.Hour, "2026-10-24T12:00:00Z", []string{ // 03:30 is shown twice
			"Oct 25 03:30 +03:00 to Oct 25 03:30 +02:00", "Oct 26 03:30 +02:00 to Oct 26 04:30 +02:00"}},
		{"Europe/Riga", "*-*-* 03:30", time.Hour, "2026-03-28T12:00:00Z", []string{"Mar 30 03:30 +03:00 to Mar 30 04:30 +03:00"}},
		{"America/New_York", "30 1 * * *", 2 * time.Hour, "2026-03-07T12:00:00Z", []string{
			"Mar 8 01:30 -05:00 to Mar 8 04:30 -04:00", "Mar 9 01:30 -04:00 to Mar 9 03:30 -04:00"}},
		{"America/New_York", "30 1 * * *", 2 * time.Hour, "2026-10-31T12:00:00Z", []string{
			"Nov 1 01:30 -04:00 to Nov 1 02:30 -05:00", "Nov 2 01:30 -05:00 to Nov 2 03:30 -05:00"}},
		{"Australia/Lord_Howe", "45 1 * * *", time.Hour, "2026-04-04T00:00:00Z", []string{ // back by half an hour
			"Apr 5 01:45 +11:00 to Apr 5 02:15 +10:30", "Apr 6 01:45 +10:30 to Apr 6 02:45 +10:30"}},
		{"Australia/Lord_Howe", "45 1 * * *", time.Hour, "2026-10-03T00:00:00Z", []string{
			"Oct 4 01:45 +10:30 to Oct 4 03:15 +11:00", "Oct 5 01:45 +11:00 to Oct 5 02:45 +11:00"}},
	} {
		from, err := time.Parse(time.RFC3339, test.from)
		if err != nil {
			t.Fatal(err)
		}
		loc, err := time.LoadLocation(test.tz)
		if err != nil {
			t.Fatal(err)
		}
		w, err := gate.Window{Kind: gate.Maintenance, Start: from, Schedule: test.schedule, Duration: test.duration, TZ: test.tz}.Normalize(from)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, spansText(loc, w.Spans(from, from.Add(47*time.Hour)))); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", test.schedule, test.tz, diff)
		}
	}
}

// TestWindowMinutes compares all methods with a plain model: minute by minute, whether an occurrence has begun within the duration.
func TestWindowMinutes(t *testing.T) {
	zones := []string{"UTC", "Europe/Riga", "America/New_York", "Australia/Lord_Howe"}
	schedules := []string{"", "0 2 * * *", "30 1,3 * * *", "*/20 1-3 * * *", "0 0 * * SUN", "*-*-* 01:45", "15 */6 * * *", "0 0 1 4 *"}
	starts := []time.Time{noon, noon.AddDate(0, 0, 6), noon.AddDate(0, 0, 27), noon.AddDate(0, 0, 34), noon.AddDate(0, 7, 1), noon.AddDate(0, 8, -1)}
	rapid.Check(t, func(t *rapid.T) {
		const minutes = 3 * 24 * 60
		from := rapid.SampledFrom(starts).Draw(t, "from")
		at := func(minute int) time.Time { return from.Add(time.Duration(minute) * time.Minute) }
		minute := func(label string) int { return rapid.IntRange(-300, minutes+300).Draw(t, label) }
		w := gate.Window{Kind: gate.Maintenance, Start: at(minute("start")), Schedule: rapid.SampledFrom(schedules).Draw(t, "schedule")}
		if w.Schedule == "" || rapid.Bool().Draw(t, "ends") {
			w.End = at(minute("end"))
		}
		if w.Schedule != "" {
			w.Duration = time.Duration(rapid.IntRange(1, 600).Draw(t, "duration")) * time.Minute
			w.TZ = rapid.SampledFrom(zones).Draw(t, "tz")
		}
		if rapid.Bool().Draw(t, "compiled") {
			w = w.Compiled()
		}
		const before = 700
		in := model(t, w, at(-before), minutes+2*before)
		within := func(m int) bool { return in[m+before] }
		var spans []flips.Span
		for m := range minutes {
			if n := len(spans); within(m) && n > 0 && spans[n-1].End.Equal(at(m)) {
				spans[n-1].End = at(m + 1)
			} else if within(m) {
				spans = append(spans, flips.Span{Start: at(m), End: at(m + 1)})
			}
		}
		if diff := cmp.Diff(spans, w.Spans(from, at(minutes))); diff != "" {
			t.Fatalf("spans of %+v (-want +got):\n%s", w, diff)
		}
		m := rapid.IntRange(0, minutes).Draw(t, "at")
		end, begin := m, m+1
		for ; within(end) && end < minutes+before-1; end++ {
		}
		for ; begin < minutes+before-1 && (within(begin-1) || !within(begin)); begin++ {
		}
		if until, ok := w.At(at(m)); ok != within(m) || ok && end < minutes+before-1 && !until.Equal(at(end)) {
			t.Fatalf("%+v at %v: %v, %v, want %v until %v", w, at(m), until, ok, within(m), at(end))
		}
		if start, _, ok := w.Next(at(m)); begin < minutes+before-1 && (!ok || !start.Equal(at(begin))) {
			t.Fatalf("%+v after %v: next %v, %v, want %v", w, at(m), start, ok, at(begin))
		}
	})
}

// model says for each minute from an instant on whether it is within the window.
func model(t *rapid.T, w gate.Window, from time.Time, minutes int) []bool {
	in := make([]bool, minutes)
	set := func(start, end time.Time) {
		for m := range in {
			if at := from.Add(time.Duration(m) * time.Minute); !at.Before(start) && at.Before(end) && (w.End.IsZero() || at.Before(w.End)) {
				in[m] = true
			}
		}
	}
	if w.Schedule == "" {
		set(w.Start, w.End)
		return in
	}
	s, err := schedule.Parse(w.Schedule)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocation(w.TZ)
	if err != nil {
		t.Fatal(err)
	}
	for at := s.Next(w.Start.Add(-1).In(loc)); !at.IsZero() && at.Before(from.Add(time.Duration(minutes)*time.Minute)); at = s.Next(at) {
		set(at, at.Add(w.Duration))
	}
	return in
}

func TestNormalize(t *testing.T) {
	riga := time.FixedZone("", 2*60*60)
	check := uuid.New()
	for name, test := range map[string]struct{ w, want gate.Window }{
		"a snooze by its duration": {
			gate.Window{Kind: gate.Snooze, Duration: time.Hour}, gate.Window{Kind: gate.Snooze, Start: noon, End: noon.Add(time.Hour)}},
		"once, with selections": {
			gate.Window{Kind: gate.Maintenance, Start: noon.Add(time.Nanosecond).In(riga), End: noon.Add(time.Minute + 1).In(riga),
				Note: " db \n", Tags: []string{"db", "x", "db"}, Checks: []uuid.UUID{check, check}},
			gate.Window{Kind: gate.Maintenance, Start: noon, End: noon.Add(time.Minute), Note: "db", Tags: []string{"db", "x"}, Checks: []uuid.UUID{check}}},
		"recurring": {
			gate.Window{Kind: gate.Maintenance, Schedule: "0 2 * * SUN ", Duration: 2 * time.Hour, TZ: "Europe/Kiev"},
			gate.Window{Kind: gate.Maintenance, Schedule: "0 2 * * SUN", Duration: 2 * time.Hour, TZ: "Europe/Kyiv", Start: noon}},
		"without a zone, all but Sunday": {
			gate.Window{Kind: gate.Maintenance, Schedule: "@daily", Duration: 12 * time.Hour},
			gate.Window{Kind: gate.Maintenance, Schedule: "@daily", Duration: 12 * time.Hour, TZ: "UTC", Start: noon}},
		"the first of two moves by a clock change": {
			gate.Window{Kind: gate.Maintenance, Schedule: "30 2,3 * * *", Duration: time.Minute, TZ: "Europe/Riga"},
			gate.Window{Kind: gate.Maintenance, Schedule: "30 2,3 * * *", Duration: time.Minute, TZ: "Europe/Riga", Start: noon}},
	} {
		if got, err := test.w.Normalize(noon); err != nil || !cmp.Equal(test.want, got) {
			t.Errorf("%s: error %v (-want +got):\n%s", name, err, cmp.Diff(fmt.Sprintf("%+v", test.want), fmt.Sprintf("%+v", got)))
		}
	}
}

func TestNormalizeErrors(t *testing.T) {
	once := gate.Window{Kind: gate.Maintenance, Start: noon, End: noon.Add(time.Hour)}
	recurring := gate.Window{Kind: gate.Maintenance, Schedule: "0 2 * * *", Duration: time.Hour, TZ: "UTC"}
	for _, test := range []struct {
		of     gate.Window
		change func(w *gate.Window)
		want   string
	}{
		{once, func(w *gate.Window) { w.Kind = "silence" }, `kind is neither "maintenance" nor "snooze": "silence"`},
		{once, func(w *gate.Window) { w.End = time.Time{} }, "end is missing: a maintenance window always ends; set an end, or a duration"},
		{once, func(w *gate.Window) { w.Kind, w.End = gate.Snooze, time.Time{} }, "end is missing: a snooze always ends; set an end, or a duration"},
		{once, func(w *gate.Window) { w.End = noon }, "end is not after the start: 2026-03-02T12:00:00Z, the start is 2026-03-02T12:00:00Z"},
		{once, func(w *gate.Window) { w.Start, w.End = noon.Add(-time.Hour), noon }, "end is in the past: 2026-03-02T12:00:00Z"},
		{once, func(w *gate.Window) { w.End = noon.AddDate(2, 0, 0) }, "end is too long after the start: at most 366 days"},
		{once, func(w *gate.Window) { w.Start = noon.AddDate(0, -2, 0) }, "start is too long ago: 2026-01-02T12:00:00Z, at most 31 days before now"},
		{once, func(w *gate.Window) { w.Start = noon.AddDate(3, 0, 0) }, "start is too far ahead: 2029-03-02T12:00:00Z, at most 366 days from now"},
		{once, func(w *gate.Window) { w.Duration = time.Hour }, "duration is beside an end: set one of them"},
		{once, func(w *gate.Window) { w.End, w.Duration = time.Time{}, -time.Hour }, "duration is out of range: -1h0m0s, it must be above 0 and at most 366 days"},
		{once, func(w *gate.Window) { w.End, w.Duration = time.Time{}, 1<<63-1 },
			"duration is out of range: 2562047h47m16.854775807s, it must be above 0 and at most 366 days"},
		{once, func(w *gate.Window) { w.TZ = "UTC" }, "tz is only for a window with a schedule: start and end are instants"},
		{once, func(w *gate.Window) { w.Note = strings.Repeat("ü", 501) }, "note is too long: 501 characters, the maximum is 500"},
		{once, func(w *gate.Window) { w.Note = "a\x1bb" }, "note has a control character"},
		{once, func(w *gate.Window) { w.Note = "a\xff" }, "note is not valid UTF-8"},
		{once, func(w *gate.Window) { w.Tags = []string{"a b"} }, `tags has an item that is empty or has a blank: "a b"`},
		{once, func(w *gate.Window) { w.Checks = []uuid.UUID{{}} }, "checks has an item that is no check: 00000000-0000-0000-0000-000000000000"},
		{recurring, func(w *gate.Window) { w.Kind = gate.Snooze }, "schedule is only for maintenance: a snooze occurs once"},
		{recurring, func(w *gate.Window) { w.Duration = 0 }, "duration is missing: set how long each occurrence takes, from 1 minute to 30 days"},
		{recurring, func(w *gate.Window) { w.Duration = time.Second }, "duration is out of range: 1s, each occurrence takes 1 minute to 30 days"},
		{recurring, func(w *gate.Window) { w.Duration = 31 * 24 * time.Hour }, "duration is out of range: 744h0m0s, each occurrence takes 1 minute to 30 days"},
		{recurring, func(w *gate.Window) { w.TZ = "Europe/Rigga" }, `tz is not a valid time zone: "Europe/Rigga" is not a time zone of the IANA database; did you mean Europe/Riga?`},
		{recurring, func(w *gate.Window) { w.Schedule = "0 25 * * *" }, "schedule is not valid: hour: 25 is not in 0–23"},
		{recurring, func(w *gate.Window) { w.Schedule = "2001-01-01" }, "schedule never occurs: it names no time to come"},
		{recurring, func(w *gate.Window) { w.Schedule = "0 0 30 2 *" }, "schedule is not valid: "},
		{recurring, func(w *gate.Window) { w.End = noon.Add(time.Hour) }, "schedule never occurs before the end: the end is 2026-03-02T13:00:00Z"},
		{recurring, func(w *gate.Window) { w.End = noon }, "end is not after the start: "},
		{recurring, func(w *gate.Window) { w.Schedule = "0,30 2 * * *" }, "schedule begins a window more than once an hour: begin less often, and set a longer duration"},
		{recurring, func(w *gate.Window) { w.Schedule = "0 * * * *" }, "schedule begins again before the 1h0m0s of the occurrence before are over, more than 100 times in a row"},
		{recurring, func(w *gate.Window) { w.Duration = 24 * time.Hour }, "schedule begins again before the 24h0m0s of the occurrence before are over"},
	} {
		w := test.of
		test.change(&w)
		_, err := w.Normalize(noon)
		e, ok := errors.AsType[*gate.Error](err)
		if !ok || !strings.HasPrefix(err.Error(), test.want) || !strings.HasPrefix(test.want, e.Field+" ") {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
}

// TestTooManyOccurrences: a schedule that nobody can add, because its occurrences follow one another, is cheap to ask all the same.
func TestTooManyOccurrences(t *testing.T) {
	w := gate.Window{Kind: gate.Maintenance, Start: noon, Schedule: "*-*-* *:*:*", TZ: "UTC", Duration: gate.MaxDuration}
	if until, in := w.At(noon.Add(time.Hour)); !in || until.Before(noon.Add(gate.MaxDuration)) {
		t.Errorf("in %v until %v", in, until)
	}
}

func TestCovers(t *testing.T) {
	check := uuid.New()
	for _, test := range []struct {
		w    gate.Window
		want bool
	}{
		{gate.Window{}, true}, {gate.Window{Checks: []uuid.UUID{check}}, true}, {gate.Window{Checks: []uuid.UUID{uuid.New()}}, false},
		{gate.Window{Tags: []string{"x", "db"}}, true}, {gate.Window{Tags: []string{"d"}}, false},
		{gate.Window{Checks: []uuid.UUID{uuid.New()}, Tags: []string{"db"}}, true},
	} {
		if got := test.w.Covers(check, []string{"db", "prod"}); got != test.want {
			t.Errorf("%+v covers the check: %v", test.w, got)
		}
	}
}
