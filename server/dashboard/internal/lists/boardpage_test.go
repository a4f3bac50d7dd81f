package lists_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// run reports a run that takes a while, and moves the clock.
func run(s *pagetest.Site, c checks.Check, end pings.Signal, took time.Duration) {
	s.T.Helper()
	s.Ping(c, pings.Signal{Kind: pings.Start, RunID: end.RunID})
	s.Advance(took)
	s.Ping(c, end)
}

func TestEmptyBoard(t *testing.T) {
	s := pagetest.New(t)
	s.SignedIn(s.Keys.ReadWrite).Get(s.Path("board")).Is(http.StatusOK).Has("Nothing to show yet", "Create your first check")
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("board")).Is(http.StatusOK).Has("Nothing to show yet").HasNo("Create your first check")
	s.Browser().Get(s.Path("board")).Is(http.StatusSeeOther)
}

// TestBoard shows a day of a few jobs. It begins at 14:00 in Riga.
func TestBoard(t *testing.T) {
	s := pagetest.New(t)
	backup := s.Create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)})
	export := s.Create(checks.Spec{Name: new("export"), Schedule: new("0 * * * *"), TZ: new("America/New_York"), Grace: new(2 * time.Hour), Tags: []string{"prod"}})
	etl := s.Create(checks.Spec{Name: new("etl"), Schedule: new("0 7 * * *"), TZ: new("Europe/Riga"), Grace: new(4 * time.Hour)})
	s.Create(checks.Spec{Name: new("restore"), Schedule: new("0 5 1 * *"), TZ: new("Europe/Riga")})
	s.Ping(backup, pings.Signal{})
	run(s, etl, pings.Signal{}, 134*time.Minute)
	for i := range 15 { // from 16:14 to 06:14, and each takes a minute and a half
		kind, exit := pings.Success, 0
		if i == 7 {
			kind, exit = pings.Failure, 3
		}
		run(s, export, pings.Signal{Kind: kind, ExitStatus: &exit}, 90*time.Second)
		s.Advance(time.Hour - 90*time.Second)
	}
	run(s, etl, pings.Signal{}, 11*time.Minute)
	s.Ping(etl, pings.Signal{Kind: pings.Start})
	s.Ping(export, pings.Signal{})
	s.Tick()
	b := s.SignedIn(s.Keys.ReadOnly).In("Europe/Riga")
	page := b.Get(s.Path("board")).Is(http.StatusOK)
	page.Has("<title>1 down · Board · backups · Rollcall</title>", "<b>1 run is missing.</b> <b>1 run failed</b> in the last 24 hours", "1 running now",
		"Tonight: ", "between 22:00 and 06:00; the longest is ", `">export</a>, 1 min 30 s.`,
		"Down <span>1</span>", "Up again <span>1</span>", "Other checks <span>2</span>",
		"Mon 23 Nov 07:25, Europe/Riga",
		"Missed\nexpected Mon 23 Nov 03:00", "1 run missing since 03:00.", "Failed, exit status 3", "took 1 min 30 s", "pings 15 and 16",
		"every hour, New York (7 h behind)", "every hour, in America/New_York, 7 h behind", "next Tue 1 Dec 05:00", "Running since 07:25", "Expected\nMon 23 Nov 08:00 (01:00 in America/New_York)")
	page.HasNo(backup.ID.String(), export.ID.String(), "style=")
	pagetest.WellFormed(t, page.Body)
	if missing, etl := strings.Index(page.Body, ">backup<"), strings.Index(page.Body, ">etl<span"); missing < 0 || etl < missing {
		t.Error("the check that is down is not the first one")
	}
	b.Get(s.Path("board?group=tag&span=7d")).Is(http.StatusOK).Has("in the last 7 days", "No tag <span>2</span>", "Tue 17", "?group=tag\"")
	b.Get(s.Path("board?group=x&span=y&all=z")).Is(http.StatusOK).Has("in the last 24 hours")
}

