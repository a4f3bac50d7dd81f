package integrations_test

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// house are valid settings of the kind pager, as a form has them.
func house() url.Values {
	return url.Values{"name": {"house"}, "s.server_url": {"https://house.example.org"}, "s.token": {"t0psecret"}, "s.pin": {"q7xz"}}
}

// created is the channel to which an answer leads.
func created(s *pagetest.Site, a *pagetest.Answer) channels.Channel {
	s.T.Helper()
	a.Is(http.StatusSeeOther)
	id, err := uuid.Parse(a.Location()[strings.LastIndex(a.Location(), "/")+1:])
	if err != nil {
		s.T.Fatalf("leads to %s", a.Location())
	}
	return stored(s, id)
}

// stored returns a channel as it is stored.
func stored(s *pagetest.Site, id uuid.UUID) channels.Channel {
	s.T.Helper()
	list, err := s.Mon.Project(s.Project.ID).Channels(s.T.Context())
	pagetest.NoError(s.T, err)
	for _, c := range list {
		if c.ID == id {
			return c
		}
	}
	s.T.Fatalf("no channel %s", id)
	return channels.Channel{}
}

func TestIntegrations(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("integrations")).Is(http.StatusOK).Has("No integrations yet", "Add your first integration")
	reader.Get(s.Path("integrations")).Is(http.StatusOK).Has("No integrations yet").HasNo("Add your first integration")
	s.Create(checks.Spec{Name: new("backup")})
	c := s.Create(checks.Spec{Name: new("other")})

	b.Get(s.Path("integrations/new")).Is(http.StatusOK).Has("House pager", "Beeps in the house", "E-mail", "Text message",
		"1 kind is created on the server", "Command: <code>rollcall channel create --kind command</code>")
	b.Get(s.Path("integrations/new?q=HOUSE+beeps")).Is(http.StatusOK).Has("House pager").HasNo("Text message", "Command")
	b.Get(s.Path("integrations/new?q=own")).Is(http.StatusOK).Has("House pager") // its category
	b.Get(s.Path("integrations/new?q=xyzzy")).Is(http.StatusOK).Has("No matches")
	b.Get(s.Path("integrations/new?kind=pager")).Is(http.StatusOK).Has("Opens the house.", `name="s.loud"`, "<option value=\"low\" selected>low</option>", `class="masked"`, "checked")
	b.Get(s.Path("integrations/new?kind=nothing")).Is(http.StatusNotFound)

	b.Post(s.Path("integrations/new?kind=pager"), house()).Is(http.StatusBadRequest).Has("Choose which checks use it.")
	form := house()
	form.Set("use", "none")
	made := created(s, b.Post(s.Path("integrations/new?kind=pager"), form))
	if made.Name != "house" || made.Settings["token"] != "t0psecret" || made.Settings["loud"] != "low" {
		t.Errorf("made %#v with %v", made, made.Settings)
	}
	path := s.Path("integrations/" + made.ID.String())
	b.Get(path).Is(http.StatusOK).Has("house created. No check uses it yet", "set; leave empty to keep", "https://house.example.org", "No check uses this").HasNo("t0psecret", "q7xz")
	reader.Get(path).Is(http.StatusForbidden).HasNo("house.example.org")
	b.Get(s.Path("integrations")).Has("No check uses this")
	b.Get(path+"/assign").Is(http.StatusOK).Has(">backup<", ">other<")
	b.Post(path+"/assign", url.Values{"check": {valueOf(c), valueOf(only(s, "backup"))}}).Is(http.StatusSeeOther)
	b.Get(path).Has("Added house to 2 checks.", "2 checks of 2")
	s.GoDown(c)
	b.Get(s.Path("integrations")).Is(http.StatusOK).Has("house", "House pager", "2 checks", "sent")
	reader.Get(s.Path("integrations")).Is(http.StatusOK).Has("house", "sent").HasNo("New integration", "integrations/"+made.ID.String())

	b.Post(path, url.Values{"action": {"test"}}).Is(http.StatusOK).Has("Test alert sent")
	if _, last := r.Last(); r.Count() != 2 || !last.Test {
		t.Errorf("%d alerts, the last %+v", r.Count(), last)
	}
	r.Fail(errors.New("<i>t0psecret</i> refused"))
	b.Post(path, url.Values{"action": {"test"}}).Is(http.StatusOK).Has("Test alert failed", "&lt;i&gt;***&lt;/i&gt; refused").HasNo("t0psecret")
	reader.Post(path, url.Values{"action": {"test"}}).Is(http.StatusForbidden)
	for range 20 {
		b.Post(path, url.Values{"action": {"test"}})
	}
	b.Post(path, url.Values{"action": {"test"}}).Is(http.StatusTooManyRequests).Has("Too many tests")

	b.Get(path + "/delete").Is(http.StatusOK).Has("2 checks use it")
	reader.Post(path+"/delete", nil).Is(http.StatusForbidden)
	b.Post(path+"/delete", nil).Is(http.StatusSeeOther)
	b.Get(s.Path("integrations")).Has("Deleted house.", "No integrations yet")
	b.Get(path).Is(http.StatusNotFound)
	b.Post(path+"/delete", nil).Is(http.StatusNotFound)
}

