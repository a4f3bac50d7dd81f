package timeline_test

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
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// day is the beginning of the day of which tests write the times.
var day = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)

// at reads a time of the day, such as 03:00 or 03:00:01; -1 03:00 is one of the day before.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	base := day
	if before, rest, found := strings.Cut(text, " "); found {
		n := 0
		fmt.Sscan(before, &n)
		base, text = base.AddDate(0, 0, n), rest
	}
	layout := "15:04:05"
	if len(text) == 5 {
		layout = "15:04"
	}
	clock, err := time.Parse(layout, text)
	if err != nil {
		t.Fatal(err)
	}
	return base.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute + time.Duration(clock.Second())*time.Second)
}

// job is a check with its log, as a store keeps it.
type job struct {
	checks.Check
	log         []pings.Ping // oldest first
	transitions []checks.Transition
}

func newJob(t interface{ Fatal(args ...any) }, spec checks.Spec, created time.Time) *job {
	c, err := checks.New(uuid.New(), spec, created)
	if err != nil {
		t.Fatal(err)
	}
	return &job{Check: c}
}

func (j *job) ping(s pings.Signal, now time.Time) {
	c, p, effects, _ := j.Check.Ping(s, now)
	j.Check, j.log = c, append(j.log, p)
	j.transitions = append(j.transitions, effects.Transitions...)
}

func (j *job) pause(now time.Time) {
	from := j.Stored
	c, effects := j.Check.Pause(now)
	j.Check = c
	j.transitions = append(j.transitions, effects.Transitions...)
	for _, t := range effects.Transitions {
		from = t.To
	}
	j.transitions = append(j.transitions, checks.Transition{From: from, To: checks.StatusPaused, At: now})
}

// of returns the timeline that a store with room for limit pings would give.
func (j *job) of(since, now time.Time, limit int) timeline.Timeline {
	log := slices.Clone(j.log[max(0, len(j.log)-limit):])
	slices.Reverse(log)
	transitions := slices.DeleteFunc(slices.Clone(j.transitions), func(t checks.Transition) bool { return t.At.Before(since) })
	slices.SortStableFunc(transitions, func(a, b checks.Transition) int { return a.At.Compare(b.At) })
	return timeline.Of(j.Check, timeline.Log{Pings: log, Transitions: transitions}, since, now)
}

// text writes runs for comparison, one a line: the result, the start, the end, the numbers of the pings.
func text(runs []timeline.Run) (lines []string) {
	clock := func(t time.Time) string {
		if t.IsZero() {
			return "…"
		}
		days := int(t.Sub(day.AddDate(0, 0, -100))/(24*time.Hour)) - 100
		s := t.Format("15:04")
		if t.Second() != 0 {
			s = t.Format("15:04:05")
		}
		if days != 0 {
			s = fmt.Sprintf("%+d %s", days, s)
		}
		return s
	}
	for _, r := range runs {
		line := fmt.Sprintf("%s %s–%s", r.Result, clock(r.Start), clock(r.End))
		if r.StartN+r.EndN > 0 {
			line += fmt.Sprintf(" #%d–%d", r.StartN, r.EndN)
		}
		lines = append(lines, line)
	}
	return lines
}

var (
	nightly = checks.Spec{Schedule: new("0 3 * * *"), Grace: new(20 * time.Minute)}
	hourly  = checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute)}
	limited = checks.Spec{Timeout: new(time.Hour), Grace: new(10 * time.Minute), MaxRuntime: new(20 * time.Minute)}
	runA    = uuid.NullUUID{UUID: uuid.MustParse("aaaaaaaa-0000-4000-8000-000000000000"), Valid: true}
	runB    = uuid.NullUUID{UUID: uuid.MustParse("bbbbbbbb-0000-4000-8000-000000000000"), Valid: true}
)