// TestBoardClocks names the change of the clock on both days, in the zone of the viewer.
func TestBoardClocks(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Schedule: new("30 3 * * *"), TZ: new("Europe/Riga")})
	s.Advance(time.Date(2027, 3, 27, 10, 0, 0, 0, time.UTC).Sub(pagetest.Start))
	s.Ping(c, pings.Signal{})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("board")).HasNo("clocks go", "Clocks go")
	b.In("Europe/Riga").Get(s.Path("board")).Has("clocks go forward 03:00→04:00", "Clocks go forward from 03:00 to 04:00 on Sunday 28 March.",
		"Sun 28 Mar 04:00 EEST") // 03:30 does not exist
	s.Advance(time.Date(2027, 10, 31, 7, 0, 0, 0, time.UTC).Sub(s.Now()))
	b = s.SignedIn(s.Keys.ReadWrite) // the session has expired
	b.In("Europe/Riga").Get(s.Path("board")).Has("clocks go back 04:00→03:00")
	b.In("America/New_York").Get(s.Path("board")).HasNo("clocks go")
}

// TestBoardOfManyChecks collapses what is well.
func TestBoardOfManyChecks(t *testing.T) {
	s := pagetest.New(t)
	for i := range 40 {
		s.Ping(s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i))}), pings.Signal{})
	}
	failed := s.Create(checks.Spec{Name: new("zzz")})
	s.Ping(failed, pings.Signal{Kind: pings.Failure})
	s.Advance(48 * time.Hour / 3)
	b := s.SignedIn(s.Keys.ReadOnly)
	page := b.Get(s.Path("board")).Is(http.StatusOK).Has(">zzz<", "11 healthy checks hidden.", "?all=1", ">job-28<").HasNo(">job-30<")
	if n := strings.Count(page.Body, `class="lane `); n != 30 {
		t.Errorf("%d lanes, want 30", n)
	}
	page = b.Get(s.Path("board?all=1")).Is(http.StatusOK).Has(">job-39<", "Show fewer").HasNo("more that are well")
	if n := strings.Count(page.Body, `class="lane `); n != 41 {
		t.Errorf("%d lanes of all, want 41", n)
	}
	b.Get(s.Path("board?all=1&page=2")).Is(http.StatusOK).Has("41 before", `rel="prev"`).HasNo(`class="lane `)
}

// TestBoardOfHostileNames shows names as text.
func TestBoardOfHostileNames(t *testing.T) {
	s := pagetest.New(t)
	for _, name := range []string{`<script>alert(1)</script>`, `"><svg onload=alert(1)>`, "{{.Base}}", "a\u202eb", strings.Repeat("w", 100), `</title></svg>`} {
		c := s.Create(checks.Spec{Name: &name, Tags: []string{`<b>'"`}})
		s.Ping(c, pings.Signal{})
		s.Ping(c, pings.Signal{Kind: pings.Failure})
	}
	page := s.SignedIn(s.Keys.ReadWrite).Get(s.Path("board?group=tag")).Is(http.StatusOK)
	page.Has("&lt;script&gt;alert(1)&lt;/script&gt;").HasNo("<script>alert", "<svg onload", "</title></svg></span>")
	pagetest.WellFormed(t, page.Body)
}

// TestBoardAsksOnce answers an open page that asks again, as the clock moves, from what is known.
func TestBoardAsksOnce(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.Ping(c, pings.Signal{})
	b := s.SignedIn(s.Keys.ReadOnly)
	first := b.Get(s.Path("board")).Is(http.StatusOK).Has("Sun 22 Nov 12:00")
	s.Advance(65 * time.Minute)
	b.Header.Set("Rollcall-Version", "clock")
	b.Get(s.Path("board")).Is(http.StatusOK).Has("Sun 22 Nov 13:05", "Late since 13:00")
	b.Header.Set("Rollcall-Version", regexp.MustCompile(`data-version="([^"]+)"`).FindStringSubmatch(first.Body)[1])
	b.Get(s.Path("board")).Is(http.StatusNoContent)
}

// lanes are the runs on a board, without what differs from answer to answer.
func lanes(t *testing.T, a *pagetest.Answer) string {
	t.Helper()
	_, body, found := strings.Cut(a.Is(http.StatusOK).Body, `<div id="live"`)
	if !found {
		t.Fatalf("no lanes: %s", a.Body)
	}
	return regexp.MustCompile(`data-version="[^"]*"`).ReplaceAllString(body, "")
}

