package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

// sweep runs the watcher once.
func (s *site) sweep(want int) {
	s.Helper()
	down := func() (n int) {
		list, err := checks.Stored(s.mon.Project(s.project.ID).Checks(s.Context(), checks.Query{}))
		s.must(err)
		for _, c := range list {
			if c.Stored == checks.StatusDown {
				n++
			}
		}
		return n
	}
	before := down()
	s.must(s.mon.Tick(s.Context()))
	s.equal("checks taken down", down()-before, want)
}

func TestStatesByTheClock(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"timeout": 60, "grace": 120})
		s.clock.Advance(time.Hour)
		s.sweep(0)
		s.status(check, "new", "") // a new check has no deadline

		s.ping(check, "")
		start := time.Hour
		s.status(check, "up", at(start+time.Minute))
		s.equal("flips", s.flips(check, ""), [][2]any{{at(start), 1.0}})
		s.clock.Advance(time.Minute - time.Microsecond)
		s.status(check, "up", at(start+time.Minute))
		s.clock.Advance(time.Microsecond)
		s.status(check, "grace", at(start+time.Minute))
		s.clock.Advance(2*time.Minute - time.Microsecond)
		s.sweep(0)
		s.status(check, "grace", at(start+time.Minute))
		s.clock.Advance(time.Microsecond)

		// Down at the deadline, before and after a sweep, however late.
		down := [][2]any{{at(start + 3*time.Minute), 0.0}, {at(start), 1.0}}
		for range 2 {
			s.status(check, "down", "")
			s.equal("flips", s.flips(check, ""), down)
			s.clock.Advance(time.Hour)
			s.status(check, "down", "")
			s.equal("flips", s.flips(check, ""), down)
			if len(s.api("GET", "/api/v3/checks/", nil).list(200, "checks")) != 1 {
				s.Error("the list lacks the check")
			}
		}
		s.sweep(1)
		s.sweep(0)
		s.status(check, "down", "")
		s.equal("flips", s.flips(check, ""), down)
		s.equal("last_ping", s.get(check)["last_ping"], any(at(start)))

		s.ping(check, "")
		up := start + 3*time.Minute + 2*time.Hour
		s.status(check, "up", at(up+time.Minute))
		s.equal("flips", s.flips(check, ""), append([][2]any{{at(up), 1.0}}, down...))
		s.ping(check, "/fail")
		s.status(check, "down", "")
		s.ping(check, "/fail")
		s.equal("flips", len(s.flips(check, "")), 4)
	})
}

// TestLatePing: a ping after the deadline and before the sweep records both flips.
func TestLatePing(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"timeout": 60, "grace": 60})
		s.ping(check, "")
		s.clock.Advance(10 * time.Minute)
		s.ping(check, "")
		s.equal("flips", s.flips(check, ""), [][2]any{{at(10 * time.Minute), 1.0}, {at(2 * time.Minute), 0.0}, {at(0), 1.0}})
		s.sweep(0)
		s.clock.Advance(time.Minute)
		s.ping(check, "/log")
		s.status(check, "grace", at(11*time.Minute)) // a log entry does not move the deadline
	})
}

func TestStartOverrun(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"timeout": 3600, "grace": 60})
		s.ping(check, "/start")
		s.status(check, "new", "")
		s.equal("flips", s.flips(check, ""), [][2]any(nil))
		s.clock.Advance(time.Minute - time.Microsecond)
		s.status(check, "new", "")
		s.clock.Advance(time.Microsecond)
		s.status(check, "down", "")
		s.sweep(1)
		s.equal("flips", s.flips(check, ""), [][2]any{{at(time.Minute), 0.0}})

		s.ping(check, "")
		s.status(check, "up", at(61*time.Minute))
		s.ping(check, "/start")
		s.clock.Advance(30 * time.Second)
		s.ping(check, "") // in time
		s.clock.Advance(time.Hour - time.Second)
		s.status(check, "up", at(61*time.Minute+30*time.Second))
		s.equal("flips", len(s.flips(check, "")), 2)

		s.ping(check, "/start")
		s.api("POST", path(check)+"/pause", nil).is(200) // forgets the start
		s.ping(check, "")
		s.clock.Advance(30 * time.Minute)
		s.status(check, "up", s.get(check)["next_ping"].(string))
	})
}

