package dashboard_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
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
	s := newSiteOn(t, &monitor.Config{Channels: webhooksBy(notifier), Logger: slog.New(slog.DiscardHandler)})
	b := s.signedIn(s.keys.ReadWrite)
	hook := s.channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	c := s.create(checks.Spec{Name: new("backup"), Channels: &hook})
	pages := map[string]string{
		"overview": s.path("overview"), "list": s.path(""), "integrations": s.path("integrations"), "integration": s.path("integrations/" + hook),
		"rehearsal": s.path("rehearsal"), "check": "/checks/" + c.UniqueKey(),
	}
	b.get(pages["integrations"]).has("none yet")
	b.get(pages["rehearsal"]).has("no alert yet")
	s.ping(c, pings.Signal{Kind: pings.Failure})
	for range 9 {
		if err := s.mon.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.advance(10 * time.Minute)
	}
	const failing = "failing since 12:00, 9 attempts so far: connection refused"
	b.get(pages["overview"]).has(failing, "1 integration is failing", "1 check alerts nobody", "ops not notified yet").hasNo("ops notified")
	b.get(pages["list"]).has("<b>1</b> alerts nobody")
	b.get(pages["integrations"]).has(failing)
	b.get(pages["integration"]).has(failing)
	b.get(pages["rehearsal"]).has(failing, "Only integrations that fail", "no alert sent yet").hasNo("<td>notified</td>")
	b.get(pages["check"]).has("has been "+failing, "has not been notified: 9 attempts failed so far", "No integration of this check can be reached now").
		hasNo("<b>ops</b> was notified", "<b>ops</b> notified")

	refuses = false
	s.advance(time.Hour)
	if err := s.mon.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, path := range pages {
		b.get(path).hasNo("failing since", "is failing", "alerts nobody", "No integration of this check")
		if name == "rehearsal" {
			b.get(path).has("<td>notified</td>")
		}
	}
	b.get(pages["overview"]).has("ops notified")
}

// TestOnAlertIsSomebody has checks without integrations in a program whose function gets every alert. No page says that nobody
// is notified, before or after an alert.
func TestOnAlertIsSomebody(t *testing.T) {
	s := newSiteOn(t, &monitor.Config{
		Channels: standard.Kinds(), Logger: slog.New(slog.DiscardHandler), OnAlert: func(context.Context, channels.Notification) error { return nil },
	})
	b := s.signedIn(s.keys.ReadWrite)
	c := s.create(checks.Spec{Name: new("backup")})
	check := "/checks/" + c.UniqueKey()
	pages := func() {
		t.Helper()
		for _, path := range []string{
			"overview", "", "integrations", "rehearsal", "rehearsal?rehearse=failure", "deliveries", "checks/new", check, check + "/edit", check + "/history",
			check + "?rehearse=failure",
		} {
			if path == "" || path[0] != '/' {
				path = s.path(path)
			}
			b.get(path).hasNo("no one", "nobody", "No one", "Nobody is", "no integrations")
		}
	}
	pages()
	const gets = "the function OnAlert of this program gets every alert"
	b.get(s.path("integrations")).has(gets)
	b.get(check + "/edit").has(gets)
	s.ping(c, pings.Signal{Kind: pings.Failure})
	pages()
	if err := s.mon.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	pages()
	b.get(check).has("<b>OnAlert</b> was notified")
	b.get(s.path("overview")).has("OnAlert notified")
}