// TestBoardReadsWhatIsNew opens a board again and again. It reads the log of a check only if that has a new ping.
func TestBoardReadsWhatIsNew(t *testing.T) {
	var read atomic.Int64
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if op == "Pings" {
				read.Add(1)
			}
			return do()
		}
	})
	var list []checks.Check
	for i := range 40 {
		list = append(list, s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i)), Timeout: new(48 * time.Hour)}))
		s.Ping(list[i], pings.Signal{})
		for range 5 {
			run(s, list[i], pings.Signal{}, time.Second)
		}
	}
	b := s.SignedIn(s.Keys.ReadOnly)
	view := func(want int64) *pagetest.Answer {
		t.Helper()
		read.Store(0)
		page := b.Get(s.Path("board")).Is(http.StatusOK)
		if got := read.Load(); got != want {
			t.Errorf("a view reads logs %d times, want %d", got, want)
		}
		return page
	}
	view(1)
	s.Advance(time.Minute)
	view(0)
	run(s, list[7], pings.Signal{Kind: pings.Failure}, time.Second)
	view(1).Has("<b>1 run failed</b>")
	view(0)
	run(s, list[39], pings.Signal{}, time.Second) // has no lane
	view(0)
	s.Advance(36 * time.Hour)
	view(0).Has("Nothing ran in the last 24 hours.")
	b.Get(s.Path("board?span=7d")).Is(http.StatusOK).Has("<b>1 run failed</b>")
	view(0)
}

// TestBoardsAgree has two servers on one database. Whatever happens, in whichever order somebody looks, a board shows what one does that
// has read nothing before.
func TestBoardsAgree(t *testing.T) {
	s := pagetest.New(t)
	var list []checks.Check
	for i := range 33 {
		list = append(list, s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i)), Timeout: new(time.Hour), Grace: new(time.Hour)}))
	}
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	one, other, b := s.Pages, s.NewPages(), s.SignedIn(s.Keys.ReadWrite)
	for step := range 60 {
		for range random.IntN(12) {
			c := list[min(random.IntN(40), len(list)-1)]
			switch random.IntN(12) {
			case 0:
				_, err := s.Mon.Project(s.Project.ID).Pause(t.Context(), c.ID)
				pagetest.NoError(t, err)
			case 1:
				_, _ = s.Mon.Project(s.Project.ID).Resume(t.Context(), c.ID) // unless it is not paused
			case 2:
				s.Advance(40 * time.Minute)
				s.Tick()
			default:
				kinds := []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log}
				s.Ping(c, pings.Signal{Kind: kinds[random.IntN(len(kinds))]})
			}
			s.Advance(time.Duration(random.IntN(300)) * time.Second)
		}
		path := s.Path(fmt.Sprintf("board?span=%s&all=%d", []string{"6h", "24h", "7d"}[random.IntN(3)], random.IntN(2)))
		s.Web.Config.Handler = []http.Handler{one, other}[random.IntN(2)]
		got := lanes(t, b.Get(path))
		s.Serve()
		if want := lanes(t, b.Get(path)); got != want {
			t.Fatalf("step %d of seed %d, %s:\n%s\nwant\n%s", step, seed, path, got, want)
		}
	}
}

// TestBoardMaintenance adds a window for a tag. The board shades the lanes that it covers, and says so in words.
func TestBoardMaintenance(t *testing.T) {
	s := pagetest.New(t)
	s.Create(checks.Spec{Name: new("backup"), Tags: []string{"db"}})
	s.Create(checks.Spec{Name: new("mail")})
	b := s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("board")).Is(http.StatusOK).HasNo("</svg>maintenance")
	w := gate.Window{Kind: gate.Maintenance, Tags: []string{"db"}, Start: pagetest.Start.Add(time.Hour), Duration: 2 * time.Hour, Note: "<new> disks"}
	_, err := s.Mon.Project(s.Project.ID).AddWindow(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	page := b.Get(s.Path("board")).Is(http.StatusOK).Has("Maintenance from 13:00 to 15:00: &lt;new&gt; disks", "</svg>maintenance</li>")
	if n := strings.Count(page.Body, `<g class="window"><title>`); n != 1 {
		t.Errorf("%d lanes are shaded, want 1", n)
	}
}

