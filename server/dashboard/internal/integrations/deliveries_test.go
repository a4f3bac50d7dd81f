package integrations_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
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

func TestDeliveries(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("deliveries")).Is(http.StatusOK).Has("No alerts yet").HasNo("Retry")
	house := s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	mail := s.Channel(channels.Email, "<b>ops</b>", map[string]string{"to": "ops@example.org"})
	backup := s.Create(checks.Spec{Name: new("backup <i>"), Slug: new("backup"), Channels: new("*")})
	s.Create(checks.Spec{Name: new("backup two")})
	s.GoDown(backup)
	r.Fail(channels.Permanent(errors.New("the house at <t0psecret> is gone")))
	s.Advance(time.Minute)
	s.Ping(backup, pings.Signal{})
	s.Tick()

	b.Get(s.Path("deliveries")).Is(http.StatusOK).Has("went down", "the job reported a failure", "is up", "sent", "failed",
		"the house at &lt;t0psecret&gt; is gone", // by e-mail, whose settings do not have this text
		"the house at &lt;***&gt; is gone", "backup &lt;i&gt;", "&lt;b&gt;ops&lt;/b&gt;", "Retry all failed", "1 min ago").HasNo("<b>ops</b>", "backup <i>")
	b.Get(s.Path("deliveries")).Has(`id="now"`, `</a>: failing since `, "; last sent <time") // what fails now stands first
	b.Get(s.Path("deliveries?integration=" + mail.ID.String())).HasNo(`id="now"`)
	reader.Get(s.Path("deliveries")).Is(http.StatusOK).Has("failed").HasNo("Retry", "integrations/"+house.ID.String())
	b.Get(s.Path("deliveries?state=sent")).Has("went down").HasNo(" is gone", "sent failed")
	b.Get(s.Path("deliveries?integration=" + house.ID.String())).Has("***").HasNo("&lt;t0psecret&gt;")
	b.Get(s.Path("deliveries?integration=x")).Is(http.StatusNotFound)
	b.Get(s.Path("deliveries?check=backup")).Has("went down") // the slug of one, although two names begin with it
	b.Get(s.Path("deliveries?check=back")).Is(http.StatusOK).Has("2 checks match")
	b.Get(s.Path("deliveries?check=nothing")).Is(http.StatusOK).Has("No check matches")
	b.Get(s.Path("deliveries?check=two")).Is(http.StatusOK).Has("No deliveries match the filter")
	b.Get(s.Path("deliveries?state=explode&before=-3")).Is(http.StatusOK).Has("went down")

	var failed []checks.Delivery
	for d, err := range s.Mon.Project(s.Project.ID).Deliveries(t.Context(), checks.DeliveryQuery{Channel: mail.ID, State: checks.DeliveryFailed}) {
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, d)
	}
	if len(failed) != 1 {
		t.Fatal(failed)
	}
	one := url.Values{"id": {fmt.Sprint(failed[0].ID)}}
	reader.Post(s.Path("deliveries/retry"), one).Is(http.StatusForbidden)
	reader.Post(s.Path("deliveries/retry-failed"), nil).Is(http.StatusForbidden)
	r.Fail(nil)
	sent := r.Count()
	if to := b.Post(s.Path("deliveries/retry?state=failed"), one).Is(http.StatusSeeOther).Location(); !strings.HasSuffix(to, "/deliveries?state=failed") {
		t.Errorf("leads to %s", to)
	}
	b.Get(s.Path("deliveries")).Has("Sending the alert again.", "waiting")
	s.Tick()
	if r.Count() != sent+1 {
		t.Errorf("%d alerts sent, want %d", r.Count(), sent+1)
	}
	b.Post(s.Path("deliveries/retry"), one).Is(http.StatusSeeOther)
	b.Get(s.Path("deliveries")).Has("This delivery is no longer failed.")
	b.Post(s.Path("deliveries/retry"), url.Values{"id": {"x"}}).Is(http.StatusBadRequest)
	b.Get(s.Path("deliveries/retry-failed")).Is(http.StatusOK).Has("Send 1 failed alert again?", "backup &lt;i&gt;</b> to house", "Send again")
	reader.Get(s.Path("deliveries/retry-failed")).Is(http.StatusForbidden)
	b.Post(s.Path("deliveries/retry-failed"), nil).Is(http.StatusSeeOther)
	b.Get(s.Path("deliveries")).Has("Sending 1 alert again.")
}

