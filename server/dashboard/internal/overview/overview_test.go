package overview_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestOverviewNight says what went wrong since the evening before: why, since when, the last good run, and who was notified.
func TestOverviewNight(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	hook := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	day := new(24 * time.Hour)
	add := func(name string, spec checks.Spec) checks.Check {
		spec.Name, spec.Channels = &name, &hook
		if spec.Schedule == nil && spec.Timeout == nil {
			spec.Timeout = day
		}
		c := s.Create(spec)
		s.Ping(c, pings.Signal{})
		return c
	}
	first, second, third := add("ledger", checks.Spec{}), add("photos", checks.Spec{}), add("mails <i>", checks.Spec{})
	quiet, held := add("quiet", checks.Spec{QuietHours: new("00:00-07:00")}), add("patient", checks.Spec{AlertAfter: new(3)})
	missing := add("nightly", checks.Spec{Schedule: new("0 3 * * *"), Grace: new(20 * time.Minute)})
	stuck := add("stuck", checks.Spec{MaxRuntime: new(time.Hour)})
	brief, slow, old := add("brief", checks.Spec{}), add("slow", checks.Spec{}), add("old", checks.Spec{})
	s.Ping(old, pings.Signal{Kind: pings.Failure, ExitStatus: new(9)})
	for i := range 7 {
		s.Ping(slow, pings.Signal{Kind: pings.Start})
		s.Advance(time.Minute)
		if i == 6 {
			s.Advance(12*time.Hour - 7*time.Minute) // midnight
		}
		s.Ping(slow, pings.Signal{})
	}
	fail := func(c checks.Check, status int, output string) {
		t.Helper()
		s.Ping(c, pings.Signal{Kind: pings.Failure, ExitStatus: &status, Body: []byte(output)})
	}
	s.Advance(time.Hour)
	s.Ping(stuck, pings.Signal{Kind: pings.Start})
	fail(first, 2, "exporting ledger\ntar: /backup: No space left on device\n")
	fail(second, 1, "cp: error writing '/photos': No space left on device\n")
	fail(third, 1, "Traceback (most recent call last):\n  File \"x\", line 1, in <module>\nValueError: <b>mail</b>\n")
	fail(brief, 1, strings.Repeat("copied\n", 5000)+"error: connection refused\n")
	fail(quiet, 1, "")
	fail(held, 1, "error: 3 rows\n")
	s.Advance(time.Minute)
	s.Ping(brief, pings.Signal{})
	s.Advance(4 * time.Hour)
	s.Tick()
	page := b.Get(s.Path("overview")).Is(http.StatusOK)
	page.Has("<strong>Last night:</strong> 6 failed, 1 missed, 1 timed out, 1 unusually slow, 1 still down from before.",
		"<h2>Up again</h2>", "<h2>No space left on device: 2 jobs</h2>", "exit 2: tar: /backup: No space left on device</a>", ">exit 1: ValueError: &lt;b&gt;mail&lt;/b&gt;</a>",
		">exit 1: error: connection refused</a>", "failed, now up", "up again <time", "a run was missed; expected at 03:00 every day", "a run timed out after 1 h",
		"took 11 h 54 min, usually 1 min", ">exit 9</a>", "quiet hours until 07:00", "nobody notified yet: 1 of 3 failures in a row",
		`<a class="name" href="/checks/`+missing.UniqueKey()+`">nightly</a>`, "missed <time", ">03:20</time>", "last success <time", "ops not notified yet<", "alerts waiting; no alert sent yet",
		"/checks/"+first.UniqueKey()+"/pings/2\"", `/overview" aria-current="page">`)
	b.Get("/checks/" + first.UniqueKey() + "/pings/2").Is(http.StatusOK).Has("exporting ledger")
	if strings.Index(page.Body, "ledger</a>") > strings.Index(page.Body, "brief</a>") {
		t.Error("a check that recovered is before one that is down")
	}
	s.Advance(8 * time.Hour) // past noon
	b.Get(s.Path("overview")).Has("<strong>Since yesterday 18:00:</strong> ")
}