// TestIntegrationNotify limits integrations to alerts about down or up. Forms, lists, histories and verdicts say so.
func TestIntegrationNotify(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	form := house()
	b.Get(s.Path("integrations/new?kind=pager")).Has(`<option value="both" selected>down and up</option>`,
		`<option value="down">down only</option>`, `<option value="up">up only</option>`)
	form.Set("s.notify", "sometimes")
	b.Post(s.Path("integrations/new?kind=pager"), form).Is(http.StatusBadRequest).Has("Notify is not both, down or up.")
	form.Set("s.notify", "down")
	made := created(s, b.Post(s.Path("integrations/new?kind=pager"), form))
	path := s.Path("integrations/" + made.ID.String())
	b.Get(path).Has(`<option value="down" selected>`)
	s.Channel("pager", "ups", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "notify": "up"})
	command := s.Channel("command", "all", map[string]string{"line": "true"})
	b.Get(s.Path("integrations/" + command.ID.String())).Has("down and up")
	b.Get(s.Path("integrations")).Has("House pager · alerts about down only", "House pager · alerts about up only", "Command</small>")

	c := s.Create(checks.Spec{Name: new("backup"), Channels: new("*")})
	s.GoDown(c)
	b.Get("/checks/"+c.UniqueKey()).Has("<b>ups</b> does not send down alerts", "<b>ups</b> not notified: this integration does not send down alerts").HasNo("waiting")
	s.Advance(time.Minute)
	s.Ping(c, pings.Signal{})
	s.Tick()
	if n := r.Count(); n != 4 {
		t.Errorf("%d alerts, want 4: two to the integration that wants both", n)
	}
	b.Get(s.Path("deliveries?state=skipped")).Is(http.StatusOK).Has("skipped", "does not send down alerts", "does not send recovery alerts", "<option value=\"skipped\" selected>").
		HasNo(">sent</span>")
	b.Get(s.Path("integrations")).Has("skipped")

	// A change of the direction alone does not ask for the secrets again, and the default is not stored.
	form = house()
	form.Del("s.token")
	form.Del("s.pin")
	form.Set("s.notify", "both")
	b.Post(path, form).Is(http.StatusSeeOther)
	if got := stored(s, made.ID).Settings; got["token"] != "t0psecret" || got["notify"] != "" {
		t.Errorf("stored %v", got)
	}
}

// TestIntegrationErrors checks that errors stand beside the fields, with what was typed, but never a secret.
func TestIntegrationErrors(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	path := s.Path("integrations/new?kind=pager")
	form := house()
	form.Set("s.pin", "q7xzq")
	form.Set("name", "<house>")
	b.Post(path, form).Is(http.StatusBadRequest).Has("Pin is malformed.", `value="&lt;house&gt;"`, `value="https://house.example.org"`, "The secrets that you typed are kept.", `aria-invalid="true"`).
		HasNo("q7xzq", "t0psecret")
	form = house()
	form.Del("s.server_url")
	b.Post(path, form).Is(http.StatusBadRequest).Has("Server URL is missing.").HasNo("t0psecret")
	form = house()
	form.Set("name", strings.Repeat("x", 101))
	b.Post(path, form).Is(http.StatusBadRequest).Has("The name is too long").HasNo("t0psecret")
	form = house()
	form.Set("s.server_url", "x\x00")
	b.Post(path, form).Is(http.StatusBadRequest).Has("contains a NUL").HasNo("t0psecret")
	form = house()
	form.Set("s.unknown", "x") // not a field of the form
	form.Set("s.note", "one\r\ntwo\r\n")
	if c := created(s, b.Post(path, form)); c.Settings["note"] != "one\ntwo" || len(c.Settings) != 5 {
		t.Errorf("settings %v", c.Settings)
	}
}