func TestDeliveriesPages(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	s.Channel(channels.Email, "ops", map[string]string{"to": "ops@example.org"})
	c := s.Create(checks.Spec{Name: new("backup"), Channels: new("*")})
	for range 30 {
		s.GoDown(c)
		s.Advance(time.Second)
		s.Ping(c, pings.Signal{})
		s.Tick()
		s.Advance(time.Second)
	}
	b := s.SignedIn(s.Keys.ReadWrite)
	first := b.Get(s.Path("deliveries?state=sent")).Is(http.StatusOK).Has("Older").HasNo("Newest")
	_, rest, _ := strings.Cut(first.Body, `deliveries?before=`)
	before, _, _ := strings.Cut(rest, `&`)
	b.Get(s.Path("deliveries?state=sent&before="+before)).Is(http.StatusOK).Has("Newest", "went down").HasNo("Older<")
	b.Get(s.Path("deliveries?before=1")).Is(http.StatusOK).Has("No older deliveries")
}

// TestDeliveriesSayWhy quotes the output in the row of the alert about the newest failure.
func TestDeliveriesSayWhy(t *testing.T) {
	s := pagetest.New(t)
	hook := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"}).ID.String()
	c := s.Create(checks.Spec{Name: new("backup"), Channels: &hook})
	s.Ping(c, pings.Signal{Kind: pings.Failure, ExitStatus: new(2), Body: []byte("tar: <disk> full\n")})
	b := s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("deliveries")).Has("<small>the job reported a failure: exit 2: tar: &lt;disk&gt; full</small>")
	s.Advance(time.Minute)
	s.Ping(c, pings.Signal{Kind: pings.Failure, Body: []byte("another\n")})
	b.Get(s.Path("deliveries")).Has("<small>the job reported a failure</small>").HasNo("another")
}

// TestDeliveriesKeptBack lists an alert that waits for the end of maintenance, and two that nobody gets.
func TestDeliveriesKeptBack(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	backup := s.Create(checks.Spec{Name: new("backup"), Channels: new("*")})
	w := gate.Window{Kind: gate.Maintenance, Duration: 2 * time.Hour, Note: "new <disks>"}
	if _, err := s.Mon.Project(s.Project.ID).AddWindow(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	s.Ping(backup, pings.Signal{Kind: pings.Failure})
	s.Tick()
	b.Get(s.Path("deliveries")).Has("waiting</span>, due <time", "in 2 h", "maintenance: new &lt;disks&gt;").HasNo("next try", `class="error"`)
	b.Get("/checks/"+backup.UniqueKey()).Has("(new &lt;disks&gt;): the alert to <b>house</b> waits.", "<b>house</b>: waiting until <time", "</time>: maintenance: new &lt;disks&gt;</li>").HasNo("at the earliest")
	s.Ping(backup, pings.Signal{})
	s.Advance(2 * time.Hour)
	s.Tick()
	b.Get(s.Path("deliveries")).Has("skipped", "maintenance: new &lt;disks&gt;").HasNo("does not send", `class="error"`)
	b.Get("/checks/" + backup.UniqueKey()).Has("<b>house</b> not notified: maintenance: new &lt;disks&gt;</li>").HasNo("does not send")
	if n := r.Count(); n != 0 {
		t.Errorf("%d alerts sent", n)
	}
}

// TestStepOfCheckThatIsUp: once a check is up, no step of the escalation policy waits any more.
func TestStepOfCheckThatIsUp(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Monitor = monitor.Config{Channels: pagetest.WebhooksBy(channels.NotifierFunc(func(context.Context, channels.Channel, channels.Notification) error { return nil }))}
	})
	first := s.Channel(channels.Webhook, "ops", map[string]string{"url_down": "https://example.org/"})
	later := s.Channel(channels.Webhook, "boss", map[string]string{"url_down": "https://example.org/"})
	p := s.Mon.Project(s.Project.ID)
	err := p.SetEscalation(t.Context(), []gate.Step{{Channels: []uuid.UUID{first.ID}}, {After: 10 * time.Minute, Channels: []uuid.UUID{later.ID}}})
	pagetest.NoError(t, err)
	c := s.Create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	s.Ping(c, pings.Signal{})
	s.GoDown(c)
	b := s.SignedIn(s.Keys.ReadWrite)
	s.Advance(2 * time.Minute)
	s.Tick()
	b.Get(s.Path("deliveries")).Has("due <time", ": escalation</span>")
	s.Ping(c, pings.Signal{})
	b.Get(s.Path("deliveries")).HasNo("due <time")
	s.Tick()
	b.Get(s.Path("deliveries")).HasNo("due <time", `class="sent waiting"`)
	b.Get("/checks/" + c.UniqueKey()).HasNo("at the earliest")
}