// TestOverviewGroups shows checks that went wrong alike as one row: with a like cause, or without one for the same reason. One button
// takes on what nobody has of the group, and leads back with Undo.
func TestOverviewGroups(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	add := func(name string, n int, fail func(i int, c checks.Check)) (list []checks.Check) {
		for i := range n {
			c := s.Create(checks.Spec{Name: new(fmt.Sprint(name, "-", i)), Timeout: new(time.Hour), Grace: new(time.Minute)})
			s.Ping(c, pings.Signal{})
			fail(i, c)
			list = append(list, c)
		}
		return list
	}
	const down = pings.Failure
	full := add("full <b>", 60, func(i int, c checks.Check) {
		s.Ping(c, pings.Signal{Kind: down, Body: []byte(fmt.Sprintf("tar: /backup/%d: No space left on device\n", i))})
	})
	add("exit", 4, func(_ int, c checks.Check) { s.Ping(c, pings.Signal{Kind: down, ExitStatus: new(9)}) })
	add("few", 3, func(_ int, c checks.Check) { s.Ping(c, pings.Signal{Kind: down, ExitStatus: new(8)}) })
	s.Advance(time.Hour)
	add("fine", 3, func(int, checks.Check) {})
	late := add("late", 5, func(int, checks.Check) {})
	s.Advance(50 * time.Minute)
	for _, c := range late[:1] {
		s.Ping(c, pings.Signal{})
	}
	_, err := s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), full[7].ID, checks.AckSpec{By: "Anna"})
	pagetest.NoError(t, err)
	s.Ping(full[8], pings.Signal{})
	s.Advance(20 * time.Minute)
	page := b.Get(s.Path("overview")).Is(http.StatusOK).Has(
		"<h2>No space left on device: 60 jobs</h2>", "59 down</span>", ">I have all 58</button>", "acknowledged by Anna (1)", "Show all 60", "full &lt;b&gt;-", " and 57 more</span>",
		"<h2>Exit 9: 4 jobs</h2>", ">I have all 4</button>", "<h2>A run was missed: 7 jobs</h2>", ">I have all 7</button>", "Show all 7", "<h2>Down</h2>")
	if page.HasNo("Exit 8"); strings.Count(page.Body, `aria-label="I have it: few-`) != 3 {
		t.Error("three checks without a cause are a group")
	}
	pagetest.WellFormed(t, page.Body)
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("overview")).Has("No space left on device: 60 jobs", "acknowledged by somebody (1)").HasNo("I have", `name="check"`)
	var free []checks.Check
	for i, c := range full {
		if i != 7 && i != 8 {
			free = append(free, c)
		}
	}
	_, err = s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), full[9].ID, checks.AckSpec{By: "Bert"}) // since the page was read
	pagetest.NoError(t, err)
	to := b.Post(s.Path("bulk?to=overview"), url.Values{"action": {"acknowledge"}, "check": pagetest.IDs(free...)}).Is(http.StatusSeeOther).Header.Get("Location")
	if to != s.Path("overview") {
		t.Errorf("leads to %s", to)
	}
	page = b.Get(to).Has("Acknowledged: you have 57 checks. Bert has 1.", "Anna (1)", "Bert (1)", ">Undo<").HasNo("I have all 58")
	b.Undo(page).Has("Undone for 57 checks.")
	b.Get(to).Has(">I have all 57</button>")
}

// TestOverviewNotified names the integrations that were notified, and those that cannot be.
func TestOverviewNotified(t *testing.T) {
	broken := errors.New("the webhook answered 410 Gone")
	notifier := channels.NotifierFunc(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
		switch c.Name {
		case "wiki":
			return channels.Permanent(broken)
		case "slow":
			return errors.New("503 Service Unavailable")
		}
		return nil
	})
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{Channels: pagetest.WebhooksBy(notifier), Logger: slog.New(slog.DiscardHandler)}
	})
	b := s.SignedIn(s.Keys.ReadWrite)
	var ids []string
	for _, name := range []string{"chat", "ops", "wiki", "slow"} {
		ids = append(ids, s.Channel(channels.Webhook, name, map[string]string{"url_down": "https://example.org/"}).ID.String())
	}
	all := strings.Join(ids, ",")
	told, alone := s.Create(checks.Spec{Name: new("told"), Channels: &all}), s.Create(checks.Spec{Name: new("alone")})
	for _, c := range []checks.Check{told, alone} {
		s.Ping(c, pings.Signal{Kind: pings.Failure})
	}
	s.Advance(time.Second)
	s.Tick()
	s.Advance(3 * time.Hour)
	b.Get(s.Path("overview")).Has(`<span>chat, ops notified; wiki not notified; slow not notified yet</span>`, "the webhook answered 410 Gone", "503 Service Unavailable", "2 integrations are failing",
		`<span class="untold">nobody notified: no integration can be reached</span>`, "Failing integrations", "failing since 12:00: the webhook answered 410 Gone;",
		"failing since 12:00, 1 attempt so far: 503 Service Unavailable;", "no alert sent yet", "1 check alerts nobody", "/checks/"+alone.UniqueKey()+"/edit\">alone</a>")
	if text := b.Get(s.Path("overview")).Body; strings.Count(text, "/integrations/"+ids[0]) > 0 {
		t.Error("an integration that works is among those that do not")
	}
}