func TestOf(t *testing.T) {
	start, ok, fail := pings.Signal{Kind: pings.Start}, pings.Signal{}, pings.Signal{Kind: pings.Failure}
	of := func(s pings.Signal, run uuid.NullUUID) pings.Signal { s.RunID = run; return s }
	type event struct {
		at     string
		signal pings.Signal
	}
	for _, test := range []struct {
		name   string
		spec   checks.Spec
		events []event
		now    string
		want   []string
	}{
		{"all is well", nightly, []event{{"-1 03:00", start}, {"-1 03:10", ok}, {"03:00", start}, {"03:12", ok}}, "12:00",
			[]string{"success 03:00–03:12 #3–4"}},
		{"only the end is reported", nightly, []event{{"-1 03:10", ok}, {"03:12", ok}}, "12:00", []string{"success 03:12–03:12 #0–2"}},
		{"a failure", nightly, []event{{"-1 03:10", ok}, {"03:00", start}, {"03:12", fail}}, "12:00", []string{"fail 03:00–03:12 #2–3"}},
		{"missing", nightly, []event{{"-1 03:10", ok}}, "12:00", []string{"missed 03:00–…"}},
		{"late", nightly, []event{{"-1 03:10", ok}}, "03:15", []string{"late 03:00–…"}},
		{"it came too late", nightly, []event{{"-1 03:10", ok}, {"05:00", ok}}, "12:00",
			[]string{"missed 03:00–05:00", "success 05:00–05:00 #0–2"}},
		{"missing for days", nightly, []event{{"-4 03:10", ok}}, "12:00", []string{"missed -3 03:00–03:00", "missed 03:00–…"}},
		{"missing, and the next is not due yet", nightly, []event{{"-2 03:10", ok}}, "02:00", []string{"missed -1 03:00–…"}},
		{"after a failure nothing comes", nightly, []event{{"-2 03:10", fail}}, "12:00",
			[]string{"missed -1 03:00–03:00", "missed 03:00–…"}},
		{"running", nightly, []event{{"-1 03:10", ok}, {"03:00", start}}, "03:11", []string{"running 03:00–… #2–0"}},
		{"running too long", nightly, []event{{"-1 03:10", ok}, {"03:00", start}}, "03:30", []string{"overrun 03:00–… #2–0"}},
		{"it ended too late", nightly, []event{{"-1 03:10", ok}, {"03:00", start}, {"05:00", ok}}, "12:00",
			[]string{"success 03:00–05:00 #2–3"}},
		{"it never ended, and the next came", hourly, []event{{"08:00", ok}, {"09:00", start}, {"10:00", start}, {"10:05", ok}}, "11:00",
			[]string{"success 08:00–08:00 #0–1", "overrun 09:00–10:00 #2–0", "success 10:00–10:05 #3–4"}},
		{"it began again", hourly, []event{{"08:00", ok}, {"09:00", start}, {"09:05", start}, {"09:08", ok}}, "10:00",
			[]string{"success 08:00–08:00 #0–1", "unended 09:00–09:05 #2–0", "success 09:05–09:08 #3–4"}},
		{"two overlap", hourly, []event{{"09:00", of(start, runA)}, {"09:02", of(start, runB)}, {"09:07", of(ok, runA)}, {"09:08", of(fail, runB)}}, "09:10",
			[]string{"success 09:00–09:07 #1–3", "fail 09:02–09:08 #2–4"}},
		{"a failure without the identifier ends the run", hourly, []event{{"09:00", of(start, runA)}, {"09:05", fail}}, "09:10",
			[]string{"fail 09:00–09:05 #1–2"}},
		{"a success of another run ends none", hourly, []event{{"09:00", of(start, runA)}, {"09:05", of(ok, runB)}}, "09:08",
			[]string{"running 09:00–… #1–0", "success 09:05–09:05 #0–2"}},
		{"a newer success supersedes the run", hourly, []event{{"09:00", of(start, runA)}, {"09:02", of(start, runB)}, {"09:05", of(ok, runB)}}, "09:30",
			[]string{"unended 09:00–09:05 #1–0", "success 09:02–09:05 #2–3"}},
		{"a success after a run that was superseded", hourly, []event{{"09:00", of(start, runA)}, {"09:02", of(start, runB)}, {"09:05", of(ok, runB)}, {"09:50", ok}}, "09:55",
			[]string{"unended 09:00–09:05 #1–0", "success 09:02–09:05 #2–3", "success 09:50–09:50 #0–4"}},
		{"a hung run beside another, with a limit for each", limited, []event{{"09:00", of(start, runA)}, {"09:02", of(start, runB)}, {"09:05", of(ok, runB)}}, "09:30",
			[]string{"overrun 09:00–… #1–0", "success 09:02–09:05 #2–3"}},
		{"a failure of another run, with a limit for each", limited, []event{{"09:00", of(start, runA)}, {"09:05", of(fail, runB)}}, "09:10",
			[]string{"running 09:00–… #1–0", "fail 09:05–09:05 #0–2"}},
		{"two are running, with a limit for each", limited, []event{{"09:00", of(start, runA)}, {"09:02", start}}, "09:10",
			[]string{"running 09:00–… #1–0", "running 09:02–… #2–0"}},
		{"the nameless run ends, with a limit for each", limited, []event{{"09:00", of(start, runA)}, {"09:02", start}, {"09:05", ok}}, "09:10",
			[]string{"running 09:00–… #1–0", "success 09:02–09:05 #2–3"}},
		{"a success without an identifier ends all, with a limit for each", limited, []event{{"09:00", of(start, runA)}, {"09:02", of(start, runB)}, {"09:05", ok}}, "09:10",
			[]string{"unended 09:00–09:05 #1–0", "success 09:02–09:05 #2–3"}},
		{"a start that repeats after its end", hourly, []event{{"09:00", of(start, runA)}, {"09:05", of(ok, runA)}, {"09:06", of(start, runA)}}, "09:10",
			[]string{"success 09:00–09:05 #1–2"}},
		{"a start with a constant identifier", hourly, []event{{"09:00", of(start, runA)}, {"09:05", of(ok, runA)}, {"09:07", of(start, runA)}}, "09:10",
			[]string{"success 09:00–09:05 #1–2", "running 09:07–… #3–0"}},
		{"a Simple check", hourly, []event{{"08:00", ok}, {"09:05", ok}}, "10:00",
			[]string{"success 08:00–08:00 #0–1", "success 09:05–09:05 #0–2"}},
		{"a Simple check is late", hourly, []event{{"08:00", ok}}, "09:05", []string{"success 08:00–08:00 #0–1", "late 09:00–…"}},
		{"a Simple check misses several", hourly, []event{{"06:30", ok}, {"09:50", ok}}, "10:00",
			[]string{"success 06:30–06:30 #0–1", "missed 07:30–08:30", "missed 08:30–09:30", "missed 09:30–09:50", "success 09:50–09:50 #0–2"}},
		{"a Simple check began before the window", hourly, []event{{"-2 10:00", ok}, {"-1 12:30", ok}, {"-1 13:30", ok}}, "12:10",
			append([]string{"success -1 12:30–-1 12:30 #0–2", "success -1 13:30–-1 13:30 #0–3"}, hours()...)},
		{"it waited in a queue", nightly, []event{{"-1 03:10", ok}, {"08:00", pings.Signal{At: day.Add(3*time.Hour + 5*time.Minute)}}}, "12:00",
			[]string{"success 03:05–03:05 #0–2"}},
		{"new", nightly, nil, "12:00", nil},
		{"notes", hourly, []event{{"08:00", ok}, {"08:10", pings.Signal{Kind: pings.Log}}}, "08:30", []string{"success 08:00–08:00 #0–1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := newJob(t, test.spec, day.AddDate(0, 0, -30))
			for _, e := range test.events {
				j.ping(e.signal, at(t, e.at))
			}
			now := at(t, test.now)
			got := j.of(now.Add(-24*time.Hour), now, 1000)
			if diff := cmp.Diff(test.want, text(got.Runs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !got.Since.Equal(now.Add(-24*time.Hour)) || got.More {
				t.Errorf("since %v, more %v", got.Since, got.More)
			}
		})
	}
}

// hours are the runs that an hourly Simple check misses after 13:30 of the day before, until 12:10.
func hours() (lines []string) {
	for h := 14; h < 23; h++ {
		lines = append(lines, fmt.Sprintf("missed -1 %02d:30–-1 %02d:30", h, h+1))
	}
	lines = append(lines, "missed -1 23:30–00:30")
	for h := range 11 {
		lines = append(lines, fmt.Sprintf("missed %02d:30–%02d:30", h, h+1))
	}
	return append(lines, "missed 11:30–…")
}

func TestPauses(t *testing.T) {
	j := newJob(t, hourly, day)
	j.ping(pings.Signal{}, at(t, "06:00"))
	j.pause(at(t, "08:00"))
	j.Check, _ = j.Resume(at(t, "10:00"))
	got := text(j.of(day, at(t, "12:00"), 1000).Runs)
	want := []string{"success 06:00–06:00 #0–1", "missed 07:00–08:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after a resume (-want +got):\n%s", diff)
	}
	j.ping(pings.Signal{}, at(t, "12:00"))
	if diff := cmp.Diff(append(want, "success 12:00–12:00 #0–2"), text(j.of(day, at(t, "12:30"), 1000).Runs)); diff != "" {
		t.Errorf("after the next run (-want +got):\n%s", diff)
	}
}

// TestNewTiming keeps what was missed under the schedule of that time.
func TestNewTiming(t *testing.T) {
	j := newJob(t, nightly, day.AddDate(0, 0, -3))
	j.ping(pings.Signal{}, at(t, "-1 03:00"))
	c, effects := j.Settle(at(t, "09:00"))
	j.Check, j.transitions = c, append(j.transitions, effects.Transitions...)
	c, _, err := j.Update(checks.Spec{Schedule: new("0 5 * * *")}, at(t, "09:00"))
	if err != nil {
		t.Fatal(err)
	}
	j.Check = c
	j.ping(pings.Signal{}, at(t, "10:00"))
	got := text(j.of(at(t, "-1 12:00"), at(t, "12:00"), 1000).Runs)
	if diff := cmp.Diff([]string{"missed 03:00–10:00", "success 10:00–10:00 #0–2"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReach says how far back a short log goes.
func TestReach(t *testing.T) {
	j := newJob(t, hourly, day)
	for i := range 20 {
		j.ping(pings.Signal{Kind: pings.Start}, day.Add(time.Duration(i)*time.Hour))
		j.ping(pings.Signal{}, day.Add(time.Duration(i)*time.Hour+5*time.Minute))
	}
	for _, test := range []struct {
		limit int
		since time.Time
		want  time.Time
		runs  int
	}{
		{1000, day, day, 20},
		{1000, at(t, "-1 00:00"), at(t, "-1 00:00"), 20},
		{10, day, at(t, "15:00"), 5},
		{9, day, at(t, "15:05"), 5},
		{9, at(t, "18:00"), at(t, "18:00"), 2},
	} {
		got := j.of(test.since, at(t, "20:00"), test.limit)
		if !got.Since.Equal(test.want) || len(got.Runs) != test.runs {
			t.Errorf("%d pings since %v: since %v, %d runs, want %v and %d", test.limit, test.since, got.Since, len(got.Runs), test.want, test.runs)
		}
	}
	if r := j.of(day, at(t, "20:00"), 9).Runs[0]; !r.Timed || r.Start != at(t, "15:00") || r.StartN != 0 {
		t.Errorf("the run whose start is lost: %+v", r)
	}
	j.ping(pings.Signal{Kind: pings.Start, RunID: runA}, at(t, "20:00"))
	for range 5 {
		j.ping(pings.Signal{Kind: pings.Log}, at(t, "20:01"))
	}
	if got := text(j.of(day, at(t, "20:05"), 5).Runs); !slices.Equal(got, []string{"running 20:00–…"}) {
		t.Errorf("the running one whose start is lost: %v", got)
	}
}

func TestMore(t *testing.T) {
	j := newJob(t, checks.Spec{Schedule: new("* * * * *"), Grace: new(time.Minute)}, day.AddDate(0, 0, -20))
	j.ping(pings.Signal{}, at(t, "-9 00:00"))
	got := j.of(at(t, "-7 00:00"), day, 1000)
	if len(got.Runs) != timeline.MaxMissed || !got.More {
		t.Errorf("%d runs, more %v", len(got.Runs), got.More)
	}
}

func TestExpected(t *testing.T) {
	list := func(times ...string) (all []time.Time) {
		for _, text := range times {
			all = append(all, at(t, text))
		}
		return all
	}
	cron, simple := newJob(t, nightly, day), newJob(t, hourly, day)
	pinged := newJob(t, hourly, day)
	pinged.ping(pings.Signal{}, at(t, "09:40"))
	paused := newJob(t, nightly, day)
	paused.pause(day)
	for _, test := range []struct {
		name     string
		check    *job
		from, to string
		limit    int
		want     []time.Time
		more     bool
	}{
		{"cron", cron, "00:00", "+1 12:00", 10, list("03:00", "+1 03:00"), false},
		{"from is exclusive, to inclusive", cron, "03:00", "+1 03:00", 10, list("+1 03:00"), false},
		{"a limit", cron, "00:00", "+9 00:00", 2, list("03:00", "+1 03:00"), true},
		{"new and Simple", simple, "00:00", "12:00", 10, nil, false},
		{"Simple", pinged, "12:00", "14:00", 10, list("12:40", "13:40"), false},
		{"Simple, from one of them", pinged, "10:40", "11:40", 10, list("11:40"), false},
		{"Simple, from the last ping", pinged, "09:40", "10:40", 10, list("10:40"), false},
		{"paused", paused, "00:00", "+1 12:00", 10, nil, false},
		{"nothing left", cron, "12:00", "11:00", 10, nil, false},
	} {
		got, more := timeline.Expected(test.check.Check, at(t, test.from), at(t, test.to), test.limit)
		if diff := cmp.Diff(test.want, got); diff != "" || more != test.more {
			t.Errorf("%s: more %v (-want +got):\n%s", test.name, more, diff)
		}
	}
}
