package dashboard_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// report sends a ping at the present time of the site.
func (s *site) report(c checks.Check, signal pings.Signal) {
	s.t.Helper()
	if _, err := s.mon.Ping(context.Background(), c.ID, signal); err != nil {
		s.t.Fatal(err)
	}
}

// run reports a run that takes a while, and moves the clock.
func (s *site) run(c checks.Check, end pings.Signal, took time.Duration) {
	s.t.Helper()
	s.report(c, pings.Signal{Kind: pings.Start, RunID: end.RunID})
	s.advance(took)
	s.report(c, end)
}

// in sets the viewer's time zone.
func (b *browser) in(zone string) *browser {
	b.header.Set("Cookie", "rollcall_zone="+zone)
	return b
}

func TestEmptyBoard(t *testing.T) {
	s := newSite(t)
	s.signedIn(s.keys.ReadWrite).get(s.path("board")).is(http.StatusOK).has("Nothing to show yet", "Create your first check")
	s.signedIn(s.keys.ReadOnly).get(s.path("board")).is(http.StatusOK).has("Nothing to show yet").hasNo("Create your first check")
	s.browser().get(s.path("board")).is(http.StatusSeeOther)
}

// TestBoard shows a day of a few jobs. It begins at 14:00 in Riga.
func TestBoard(t *testing.T) {
	s := newSite(t)
	backup := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)})
	export := s.create(checks.Spec{Name: new("export"), Schedule: new("0 * * * *"), TZ: new("America/New_York"), Grace: new(2 * time.Hour), Tags: []string{"prod"}})
	etl := s.create(checks.Spec{Name: new("etl"), Schedule: new("0 7 * * *"), TZ: new("Europe/Riga"), Grace: new(4 * time.Hour)})
	s.create(checks.Spec{Name: new("restore"), Schedule: new("0 5 1 * *"), TZ: new("Europe/Riga")})
	s.report(backup, pings.Signal{})
	s.run(etl, pings.Signal{}, 134*time.Minute)
	for i := range 15 { // from 16:14 to 06:14, and each takes a minute and a half
		kind, exit := pings.Success, 0
		if i == 7 {
			kind, exit = pings.Failure, 3
		}
		s.run(export, pings.Signal{Kind: kind, ExitStatus: &exit}, 90*time.Second)
		s.advance(time.Hour - 90*time.Second)
	}
	s.run(etl, pings.Signal{}, 11*time.Minute)
	s.report(etl, pings.Signal{Kind: pings.Start})
	s.report(export, pings.Signal{})
	if err := s.mon.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := s.signedIn(s.keys.ReadOnly).in("Europe/Riga")
	page := b.get(s.path("board")).is(http.StatusOK)
	page.has("<title>1 down · Board · backups · Rollcall</title>", "<b>1 run is missing.</b> <b>1 run failed</b> in the last 24 hours", "1 running now",
		"Tonight: ", "between 22:00 and 06:00; the longest is ", `">export</a>, 1 min 30 s.`,
		"Down <span>1</span>", "Up again <span>1</span>", "Other checks <span>2</span>",
		"Mon 23 Nov 07:25, Europe/Riga",
		"Missed\nexpected Mon 23 Nov 03:00", "1 run missing since 03:00.", "Failed, exit status 3", "took 1 min 30 s", "pings 15 and 16",
		"every hour, New York (7 h behind)", "every hour, in America/New_York, 7 h behind", "next Tue 1 Dec 05:00", "Running since 07:25", "Expected\nMon 23 Nov 08:00 (01:00 in America/New_York)")
	page.hasNo(backup.ID.String(), export.ID.String(), "style=")
	well(t, page.body)
	if missing, etl := strings.Index(page.body, ">backup<"), strings.Index(page.body, ">etl<span"); missing < 0 || etl < missing {
		t.Error("the check that is down is not the first one")
	}
	b.get(s.path("board?group=tag&span=7d")).is(http.StatusOK).has("in the last 7 days", "No tag <span>2</span>", "Tue 17", "?group=tag\"")
	b.get(s.path("board?group=x&span=y&all=z")).is(http.StatusOK).has("in the last 24 hours")
}

