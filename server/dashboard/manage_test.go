package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// receiver is a notifier that remembers what it got, and fails while it has an error.
type receiver struct {
	mu  sync.Mutex
	got []channels.Notification
	to  []channels.Channel
	err error
}

// errEcho makes a receiver fail with an error that repeats all settings.
var errEcho = errors.New("echo")

func (r *receiver) Notify(_ context.Context, c channels.Channel, n channels.Notification) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.err, errEcho) {
		return channels.Permanent(fmt.Errorf("refused %v", c.Settings))
	}
	if r.err != nil {
		return r.err
	}
	r.got, r.to = append(r.got, n), append(r.to, c)
	return nil
}

func (r *receiver) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// pager is a kind that only the test's program knows.
func pager() channels.Type {
	return channels.Type{
		Kind: "pager", Title: "House pager", Category: "Our own", Doc: "Beeps in the house.",
		Settings: []channels.Setting{
			{Name: "server_url", Doc: "Where the house is.", Required: true},
			{Name: "token", Doc: "Opens the house.", Required: true, Secret: true},
			{Name: "pin", Doc: "Four characters.", Secret: true, Check: func(value string) error {
				if len(value) != 4 {
					return fmt.Errorf("is not four characters: %s", value) // a bad check that repeats the secret
				}
				return nil
			}},
			{Name: "note", Doc: "A line.", Lines: true, KeepsSecrets: true},
			{Name: "loud", Doc: "How loud.", Options: []string{"low", "high"}, Default: "low", KeepsSecrets: true},
		},
	}
}

// withReceiver is a site whose monitor sends pager, email and webhook alerts to a receiver.
func withReceiver(t *testing.T, configure ...func(*config)) (*site, *receiver) {
	t.Helper()
	r := &receiver{}
	own := pager()
	own.Notifier = r
	types := slices.DeleteFunc(standard.Kinds(), func(t channels.Type) bool { return t.Privileged })
	for i := range types {
		if types[i].Kind == channels.Email || types[i].Kind == channels.Webhook {
			types[i].Notifier = r
		}
	}
	s := newSiteOn(t, &monitor.Config{
		Channels: append(types, own, channels.Type{
			Kind: "command", Title: "Command", Privileged: true, Settings: []channels.Setting{{Name: "line", Required: true}}, Notifier: r,
		}),
		DeliveredElsewhere: true,
		Delivery:           monitor.DeliveryConfig{GiveUp: time.Hour},
		Logger:             slog.New(slog.DiscardHandler),
	}, configure...)
	return s, r
}