func TestCronStates(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"schedule": "0 15 * * *", "tz": "Europe/Riga", "grace": 3600}) // 13:00 UTC in March
		s.ping(check, "")
		s.status(check, "up", at(time.Hour-250*time.Millisecond))
		s.clock.Advance(time.Hour)
		s.status(check, "grace", at(time.Hour-250*time.Millisecond))
		s.clock.Advance(time.Hour)
		s.status(check, "down", "")
		s.equal("flips", s.flips(check, "")[0], [2]any{"2026-03-15T14:00:00+00:00", 0.0})
	})
}

func TestOnCalendarStates(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"schedule": "*-*-* 15:00", "tz": "Europe/Riga", "grace": 3600})
		s.status(check, "new", "") // nothing is expected before the first ping
		s.ping(check, "")
		due := at(time.Hour - 250*time.Millisecond)
		for _, step := range []struct {
			wait         time.Duration
			status, next string
		}{
			{0, "up", due}, {time.Hour - 251*time.Millisecond, "up", due}, {time.Millisecond, "grace", due},
			{time.Hour - time.Millisecond, "grace", due}, {time.Millisecond, "down", ""},
		} {
			s.clock.Advance(step.wait)
			s.status(check, step.status, step.next)
		}
		// A schedule whose last time is over expects nothing more.
		once := s.create(object{"schedule": "2026-03-15 20:00:00", "grace": 60})
		s.clock.Advance(8 * time.Hour)
		s.ping(once, "")
		s.clock.Advance(10 * 365 * 24 * time.Hour)
		s.status(once, "up", "")
	})
}

// TestPausesAreNoFlips: flips are changes to up and to down (server/API.md section 3).
func TestPausesAreNoFlips(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"timeout": 3600, "grace": 60})
		s.api("POST", path(check)+"/pause", nil).is(200)
		s.api("POST", path(check)+"/resume", nil).is(200)
		s.equal("of a new check", s.flips(check, ""), [][2]any(nil))
		s.ping(check, "")
		flips := [][2]any{{at(0), 1.0}}
		for range 2 {
			s.clock.Advance(time.Minute)
			s.api("POST", path(check)+"/pause", nil).is(200)
			s.api("POST", path(check)+"/pause", nil).is(200)
			s.equal("paused", s.flips(check, ""), flips)
			s.clock.Advance(24 * time.Hour)
			s.sweep(0)
			s.api("POST", path(check)+"/resume", nil).is(200)
			s.equal("resumed", s.flips(check, ""), flips)
		}
		s.ping(check, "")
		s.equal("up again", s.flips(check, ""), append([][2]any{{at(48*time.Hour + 2*time.Minute), 1.0}}, flips...))
		// With the unique_key, and with the read-only key, it is the same list.
		list := s.api("GET", path(check)+"/flips/", nil).list(200, "")
		unique := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"].(string)
		for _, key := range []string{s.keys.ReadWrite, s.keys.ReadOnly} {
			for _, path := range []string{path(check), "/api/v3/checks/" + unique} {
				s.equal(path, s.send("GET", path+"/flips/", nil, "X-Api-Key", key).list(200, ""), list)
			}
		}
	})
}

func TestStarted(t *testing.T) {
	for _, report := range []bool{false, true} {
		t.Run(fmt.Sprint(report), func(t *testing.T) {
			both(t, &server.Config{ReportStarted: report}, func(s *site) {
				check := s.create(nil)
				s.ping(check, "/start")
				s.equal("started", s.get(check)["started"], any(report))
				s.ping(check, "")
				s.equal("ended", s.get(check)["started"], any(false))
			})
		})
	}
}