// TestBoardClocks names the change of the clock on both days, in the zone of the viewer.
func TestBoardClocks(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Schedule: new("30 3 * * *"), TZ: new("Europe/Riga")})
	s.advance(time.Date(2027, 3, 27, 10, 0, 0, 0, time.UTC).Sub(start))
	s.report(c, pings.Signal{})
	b := s.signedIn(s.keys.ReadWrite)
	b.get(s.path("board")).hasNo("clocks go", "Clocks go")
	b.in("Europe/Riga").get(s.path("board")).has("clocks go forward 03:00→04:00", "Clocks go forward from 03:00 to 04:00 on Sunday 28 March.",
		"Sun 28 Mar 04:00 EEST") // 03:30 does not exist
	s.advance(time.Date(2027, 10, 31, 7, 0, 0, 0, time.UTC).Sub(s.now()))
	b = s.signedIn(s.keys.ReadWrite) // the session has expired
	b.in("Europe/Riga").get(s.path("board")).has("clocks go back 04:00→03:00")
	b.in("America/New_York").get(s.path("board")).hasNo("clocks go")
}

// TestBoardOfManyChecks collapses what is well.
func TestBoardOfManyChecks(t *testing.T) {
	s := newSite(t)
	for i := range 40 {
		s.report(s.create(checks.Spec{Name: new(fmt.Sprintf("job-%02d", i))}), pings.Signal{})
	}
	failed := s.create(checks.Spec{Name: new("zzz")})
	s.report(failed, pings.Signal{Kind: pings.Failure})
	s.advance(48 * time.Hour / 3)
	b := s.signedIn(s.keys.ReadOnly)
	page := b.get(s.path("board")).is(http.StatusOK).has(">zzz<", "11 healthy checks hidden.", "?all=1", ">job-28<").hasNo(">job-30<")
	if n := strings.Count(page.body, `class="lane `); n != 30 {
		t.Errorf("%d lanes, want 30", n)
	}
	page = b.get(s.path("board?all=1")).is(http.StatusOK).has(">job-39<", "Show fewer").hasNo("more that are well")
	if n := strings.Count(page.body, `class="lane `); n != 41 {
		t.Errorf("%d lanes of all, want 41", n)
	}
}

// TestBoardOfHostileNames shows names as text.
func TestBoardOfHostileNames(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{`<script>alert(1)</script>`, `"><svg onload=alert(1)>`, "{{.Base}}", "a\u202eb", strings.Repeat("w", 100), `</title></svg>`} {
		c := s.create(checks.Spec{Name: &name, Tags: []string{`<b>'"`}})
		s.report(c, pings.Signal{})
		s.report(c, pings.Signal{Kind: pings.Failure})
	}
	page := s.signedIn(s.keys.ReadWrite).get(s.path("board?group=tag")).is(http.StatusOK)
	page.has("&lt;script&gt;alert(1)&lt;/script&gt;").hasNo("<script>alert", "<svg onload", "</title></svg></span>")
	well(t, page.body)
}

// TestBoardAsksOnce answers an open page that asks again, as the clock moves, from what is known.
func TestBoardAsksOnce(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.report(c, pings.Signal{})
	b := s.signedIn(s.keys.ReadOnly)
	first := b.get(s.path("board")).is(http.StatusOK).has("Sun 22 Nov 12:00")
	s.advance(65 * time.Minute)
	b.header.Set("Rollcall-Version", "clock")
	b.get(s.path("board")).is(http.StatusOK).has("Sun 22 Nov 13:05", "Late since 13:00")
	b.header.Set("Rollcall-Version", regexp.MustCompile(`data-version="([^"]+)"`).FindStringSubmatch(first.body)[1])
	b.get(s.path("board")).is(http.StatusNoContent)
}