// TestOverviewKept: an alert that waits because somebody wants that says for what, and is no trouble.
func TestOverviewKept(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{Channels: pagetest.WebhooksBy(channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil }))}
	})
	hook := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	none := s.Channel(channels.Webhook, "log", map[string]string{"url_down": "https://example.org/"}).ID.String()
	network := s.Create(checks.Spec{Name: new("network"), Slug: new("network"), Channels: &none})
	c := s.Create(checks.Spec{Name: new("backup"), Channels: &hook, After: new("network")})
	for _, check := range []checks.Check{network, c} {
		s.Ping(check, pings.Signal{})
	}
	s.GoDown(network)
	s.Advance(time.Minute)
	s.GoDown(c)
	s.Advance(5 * time.Minute)
	s.Tick()
	s.SignedIn(s.Keys.ReadWrite).Get(s.Path("overview")).Has("<span>ops not notified yet: network is down or late, or has just come up", "<span>backup waits for it</span>").HasNo("untold", "ops not notified yet<")
}

// TestOverviewSteps says whom later steps of the escalation policy notify, and when: of jobs that failed alike, the first one's.
func TestOverviewSteps(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{Channels: pagetest.WebhooksBy(channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil }))}
	})
	hook := func(name string) uuid.UUID {
		return s.Channel(channels.Webhook, name, map[string]string{"url_down": "https://example.org/"}).ID
	}
	steps := []gate.Step{{Channels: []uuid.UUID{hook("ops")}}, {After: 10 * time.Minute, Channels: []uuid.UUID{hook("pager")}}, {After: time.Hour, Channels: []uuid.UUID{hook("boss")}}}
	pagetest.NoError(t, s.Mon.Project(s.Project.ID).SetEscalation(t.Context(), steps))
	s.Ping(s.Create(checks.Spec{Name: new("backup"), Channels: new("*")}), pings.Signal{Kind: pings.Failure})
	s.Tick()
	s.SignedIn(s.Keys.ReadWrite).Get(s.Path("overview")).Has("<span>ops notified; then pager 12:10, boss 13:00</span>").HasNo("untold")
	for _, name := range []string{"one", "two"} {
		s.Advance(time.Minute)
		s.Ping(s.Create(checks.Spec{Name: &name, Channels: new("*")}), pings.Signal{Kind: pings.Failure, Body: []byte("fatal: no route to 10.0.4.2\n")})
		s.Tick()
	}
	page := s.SignedIn(s.Keys.ReadWrite).Get(s.Path("overview")).Has("<h2>2 jobs fail the same way</h2>", "fatal: no route to 10.0.4.2</a>")
	row, _, _ := strings.Cut(page.Body, "Show all 2")
	if !strings.Contains(row, "<span>ops notified; then pager 12:11, boss 13:01</span>") {
		t.Errorf("who was notified of both: %s", row)
	}
}

// TestOverviewWell is quiet and has the evidence.
func TestOverviewWell(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	hook := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	c := s.Create(checks.Spec{Name: new("backup"), Channels: &hook, Timeout: new(30 * 24 * time.Hour)})
	s.Ping(c, pings.Signal{})
	b.Get(s.Path("overview")).Has("<strong>All is well.</strong> 1 healthy check, and nothing went wrong since yesterday 18:00.", "No failure on record.",
		"<h2>Next runs due</h2>", "in 30 days").HasNo("alerts nobody", "is failing", "are failing", `class="wrong"`)
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	s.Ping(c, pings.Signal{})
	s.Advance(3 * 24 * time.Hour)
	b.Get(s.Path("overview")).Has(`/?reach=nobody">1 check alerts nobody.</a>`, ">1 integration is failing</a>", "Last failure <time", "3 days ago", ">backup</a>").HasNo("All is well")
	s.Advance(27*24*time.Hour + time.Minute)
	b = s.SignedIn(s.Keys.ReadOnly) // the session has ended
	b.Get(s.Path("overview")).Has("<strong>1 check late.</strong> Nothing failed since yesterday 18:00.", "<h2>Late now</h2>")
}

// TestOverviewNew says what to do first, until the first ping.
func TestOverviewNew(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	if to := b.Get("/").Is(http.StatusSeeOther).Header.Get("Location"); to != s.Path("overview") {
		t.Errorf("the first page is %s", to)
	}
	b.Get(s.Path("overview")).Has("Create a check", "Send its first ping", "Say whom to alert", "/checks/new\">New check").HasNo("done<")
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("overview")).Has("Create a check").HasNo("New check")
	if _, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"}); err != nil {
		t.Fatal(err)
	} else {
		s.SignedIn(keys.ReadWrite).Get(s.Path("overview")).Is(http.StatusNotFound)
	}
	s.Browser().Get(s.Path("overview")).Is(http.StatusSeeOther)
	c := s.Create(checks.Spec{Name: new("backup")})
	page := b.Get(s.Path("overview")).Has("How to ping backup", "✓ done")
	if n := strings.Count(page.Body, "btn primary"); n != 2 { // New check, and the step that is next
		t.Errorf("%d filled buttons", n)
	}
	s.Ping(c, pings.Signal{})
	b.Get(s.Path("overview")).HasNo("Three steps").Has(`/?reach=nobody">1 check alerts nobody.</a></strong> Nothing went wrong since yesterday 18:00: 1 healthy check.`, `integrations/new">New integration</a>`).HasNo("All is well")
	s.SignedIn(s.Keys.ReadOnly).Get(s.Path("overview")).HasNo("New integration")
}