// TestMissedInThePast looks back at a run that never came, before it was expected, while it was late, and after it was missed:
// word, shape and sentence agree.
func TestMissedInThePast(t *testing.T) {
	s := pagetest.New(t)
	backup := s.Create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
	prompt := s.Create(checks.Spec{Name: new("prompt"), Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
	for _, c := range []checks.Check{backup, prompt} {
		s.Ping(c, pings.Signal{})
	}
	s.Advance(time.Date(2026, 11, 23, 3, 30, 0, 0, time.UTC).Sub(pagetest.Start))
	s.Ping(prompt, pings.Signal{}) // within its grace
	s.Advance(60 * time.Hour)
	b := s.SignedIn(s.Keys.ReadOnly)
	word := func(at, name string) string {
		body := b.Get(s.Path("board?span=6h&at=" + at)).Body
		found := regexp.MustCompile(`class="lane is-(\w+)"[^>]*><a class="who"[^>]*><svg class="st (\w+)".*?>` + name + `<span class="sr">, (\w+), `).FindStringSubmatch(body)
		if found == nil || found[1] != found[2] || found[1] != found[3] {
			t.Fatalf("%s at %s: %q", name, at, found)
		}
		return found[1]
	}
	for _, test := range []struct{ at, backup, prompt string }{
		{"2026-11-22T20:00Z", "up", "up"},     // 03:00 is not on the axis
		{"2026-11-23T02:00Z", "down", "up"},   // the axis has the run that was missed
		{"2026-11-23T03:10Z", "down", "late"}, // both were late in its middle
		{"2026-11-23T03:40Z", "down", "up"},
		{"2026-11-23T05:00Z", "down", "up"},
	} {
		if got := word(test.at, "backup"); got != test.backup {
			t.Errorf("backup at %s is %s, want %s", test.at, got, test.backup)
		}
		if got := word(test.at, "prompt"); got != test.prompt {
			t.Errorf("prompt at %s is %s, want %s", test.at, got, test.prompt)
		}
	}
	b.Get(s.Path("board?span=6h&at=2026-11-23T03:10Z")).Has("<b>1 run was missed</b> between ", "Down in this time <span>1</span>").HasNo("was late", "were late", "overdue")
}

// TestBoardOfThePast shows an earlier night: the address holds the instant, whatever the zone of the viewer is.
func TestBoardOfThePast(t *testing.T) {
	s := pagetest.New(t)
	backup := s.Create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)})
	healthy := s.Create(checks.Spec{Name: new("healthy"), Timeout: new(24 * time.Hour)})
	s.Advance(time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC).Sub(pagetest.Start)) // 03:00 in Riga
	s.Ping(healthy, pings.Signal{})
	run(s, backup, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("disk full")}, 4*time.Minute)
	s.Advance(24*time.Hour - 4*time.Minute)
	s.Ping(healthy, pings.Signal{})
	run(s, backup, pings.Signal{}, 4*time.Minute)
	s.Advance(34 * time.Hour) // 13:04 on Wednesday, and the backup is overdue
	b := s.SignedIn(s.Keys.ReadOnly).In("Europe/Riga")
	page := b.Get(s.Path("board?span=6h&at=2026-11-23T01:00Z")).Is(http.StatusOK).Has("Mon 23 Nov 03:00, Europe/Riga", `value="2026-11-23T03:00"`,
		"Down in this time <span>1</span>", "<b>1 run failed</b> between Sun 22 Nov 21:00 and Mon 23 Nov 09:00.", "/checks/"+backup.UniqueKey()+"/pings/2\"",
		"?at=2026-11-22T19%3A00Z&amp;span=6h", "?at=2026-11-23T07%3A00Z&amp;span=6h", `name="span" value="6h"`, "2 runs begin Mon 03:00–03:05")
	page.HasNo("Tonight", "overdue", "pings/4\"", ">now<")
	pagetest.WellFormed(t, page.Body)
	if down, up := strings.Index(page.Body, ">backup<"), strings.Index(page.Body, ">healthy<"); down < 0 || up < down {
		t.Error("the check that was down is not the first one")
	}
	b.Get(s.Path("board?at=2026-11-24T20:00Z")).Has("Missed\nexpected Wed 25 Nov 03:00", `class="now"`, `class="at"`) // the axis reaches into the future
	b.In("America/New_York").Get(s.Path("board?span=6h&at=2026-11-23T01:00Z")).Has("Sun 22 Nov 20:00, America/New_York")
	// A form sends the time in the zone of the viewer.
	for zone, want := range map[string]string{"Europe/Riga": "01:00", "UTC": "03:00"} {
		answer := b.In(zone).Get(s.Path("board?span=6h&group=tag&at=2026-11-23T03:00")).Is(http.StatusSeeOther)
		if got, want := answer.Header.Get("Location"), s.Path("board?at=2026-11-23T"+url.QueryEscape(want)+"Z&group=tag&span=6h"); got != want {
			t.Errorf("in %s the form leads to %s, want %s", zone, got, want)
		}
	}
	for _, at := range []string{"2099-01-01T00:00Z", "x", "2026-11-23", ""} {
		b.In("UTC").Get(s.Path("board?at="+at)).Is(http.StatusOK).Has(">now<", "Tonight", "in the last 24 hours")
	}
	b.Get(s.Path("board?at=2099-01-01T00:00")).Is(http.StatusSeeOther)
	b.Get(s.Path("board?at=1999-01-01T00:00Z")).Is(http.StatusOK).Has("Nothing ran between ")
	b.In("Europe/Riga").Get(s.Path("board")).Has("?at=2026-11-25T01%3A00Z&amp;span=6h\">Last night")
}

