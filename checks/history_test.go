package checks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestHistory applies events and compares the history in words. A ping with a second time was sent then and received at
// the first.
func TestHistory(t *testing.T) {
	for name, test := range map[string]struct {
		spec   checks.Spec
		events string // the time of each and a kind of ping, pause, resume or clock
		runs   string
		last   string // the last success
		days   string // the totals that left the history
		today  string
	}{
		"nothing":                {events: "12:00 clock"},
		"pings that are no runs": {events: "12:00 start, 12:01 log, 12:02 start"},
		"a success with and without a duration": {events: "12:00 success, 12:10 start, 12:10:41 success",
			runs: "12:00:00 success 0s, 12:10:41 success 41s", last: "12:10:41 41s", today: "03-01: 2 runs, 0 failed, 1 took 41s (41s to 41s)"},
		"a failure": {events: "12:00 start, 12:01 fail", runs: "12:01:00 fail 1m0s", today: "03-01: 1 runs, 1 failed, 1 took 1m0s (1m0s to 1m0s)"},
		"a missed ping, once": {events: "12:00 success, 20:00 clock, 20:01 log", runs: "12:00:00 success 0s, 13:10:00 missed 0s",
			last: "12:00:00 0s", today: "03-01: 2 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"an overrun": {events: "12:00 start, 20:00 success", runs: "12:10:00 missed 0s, 20:00:00 success 8h0m0s",
			last: "20:00:00 8h0m0s", today: "03-01: 2 runs, 1 failed, 1 took 8h0m0s (8h0m0s to 8h0m0s)"},
		"pause and resume keep it": {events: "12:00 success, 12:01 pause, 12:02 resume", runs: "12:00:00 success 0s", last: "12:00:00 0s",
			today: "03-01: 1 runs, 0 failed, 0 took 0s (0s to 0s)"},
		"pings that a pause ignores": {spec: checks.Spec{ManualResume: new(true)}, events: "12:00 pause, 12:01 success, 12:02 fail"},
		"late pings": {events: "12:02 success, 12:01 fail, 12:00:30 success", runs: "12:00:30 success 0s, 12:01:00 fail 0s, 12:02:00 success 0s",
			last: "12:02:00 0s", today: "03-01: 3 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"a success that is recorded after its deadline": {events: "12:00 success, 13:10 clock, 13:09 success",
			runs: "12:00:00 success 0s, 13:09:00 success 0s, 13:10:00 missed 0s", last: "13:09:00 0s",
			today: "03-01: 3 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"queued pings": {events: "12:30 fail<12:10, 12:31 success<12:00", runs: "12:00:00 success 0s, 12:10:00 fail 0s", last: "12:00:00 0s",
			today: "03-01: 2 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"midnight in UTC": {events: "23:59:59 success, 24:00 success, 24:01 fail",
			runs: "23:59:59 success 0s, 24:00:00 success 0s, 24:01:00 fail 0s", last: "24:00:00 0s",
			days: "03-01: 1 runs, 0 failed, 0 took 0s (0s to 0s)", today: "03-02: 2 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"a late ping of the day before": {events: "24:00:30 success, 23:59:50 success",
			runs: "23:59:50 success 0s, 24:00:30 success 0s", last: "24:00:30 0s",
			days: "03-01: 1 runs, 0 failed, 0 took 0s (0s to 0s)", today: "03-02: 1 runs, 0 failed, 0 took 0s (0s to 0s)"},
		"a queued ping of the day before": {events: "24:01 success, 30:00 fail<14:00",
			runs: "14:00:00 fail 0s, 24:01:00 success 0s, 25:11:00 missed 0s", last: "24:01:00 0s",
			days: "03-01: 1 runs, 1 failed, 0 took 0s (0s to 0s)", today: "03-02: 2 runs, 1 failed, 0 took 0s (0s to 0s)"},
		"a queued ping that is the first of an earlier day": {events: "30:00 success<14:00, 30:01 success",
			runs: "14:00:00 success 0s, 30:01:00 success 0s", last: "30:01:00 0s",
			days: "03-01: 1 runs, 0 failed, 0 took 0s (0s to 0s)", today: "03-02: 1 runs, 0 failed, 0 took 0s (0s to 0s)"},
		"a deadline that nobody saw on its day": {events: "12:00 success, 90:00 success",
			runs: "12:00:00 success 0s, 13:10:00 missed 0s, 90:00:00 success 0s", last: "90:00:00 0s",
			days: "03-01: 2 runs, 1 failed, 0 took 0s (0s to 0s)", today: "03-04: 1 runs, 0 failed, 0 took 0s (0s to 0s)"},
		"a clock that was set back to the day before": {events: "25:00 fail, 12:00 fail, 12:01 fail",
			runs: "25:00:00 fail 0s, 12:00:00 fail 0s, 12:01:00 fail 0s",
			days: "03-02: 1 runs, 1 failed, 0 took 0s (0s to 0s)", today: "03-01: 2 runs, 2 failed, 0 took 0s (0s to 0s)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := hourly(t)
			c, _, err := c.Update(test.spec, noon)
			if err != nil {
				t.Fatal(err)
			}
			var days []checks.Day
			for event := range strings.SplitSeq(test.events, ", ") {
				var effects checks.Effects
				c, effects = apply(t, c, event)
				days = append(days, effects.Days...)
			}
			var runs []string
			for _, run := range c.History.Recent.Runs() {
				runs = append(runs, fmt.Sprintf("%s %s %v", clock(run.At), run.Result, run.Duration))
			}
			last := ""
			if !c.History.LastSuccess.IsZero() {
				last = fmt.Sprintf("%s %v", clock(c.History.LastSuccess), c.History.LastSuccessDuration)
			}
			got := []string{strings.Join(runs, ", "), last, inWords(days...), inWords(c.History.Today)}
			if diff := cmp.Diff([]string{test.runs, test.last, test.days, test.today}, got); diff != "" {
				t.Errorf("runs, last success, earlier days, today (-want +got):\n%s", diff)
			}
		})
	}
}

