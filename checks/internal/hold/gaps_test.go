package hold

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestGaps stops a process, and sets its clock.
func TestGaps(t *testing.T) {
	const second, minute, hour = time.Second, time.Minute, time.Hour
	type event struct {
		frozen, set time.Duration // for which the process does not run, and by which its clock is set then
		runs        time.Duration // for which it runs afterwards
	}
	const early, start, back, forward, away = second, 11 * second, "set back", "set forward", "did not run"
	blink := event{frozen: 6 * second, runs: second}
	for name, test := range map[string]struct {
		events []event
		since  time.Duration // from which on deadlines wait at last, by the clock; 0 if they do not
		left   time.Duration // for which they wait
		log    []string
		speed  time.Duration // of a clock that is moved on purpose
	}{
		"none":                   {events: []event{{runs: hour}}},
		"frozen":                 {events: []event{blink}, since: start, left: 4 * second, log: []string{away}},
		"frozen for an hour":     {events: []event{{frozen: hour, runs: second}}, since: start, left: 4 * second, log: []string{away}},
		"frozen before":          {events: []event{{frozen: 6 * second, runs: 5 * second}}, log: []string{away}},
		"frozen at the start":    {events: []event{blink}, since: early, left: 4 * second, log: []string{away}},
		"slow":                   {events: []event{{frozen: 1900 * time.Millisecond}}},
		"set forward":            {events: []event{{set: hour, runs: minute}}, since: start, left: 5 * second, log: []string{forward}},
		"set forward before":     {events: []event{{set: hour, runs: minute + 5*second}}, log: []string{forward}},
		"set a little":           {events: []event{{set: second, runs: second}}},
		"set back":               {events: []event{{set: -hour, runs: second}}, since: start - hour, left: 4 * second, log: []string{back}},
		"set forward and back":   {events: []event{{set: hour, runs: second}, {set: -hour, runs: second}}, since: start, left: 63 * second, log: []string{forward, back}},
		"frozen and set forward": {events: []event{{frozen: 6 * second, set: hour, runs: second}}, since: start, left: 64 * second, log: []string{forward}},
		"frozen again":           {events: []event{blink, blink}, since: start, left: 4 * second, log: []string{away, away}},
		"frozen most of the time": { // for two minutes or so
			events: slices.Repeat([]event{blink}, 21), since: start + 19*7*second, left: 4 * second, log: slices.Repeat([]string{away}, 21)},
		"a clock that stands":   {events: []event{{frozen: hour, set: 2 * hour, runs: second}, {frozen: hour}}, speed: 0},
		"a clock that is fast":  {events: []event{{frozen: hour, set: hour, runs: second}}, speed: 60},
		"a clock that is moved": {events: []event{{set: hour}, {set: hour}, {set: 24 * hour}}, speed: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				speed := test.speed
				if !strings.HasPrefix(name, "a clock") {
					speed = 1
				}
				begin, ahead := time.Now(), time.Duration(0)
				var log bytes.Buffer
				g := NewGaps(func() time.Time { return begin.Add(speed*time.Since(begin) + ahead) }, slog.New(slog.NewTextHandler(&log, nil)))
				run := func(d time.Duration) {
					for ; d > 0; d -= beatEvery {
						time.Sleep(beatEvery)
						g.tick(t.Context())
					}
				}
				time.Sleep(early)
				g.start(time.Now())
				if test.since != early {
					run(start - early)
				}
				for _, e := range test.events {
					time.Sleep(e.frozen)
					ahead += e.set
					g.Now() // as the first ping afterwards does
					run(e.runs)
				}
				now, got := g.Now()
				want, left := time.Time{}, time.Duration(0)
				if test.since != 0 {
					want, left = begin.Add(test.since), time.Until(g.end)
				}
				if !got.Equal(want) || left != test.left {
					t.Errorf("deadlines wait from %v for %v, want %v for %v", got, left, want, test.left)
				}
				if settled := g.Settled(now); !got.IsZero() && !settled.Equal(got) || got.IsZero() && !settled.Equal(now) {
					t.Errorf("deadlines may be judged up to %v at %v", settled, now)
				}
				lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\n")
				if log.Len() == 0 {
					lines = nil
				}
				if !slices.EqualFunc(lines, test.log, strings.Contains) {
					t.Errorf("the log is %q, want %q", lines, test.log)
				}
			})
		})
	}
}