func (s *site) channel(kind channels.Kind, name string, settings map[string]string) channels.Channel {
	s.t.Helper()
	c, err := s.mon.Project(s.project.ID).CreateChannel(context.Background(), channels.Channel{Kind: kind, Name: name, Settings: settings})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *site) stored(id uuid.UUID) channels.Channel {
	s.t.Helper()
	list, err := s.mon.Project(s.project.ID).Channels(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range list {
		if c.ID == id {
			return c
		}
	}
	s.t.Fatalf("no channel %s", id)
	return channels.Channel{}
}

// goDown makes a check go down, and sends the alerts.
func (s *site) goDown(c checks.Check) {
	s.t.Helper()
	if _, err := s.mon.Ping(context.Background(), c.ID, pings.Signal{Kind: pings.Failure}); err != nil {
		s.t.Fatal(err)
	}
	s.deliver()
}

func (s *site) deliver() {
	s.t.Helper()
	if err := s.mon.Tick(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// location is where an answer redirects to.
func (a *answer) location() string { return a.header.Get("Location") }

func TestKeys(t *testing.T) {
	s := newSite(t)
	admin := s.key(checks.Admin)
	b := s.signedIn(admin)
	page := b.get(s.path("keys")).is(http.StatusOK).has("this session", s.project.PingKey, "read-only", "read-write").hasNo(s.keys.ReadWrite, s.keys.ReadOnly)
	if strings.Count(page.body, "Revoke…") != 3 {
		t.Errorf("not three keys: %s", page.body)
	}
	made := b.post(s.path("keys"), url.Values{"kind": {"read-only"}}).is(http.StatusOK).has("once")
	if made.header.Get("Cache-Control") != "no-store" {
		t.Error("the page with the key may be stored")
	}
	_, rest, _ := strings.Cut(made.body, `id="fresh-key" tabindex="0">`)
	text, _, _ := strings.Cut(rest, "<")
	key, err := s.mon.Projects().Authenticate(t.Context(), text)
	if err != nil || key.Scope != checks.ReadOnly || key.ProjectID != s.project.ID {
		t.Fatalf("the key %q: %+v, %v", text, key, err)
	}
	b.get(s.path("keys")).hasNo(text)
	b.post(s.path("keys"), url.Values{"kind": {"owner"}}).is(http.StatusBadRequest)

	other := s.signedIn(text)
	other.get(s.path("keys")).is(http.StatusForbidden).hasNo(s.project.PingKey)
	other.get(s.path("settings")).is(http.StatusOK).hasNo("Keys", "Delete", "Export", s.project.PingKey)
	other.post(s.path("keys"), url.Values{"kind": {"read-write"}}).is(http.StatusForbidden)
	other.post(s.path("keys/"+key.ID.String()+"/revoke"), nil).is(http.StatusForbidden)

	b.get(s.path("keys/"+key.ID.String()+"/revoke")).is(http.StatusOK).hasNo("signs you out", "last admin key")
	b.post(s.path("keys/"+key.ID.String()+"/revoke"), nil).is(http.StatusSeeOther)
	b.get(s.path("keys")).has("Revoked the read-only key " + text[:8])
	other.get(s.path("")).is(http.StatusSeeOther)
	b.get(s.path("keys/" + key.ID.String() + "/revoke")).is(http.StatusNotFound)

	own, err := s.mon.Projects().Authenticate(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	b.get(s.path("keys/"+own.ID.String()+"/revoke")).is(http.StatusOK).has("signs you out", "last admin key")
	b.post(s.path("keys/"+own.ID.String()+"/revoke"), nil).is(http.StatusSeeOther)
	if to := b.get(s.path("keys")).is(http.StatusSeeOther).location(); !strings.HasPrefix(to, "/signin") {
		t.Errorf("after its key was revoked, the session leads to %q", to)
	}
}

// TestKeyScopes signs in with a key of each scope, and with one of the installation.
func TestKeyScopes(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	for _, scope := range checks.Scopes() {
		page := s.signedIn(s.key(scope)).get("/checks/" + c.UniqueKey()).is(http.StatusOK)
		if edits := strings.Contains(page.body, c.ID.String()); edits != scope.Right().Edits() {
			t.Errorf("%s: the page has the UUID: %t, want %t", scope, edits, !edits)
		}
		s.owner().post(s.path("keys"), url.Values{"kind": {string(scope)}}).is(http.StatusOK).has("Your new " + string(scope) + " key")
	}
	text, _, err := s.mon.Installation().CreateKey(t.Context())
	noError(t, err)
	s.browser().post("/signin", url.Values{"key": {text}}).is(http.StatusForbidden).has("This key is for the API of the whole installation")
	if _, err := s.pages.SignInLink(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("link: %v", err)
	}
}

func TestRenameProject(t *testing.T) {
	s := newSite(t)
	other, _, err := s.mon.Projects().Create(t.Context(), projectSpec("other"))
	noError(t, err)
	b := s.owner()
	rename := func(name string) *answer { return b.post(s.path("settings"), url.Values{"name": {name}}) }
	rename(other.Name).is(http.StatusConflict).has("another project has this name", `value="other"`)
	rename(" ").is(http.StatusBadRequest).has("Not saved: the name is empty.")
	rename(" <b>new</b> ").is(http.StatusSeeOther)
	b.get(s.path("settings")).is(http.StatusOK).has("Renamed.", "<h1>&lt;b&gt;new&lt;/b&gt;</h1>")
	s.signedIn(s.keys.ReadOnly).post(s.path("settings"), url.Values{"name": {"x"}}).is(http.StatusForbidden)
}

func TestProjectSettings(t *testing.T) {
	s, _ := withReceiver(t)
	s.create(checks.Spec{Name: new("backup"), Slug: new("backup")})
	s.channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	b := s.owner()
	b.get(s.path("settings")).is(http.StatusOK).has("backups", "the latest 1000 of each check", "3 API keys")
	file := b.get(s.path("export")).is(http.StatusOK).has("slug: backup", "house.example.org").hasNo("t0psecret", s.project.PingKey)
	if got := file.header.Get("Content-Disposition"); got != "attachment; filename=backups.yaml" {
		t.Errorf("Content-Disposition %q", got)
	}
	s.signedIn(s.keys.ReadOnly).get(s.path("export")).is(http.StatusForbidden)

	b.get(s.path("delete")).is(http.StatusOK).has("1 check ", "1 integration")
	b.post(s.path("delete"), url.Values{"name": {"Backups"}}).is(http.StatusBadRequest).has("Nothing was deleted")
	s.signedIn(s.keys.ReadOnly).post(s.path("delete"), url.Values{"name": {"backups"}}).is(http.StatusForbidden)
	if _, err := s.mon.Projects().ByID(t.Context(), s.project.ID); err != nil {
		t.Fatal(err)
	}
	b.post(s.path("delete"), url.Values{"name": {" backups "}}).is(http.StatusSeeOther)
	if _, err := s.mon.Projects().ByID(t.Context(), s.project.ID); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("the project: %v", err)
	}
	b.get("/").is(http.StatusSeeOther)
}

func TestDeliveries(t *testing.T) {
	s, r := withReceiver(t)
	b, reader := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadOnly)
	b.get(s.path("deliveries")).is(http.StatusOK).has("No alerts yet").hasNo("Retry")
	house := s.channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	mail := s.channel(channels.Email, "<b>ops</b>", map[string]string{"to": "ops@example.org"})
	backup := s.create(checks.Spec{Name: new("backup <i>"), Slug: new("backup"), Channels: new("*")})
	s.create(checks.Spec{Name: new("backup two")})
	s.goDown(backup)
	r.fail(channels.Permanent(errors.New("the house at <t0psecret> is gone")))
	s.advance(time.Minute)
	if _, err := s.mon.Ping(t.Context(), backup.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	s.deliver()

	b.get(s.path("deliveries")).is(http.StatusOK).has("went down", "the job reported a failure", "is up", "sent", "failed",
		"the house at &lt;t0psecret&gt; is gone", // by e-mail, whose settings do not have this text
		"the house at &lt;***&gt; is gone", "backup &lt;i&gt;", "&lt;b&gt;ops&lt;/b&gt;", "Retry all failed", "1 min ago").hasNo("<b>ops</b>", "backup <i>")
	reader.get(s.path("deliveries")).is(http.StatusOK).has("failed").hasNo("Retry", "integrations/"+house.ID.String())
	b.get(s.path("deliveries?state=sent")).has("went down").hasNo(" is gone", "sent failed")
	b.get(s.path("deliveries?integration=" + house.ID.String())).has("***").hasNo("&lt;t0psecret&gt;")
	b.get(s.path("deliveries?integration=x")).is(http.StatusNotFound)
	b.get(s.path("deliveries?check=backup")).has("went down") // the slug of one, although two names begin with it
	b.get(s.path("deliveries?check=back")).is(http.StatusOK).has("2 checks match")
	b.get(s.path("deliveries?check=nothing")).is(http.StatusOK).has("No check matches")
	b.get(s.path("deliveries?check=two")).is(http.StatusOK).has("No deliveries match the filter")
	b.get(s.path("deliveries?state=explode&before=-3")).is(http.StatusOK).has("went down")

	var failed []monitor.Delivery
	for d, err := range s.mon.Project(s.project.ID).Deliveries(t.Context(), monitor.DeliveryQuery{Channel: mail.ID, State: monitor.DeliveryFailed}) {
		if err != nil {
			t.Fatal(err)
		}
		failed = append(failed, d)
	}
	if len(failed) != 1 {
		t.Fatal(failed)
	}
	one := url.Values{"id": {fmt.Sprint(failed[0].ID)}}
	reader.post(s.path("deliveries/retry"), one).is(http.StatusForbidden)
	reader.post(s.path("deliveries/retry-failed"), nil).is(http.StatusForbidden)
	r.fail(nil)
	sent := r.count()
	if to := b.post(s.path("deliveries/retry?state=failed"), one).is(http.StatusSeeOther).location(); !strings.HasSuffix(to, "/deliveries?state=failed") {
		t.Errorf("leads to %s", to)
	}
	b.get(s.path("deliveries")).has("Sending the alert again.", "waiting")
	s.deliver()
	if r.count() != sent+1 {
		t.Errorf("%d alerts sent, want %d", r.count(), sent+1)
	}
	b.post(s.path("deliveries/retry"), one).is(http.StatusSeeOther)
	b.get(s.path("deliveries")).has("This delivery is no longer failed.")
	b.post(s.path("deliveries/retry"), url.Values{"id": {"x"}}).is(http.StatusBadRequest)
	b.get(s.path("deliveries/retry-failed")).is(http.StatusOK).has("Send 1 failed alert again?", "backup &lt;i&gt;</b> to house", "Send again")
	reader.get(s.path("deliveries/retry-failed")).is(http.StatusForbidden)
	b.post(s.path("deliveries/retry-failed"), nil).is(http.StatusSeeOther)
	b.get(s.path("deliveries")).has("Sending 1 alert again.")
}

func TestDeliveriesPages(t *testing.T) {
	s, _ := withReceiver(t)
	s.channel(channels.Email, "ops", map[string]string{"to": "ops@example.org"})
	c := s.create(checks.Spec{Name: new("backup"), Channels: new("*")})
	for range 30 {
		s.goDown(c)
		s.advance(time.Second)
		if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
			t.Fatal(err)
		}
		s.deliver()
		s.advance(time.Second)
	}
	b := s.signedIn(s.keys.ReadWrite)
	first := b.get(s.path("deliveries?state=sent")).is(http.StatusOK).has("Older").hasNo("Newest")
	_, rest, _ := strings.Cut(first.body, `deliveries?before=`)
	before, _, _ := strings.Cut(rest, `&`)
	b.get(s.path("deliveries?state=sent&before="+before)).is(http.StatusOK).has("Newest", "went down").hasNo("Older<")
	b.get(s.path("deliveries?before=1")).is(http.StatusOK).has("No older deliveries")
}

// newSiteOn is newSite with a configuration of the monitor.
func newSiteOn(t *testing.T, config *monitor.Config, configure ...func(*config)) *site {
	t.Helper()
	s := newSite(t, configure...)
	config.Now = s.now
	var err error
	if s.mon, err = monitor.New(dbtest.Memory(t), config); err != nil {
		t.Fatal(err)
	}
	if s.project, s.keys, err = s.mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "backups"}); err != nil {
		t.Fatal(err)
	}
	s.pages = s.newPages(configure...)
	s.web.Config.Handler = s.pages
	return s
}