// midnight begins the day of noon.
var midnight = noon.Add(-12 * time.Hour)

// clock returns the hours, which may exceed 24, minutes and seconds since midnight.
func clock(at time.Time) string {
	d := at.Sub(midnight)
	return fmt.Sprintf("%02d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func apply(t *testing.T, c checks.Check, event string) (checks.Check, checks.Effects) {
	t.Helper()
	at := func(text string) time.Time {
		var h, m, s int
		_, _ = fmt.Sscanf(text, "%d:%d:%d", &h, &m, &s)
		return midnight.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
	}
	when, do, _ := strings.Cut(event, " ")
	now := at(when)
	switch do {
	case "clock":
		return c.Settle(now)
	case "pause":
		return c.Pause(now)
	case "resume":
		c, err := c.Resume(now)
		if err != nil {
			t.Fatal(err)
		}
		return c, checks.Effects{}
	}
	kind, sent, queued := strings.Cut(do, "<")
	signal := pings.Signal{Kind: pings.Kind(kind)}
	if queued {
		signal.At = at(sent)
	}
	c, _, effects, err := c.Ping(signal, now)
	if err != nil {
		t.Fatal(err)
	}
	return c, effects
}

func inWords(days ...checks.Day) string {
	var list []string
	for _, d := range days {
		if d != (checks.Day{}) {
			list = append(list, fmt.Sprintf("%s: %d runs, %d failed, %d took %v (%v to %v)",
				d.Date.Format("01-02"), d.Runs, d.Failures, d.Timed, d.Sum, d.Min, d.Max))
		}
	}
	return strings.Join(list, ", ")
}

// TestHistoryCountsRuns compares the history after random events with a count of the log and of the missed deadlines.
func TestHistoryCountsRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		stretch := rapid.SampledFrom([]int{1, 20, 300}).Draw(t, "stretch") // minutes between events, at most
		var runs []checks.Run
		want, got := make(map[time.Time]checks.Totals), make(map[time.Time]checks.Totals)
		count := func(run checks.Run, took *time.Duration) {
			totals := checks.Totals{Runs: 1}
			if run.Result != checks.RunSuccess {
				totals.Failures = 1
			}
			if took != nil {
				run.Duration = *took
				totals.Timed, totals.Sum, totals.Min, totals.Max = 1, *took, *took, *took
			}
			year, month, day := run.At.Date()
			date := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
			runs, want[date] = append(runs, run), want[date].Add(totals)
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			h.now = h.now.Add(time.Duration(rapid.IntRange(0, 60*stretch).Draw(t, "seconds")) * time.Second)
			var effects checks.Effects
			var ping pings.Ping
			switch do := rapid.IntRange(0, 9).Draw(t, "event"); do {
			case 0:
				h.check, effects = h.check.Settle(h.now)
			case 1:
				h.check, effects = h.check.Pause(h.now)
			case 2:
				h.check, effects = h.check.Settle(h.now)
				if resumed, err := h.check.Resume(h.now); err == nil {
					h.check = resumed
				}
			case 3, 4:
				h.check, ping, effects, _ = h.check.Ping(drawQueued(t, h.now), h.now)
			default:
				kind := []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log, pings.Success}[do-5]
				late := time.Duration(rapid.IntRange(0, 50).Draw(t, "late")) * time.Second // within 2 minutes of the newest
				var run uuid.NullUUID
				if n := rapid.ByteRange(0, 2).Draw(t, "run"); n > 0 {
					run = uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true}
				}
				h.check, ping, effects, _ = h.check.Ping(pings.Signal{Kind: kind, RunID: run}, h.now.Add(-late))
			}
			for _, tr := range effects.Transitions {
				if tr.Reason == flips.Overdue || tr.Reason == flips.Overrun {
					count(checks.Run{At: tr.At, Result: checks.RunMissed}, nil)
				}
			}
			switch ping.Kind {
			case pings.Success:
				count(checks.Run{At: ping.At, Result: checks.RunSuccess}, ping.Duration)
			case pings.Failure:
				count(checks.Run{At: ping.At, Result: checks.RunFailure}, ping.Duration)
			}
			for _, d := range effects.Days {
				got[d.Date] = got[d.Date].Add(d.Totals)
			}
		}
		history := h.check.History
		if today := history.Today; today.Runs > 0 {
			got[today.Date] = got[today.Date].Add(today.Totals)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("totals (-want +got):\n%s", diff)
		}
		slices.SortStableFunc(runs, func(a, b checks.Run) int { return a.At.Compare(b.At) })
		if diff := cmp.Diff(runs[max(0, len(runs)-checks.MaxRecent):], history.Recent.Runs()); diff != "" {
			t.Fatalf("recent runs (-want +got):\n%s", diff)
		}
		var last checks.Run
		for _, run := range runs {
			if run.Result == checks.RunSuccess {
				last = run
			}
		}
		if !history.LastSuccess.Equal(last.At) {
			t.Fatalf("the last success is %v, want %+v", history.LastSuccess, last)
		}
	})
}

