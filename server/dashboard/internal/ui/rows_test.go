package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// TestRows: a row has the state at its instant, and when the job is expected, also while it is down. The summary counts rows and
// names the next.
func TestRows(t *testing.T) {
	s := pagetest.New(t)
	down := s.Create(checks.Spec{Name: new("Down"), Schedule: new("0 * * * *"), TZ: new("UTC"), Grace: new(time.Minute)})
	late := s.Create(checks.Spec{Name: new("late"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	up := s.Create(checks.Spec{Name: new("\u202eup"), Timeout: new(24 * time.Hour)})
	s.Create(checks.Spec{Slug: new("new")})
	paused := s.Create(checks.Spec{Name: new("paused")})
	for _, c := range []checks.Check{down, late, up} {
		s.Ping(c, pings.Signal{Kind: pings.Start})
	}
	s.Advance(90 * time.Second)
	for _, c := range []checks.Check{down, late, up} {
		s.Ping(c, pings.Signal{})
	}
	_, err := s.Mon.Project(s.Project.ID).Pause(t.Context(), paused.ID)
	pagetest.NoError(t, err)
	s.Advance(90 * time.Minute)

	list, err := checks.Stored(s.Mon.Project(s.Project.ID).Checks(t.Context(), checks.Query{}))
	pagetest.NoError(t, err)
	var rows []ui.Row
	got := map[string]string{}
	for _, c := range list {
		r := ui.RowOf(c, s.Now(), time.UTC)
		rows = append(rows, r)
		got[r.Name] = r.Word() + " " + r.Took.String() + " " + r.Next.UTC().Format("15:04")
	}
	if diff := cmp.Diff(map[string]string{
		"Down": "down 1m30s 14:00", "late": "late 1m30s 13:01", "up": "up 1m30s 12:01", "new": "new 0s 00:00", "paused": "paused 0s 00:00",
	}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	want := ui.Summary{Total: 5, Down: 1, Late: 1, Up: 1, New: 1, Paused: 1}
	if diff := cmp.Diff(want, ui.Summarize(rows)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// TestFailureOf: why a job failed, in few words, from what its ping holds.
func TestFailureOf(t *testing.T) {
	ping := func(exit *int, body string) pings.Ping {
		return pings.Ping{Kind: pings.Failure, ExitStatus: exit, Body: []byte(body), BodySize: int64(len(body))}
	}
	mail := ping(nil, "Subject: Cron\r\nContent-Transfer-Encoding: base64\r\n\r\nYmFrY3VwOiBub3QgZm91bmQK\r\n")
	mail.Scheme = "email"
	headless := mail
	headless.BodySize, headless.Body = 1000, mail.Body[len(mail.Body)-20:] // the view has its end alone
	for name, test := range map[string]struct {
		ping pings.Ping
		want string
	}{
		"nothing":             {ping(nil, ""), "failed"},
		"a status":            {ping(new(3), ""), "exit 3"},
		"output":              {ping(nil, "copying\nerror: disk full\n"), "error: disk full"},
		"both":                {ping(new(2), "copying\nerror: disk <full>\n"), "exit 2: error: disk <full>"},
		"a long output":       {ping(new(1), strings.Repeat("a line\n", 20_000)+"fatal: the end\n"), "exit 1: fatal: the end"},
		"no text":             {ping(nil, strings.Repeat("\x00\xff", 500)), "failed"},
		"a mail":              {mail, "bakcup: not found"},
		"a mail without head": {headless, "failed"},
	} {
		f := ui.FailureOf(test.ping)
		if f.Why() != test.want || f.Output != (test.ping.BodySize > 0) {
			t.Errorf("%s: %q, output %t, want %q", name, f.Why(), f.Output, test.want)
		}
	}
	if f := ui.FailureOf(ping(nil, "error: "+strings.Repeat("ä", 5000))); len([]rune(f.Cause)) > 121 {
		t.Errorf("a cause of %d characters", len([]rune(f.Cause)))
	}
}

// TestReporting finds the ping that made a check go up or down. A run that was missed has none.
func TestReporting(t *testing.T) {
	at := pagetest.Start
	log := []pings.Ping{{N: 2, At: at.Add(time.Minute), Kind: pings.Failure}, {N: 1, At: at, Kind: pings.Success}}
	for _, test := range []struct {
		reason flips.Reason
		at     time.Time
		want   int64
	}{{flips.Success, at, 1}, {flips.Failure, at.Add(time.Minute), 2}, {flips.Failure, at, 0}, {flips.Overdue, at, 0}, {flips.Overrun, at.Add(time.Minute), 0}} {
		var got int64
		if p := ui.Reporting(log, checks.Transition{At: test.at, Reason: test.reason}); p != nil {
			got = p.N
		}
		if got != test.want {
			t.Errorf("%s at %s: ping %d, want %d", test.reason, test.at.Format("15:04"), got, test.want)
		}
	}
}

func TestSearch(t *testing.T) {
	for text, want := range map[string]bool{"": true, " \t": true, "Back": true, "up prod": true, "prod BACK": true, "back test": false, "backuptest": false} {
		if got := ui.NewSearch(text).Matches("backup", "prod"); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
	for text, want := range map[string]int{"": 1, "0": 1, "-3": 1, "x": 1, "7": 7, "1000000": 1_000_000, "1000001": 1, "9223372036854775808": 1} {
		if got := ui.PageNumber(text); got != want {
			t.Errorf("page %q is %d, want %d", text, got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	a, b := uuid.New(), uuid.New()
	group := channels.Channel{Kind: channels.Group, Settings: map[string]string{"channels": a.String() + ",gone," + b.String()}}
	if diff := cmp.Diff([]uuid.UUID{a, b}, ui.Members(group)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// TestScheduleNamesForeignZones: a schedule names its time zone unless it is that of the viewer.
func TestScheduleNamesForeignZones(t *testing.T) {
	riga, err := time.LoadLocation("Europe/Riga")
	pagetest.NoError(t, err)
	for _, test := range []struct {
		tz     string
		viewer *time.Location
		want   string
	}{
		{"UTC", time.UTC, "at 01:15 every day"}, {"UTC", riga, "at 01:15 every day, in UTC"},
		{"Europe/Riga", riga, "at 01:15 every day"}, {"Europe/Riga", time.UTC, "at 01:15 every day, in Europe/Riga"},
	} {
		if got := ui.Schedule(checks.Settings{Schedule: "15 1 * * *", TZ: test.tz}, test.viewer); got != test.want {
			t.Errorf("a schedule in %s for a viewer in %s: %q, want %q", test.tz, test.viewer, got, test.want)
		}
	}
}
