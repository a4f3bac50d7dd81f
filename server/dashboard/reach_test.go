package dashboard_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestOneAnswer has a webhook refuse nine attempts. All pages say so, and none that anybody is notified. After the tenth all
// say that it works.
func TestOneAnswer(t *testing.T) {
	refuses := true
	notifier := channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error {
		if refuses {
			return errors.New("connection refused")
		}
		return nil
	})
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{Channels: pagetest.WebhooksBy(notifier), Logger: slog.New(slog.DiscardHandler)}
	})
	b := s.SignedIn(s.Keys.ReadWrite)
	hook := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	team := s.Channel(channels.Group, "team", map[string]string{"channels": hook}).ID.String()
	c := s.Create(checks.Spec{Name: new("backup"), Channels: &hook})
	well := s.Create(checks.Spec{Name: new("sync"), Channels: &team, Timeout: new(24 * time.Hour)})
	s.Ping(well, pings.Signal{})
	pages := map[string]string{
		"overview": s.Path("overview"), "list": s.Path(""), "integrations": s.Path("integrations"), "integration": s.Path("integrations/" + hook),
		"rehearsal": s.Path("rehearsal"), "check": "/checks/" + c.UniqueKey(),
	}
	b.Get(pages["integrations"]).Has("none yet")
	b.Get(pages["rehearsal"]).Has("no alert yet")
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	for range 9 {
		s.Tick()
		s.Advance(10 * time.Minute)
	}
	const failing = "failing since 12:00, 9 attempts so far: connection refused"
	b.Get(pages["overview"]).Has(failing, "1 integration is failing", "2 checks alert nobody", "ops not notified yet").HasNo("ops notified")
	b.Get(pages["list"]).Has("<b>2</b> alert nobody")
	b.Get(pages["integrations"]).Has(failing)
	b.Get(pages["integration"]).Has(failing)
	for _, name := range []string{"overview", "integrations", "integration", "rehearsal"} {
		if n := strings.Count(b.Get(pages[name]).Body, "failing since"); n != 1 {
			t.Errorf("%s says %d times since when ops fails", name, n)
		}
	}
	b.Get(pages["rehearsal"]).Has(failing, "Only integrations that fail", "no alert sent yet").HasNo("<td>notified</td>")
	b.Get(pages["check"]).Has("</b> has been failing since <time", "has not been notified: 9 attempts failed so far", "No integration of this check can be reached now").
		HasNo("<b>ops</b> was notified", "<b>ops</b> notified")
	const doubt = "Only integrations that fail now would get it."
	b.Get("/checks/"+well.UniqueKey()).Has("Up for", `<div class="bad long"><dt>Who would be notified`, doubt)

	refuses = false
	s.Advance(time.Hour)
	s.Tick()
	for name, path := range pages {
		b.Get(path).HasNo("failing since", "is failing", "alerts nobody", "No integration of this check")
		if name == "rehearsal" {
			b.Get(path).Has("<td>notified</td>")
		}
	}
	b.Get(pages["overview"]).Has("ops notified")
	b.Get("/checks/"+well.UniqueKey()).HasNo(doubt, `class="bad long"`)
}

// TestOnAlertIsSomebody has checks without integrations in a program whose function gets every alert. No page says that nobody
// is notified, before or after an alert.
func TestOnAlertIsSomebody(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{
			Channels: standard.Kinds(), Logger: slog.New(slog.DiscardHandler), OnAlert: func(context.Context, channels.Notification) error { return nil },
		}
	})
	b := s.SignedIn(s.Keys.ReadWrite)
	c := s.Create(checks.Spec{Name: new("backup")})
	check := "/checks/" + c.UniqueKey()
	pages := func() {
		t.Helper()
		for _, path := range []string{
			"overview", "", "integrations", "rehearsal", "rehearsal?rehearse=failure", "deliveries", "checks/new", check, check + "/edit", check + "/history",
			check + "?rehearse=failure",
		} {
			if path == "" || path[0] != '/' {
				path = s.Path(path)
			}
			b.Get(path).HasNo("no one", "nobody", "No one", "Nobody is", "no integrations")
		}
	}
	pages()
	const gets = "the function OnAlert of this program gets every alert"
	b.Get(s.Path("integrations")).Has(gets)
	b.Get(check + "/edit").Has(gets)
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	pages()
	s.Tick()
	pages()
	b.Get(check).Has("<b>OnAlert</b> was notified")
	b.Get(s.Path("overview")).Has("OnAlert notified")
}