// TestFailuresAround lists what else failed within a quarter of an hour: reports of failures, and runs that were missed.
func TestFailuresAround(t *testing.T) {
	s := pagetest.New(t)
	of := s.Create(checks.Spec{Name: new("backup")})
	near := s.Create(checks.Spec{Name: new("export")})
	often := s.Create(checks.Spec{Name: new("often"), Timeout: new(time.Hour)})
	missed := s.Create(checks.Spec{Name: new("missed"), Timeout: new(time.Hour), Grace: new(5 * time.Minute)})
	far := s.Create(checks.Spec{Name: new("far")})
	s.Ping(missed, pings.Signal{}) // it goes down at 13:05
	s.Advance(45 * time.Minute)
	s.Ping(far, pings.Signal{Kind: pings.Failure})
	s.Advance(10 * time.Minute)
	s.Ping(near, pings.Signal{Kind: pings.Failure, ExitStatus: new(28), Body: []byte("tar: /backup: No space left on device")})
	s.Ping(often, pings.Signal{Kind: pings.Failure, Body: []byte("<b>disk full</b>")})
	s.Advance(6 * time.Minute)
	s.Ping(of, pings.Signal{Kind: pings.Failure, Body: []byte("No space left on device")})
	s.Advance(20 * time.Minute)
	for range checks.MaxRecent + 5 { // the last runs do not reach back
		s.Ping(often, pings.Signal{})
	}
	b := s.SignedIn(s.Keys.ReadOnly)
	for _, from := range []string{"/checks/" + of.UniqueKey(), "/checks/" + of.UniqueKey() + "/pings/1"} {
		b.Get(from).Is(http.StatusOK).Has("/failures?at=2026-11-22T13%3a01%3a00Z&amp;check=" + of.UniqueKey())
	}
	page := b.Get(s.Path("failures?at=2026-11-22T13:01:00Z&check=" + of.UniqueKey())).Is(http.StatusOK)
	page.Has("<h1>Failures around Sun 22 Nov 13:01</h1>", "3 failures of other checks within 15 minutes.", "exit 28: tar: /backup: No space left on device", "6 min earlier",
		"&lt;b&gt;disk full", "4 min later", "a run was missed", "/checks/"+near.UniqueKey()+"/pings/1", "board?at=2026-11-22T13%3A01Z&amp;span=6h").HasNo(">far<")
	b.Get(s.Path("failures?at=2026-11-22T09:00:00Z")).Is(http.StatusOK).Has("No check failed within 15 minutes of this.")
	b.Get(s.Path("failures?at=yesterday")).Is(http.StatusNotFound)
	s.Browser().Get(s.Path("failures?at=2026-11-22T09:00:00Z")).Is(http.StatusSeeOther)
}
