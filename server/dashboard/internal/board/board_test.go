package board_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestTicks(t *testing.T) {
	riga := zone(t, "Europe/Riga")
	for _, test := range []struct {
		name string
		now  time.Time
		span time.Duration
		zone *time.Location
		want string // all labels; those that have no room anywhere in brackets
	}{
		{"a day", noon, 24 * time.Hour, time.UTC, "16:00 20:00 Sun 22 04:00 08:00 (12:00) 16:00 20:00 Mon 23 04:00 08:00 (12:00)"},
		{"clocks go back", time.Date(2026, 10, 25, 6, 30, 0, 0, time.UTC), 24 * time.Hour, riga,
			"12:00 16:00 20:00 Sun 25 04:00 (08:00) 12:00 16:00 20:00 Mon 26 04:00 (08:00)"},
		{"clocks go forward", time.Date(2026, 3, 29, 6, 30, 0, 0, time.UTC), 24 * time.Hour, riga,
			"12:00 16:00 20:00 Sun 29 04:00 (08:00) (12:00) 16:00 20:00 Mon 30 04:00 08:00"},
		{"midnight does not exist", time.Date(2026, 9, 6, 12, 0, 0, 0, time.UTC), 24 * time.Hour, zone(t, "America/Santiago"),
			"12:00 16:00 20:00 Sun 6 04:00 (08:00) 12:00 16:00 20:00 Mon 7 04:00 (08:00)"},
		{"a week", noon, 7 * 24 * time.Hour, time.UTC,
			"Mon 16 Tue 17 Wed 18 Thu 19 Fri 20 Sat 21 (Sun 22) (Mon 23) Tue 24 Wed 25 Thu 26 Fri 27 Sat 28 Sun 29"},
	} {
		axis := board.NewAxis(test.now, test.now, test.span, words.Clock{Zone: test.zone})
		var labels []string
		for _, tick := range axis.Ticks {
			label := tick.Label
			if !tick.Wide {
				label = "(" + label + ")"
			}
			labels = append(labels, label)
			if tick.Day != strings.Contains(tick.Label, " ") {
				t.Errorf("%s: %s is a day: %v", test.name, tick.Label, tick.Day)
			}
		}
		if got := strings.Join(labels, " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestLabelsHaveRoom lays labels out on axes of all widths.
func TestLabelsHaveRoom(t *testing.T) {
	for _, span := range []time.Duration{24 * time.Hour, 7 * 24 * time.Hour} {
		for minutes := 0; minutes < 3*24*60; minutes += 17 {
			middle := time.Date(2026, 10, 24, 0, minutes, 0, 0, time.UTC)
			axis := board.NewAxis(middle, middle, span, words.Clock{Zone: zone(t, "Europe/Riga")})
			for width, shown := range map[float64]func(board.Tick) bool{
				800: func(t board.Tick) bool { return t.Wide }, 420: func(t board.Tick) bool { return t.Middle }, 260: func(t board.Tick) bool { return t.Narrow },
			} {
				last, n := -100.0, 0
				for _, tick := range axis.Ticks {
					if !shown(tick) {
						continue
					}
					n++
					x := tick.X * width / 100
					if x-last < 44 || x < 22 || x > width-22 || max(x-width/2, width/2-x) < 50 {
						t.Fatalf("%v, %v, %v px: %s at %.0f, the one before at %.0f", axis.Now, span, width, tick.Label, x, last)
					}
					last = x
				}
				if n < 2 && width > 260 || n == 0 {
					t.Errorf("%v, %v, %v px: %d labels", axis.Now, span, width, n)
				}
			}
		}
	}
}

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name string
		now  time.Time
		zone string
		want []string
	}{
		{"back", time.Date(2026, 10, 25, 6, 0, 0, 0, time.UTC), "Europe/Riga", []string{"2026-10-25T01:00 04:00→03:00 true"}},
		{"forward", time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC), "Europe/Riga", []string{"2026-03-29T01:00 03:00→04:00 false"}},
		{"midnight does not exist", time.Date(2026, 9, 6, 6, 0, 0, 0, time.UTC), "America/Santiago", []string{"2026-09-06T04:00 00:00→01:00 false"}},
		{"half an hour", time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC), "Australia/Lord_Howe", []string{"2026-04-04T15:00 02:00→01:30 true"}},
		{"none", noon, "Europe/Riga", nil},
		{"never", noon, "UTC", nil},
	} {
		axis := board.NewAxis(test.now, test.now, 24*time.Hour, words.Clock{Zone: zone(t, test.zone)})
		var got []string
		for _, c := range axis.Changes {
			got = append(got, fmt.Sprintf("%s %s→%s %v", c.At.UTC().Format("2006-01-02T15:04"), c.Before, c.After, c.Back))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestTonight(t *testing.T) {
	riga := zone(t, "Europe/Riga")
	for _, test := range []struct{ now, from, to string }{
		{"2026-11-22 12:00", "2026-11-22 22:00", "2026-11-23 06:00"},
		{"2026-11-22 23:00", "2026-11-22 23:00", "2026-11-23 06:00"},
		{"2026-11-22 05:59", "2026-11-22 05:59", "2026-11-22 06:00"},
		{"2026-11-22 06:00", "2026-11-22 22:00", "2026-11-23 06:00"},
		{"2026-10-24 22:00", "2026-10-24 22:00", "2026-10-25 06:00"}, // nine hours long
	} {
		at := func(text string) time.Time {
			at, err := time.ParseInLocation("2006-01-02 15:04", text, riga)
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		from, to := board.NewAxis(at(test.now), at(test.now), 24*time.Hour, words.Clock{Zone: riga}).Tonight()
		if !from.Equal(at(test.from)) || !to.Equal(at(test.to)) {
			t.Errorf("at %s: from %v to %v", test.now, from, to)
		}
	}
}

// newCheck makes a check that was pinged at an instant.
func newCheck(t testing.TB, spec checks.Spec, pinged time.Time) checks.Check {
	t.Helper()
	c, err := checks.New(uuid.New(), spec, noon.AddDate(0, 0, -30))
	if err != nil {
		t.Fatal(err)
	}
	if !pinged.IsZero() {
		c, _, _, _ = c.Ping(pings.Signal{}, pinged.Add(-time.Minute))
		c, _, _, _ = c.Ping(pings.Signal{}, pinged)
	}
	return c
}

// text writes marks for comparison.
func text(marks []board.Mark) (lines []string) {
	for _, m := range marks {
		line := fmt.Sprintf("%s %.1f", m.Kind, m.X)
		if m.W > 0 {
			line += fmt.Sprintf("+%.1f", m.W)
		}
		if m.Wait > 0 {
			line += fmt.Sprintf(" …%.1f", m.Wait)
		}
		if m.Rows > 1 {
			line += fmt.Sprintf(" row %d/%d", m.Row, m.Rows)
		}
		if m.Count > 1 {
			line += fmt.Sprintf(" %d runs", m.Count)
		}
		if m.Bad > 0 {
			line += fmt.Sprintf(" %d bad", m.Bad)
		}
		if m.Over {
			line += " over"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestLane(t *testing.T) {
	axis := board.NewAxis(noon, noon, 24*time.Hour, words.Clock{Zone: time.UTC})
	daily := newCheck(t, checks.Spec{Schedule: new("0 0 * * *"), Grace: new(time.Hour)}, noon.Add(-11*time.Hour))
	hour := func(h float64) time.Time { return noon.Add(time.Duration(h * float64(time.Hour))) }
	run := func(result timeline.Result, from, to float64) timeline.Run {
		r := timeline.Run{Result: result, Start: hour(from), End: hour(to), Limit: hour(from + 1), Timed: true}
		if to == 0 {
			r.End = time.Time{}
		}
		return r
	}
	var every5, every5bad []timeline.Run
	for i := range 20 {
		every5 = append(every5, run(timeline.Success, -3+float64(i)/12, -3+float64(i)/12+.01))
		result := timeline.Success
		if i == 3 || i == 10 || i == 11 {
			result = timeline.Failure
		}
		every5bad = append(every5bad, run(result, -3+float64(i)/12, -3+float64(i)/12+.01))
	}
	ring := "expected 75.0"
	for _, test := range []struct {
		name  string
		check checks.Check
		runs  []timeline.Run
		want  []string
	}{
		{"nothing", daily, nil, []string{ring}},
		{"a run", daily, []timeline.Run{run(timeline.Success, -12, -11.5)}, []string{"run 25.0+1.0", ring}},
		{"a short run stays visible", daily, []timeline.Run{run(timeline.Success, -12, -11.999)}, []string{"run 25.0+0.3", ring}},
		{"a failure", daily, []timeline.Run{run(timeline.Failure, -12, -11.5)}, []string{"failed 25.0+1.0 1 bad", ring}},
		{"over its limit", daily, []timeline.Run{run(timeline.Success, -12, -9)}, []string{"slow 25.0+6.2", ring}},
		{"running", daily, []timeline.Run{run(timeline.Running, -.5, 0)}, []string{"running 49.0+1.0", ring}},
		{"it does not end", daily, []timeline.Run{run(timeline.Overrun, -12, 0)}, []string{"overrun 25.0+2.1 …50.0 1 bad", ring}},
		{"missed", daily, []timeline.Run{run(timeline.Missed, -12, 0)}, []string{"missed 25.0 …50.0 1 bad", ring}},
		{"missed until it came", daily, []timeline.Run{run(timeline.Missed, -12, -6), run(timeline.Success, -6, -5)},
			[]string{"run 37.5+2.1", "missed 25.0 …37.5 1 bad", ring}},
		{"missed since long ago", daily, []timeline.Run{run(timeline.Missed, -60, 0)}, []string{"missed 0.0 …50.0 1 bad", ring}},
		{"late", daily, []timeline.Run{run(timeline.Late, -.5, 0)}, []string{"late 49.0+2.1", ring}},
		{"two overlap", daily, []timeline.Run{run(timeline.Success, -12, -10.5), run(timeline.Failure, -11, -10), run(timeline.Success, -9, -8)},
			[]string{"slow 25.0+3.1 row 0/2", "run 31.2+2.1", "failed 27.1+2.1 row 1/2 1 bad", ring}},
		{"many", daily, every5, []string{"band 43.8+3.6 20 runs", ring}},
		{"many, and failures", daily, every5bad,
			[]string{"band 43.8+3.6 20 runs 3 bad", "failed 44.3+0.5 1 bad over", "failed 45.5+0.5 2 runs 2 bad over", ring}},
	} {
		lane := board.NewLane(test.check, timeline.Timeline{Since: axis.From, Runs: test.runs}, axis)
		if diff := cmp.Diff(test.want, text(lane.Marks)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestFuture(t *testing.T) {
	axis := board.NewAxis(noon, noon, 24*time.Hour, words.Clock{Zone: time.UTC})
	of := func(c checks.Check) []string {
		return text(board.NewLane(c, timeline.Timeline{Since: axis.From}, axis).Marks)
	}
	for _, test := range []struct {
		name  string
		check checks.Check
		want  []string
	}{
		{"every minute", newCheck(t, checks.Spec{Schedule: new("* * * * *")}, noon), []string{"many 50.0+50.0 1440 runs"}},
		{"a burst and a late one", newCheck(t, checks.Spec{Schedule: new("*/10 13,14 * * *")}, noon), []string{"many 52.1+3.8 12 runs"}},
		{"every eight hours", newCheck(t, checks.Spec{Timeout: new(8 * time.Hour)}, noon.Add(-time.Hour)),
			[]string{"expected 64.6", "expected 81.2", "expected 97.9"}},
	} {
		if diff := cmp.Diff(test.want, of(test.check)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	paused, _ := newCheck(t, checks.Spec{Schedule: new("* * * * *")}, noon).Pause(noon)
	if got := of(paused); len(got) > 0 {
		t.Errorf("of a paused check: %v", got)
	}
}

func TestLaneFacts(t *testing.T) {
	axis := board.NewAxis(noon, noon, 24*time.Hour, words.Clock{Zone: zone(t, "Europe/Riga")})
	c := newCheck(t, checks.Spec{Schedule: new("0 0 * * *"), TZ: new("America/New_York")}, noon.Add(-time.Hour))
	missed := timeline.Run{Result: timeline.Missed, Start: noon.Add(-time.Hour), Limit: noon}
	lane := board.NewLane(c, timeline.Timeline{Since: noon.Add(-12 * time.Hour), Runs: []timeline.Run{missed}, More: true}, axis)
	if lane.Known != 25 || lane.Ahead != -7*time.Hour || !lane.Marks[0].More || !lane.Marks[0].Open || lane.Status != checks.StatusUp {
		t.Errorf("%+v", lane)
	}
}

func TestArrange(t *testing.T) {
	axis := board.NewAxis(noon, noon, 24*time.Hour, words.Clock{Zone: time.UTC})
	hourly := func(name, tag string) checks.Spec {
		spec := checks.Spec{Name: &name, Timeout: new(time.Hour), Grace: new(time.Hour)}
		if tag != "" {
			spec.Tags = []string{tag, "x"}
		}
		return spec
	}
	down := newCheck(t, hourly("d", ""), noon.Add(-5*time.Hour))
	late := newCheck(t, hourly("l", ""), noon.Add(-90*time.Minute))
	again, _, _, _ := newCheck(t, hourly("a", ""), noon.Add(-5*time.Hour)).Ping(pings.Signal{}, noon.Add(-time.Minute))
	paused, _ := newCheck(t, hourly("p", ""), noon.Add(-time.Minute)).Pause(noon)
	long := func(name, tag string) checks.Check {
		c := newCheck(t, hourly(name, tag), noon.Add(-time.Minute))
		c.StoredSince = noon.AddDate(0, 0, -9)
		return c
	}
	list := []checks.Check{long("w2", "b"), paused, again, long("W1", ""), late, down, long("w3", "a")}
	names := func(a board.Arrangement) string {
		var b strings.Builder
		for _, g := range a.Groups {
			fmt.Fprintf(&b, "%s%s:", g.State, g.Tag)
			for _, c := range g.Checks {
				fmt.Fprintf(&b, " %s", c.Name)
			}
			b.WriteString("; ")
		}
		return b.String()
	}
	if got, want := names(board.Arrange(list, axis, nil, board.ByName, false, 0)), "down: d; grace: l; up: a; : p W1 w2 w3; "; got != want {
		t.Errorf("by name: %s, want %s", got, want)
	}
	if got, want := names(board.Arrange(list, axis, nil, board.ByTag, false, 0)), "down: d; grace: l; up: a; a: w3; b: w2; : p W1; "; got != want {
		t.Errorf("by tag: %s, want %s", got, want)
	}
	for i := range 400 {
		list = append(list, long(fmt.Sprintf("z%03d", i), ""))
	}
	earlier := board.NewAxis(noon, noon.Add(-72*time.Hour), 24*time.Hour, words.Clock{Zone: time.UTC})
	if got, want := names(board.Arrange(list, earlier, map[uuid.UUID]bool{list[0].ID: true}, board.ByName, false, 0)), "down: "+list[0].Name+"; : "; !strings.HasPrefix(got, want) {
		t.Errorf("an earlier night is arranged as %q, want first %q", got, want)
	}
	a := board.Arrange(list, axis, nil, board.ByName, false, 0)
	if n := len(a.Shown()); n != board.MaxWell || a.Hidden != len(list)-n || slices.ContainsFunc(a.Shown(), func(c checks.Check) bool { return c.Name == "p" }) {
		t.Errorf("%d lanes, %d hidden: %s", n, a.Hidden, names(a))
	}
	if a := board.Arrange(list, axis, nil, board.ByName, true, 0); len(a.Shown()) != board.MaxLanes || a.Hidden != len(list)-board.MaxLanes {
		t.Errorf("of all: %d lanes, %d hidden", len(a.Shown()), a.Hidden)
	}
	seen := make(map[uuid.UUID]bool)
	for skip := 0; skip < len(list)+board.MaxLanes; skip += board.MaxLanes {
		for _, c := range board.Arrange(list, axis, nil, board.ByTag, true, skip).Shown() {
			if seen[c.ID] {
				t.Errorf("%s is on two pages", c.Name)
			}
			seen[c.ID] = true
		}
	}
	if len(seen) != len(list) {
		t.Errorf("%d of %d checks are on a page", len(seen), len(list))
	}
}
