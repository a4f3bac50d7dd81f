package pings_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/pings"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{15: n}, Valid: true} }

func TestRuns(t *testing.T) {
	none := uuid.NullUUID{}
	type event struct {
		start bool
		id    uuid.NullUUID
		after time.Duration
		took  time.Duration
		ok    bool
	}
	for name, events := range map[string][]event{
		"start and end":                 {{true, id(1), 0, 0, false}, {false, id(1), time.Minute, time.Minute, true}},
		"without identifiers":           {{true, none, 0, 0, false}, {false, none, time.Minute, time.Minute, true}},
		"an end alone":                  {{false, id(1), 0, 0, false}},
		"another identifier":            {{true, id(1), 0, 0, false}, {false, id(2), time.Minute, 0, false}},
		"one with, one without":         {{true, id(1), 0, 0, false}, {false, none, time.Minute, 0, false}},
		"one without, one with":         {{true, none, 0, 0, false}, {false, id(1), time.Minute, 0, false}},
		"ends once":                     {{true, id(1), 0, 0, false}, {false, id(1), 1e9, 1e9, true}, {false, id(1), 2e9, 0, false}},
		"the last start counts":         {{true, id(1), 0, 0, false}, {true, id(1), 3e9, 0, false}, {false, id(1), 5e9, 2e9, true}},
		"overlapping runs":              {{true, id(1), 0, 0, false}, {true, id(2), 1e9, 0, false}, {false, id(1), 5e9, 5e9, true}, {false, id(2), 6e9, 5e9, true}},
		"72 hours":                      {{true, id(1), 0, 0, false}, {false, id(1), 72 * time.Hour, 72 * time.Hour, true}},
		"longer than 72 hours":          {{true, id(1), 0, 0, false}, {false, id(1), 72*time.Hour + 1, 0, false}, {false, id(1), 72*time.Hour + 2, 0, false}},
		"rounded down to 10 ms":         {{true, id(1), 0, 0, false}, {false, id(1), 1234 * time.Millisecond, 1230 * time.Millisecond, true}},
		"rounded up to 10 ms":           {{true, id(1), 0, 0, false}, {false, id(1), 1235 * time.Millisecond, 1240 * time.Millisecond, true}},
		"an end of an earlier run":      {{true, id(1), 0, 0, false}, {false, id(1), -time.Second, 0, false}, {false, id(1), 1e9, 1e9, true}},
		"a start before a newer one":    {{true, id(1), 0, 0, false}, {true, id(1), -time.Second, 0, false}, {false, id(1), 1e9, 1e9, true}},
		"the clock has jumped back":     {{true, id(1), 0, 0, false}, {false, id(1), -time.Hour, 0, false}, {false, id(1), 1e9, 0, false}},
		"started before it jumped back": {{true, id(1), 0, 0, false}, {true, id(1), -time.Hour, 0, false}, {false, id(1), -time.Hour + 1e9, 1e9, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var runs pings.Runs
			for i, e := range events {
				at := noon.Add(e.after)
				if e.start {
					runs = runs.Start(e.id, at)
					continue
				}
				var took time.Duration
				var ok bool
				if runs, took, ok = runs.End(e.id, at); took != e.took || ok != e.ok {
					t.Errorf("event %d: %v, %v; want %v, %v", i, took, ok, e.took, e.ok)
				}
			}
		})
	}
}

func TestRunsAreBounded(t *testing.T) {
	var runs pings.Runs
	for i := range 250 {
		runs = runs.Start(id(byte(i)), noon.Add(time.Duration(i)*time.Second))
	}
	if len(runs) != pings.MaxOpenRuns || runs[0].ID != id(150) || runs[99].ID != id(249) {
		t.Errorf("%d runs from %v to %v", len(runs), runs[0].ID, runs[len(runs)-1].ID)
	}
	if runs = runs.Start(id(250), noon.Add(100*time.Hour)); len(runs) != 1 {
		t.Errorf("%d runs are left days later", len(runs))
	}
}

