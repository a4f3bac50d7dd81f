package check_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// rowsOfLog returns the rows of the list of pings: the number that names it, and its cells without the source.
func rowsOfLog(body string) (rows []string) {
	for _, tr := range regexp.MustCompile(`(?s)<tr id="p-(\d+)">(.*?)</tr>`).FindAllStringSubmatch(body, -1) {
		var cells []string
		for _, td := range regexp.MustCompile(`(?s)<td[^>]*>(.*?)</td>`).FindAllStringSubmatch(tr[2], 5) {
			cells = append(cells, html.UnescapeString(strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(td[1], ""))))
		}
		rows = append(rows, tr[1]+": "+strings.Join(cells, " | "))
	}
	return rows
}

// TestRunRows shows runs of all kinds, each in one row: overlapping ones, some that are open, without end or without start.
func TestRunRows(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), MaxRuntime: new(time.Hour), Timeout: new(24 * time.Hour)})
	path := "/checks/" + c.UniqueKey()
	run := func(n byte) uuid.NullUUID { return uuid.NullUUID{UUID: uuid.UUID{n}, Valid: true} }
	at := func(minutes int, signal pings.Signal) {
		t.Helper()
		s.Advance(pagetest.Start.Add(time.Duration(minutes) * time.Minute).Sub(s.Now()))
		s.Ping(c, signal)
	}
	at(0, pings.Signal{})                                                                                  // 1: an end without a start
	at(1, pings.Signal{Kind: pings.Start, RunID: run(1)})                                                  // 2
	at(2, pings.Signal{Kind: pings.Start, RunID: run(2), Body: []byte("hi")})                              // 3: it overlaps
	at(3, pings.Signal{Kind: pings.Log, Body: []byte("half")})                                             // 4
	at(4, pings.Signal{RunID: run(1), Body: []byte("done")})                                               // 5
	at(6, pings.Signal{Kind: pings.Failure, RunID: run(2), ExitStatus: new(3), Body: []byte("disk full")}) // 6
	at(7, pings.Signal{Kind: pings.Start, RunID: run(3)})                                                  // 7: it never ends
	at(90, pings.Signal{Kind: pings.Start})                                                                // 8: it goes on
	b := s.SignedIn(s.Keys.ReadOnly)
	want := []string{
		"8: 8 | 22 Nov 2026 13:30:00 – | running |  | ",
		"7: 7 | 22 Nov 2026 12:07:00 – | timed out |  | ",
		"3: 3, 6 | 22 Nov 2026 12:02:00 – 12:06:00 | failure exit 3 | 4 min | 9 bytes, start: 2 bytes",
		"2: 2, 5 | 22 Nov 2026 12:01:00 – 12:04:00 | success | 3 min | 4 bytes",
		"4: 4 | 22 Nov 2026 12:03:00 | log |  | 4 bytes",
		"1: 1 | 22 Nov 2026 12:00:00 | success |  | ",
	}
	if diff := cmp.Diff(want, rowsOfLog(b.Get(path).Body)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	for kind, names := range map[string]string{"success": "2 1", "failure": "3", "unfinished": "8 7", "log": "4", "ignored": "", "start": "8 7"} {
		var got []string
		for _, row := range rowsOfLog(b.Get(path + "?kind=" + kind).Body) {
			got = append(got, strings.Split(row, ":")[0])
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%s: %q, want %q", kind, got, names)
		}
	}

	// The row of a run that ends keeps its name, so that an open page changes it in its place.
	at(95, pings.Signal{})
	if got := rowsOfLog(b.Get(path).Body)[0]; got != "8: 8–9 | 22 Nov 2026 13:30:00 – 13:35:00 | success | 5 min | " {
		t.Errorf("after its end: %s", got)
	}
}

// TestRunRowsOfPages has runs reach from one page of the list to the next. Each is on one page, whole.
func TestRunRowsOfPages(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Timeout: new(24 * time.Hour)})
	path := "/checks/" + c.UniqueKey()
	long := uuid.NullUUID{UUID: uuid.UUID{9}, Valid: true}
	s.Ping(c, pings.Signal{Kind: pings.Start, RunID: long})
	for range 25 {
		s.Advance(time.Minute)
		s.Ping(c, pings.Signal{Kind: pings.Log})
	}
	s.Ping(c, pings.Signal{RunID: long})
	b := s.SignedIn(s.Keys.ReadOnly)
	first := b.Get(path).Has("?before=8#log")
	second := b.Get(path + "?before=8")
	if rows := rowsOfLog(first.Body); len(rows) != 20 || !strings.HasPrefix(rows[0], "1: 1, 27 |") {
		t.Errorf("the first page has %d rows, the first is %s", len(rows), rows[0])
	}
	if rows := rowsOfLog(second.Body); len(rows) != 6 || strings.Contains(strings.Join(rows, " "), "1: 1") {
		t.Errorf("the second page has %q", rows)
	}
}

// TestHistoryLinks leads from each entry of the history to the ping that reported it.
func TestHistoryLinks(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
	path := "/checks/" + c.UniqueKey()
	s.Ping(c, pings.Signal{})
	s.Advance(time.Minute)
	s.Ping(c, pings.Signal{Kind: pings.Failure, ExitStatus: new(3), Body: []byte("disk full")})
	s.Advance(time.Minute)
	s.Ping(c, pings.Signal{})
	s.Advance(3 * time.Hour) // a run is missed
	body := s.SignedIn(s.Keys.ReadOnly).Get(path).Body
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("history")).Has(`<a href="`+path+`/pings/3">Ping 3</a>`, `<a href="`+path+`/pings/2">Output</a>`, `<a href="`+path+`/pings/1">Ping 1</a>`)
	events := regexp.MustCompile(`(?s)<ol class="events">.*?</ol>`).FindString(body)
	links := regexp.MustCompile(`href="`+path+`/pings/(\d+)">([^<]*)<`).FindAllStringSubmatch(events, -1)
	var got []string
	for _, link := range links {
		got = append(got, link[1]+" "+link[2])
	}
	if diff := cmp.Diff([]string{"3 Ping 3", "2 Output, 9 bytes", "1 Ping 1"}, got); diff != "" || !strings.Contains(events, "reported a failure, exit 3") {
		t.Errorf("links of the history (-want +got):\n%s\n%s", diff, events)
	}
}

// TestNewCheckPage shows first how to send a ping, and no charts without data.
func TestNewCheckPage(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey()
	for _, key := range []string{s.Keys.ReadWrite, s.Keys.ReadOnly} {
		b := s.SignedIn(key)
		b.Get(path).Has(`<div class="grid" id="figures" data-live hidden>`)
	}
	b := s.SignedIn(s.Keys.ReadWrite)
	order := func(body string) bool {
		return strings.Index(body, "<h2>Send pings</h2>") < strings.Index(body, `id="figures"`)
	}
	if !order(b.Get(path).Body) {
		t.Error("the charts of a new check are above how to ping it")
	}
	s.Ping(c, pings.Signal{})
	if page := b.Get(path).Has(`<div class="grid" id="figures" data-live>`); order(page.Body) {
		t.Error("the charts of a check that was pinged are below how to ping it")
	}
}