// TestOverlappingRuns: with max_runtime, each open run takes the check down by itself, whatever other runs report.
func TestOverlappingRuns(t *testing.T) {
	run := func(n int) string { return fmt.Sprintf("?rid=00000000-0000-4000-8000-%012d", n) }
	both(t, &server.Config{ReportStarted: true}, func(s *site) {
		check := s.create(object{"timeout": 86400, "grace": 3600, "max_runtime": 600})
		started := func(want bool) {
			s.Helper()
			s.equal("started", s.get(check)["started"], any(want))
		}
		s.ping(check, "")
		s.ping(check, "/start"+run(1))
		s.clock.Advance(time.Minute)
		s.ping(check, "/start"+run(2))
		s.clock.Advance(time.Minute)
		s.ping(check, "/start")
		s.clock.Advance(time.Minute)
		s.ping(check, run(3))
		s.ping(check, "") // ends the run without an identifier
		started(true)
		s.clock.Advance(7*time.Minute - time.Microsecond)
		s.sweep(0)
		s.equal("status", s.get(check)["status"], any("up"))
		s.clock.Advance(time.Microsecond)
		s.sweep(1)
		s.status(check, "down", "")
		started(true) // run 2
		s.ping(check, run(1))
		s.equal("status", s.get(check)["status"], any("up"))
		s.clock.Advance(time.Minute)
		s.sweep(1)
		s.status(check, "down", "")
		started(false)
		s.ping(check, run(2))
		s.equal("flips", s.flips(check, ""), [][2]any{{at(11 * time.Minute), 1.0}, {at(11 * time.Minute), 0.0}, {at(10 * time.Minute), 1.0}, {at(10 * time.Minute), 0.0}, {at(0), 1.0}})

		// A start that repeats after its end begins no run. A minute later it does.
		s.ping(check, "/start"+run(2))
		started(false)
		s.clock.Advance(time.Minute + time.Microsecond)
		s.ping(check, "/start"+run(2))
		started(true)
		s.ping(check, "/start"+run(4))
		s.ping(check, "") // no run without an identifier is open, so it ends all
		started(false)
	})
}

// TestPingFilters lists some of the pings of a check. Without the parameters the list is that of section 4.8.
func TestPingFilters(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(nil)
		for range 3 { // at noon, and 100 and 200 seconds later
			s.ping(check, "")
			s.clock.Advance(100 * time.Second)
		}
		unix := func(d time.Duration) string { return fmt.Sprint(noon.Add(d).Unix()) }
		for query, want := range map[string][]any{
			"":                                {3.0, 2.0, 1.0},
			"?unknown=x":                      {3.0, 2.0, 1.0},
			"?limit=1000&since=0":             {3.0, 2.0, 1.0},
			"?limit=2":                        {3.0, 2.0},
			"?limit=0":                        nil,
			"?since=" + unix(100*time.Second): {3.0, 2.0},
			"?since=" + unix(101*time.Second): {3.0},
			"?since=10000000000":              nil,
			"?limit=1&since=" + unix(0):       {3.0},
		} {
			var numbers []any
			for _, ping := range s.api("GET", path(check)+"/pings/"+query, nil).list(200, "pings") {
				numbers = append(numbers, ping["n"])
			}
			s.equal(query, numbers, want)
		}
		for query, text := range map[string]string{
			"?limit=1001": "limit is too large: 1001, the maximum is 1000",
			"?limit=-1":   "limit is too small: -1, the minimum is 0",
			"?limit=":     `limit is not a whole number: ""`,
			"?since=x":    `since is not a whole number: "x"`,
		} {
			parameter, _, _ := strings.Cut(text, " ")
			s.api("GET", path(check)+"/pings/"+query, nil).refusedField(parameter, text)
		}
	})
}