// TestRunsAreOldestFirst checks that runs are in the order of their starts, whatever the order of the calls.
func TestRunsAreOldestFirst(t *testing.T) {
	var runs pings.Runs
	for _, n := range rand.Perm(110) {
		runs = runs.Start(id(byte(n)), noon.Add(time.Duration(n)*time.Second))
	}
	for i, run := range runs {
		if want := 110 - pings.MaxOpenRuns + i; run.ID != id(byte(want)) {
			t.Fatalf("run %d is %v, want %v", i, run.ID, id(byte(want)))
		}
	}
}

// TestRunsAreValues checks that no method changes its receiver, however memory is shared.
func TestRunsAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []pings.Runs
		var copies []pings.Runs
		var runs pings.Runs
		for i := range rapid.IntRange(1, 30).Draw(t, "events") {
			at := noon.Add(time.Duration(i) * time.Minute)
			run := id(byte(rapid.IntRange(0, 4).Draw(t, "run")))
			if rapid.Bool().Draw(t, "start") {
				runs = runs.Start(run, at)
			} else {
				runs, _, _ = runs.End(run, at)
			}
			all = append(all, runs)
			copies = append(copies, append(pings.Runs(nil), runs...))
		}
		for i := range all {
			if !cmp.Equal([]pings.Run(all[i]), []pings.Run(copies[i])) && len(all[i])+len(copies[i]) > 0 {
				t.Fatalf("the runs after event %d were changed later: %v, were %v", i, all[i], copies[i])
			}
		}
	})
}

func TestSignalValidate(t *testing.T) {
	for _, test := range []struct {
		signal pings.Signal
		want   string
	}{
		{pings.Signal{}, ""},
		{pings.Signal{Kind: pings.Log}, ""},
		{pings.Signal{Kind: pings.Ignored}, `the kind "ign" is not success, start, fail or log`},
		{pings.Signal{Kind: "succes"}, `the kind "succes" is not success, start, fail or log`},
		{pings.Signal{ExitStatus: new(0)}, ""},
		{pings.Signal{ExitStatus: new(255)}, ""},
		{pings.Signal{ExitStatus: new(256)}, "the exit status 256 is not in 0 to 255"},
		{pings.Signal{ExitStatus: new(-1)}, "the exit status -1 is not in 0 to 255"},
	} {
		var got string
		if err := test.signal.Validate(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.signal, got, test.want)
		}
	}
}

func TestSignalCleaned(t *testing.T) {
	for in, want := range map[string]string{
		"curl/8.5":                        "curl/8.5",
		"bad \xff byte":                   "bad \uFFFD byte",
		"nul\x00":                         "nul\uFFFD",
		strings.Repeat("a", 201):          strings.Repeat("a", 200),
		strings.Repeat("😀", 300):          strings.Repeat("😀", 200),
		strings.Repeat("ä", 199) + "\xc3": strings.Repeat("ä", 199) + "\uFFFD",
	} {
		if got := (pings.Signal{UserAgent: in}).Cleaned(); got.UserAgent != want || got.Kind != pings.Success {
			t.Errorf("%q: %q %q, want %q", in, got.Kind, got.UserAgent, want)
		}
	}
}

func TestSignalCleanedOfInvalidRun(t *testing.T) {
	id := uuid.New()
	if got := (pings.Signal{RunID: uuid.NullUUID{UUID: id}}).Cleaned().RunID; got != (uuid.NullUUID{}) {
		t.Errorf("no run became the run %v", got)
	}
	if got := (pings.Signal{RunID: uuid.NullUUID{UUID: id, Valid: true}}).Cleaned().RunID; got.UUID != id || !got.Valid {
		t.Errorf("the run %s became %v", id, got)
	}
}

func FuzzSignalCleaned(f *testing.F) {
	f.Add("curl", "\xff\x00")
	f.Fuzz(func(t *testing.T, ua, addr string) {
		s := pings.Signal{UserAgent: ua, RemoteAddr: addr}.Cleaned()
		if n := utf8.RuneCountInString(s.UserAgent); n > pings.MaxUserAgent {
			t.Errorf("%d characters", n)
		}
		for _, text := range []string{s.UserAgent, s.RemoteAddr} {
			if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Errorf("%q", text)
			}
		}
		if utf8.RuneCountInString(ua) <= pings.MaxUserAgent && utf8.ValidString(ua) && !strings.Contains(ua, "\x00") && s.UserAgent != ua {
			t.Errorf("%q became %q", ua, s.UserAgent)
		}
	})
}