// TestRecentIsCompact packs the runs of jobs that are a little late each time.
func TestRecentIsCompact(t *testing.T) {
	for name, step := range map[string]time.Duration{"minutes": time.Minute, "hours": time.Hour, "days": 24 * time.Hour} {
		var runs []checks.Run
		for i := range 3 * checks.MaxRecent {
			jitter := time.Duration(i*i*977%1000) * time.Millisecond
			runs = append(runs, checks.Run{At: noon.Add(time.Duration(i)*step + jitter), Duration: 41*time.Second + jitter.Round(10*time.Millisecond), Result: checks.RunSuccess})
		}
		packed := checks.RecentRuns(runs...)
		if diff := cmp.Diff(runs[2*checks.MaxRecent:], packed.Runs()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if size := len(packed); size > 7*checks.MaxRecent+10 {
			t.Errorf("%s: %d runs take %d bytes", name, checks.MaxRecent, size)
		}
	}
}

// FuzzRecent reads any string. What it reads is the same after it was packed again.
func FuzzRecent(f *testing.F) {
	at := func(d time.Duration) checks.Run {
		return checks.Run{At: noon.Add(d), Duration: d, Result: checks.RunFailure}
	}
	for _, seed := range []string{"", "\x00", "\x00\x00", "\x00\x03", "\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", strings.Repeat("\x00", 42),
		string(checks.RecentRuns(at(0), at(time.Hour), at(time.Minute)))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		runs := checks.Recent(text).Runs()
		if diff := cmp.Diff(runs, checks.RecentRuns(runs...).Runs()); diff != "" || len(runs) > checks.MaxRecent {
			t.Errorf("%q: %d runs, packed again (-want +got):\n%s", text, len(runs), diff)
		}
		c := hourly(t)
		c.History.Recent = checks.Recent(text)
		c, _, _, _ = c.Ping(pings.Signal{}, noon)
		if len(c.History.Recent.Runs()) == 0 {
			t.Errorf("%q takes no further run", text)
		}
	})
}

func TestSlow(t *testing.T) {
	runs := func(seconds ...int) (list []checks.Run) {
		for i, s := range seconds {
			r := checks.Run{At: noon.Add(time.Duration(i) * time.Hour), Duration: time.Duration(max(s, -s)) * time.Second, Result: checks.RunSuccess}
			if s < 0 {
				r.Result = checks.RunFailure
			}
			list = append(list, r)
		}
		return list
	}
	for _, test := range []struct {
		name  string
		runs  []checks.Run
		usual int // seconds; 0 if it is not slow
	}{
		{"none", nil, 0},
		{"twice as long", runs(60, 61, 59, 60, 62, 120), 60},
		{"less than twice", runs(60, 61, 59, 60, 62, 119), 0},
		{"too few before it", runs(60, 61, 59, 60, 120), 0},
		{"seconds", runs(2, 2, 2, 2, 2, 11), 0},
		{"as slow as before", runs(60, 61, 59, 300, 60, 62, 300), 0},
		{"slower than ever", runs(60, 61, 59, 300, 60, 62, 301), 61},
		{"followed by a usual one", runs(60, 61, 59, 60, 62, 500, 60), 0},
		{"failures do not count", runs(60, -1, 61, -2, 59, 60, 62, 120, -3), 60},
		{"without durations", runs(0, 0, 0, 0, 0, 0, 120), 0},
	} {
		run, usual, slow := checks.History{Recent: checks.RecentRuns(test.runs...)}.Slow()
		if slow != (test.usual > 0) || slow && usual != time.Duration(test.usual)*time.Second {
			t.Errorf("%s: %v, usual %v, want %d s", test.name, run, usual, test.usual)
		}
	}
}