// TestTypedSecrets corrects a form without a script: what was typed for a secret is held by the page, unreadable, for this viewer
// and this integration.
func TestTypedSecrets(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	path := s.Path("integrations/new?kind=pager")
	held := regexp.MustCompile(`name="secrets" value="([^"]+)"`)
	form := house()
	form.Set("id", "9b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	form.Set("name", strings.Repeat("x", 101))
	refused := b.Post(path, form).Is(http.StatusBadRequest).Has(`placeholder="typed; leave empty to keep"`).HasNo("t0psecret")
	again := house()
	again.Set("id", form.Get("id"))
	again.Del("s.token")
	again.Del("s.pin")
	again.Set("secrets", held.FindStringSubmatch(refused.Body)[1])

	other := maps.Clone(again)
	other.Set("id", "1b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	b.Post(path, other).Is(http.StatusBadRequest).Has("Token is missing")
	b.Header.Set("Rollcall-Form", "1") // a script keeps the fields
	b.Post(path, form).Is(http.StatusBadRequest).HasNo(`name="secrets"`)
	b.Header.Del("Rollcall-Form")
	s.Advance(50 * time.Minute)
	if c := created(s, b.Post(path, again)); c.Settings["token"] != "t0psecret" {
		t.Errorf("saved %v", c.Settings)
	}
	s.Advance(11 * time.Minute)
	again.Set("id", "2b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	b.Post(path, again).Is(http.StatusBadRequest).Has("Token is missing")
}

// TestIntegrationSecrets checks that a stored secret goes only where it went before.
func TestIntegrationSecrets(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	made := created(s, b.Post(s.Path("integrations/new?kind=pager"), house()))
	path := s.Path("integrations/" + made.ID.String())
	change := func(change func(url.Values)) *pagetest.Answer {
		t.Helper()
		form := url.Values{"name": {"house"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"low"}}
		change(form)
		return b.Post(path, form)
	}
	change(func(f url.Values) { f.Set("name", "night"); f.Set("s.loud", "high"); f.Set("s.note", "new") }).Is(http.StatusSeeOther)
	if c := stored(s, made.ID); c.Name != "night" || c.Settings["loud"] != "high" || c.Settings["token"] != "t0psecret" || c.Settings["pin"] != "q7xz" {
		t.Errorf("%#v with %v", c, c.Settings)
	}
	change(func(f url.Values) { f.Set("s.server_url", "https://attacker.example") }).Is(http.StatusBadRequest).
		Has("Token must be typed again, because Server URL changes", "https://attacker.example").HasNo("t0psecret", "q7xz")
	change(func(f url.Values) { f.Set("s.token", "another") }).Is(http.StatusBadRequest).Has("Pin must be typed again, because Token changes").HasNo("another")
	if c := stored(s, made.ID); c.Settings["server_url"] != "https://house.example.org" || c.Settings["token"] != "t0psecret" {
		t.Errorf("%v", c.Settings)
	}
	change(func(f url.Values) { f.Set("s.token", "another"); f.Set("clear.pin", "yes") }).Is(http.StatusSeeOther)
	if c := stored(s, made.ID); c.Settings["token"] != "another" || c.Settings["pin"] != "" {
		t.Errorf("%v", c.Settings)
	}
	change(func(f url.Values) { f.Set("s.token", "third"); f.Set("s.server_url", "https://new.example.org") }).Is(http.StatusSeeOther)

	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/s3cretpath", "headers_down": "Authorization: Bearer s3crettoken"})
	hookPath := s.Path("integrations/" + hook.ID.String())
	b.Get(hookPath).Is(http.StatusOK).HasNo("s3cretpath", "s3crettoken")
	b.Post(hookPath, url.Values{"name": {"hook"}, "s.url_down": {"https://attacker.example/"}}).Is(http.StatusBadRequest).Has("Headers down must be typed again")
	b.Post(hookPath, url.Values{"name": {"hook"}, "s.url_up": {"https://attacker.example/"}}).Is(http.StatusBadRequest)
	b.Post(hookPath, url.Values{"name": {"hook"}, "s.body_down": {"$NAME"}}).Is(http.StatusSeeOther)
	if c := stored(s, hook.ID); c.Settings["headers_down"] != "Authorization: Bearer s3crettoken" || c.Settings["body_down"] != "$NAME" {
		t.Errorf("%v", c.Settings)
	}
}

// TestIntegrationSources checks that values from files and variables are neither shown nor changed, nor sent elsewhere.
func TestIntegrationSources(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	c, err := s.Mon.Project(s.Project.ID).CreateChannel(t.Context(), channels.Channel{
		Kind: "pager", Name: "house",
		Settings: map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "note": "hidden note"},
		Sources:  map[string]string{"token": "$ROLLCALL_HOUSE", "note": "file note.txt"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, path := s.SignedIn(s.Keys.ReadWrite), s.Path("integrations/"+c.ID.String())
	b.Get(path).Is(http.StatusOK).Has("$ROLLCALL_HOUSE", "file note.txt").HasNo("t0psecret", "hidden note", `name="s.token"`, `name="s.note"`)
	b.Post(path, url.Values{"name": {"house"}, "s.server_url": {"https://attacker.example"}}).Is(http.StatusBadRequest).Has("cannot change here, because Token comes from $ROLLCALL_HOUSE")
	b.Post(path, url.Values{"name": {"renamed"}, "s.server_url": {"https://house.example.org"}, "s.token": {"typed"}, "s.note": {"typed"}, "clear.token": {"yes"}}).Is(http.StatusSeeOther)
	got := stored(s, c.ID)
	if got.Name != "renamed" || got.Settings["token"] != "t0psecret" || got.Settings["note"] != "hidden note" || len(got.Sources) != 2 {
		t.Errorf("%#v with %v", got, got.Settings)
	}
}

func TestIntegrationGroups(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	first := s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	second := s.Channel(channels.Email, "mail", map[string]string{"to": "ops@example.org"})
	b.Get(s.Path("integrations/new?kind=group")).Is(http.StatusOK).Has("Members", first.ID.String(), second.ID.String())
	b.Post(s.Path("integrations/new?kind=group"), url.Values{"name": {"all"}}).Is(http.StatusBadRequest).Has("is missing")
	group := created(s, b.Post(s.Path("integrations/new?kind=group"), url.Values{"name": {"all"}, "member": {first.ID.String(), second.ID.String()}}))
	if members := strings.Split(group.Settings["channels"], ","); len(members) != 2 {
		t.Errorf("members %v", members)
	}
	path := s.Path("integrations/" + group.ID.String())
	b.Get(path).Is(http.StatusOK).Has("checked")
	s.Create(checks.Spec{Name: new("backup"), Channels: new(group.ID.String())})
	b.Get(s.Path("integrations")).Has("in all", "1 check")
	r.Fail(errors.New("away"))
	b.Post(path, url.Values{"action": {"test"}}).Is(http.StatusOK).Has("house", "mail", "away")
	b.Post(path, url.Values{"name": {"all"}, "member": {second.ID.String()}}).Is(http.StatusSeeOther)
	if members := stored(s, group.ID).Settings["channels"]; members != second.ID.String() {
		t.Errorf("members %v", members)
	}
	b.Post(path, url.Values{"name": {"all"}, "member": {group.ID.String()}}).Is(http.StatusBadRequest).Has("contains the group itself")
	b.Post(path, url.Values{"name": {"all"}, "member": {"*"}}).Is(http.StatusSeeOther)
}

// TestIntegrationKinds checks who may make which kinds: nothing that acts on the server's machine, unless the program
// allows it.
func TestIntegrationKinds(t *testing.T) {
	command := url.Values{"name": {"x"}, "s.line": {"rm -rf /"}}
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("integrations/new?kind=command")).Is(http.StatusForbidden)
	b.Post(s.Path("integrations/new?kind=command"), command).Is(http.StatusForbidden)
	c := s.Channel("command", "restart", map[string]string{"line": "true"})
	path := s.Path("integrations/" + c.ID.String())
	b.Get(path).Is(http.StatusOK).Has("rollcall apply", "Send a test alert").HasNo(`name="s.line"`)
	b.Post(path, command).Is(http.StatusForbidden)
	if got := stored(s, c.ID); got.Name != "restart" || got.Settings["line"] != "true" {
		t.Errorf("%v", got.Settings)
	}

	s, _ = pagetest.WithReceiver(t, func(c *pagetest.Config) { c.Pages.Kinds = []channels.Kind{"command"} })
	b = s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("integrations/new?kind=pager"), house()).Is(http.StatusForbidden)
	created(s, b.Post(s.Path("integrations/new?kind=command"), command))

	s, _ = pagetest.WithReceiver(t, func(c *pagetest.Config) { c.Pages.Kinds = []channels.Kind{} })
	b = s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("integrations/new")).Is(http.StatusOK).Has("rollcall channel create")
	b.Get(s.Path("integrations")).HasNo("integrations/new")
	b.Post(s.Path("integrations/new?kind=email"), url.Values{"s.to": {"a@example.org"}}).Is(http.StatusForbidden)
}

// TestIntegrationsOfStandardKinds shows a form of each kind of Rollcall. What the server cannot deliver to is refused where it
// is saved: e-mail without a mail server, a webhook to the local machine.
func TestIntegrationsOfStandardKinds(t *testing.T) {
	requests := 0
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	defer inside.Close()
	types, err := standard.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := pagetest.New(t, func(c *pagetest.Config) { c.Monitor = monitor.Config{Channels: types} })
	b := s.SignedIn(s.Keys.ReadWrite)
	for _, info := range types {
		want := http.StatusOK
		if info.Privileged {
			want = http.StatusForbidden
		}
		b.Get(s.Path("integrations/new?kind=" + string(info.Kind))).Is(want)
	}
	form := url.Values{"s.url_down": {inside.URL + "/metadata"}}
	b.Post(s.Path("integrations/new?kind=webhook"), form).Is(http.StatusBadRequest).
		Has("Not saved", "URL down is at a private or reserved address, to which alerts may not go.").HasNo("metadata")
	form.Set("action", "test")
	b.Post(s.Path("integrations/new?kind=webhook"), form).Is(http.StatusOK).Has("failed", "private or reserved network").HasNo("metadata")
	b.Post(s.Path("integrations/new?kind=email"), url.Values{"s.to": {"ops@example.org"}}).Is(http.StatusBadRequest).
		Has("Not saved", "No mail server is configured on this server.", "ops@example.org")
	b.Post(s.Path("integrations/new?kind=sms"), url.Values{"s.to": {"+37120000000"}}).Is(http.StatusBadRequest).
		Has("Not saved", "Neither the integration nor the server has a Twilio account with a sender for this kind.")
	if list, err := s.Mon.Project(s.Project.ID).Channels(t.Context()); len(list) > 0 || err != nil {
		t.Errorf("stored %v, %v", list, err)
	}
	if requests != 0 {
		t.Errorf("%d requests reached the local machine", requests)
	}
}

// TestIntegrationWarning warns on the page of a webhook whose body breaks at a name with a quote, until it is mended.
func TestIntegrationWarning(t *testing.T) {
	types, err := standard.New(&standard.Config{AllowPrivateNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	s := pagetest.New(t, func(c *pagetest.Config) { c.Monitor = monitor.Config{Channels: types} })
	b := s.SignedIn(s.Keys.ReadWrite)
	const warning = "“Body down” is not JSON where the value of $NAME has a quote or a line break: write $NAME_JSON in place of &#34;$NAME&#34;."
	form := url.Values{"name": {"hook"}, "s.url_down": {"https://x.example/"}, "s.body_down": {`{"text": "$NAME"}`}, "use": {"none"}}
	made := created(s, b.Post(s.Path("integrations/new?kind=webhook"), form))
	path := s.Path("integrations/" + made.ID.String())
	b.Get(path).Is(http.StatusOK).Has(warning)
	form.Set("s.body_down", `{"text": $NAME_JSON}`)
	b.Post(path, form).Is(http.StatusSeeOther)
	b.Get(path).Is(http.StatusOK).HasNo("is not JSON")
}

// TestIntegrationsOfOthers checks that the integrations of one project are nothing to another, and that other sites cannot
// act.
func TestIntegrationsOfOthers(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	c := s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	other, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	b := s.SignedIn(keys.ReadWrite)
	base := "/projects/" + other.ID.String() + "/integrations/" + c.ID.String()
	for _, path := range []string{base, base + "/delete", s.Path("integrations"), s.Path("integrations/" + c.ID.String()), s.Path("keys"), s.Path("deliveries"), s.Path("export")} {
		b.Get(path).Is(http.StatusNotFound)
	}
	for _, path := range []string{base, base + "/delete", base + "/assign", s.Path("integrations/" + c.ID.String() + "/delete"), s.Path("delete"), s.Path("keys")} {
		b.Post(path, house()).Is(http.StatusNotFound)
	}
	group := s.Channel(channels.Group, "g", map[string]string{"channels": "*"})
	b.Post("/projects/"+other.ID.String()+"/integrations/new?kind=group", url.Values{"member": {c.ID.String(), group.ID.String()}}).Is(http.StatusBadRequest)

	mine := s.SignedIn(s.Keys.ReadWrite)
	mine.Header.Set("Origin", "https://attacker.example")
	for _, path := range []string{"integrations/new?kind=pager", "integrations/" + c.ID.String(), "integrations/" + c.ID.String() + "/delete", "keys", "delete", "deliveries/retry-failed"} {
		mine.Post(s.Path(path), house()).Is(http.StatusForbidden)
	}
	if _, err := s.Mon.Projects().ByID(context.Background(), s.Project.ID); err != nil || r.Count() != 0 {
		t.Errorf("%v, %d alerts", err, r.Count())
	}
}

// TestSettingLabels finds the labels of settings, not their names, where a text speaks of another setting.
func TestSettingLabels(t *testing.T) {
	s := pagetest.New(t)
	s.SignedIn(s.Keys.ReadWrite).Get(s.Path("integrations/new?kind=sms")).Is(http.StatusOK).
		Has("An API key of the account, instead of “Auth token”").HasNo("instead of auth_token")
}

// only returns the check with a name.
func only(s *pagetest.Site, name string) checks.Check {
	s.T.Helper()
	list, err := checks.Stored(s.Mon.Project(s.Project.ID).Checks(context.Background(), checks.Query{}))
	if err != nil {
		s.T.Fatal(err)
	}
	for _, c := range list {
		if c.Name == name {
			return c
		}
	}
	s.T.Fatalf("no check %s", name)
	return checks.Check{}
}

// TestIntegrationUse chooses which checks use a new integration. Only the first of a project has a choice made already.
func TestIntegrationUse(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	for name, tags := range map[string][]string{"a": {"prod"}, "b": {"prod", "db"}, "c": nil} {
		s.Create(checks.Spec{Name: &name, Tags: tags})
	}
	page := s.Path("integrations/new?kind=pager")
	b.Get(page).Has(`value="all" required checked`)
	var notice *pagetest.Answer
	for i, test := range []struct {
		form url.Values
		want []string
	}{
		{url.Values{"use": {"all"}}, []string{"a", "b", "c"}},
		{url.Values{"use": {"none"}, "tag": {"prod"}}, nil},
		{url.Values{"use": {"some"}, "tag": {"db"}, "check": {valueOf(only(s, "c"))}}, []string{"b", "c"}},
	} {
		form := house()
		for name, values := range test.form {
			form[name] = values
		}
		made := created(s, b.Post(page, form))
		var got []string
		for _, name := range []string{"a", "b", "c"} {
			if slices.Contains(only(s, name).Channels, made.ID) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d: used by %v, want %v", i, got, test.want)
		}
		notice = b.Get(page).HasNo("required checked")
	}
	b.Undo(notice)
	if len(only(s, "c").Channels) != 1 {
		t.Error("Undo did not take the integration away")
	}
	form := house()
	form.Set("use", "some")
	b.Post(page, form).Is(http.StatusBadRequest).Has("Choose tags or checks")
	form.Set("use", "all")
	form.Set("id", uuid.NewString())
	first, again := created(s, b.Post(page, form)), created(s, b.Post(page, form))
	if first.ID != again.ID {
		t.Error("a form that was sent twice made two integrations")
	}
}

// TestIntegrationTestOfForm tests what a form holds before it is saved, for new integrations and for others, with stored
// secrets where none were typed. Nothing is saved.
func TestIntegrationTestOfForm(t *testing.T) {
	s, r := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	form := house()
	form.Set("action", "test")
	b.Post(s.Path("integrations/new?kind=pager"), form).Is(http.StatusOK).Has("Test alert sent", "not saved yet", `value="https://house.example.org"`).HasNo("t0psecret")
	if got, _ := r.Last(); got.Settings["token"] != "t0psecret" || got.Settings["loud"] != "low" || got.ProjectID != s.Project.ID {
		t.Errorf("tested %+v with %v", got, got.Settings)
	}
	b.Get(s.Path("integrations")).Has("No integrations yet")
	form.Set("s.pin", "toolong")
	b.Post(s.Path("integrations/new?kind=pager"), form).Is(http.StatusBadRequest).Has("Not sent", "Pin is malformed")

	c := created(s, b.Post(s.Path("integrations/new?kind=pager"), house()))
	path := s.Path("integrations/" + c.ID.String())
	typed := url.Values{"action": {"test"}, "name": {"night"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"high"}}
	b.Post(path, typed).Is(http.StatusOK).Has("Test alert sent", `value="night"`).HasNo("t0psecret")
	if got, _ := r.Last(); got.Settings["loud"] != "high" || got.Settings["token"] != "t0psecret" || got.Name != "night" {
		t.Errorf("tested %+v with %v", got, got.Settings)
	}
	if got := stored(s, c.ID); got.Name != "house" || got.Settings["loud"] != "low" {
		t.Errorf("a test has saved %+v with %v", got, got.Settings)
	}
	typed.Set("s.server_url", "https://attacker.example")
	b.Post(path, typed).Is(http.StatusBadRequest).Has("Token must be typed again")
	r.Fail(errors.New("refused t0psecret"))
	typed.Set("s.server_url", "https://house.example.org")
	b.Post(path, typed).Is(http.StatusOK).Has("Test alert failed", "refused ***").HasNo("t0psecret")

	r.Fail(nil)
	group := url.Values{"action": {"test"}, "name": {"all"}, "member": {c.ID.String()}}
	b.Post(s.Path("integrations/new?kind=group"), group).Is(http.StatusOK).Has("Test alert sent")
	if got, _ := r.Last(); got.ID != c.ID {
		t.Errorf("tested %+v, want the member", got)
	}
}

// TestIntegrationConflict saves an integration that somebody else has changed since the form was opened.
func TestIntegrationConflict(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	c := created(s, b.Post(s.Path("integrations/new?kind=pager"), house()))
	path := s.Path("integrations/" + c.ID.String())
	was := regexp.MustCompile(`name="was" value="([^"]+)"`)
	mine := url.Values{"was": {was.FindStringSubmatch(b.Get(path).Body)[1]}, "name": {"mine"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"low"}}
	b.Post(path, url.Values{"name": {"theirs"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"high"}}).Is(http.StatusSeeOther)
	refused := b.Post(path, mine).Is(http.StatusConflict).Has("Someone else has changed", `value="mine"`)
	if got := stored(s, c.ID); got.Name != "theirs" {
		t.Errorf("saved %+v", got)
	}
	mine.Set("was", was.FindStringSubmatch(refused.Body)[1])
	b.Post(path, mine).Is(http.StatusSeeOther)
}

// TestPushForm checks that a form offers to subscribe the browser only for a setting that is a subscription, and only if
// the server has a key.
func TestPushForm(t *testing.T) {
	for _, key := range []string{"", "k3y"} {
		s := pagetest.New(t, func(c *pagetest.Config) {
			c.Monitor = monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true}
			c.Pages.PushKey = key
		})
		b := s.SignedIn(s.Keys.ReadWrite)
		b.Get(s.Path("integrations/new?kind=webhook")).Is(http.StatusOK).HasNo("subscribe")
		form := b.Get(s.Path("integrations/new?kind=webpush")).Is(http.StatusOK)
		if key == "" {
			form.HasNo(`id="subscribe"`, "subscribe.js")
			continue
		}
		form.Has(`data-key="k3y" data-into="s-subscription" data-worker="/push.js" data-scope="/"`, "subscribe.js")
	}
}

// valueOf is the value of a check in the forms.
func valueOf(c checks.Check) string { return base64.RawURLEncoding.EncodeToString(c.ID[:]) }