func TestFlipFilters(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(nil)
		s.equal("none", s.api("GET", path(check)+"/flips/", nil).body, "[]\n")
		// Flips at noon and a quarter of a second, and 100 and 200 seconds later.
		for _, signal := range []string{"", "/fail", ""} {
			s.ping(check, signal)
			s.clock.Advance(100 * time.Second)
		}
		third, second, first := [2]any{at(200 * time.Second), 1.0}, [2]any{at(100 * time.Second), 0.0}, [2]any{at(0), 1.0}
		unix := func(d time.Duration) string { return fmt.Sprint(noon.Add(d).Unix()) }
		for query, want := range map[string][][2]any{
			"":                                {third, second, first},
			"?unknown=x":                      {third, second, first},
			"?seconds=31536000":               {third, second, first},
			"?seconds=300":                    {third, second, first}, // the last 300 seconds include their start
			"?seconds=299":                    {third, second},
			"?seconds=100":                    {third},
			"?seconds=99":                     nil,
			"?seconds=0":                      nil,
			"?start=0&end=10000000000":        {third, second, first},
			"?start=" + unix(100*time.Second): {third, second}, // newer than 12:01:40.000
			"?start=" + unix(101*time.Second): {third},
			"?end=" + unix(100*time.Second):   {first},
			"?end=" + unix(101*time.Second):   {second, first},
			"?end=0":                          nil,
			"?start=" + unix(50*time.Second) + "&end=" + unix(150*time.Second): {second},
			"?start=" + unix(150*time.Second) + "&end=" + unix(50*time.Second): nil,
			"?seconds=250&end=" + unix(150*time.Second):                        {second},
		} {
			s.equal(query, s.flips(check, query), want)
		}
		for query, text := range map[string]string{
			"?seconds=31536001":            "seconds is too large: 31536001, the maximum is 31536000",
			"?seconds=-1":                  "seconds is too small: -1, the minimum is 0",
			"?seconds=":                    `seconds is not a whole number: ""`,
			"?seconds=1.5":                 `seconds is not a whole number: "1.5"`,
			"?seconds=x":                   `seconds is not a whole number: "x"`,
			"?seconds=1e3":                 `seconds is not a whole number: "1e3"`,
			"?start=10000000001":           "start is too large: 10000000001, the maximum is 10000000000",
			"?start=-1":                    "start is too small: -1, the minimum is 0",
			"?start=2026-03-15":            `start is not a whole number: "2026-03-15"`,
			"?end=10000000001":             "end is too large: 10000000001, the maximum is 10000000000",
			"?end=+5":                      `end is not a whole number: " 5"`,
			"?end=" + url.QueryEscape("٣"): `end is not a whole number: "٣"`,
		} {
			parameter, _, _ := strings.Cut(text, " ")
			s.api("GET", path(check)+"/flips/"+query, nil).refusedField(parameter, text)
		}
		s.api("GET", path(check)+"/flips/?seconds=%zz", nil).refused(400, "the query is not properly escaped")
	})
}

// TestFlipRetention: flips of the current month and the two before it are kept (server/API.md section 8).
func TestFlipRetention(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"timeout": 31536000})
		s.ping(check, "") // 15 March
		s.clock.Advance(30 * 24 * time.Hour)
		s.ping(check, "/fail") // 14 April
		prune := func() {
			s.Helper()
			if err := s.mon.Tick(s.Context()); err != nil {
				s.Fatal(err)
			}
		}
		s.clock.Advance(noonIn(2026, 5, 31).Sub(s.clock.Now()))
		prune()
		s.equal("at the end of May", len(s.flips(check, "")), 2)
		s.clock.Advance(24 * time.Hour)
		prune()
		s.equal("in June", s.flips(check, ""), [][2]any{{"2026-04-14T12:00:00+00:00", 0.0}})
	})
}

func noonIn(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
}

// TestShorterTiming: new settings take a check down no earlier than now.
func TestShorterTiming(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(nil)
		s.ping(check, "")
		s.clock.Advance(10 * time.Minute)
		s.equal("updated", s.api("POST", path(check), object{"timeout": 60, "grace": 60}).object(200)["status"], any("down"))
		s.equal("flips", s.flips(check, ""), [][2]any{{at(10 * time.Minute), 0.0}, {at(0), 1.0}})
	})
}