// well fails the test unless the lanes are well-formed, and all positions are on the axis.
func well(t *testing.T, body string) {
	t.Helper()
	for _, svg := range regexp.MustCompile(`(?s)<svg class="line".*?</svg>\n<span class="sr"`).FindAllString(body, -1) {
		d := xml.NewDecoder(strings.NewReader(strings.TrimSuffix(svg, "\n<span class=\"sr\"")))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			element, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			for _, a := range element.Attr {
				var x float64
				if n, _ := fmt.Sscanf(a.Value, "%g%%", &x); n == 1 && strings.HasSuffix(a.Value, "%") && (x < 0 || x > 100.01) {
					t.Errorf("%s is %s in %s", a.Name.Local, a.Value, svg)
				}
			}
		}
	}
	for _, attribute := range []string{`style="`, ` onclick=`, `javascript:`, "%!"} {
		if strings.Contains(body, attribute) {
			t.Errorf("the page has %s", attribute)
		}
	}
}

// TestMissedInThePast looks back at a run that never came, before it was expected, while it was late, and after it was missed:
// word, shape and sentence agree.
func TestMissedInThePast(t *testing.T) {
	s := newSite(t)
	backup := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
	prompt := s.create(checks.Spec{Name: new("prompt"), Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
	for _, c := range []checks.Check{backup, prompt} {
		s.report(c, pings.Signal{})
	}
	s.advance(time.Date(2026, 11, 23, 3, 30, 0, 0, time.UTC).Sub(start))
	s.report(prompt, pings.Signal{}) // within its grace
	s.advance(60 * time.Hour)
	b := s.signedIn(s.keys.ReadOnly)
	word := func(at, name string) string {
		body := b.get(s.path("board?span=6h&at=" + at)).body
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
	b.get(s.path("board?span=6h&at=2026-11-23T03:10Z")).has("<b>1 run was missed</b> between ", "Down in this time <span>1</span>").hasNo("was late", "were late", "overdue")
}

// TestBoardOfThePast shows an earlier night: the address holds the instant, whatever the zone of the viewer is.
func TestBoardOfThePast(t *testing.T) {
	s := newSite(t)
	backup := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Grace: new(20 * time.Minute)})
	healthy := s.create(checks.Spec{Name: new("healthy"), Timeout: new(24 * time.Hour)})
	s.advance(time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC).Sub(start)) // 03:00 in Riga
	s.report(healthy, pings.Signal{})
	s.run(backup, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("disk full")}, 4*time.Minute)
	s.advance(24*time.Hour - 4*time.Minute)
	s.report(healthy, pings.Signal{})
	s.run(backup, pings.Signal{}, 4*time.Minute)
	s.advance(34 * time.Hour) // 13:04 on Wednesday, and the backup is overdue
	b := s.signedIn(s.keys.ReadOnly).in("Europe/Riga")
	page := b.get(s.path("board?span=6h&at=2026-11-23T01:00Z")).is(http.StatusOK).has("Mon 23 Nov 03:00, Europe/Riga", `value="2026-11-23T03:00"`,
		"Down in this time <span>1</span>", "<b>1 run failed</b> between Sun 22 Nov 21:00 and Mon 23 Nov 09:00.", "/checks/"+backup.UniqueKey()+"/pings/2\"",
		"?at=2026-11-22T19%3A00Z&amp;span=6h", "?at=2026-11-23T07%3A00Z&amp;span=6h", `name="span" value="6h"`, "2 runs begin Mon 03:00–03:05")
	page.hasNo("Tonight", "overdue", "pings/4\"", ">now<")
	well(t, page.body)
	if down, up := strings.Index(page.body, ">backup<"), strings.Index(page.body, ">healthy<"); down < 0 || up < down {
		t.Error("the check that was down is not the first one")
	}
	b.get(s.path("board?at=2026-11-24T20:00Z")).has("Missed\nexpected Wed 25 Nov 03:00", `class="now"`, `class="at"`) // the axis reaches into the future
	b.in("America/New_York").get(s.path("board?span=6h&at=2026-11-23T01:00Z")).has("Sun 22 Nov 20:00, America/New_York")
	// A form sends the time in the zone of the viewer.
	for zone, want := range map[string]string{"Europe/Riga": "01:00", "UTC": "03:00"} {
		answer := b.in(zone).get(s.path("board?span=6h&group=tag&at=2026-11-23T03:00")).is(http.StatusSeeOther)
		if got, want := answer.header.Get("Location"), s.path("board?at=2026-11-23T"+url.QueryEscape(want)+"Z&group=tag&span=6h"); got != want {
			t.Errorf("in %s the form leads to %s, want %s", zone, got, want)
		}
	}
	for _, at := range []string{"2099-01-01T00:00Z", "x", "2026-11-23", ""} {
		b.in("UTC").get(s.path("board?at="+at)).is(http.StatusOK).has(">now<", "Tonight", "in the last 24 hours")
	}
	b.get(s.path("board?at=2099-01-01T00:00")).is(http.StatusSeeOther)
	b.get(s.path("board?at=1999-01-01T00:00Z")).is(http.StatusOK).has("Nothing ran between ")
	b.in("Europe/Riga").get(s.path("board")).has("?at=2026-11-25T01%3A00Z&amp;span=6h\">Last night")
}