// TestOverviewBounds shows a hundred of 300 checks that failed, in one page that is not too large. One button has them all.
func TestOverviewBounds(t *testing.T) {
	s := pagetest.New(t)
	for i := range 300 {
		c := s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%03d", i))})
		s.Ping(c, pings.Signal{Kind: pings.Failure, ExitStatus: new(1), Body: []byte(fmt.Sprintf("error: %s: disk %s failed\n", strings.Repeat("x", 300), uuid.New()))})
	}
	page := s.SignedIn(s.Keys.ReadWrite).Get(s.Path("overview")).Has("300 failed", "Show 100 of 300", "300 checks alert nobody", ">All 300<").HasNo("more check")
	if len(page.Body) > 150_000 {
		t.Errorf("%d bytes", len(page.Body))
	}
	b, form := s.SignedIn(s.Keys.ReadWrite), url.Values{"action": {"acknowledge"}}
	for _, found := range regexp.MustCompile(`name="check" value="([0-9a-f-]+)"`).FindAllStringSubmatch(b.Get(s.Path("overview")).Has(">I have all 300</button>").Body, -1) {
		form.Add("check", found[1])
	}
	b.Post(s.Path("bulk?to=overview"), form).Is(http.StatusSeeOther)
	b.Get(s.Path("overview")).Has("Acknowledged: you have 300 checks.").HasNo("I have all")
}

// TestOverviewWindows names the maintenance windows and snoozes in effect, and none that are over or still to come.
func TestOverviewWindows(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	c := s.Create(checks.Spec{Name: new("backup")})
	s.Ping(c, pings.Signal{})
	for _, w := range []gate.Window{
		{Kind: gate.Maintenance, Tags: []string{"db"}, Duration: 2 * time.Hour, Note: "new <disks>"},
		{Kind: gate.Snooze, Checks: []uuid.UUID{c.ID}, Duration: time.Hour},
		{Kind: gate.Maintenance, Start: s.Now().Add(90 * time.Minute), Duration: time.Hour, Note: "later"},
	} {
		if _, err := s.Mon.Project(s.Project.ID).AddWindow(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	page := b.Get(s.Path("overview")).Has("In maintenance (db) until <time", "</time>: new &lt;disks&gt;.", "Snoozed (1 check) until <time", s.Path("maintenance")).HasNo("later.")
	pagetest.WellFormed(t, page.Body)
	s.Advance(100 * time.Minute)
	b.Get(s.Path("overview")).Has("In maintenance (db)", "In maintenance until <time", ": later.").HasNo("Snoozed")
	s.Advance(time.Hour)
	b.Get(s.Path("overview")).HasNo("In maintenance")
}

// TestOverviewReadsNoLogAgain opens the overview again and again. It reads the log of a check only if a job has failed since.
func TestOverviewReadsNoLogAgain(t *testing.T) {
	var read atomic.Int64
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if op == "Pings" {
				read.Add(1)
			}
			return do()
		}
	})
	flaky := s.Create(checks.Spec{Name: new("flaky"), Timeout: new(48 * time.Hour)})
	fail := func(text string) {
		s.Ping(flaky, pings.Signal{Kind: pings.Failure, Body: []byte("error: " + text)})
		s.Advance(time.Minute)
	}
	s.Ping(flaky, pings.Signal{})
	fail("disk full")
	b := s.SignedIn(s.Keys.ReadOnly)
	view := func(want int64, text string) {
		t.Helper()
		read.Store(0)
		b.Get(s.Path("overview")).Is(http.StatusOK).Has(text)
		if got := read.Load(); got != want {
			t.Errorf("a view reads logs %d times, want %d", got, want)
		}
	}
	view(1, "disk full")
	view(0, "disk full")
	for range 3 * checks.MaxRecent { // in the end, the check does not remember the failure
		s.Ping(flaky, pings.Signal{})
		s.Advance(time.Second)
		view(0, "disk full")
	}
	fail("no route")
	view(1, "no route")
	for range checks.MaxRecent - 1 {
		s.Ping(flaky, pings.Signal{})
	}
	view(0, "no route")
	fail("no quota")
	for range checks.MaxRecent {
		s.Ping(flaky, pings.Signal{})
	}
	view(1, "no quota")
}