// TestFailuresAround lists what else failed within a quarter of an hour: reports of failures, and runs that were missed.
func TestFailuresAround(t *testing.T) {
	s := newSite(t)
	of := s.create(checks.Spec{Name: new("backup")})
	near := s.create(checks.Spec{Name: new("export")})
	often := s.create(checks.Spec{Name: new("often"), Timeout: new(time.Hour)})
	missed := s.create(checks.Spec{Name: new("missed"), Timeout: new(time.Hour), Grace: new(5 * time.Minute)})
	far := s.create(checks.Spec{Name: new("far")})
	s.report(missed, pings.Signal{}) // it goes down at 13:05
	s.advance(45 * time.Minute)
	s.report(far, pings.Signal{Kind: pings.Failure})
	s.advance(10 * time.Minute)
	s.report(near, pings.Signal{Kind: pings.Failure, ExitStatus: new(28), Body: []byte("tar: /backup: No space left on device")})
	s.report(often, pings.Signal{Kind: pings.Failure, Body: []byte("<b>disk full</b>")})
	s.advance(6 * time.Minute)
	s.report(of, pings.Signal{Kind: pings.Failure, Body: []byte("No space left on device")})
	s.advance(20 * time.Minute)
	for range checks.MaxRecent + 5 { // the last runs do not reach back
		s.report(often, pings.Signal{})
	}
	b := s.signedIn(s.keys.ReadOnly)
	for _, from := range []string{"/checks/" + of.UniqueKey(), "/checks/" + of.UniqueKey() + "/pings/1"} {
		b.get(from).is(http.StatusOK).has("/failures?at=2026-11-22T13%3a01%3a00Z&amp;check=" + of.UniqueKey())
	}
	page := b.get(s.path("failures?at=2026-11-22T13:01:00Z&check=" + of.UniqueKey())).is(http.StatusOK)
	page.has("<h1>Failures around Sun 22 Nov 13:01</h1>", "3 failures of other checks within 15 minutes.", "exit 28: tar: /backup: No space left on device", "6 min earlier",
		"&lt;b&gt;disk full", "4 min later", "a run was missed", "/checks/"+near.UniqueKey()+"/pings/1", "board?at=2026-11-22T13%3A01Z&amp;span=6h").hasNo(">far<")
	b.get(s.path("failures?at=2026-11-22T09:00:00Z")).is(http.StatusOK).has("No check failed within 15 minutes of this.")
	b.get(s.path("failures?at=yesterday")).is(http.StatusNotFound)
	s.browser().get(s.path("failures?at=2026-11-22T09:00:00Z")).is(http.StatusSeeOther)
}
