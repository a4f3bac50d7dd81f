package dashboard_test

import (
	"context"
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
)

// house are valid settings of the kind pager, as a form has them.
func house() url.Values {
	return url.Values{"name": {"house"}, "s.server_url": {"https://house.example.org"}, "s.token": {"t0psecret"}, "s.pin": {"q7xz"}}
}

// created is the channel to which an answer leads.
func (s *site) created(a *answer) channels.Channel {
	s.t.Helper()
	a.is(http.StatusSeeOther)
	id, err := uuid.Parse(a.location()[strings.LastIndex(a.location(), "/")+1:])
	if err != nil {
		s.t.Fatalf("leads to %s", a.location())
	}
	return s.stored(id)
}

func TestIntegrations(t *testing.T) {
	s, r := withReceiver(t)
	b, reader := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadOnly)
	b.get(s.path("integrations")).is(http.StatusOK).has("No integrations yet", "Add your first integration")
	reader.get(s.path("integrations")).is(http.StatusOK).has("No integrations yet").hasNo("Add your first integration")
	s.create(checks.Spec{Name: new("backup")})
	c := s.create(checks.Spec{Name: new("other")})

	b.get(s.path("integrations/new")).is(http.StatusOK).has("Our own", "House pager", "Beeps in the house", "E-mail",
		"Not configured: no sender is configured for this kind", // sms
		"Command: created on the server, with <code>rollcall channel create --kind command</code>")
	b.get(s.path("integrations/new?q=HOUSE+beeps")).is(http.StatusOK).has("House pager").hasNo("E-mail and phone")
	b.get(s.path("integrations/new?q=xyzzy")).is(http.StatusOK).has("No matches")
	b.get(s.path("integrations/new?kind=pager")).is(http.StatusOK).has("Opens the house.", `name="s.loud"`, "<option selected>low</option>", `class="masked"`, "checked")
	b.get(s.path("integrations/new?kind=nothing")).is(http.StatusNotFound)

	b.post(s.path("integrations/new?kind=pager"), house()).is(http.StatusBadRequest).has("Choose which checks use it.")
	form := house()
	form.Set("use", "none")
	made := s.created(b.post(s.path("integrations/new?kind=pager"), form))
	if made.Name != "house" || made.Settings["token"] != "t0psecret" || made.Settings["loud"] != "low" {
		t.Errorf("made %#v with %v", made, made.Settings)
	}
	path := s.path("integrations/" + made.ID.String())
	b.get(path).is(http.StatusOK).has("house created. No check uses it yet", "set; leave empty to keep", "https://house.example.org", "No check uses this").hasNo("t0psecret", "q7xz")
	reader.get(path).is(http.StatusForbidden).hasNo("house.example.org")
	b.get(s.path("integrations")).has("No check uses this")
	b.get(path+"/assign").is(http.StatusOK).has(">backup<", ">other<")
	b.post(path+"/assign", url.Values{"check": {c.ID.String(), s.only("backup").ID.String()}}).is(http.StatusSeeOther)
	b.get(path).has("Added house to 2 checks.", "2 checks of 2")
	s.goDown(c)
	b.get(s.path("integrations")).is(http.StatusOK).has("house", "House pager", "2 checks", "sent")
	reader.get(s.path("integrations")).is(http.StatusOK).has("house", "sent").hasNo("New integration", "integrations/"+made.ID.String())

	b.post(path, url.Values{"action": {"test"}}).is(http.StatusOK).has("Test alert sent")
	if n := r.count(); n != 2 || !r.got[1].Test {
		t.Errorf("%d alerts, the last %+v", n, r.got[n-1])
	}
	r.fail(errors.New("<i>t0psecret</i> refused"))
	b.post(path, url.Values{"action": {"test"}}).is(http.StatusOK).has("Test alert failed", "&lt;i&gt;***&lt;/i&gt; refused").hasNo("t0psecret")
	reader.post(path, url.Values{"action": {"test"}}).is(http.StatusForbidden)
	for range 20 {
		b.post(path, url.Values{"action": {"test"}})
	}
	b.post(path, url.Values{"action": {"test"}}).is(http.StatusTooManyRequests).has("Too many tests")

	b.get(path + "/delete").is(http.StatusOK).has("2 checks use it")
	reader.post(path+"/delete", nil).is(http.StatusForbidden)
	b.post(path+"/delete", nil).is(http.StatusSeeOther)
	b.get(s.path("integrations")).has("Deleted house.", "No integrations yet")
	b.get(path).is(http.StatusNotFound)
	b.post(path+"/delete", nil).is(http.StatusNotFound)
}

// TestIntegrationNotify limits integrations to alerts about down or up. Forms, lists, histories and verdicts say so.
func TestIntegrationNotify(t *testing.T) {
	s, r := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	form := house()
	b.get(s.path("integrations/new?kind=pager")).has(`<option value="both" selected>down and up</option>`,
		`<option value="down">down only</option>`, `<option value="up">up only</option>`)
	form.Set("s.notify", "sometimes")
	b.post(s.path("integrations/new?kind=pager"), form).is(http.StatusBadRequest).has("Notify is not both, down or up.")
	form.Set("s.notify", "down")
	made := s.created(b.post(s.path("integrations/new?kind=pager"), form))
	path := s.path("integrations/" + made.ID.String())
	b.get(path).has(`<option value="down" selected>`)
	s.channel("pager", "ups", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "notify": "up"})
	command := s.channel("command", "all", map[string]string{"line": "true"})
	b.get(s.path("integrations/" + command.ID.String())).has("down and up")
	b.get(s.path("integrations")).has("House pager · alerts about down only", "House pager · alerts about up only", "Command</small>")

	c := s.create(checks.Spec{Name: new("backup"), Channels: new("*")})
	s.goDown(c)
	b.get("/checks/"+c.UniqueKey()).has("<b>ups</b> does not send down alerts", "does not send down alerts").hasNo("waiting")
	s.advance(time.Minute)
	if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	s.deliver()
	if n := r.count(); n != 4 {
		t.Errorf("%d alerts, want 4: two to the integration that wants both", n)
	}
	b.get(s.path("deliveries?state=skipped")).is(http.StatusOK).has("skipped", "does not send down alerts", "does not send recovery alerts", "<option value=\"skipped\" selected>").
		hasNo(">sent</span>")
	b.get(s.path("integrations")).has("skipped")

	// A change of the direction alone does not ask for the secrets again, and the default is not stored.
	form = house()
	form.Del("s.token")
	form.Del("s.pin")
	form.Set("s.notify", "both")
	b.post(path, form).is(http.StatusSeeOther)
	if got := s.stored(made.ID).Settings; got["token"] != "t0psecret" || got["notify"] != "" {
		t.Errorf("stored %v", got)
	}
}

// TestIntegrationErrors checks that errors stand beside the fields, with what was typed, but never a secret.
func TestIntegrationErrors(t *testing.T) {
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	path := s.path("integrations/new?kind=pager")
	form := house()
	form.Set("s.pin", "q7xzq")
	form.Set("name", "<house>")
	b.post(path, form).is(http.StatusBadRequest).has("Pin is malformed.", `value="&lt;house&gt;"`, `value="https://house.example.org"`, "The secrets that you typed are kept.", `aria-invalid="true"`).
		hasNo("q7xzq", "t0psecret")
	form = house()
	form.Del("s.server_url")
	b.post(path, form).is(http.StatusBadRequest).has("Server URL is missing.").hasNo("t0psecret")
	form = house()
	form.Set("name", strings.Repeat("x", 101))
	b.post(path, form).is(http.StatusBadRequest).has("The name is too long").hasNo("t0psecret")
	form = house()
	form.Set("s.server_url", "x\x00")
	b.post(path, form).is(http.StatusBadRequest).has("contains a NUL").hasNo("t0psecret")
	form = house()
	form.Set("s.unknown", "x") // not a field of the form
	form.Set("s.note", "one\r\ntwo\r\n")
	if c := s.created(b.post(path, form)); c.Settings["note"] != "one\ntwo" || len(c.Settings) != 5 {
		t.Errorf("settings %v", c.Settings)
	}
}

// TestTypedSecrets corrects a form without a script: what was typed for a secret is held by the page, unreadable, for this viewer
// and this integration.
func TestTypedSecrets(t *testing.T) {
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	path := s.path("integrations/new?kind=pager")
	held := regexp.MustCompile(`name="secrets" value="([^"]+)"`)
	form := house()
	form.Set("id", "9b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	form.Set("name", strings.Repeat("x", 101))
	refused := b.post(path, form).is(http.StatusBadRequest).has(`placeholder="typed; leave empty to keep"`).hasNo("t0psecret")
	again := house()
	again.Set("id", form.Get("id"))
	again.Del("s.token")
	again.Del("s.pin")
	again.Set("secrets", held.FindStringSubmatch(refused.body)[1])

	other := maps.Clone(again)
	other.Set("id", "1b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	b.post(path, other).is(http.StatusBadRequest).has("Token is missing")
	b.header.Set("Rollcall-Form", "1") // a script keeps the fields
	b.post(path, form).is(http.StatusBadRequest).hasNo(`name="secrets"`)
	b.header.Del("Rollcall-Form")
	s.advance(50 * time.Minute)
	if c := s.created(b.post(path, again)); c.Settings["token"] != "t0psecret" {
		t.Errorf("saved %v", c.Settings)
	}
	s.advance(11 * time.Minute)
	again.Set("id", "2b2d43f0-3f6e-4c4d-8d3c-3f8a1c5f9f10")
	b.post(path, again).is(http.StatusBadRequest).has("Token is missing")
}

// TestIntegrationSecrets checks that a stored secret goes only where it went before.
func TestIntegrationSecrets(t *testing.T) {
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	made := s.created(b.post(s.path("integrations/new?kind=pager"), house()))
	path := s.path("integrations/" + made.ID.String())
	change := func(change func(url.Values)) *answer {
		t.Helper()
		form := url.Values{"name": {"house"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"low"}}
		change(form)
		return b.post(path, form)
	}
	change(func(f url.Values) { f.Set("name", "night"); f.Set("s.loud", "high"); f.Set("s.note", "new") }).is(http.StatusSeeOther)
	if c := s.stored(made.ID); c.Name != "night" || c.Settings["loud"] != "high" || c.Settings["token"] != "t0psecret" || c.Settings["pin"] != "q7xz" {
		t.Errorf("%#v with %v", c, c.Settings)
	}
	change(func(f url.Values) { f.Set("s.server_url", "https://attacker.example") }).is(http.StatusBadRequest).
		has("Token must be typed again, because Server URL changes", "https://attacker.example").hasNo("t0psecret", "q7xz")
	change(func(f url.Values) { f.Set("s.token", "another") }).is(http.StatusBadRequest).has("Pin must be typed again, because Token changes").hasNo("another")
	if c := s.stored(made.ID); c.Settings["server_url"] != "https://house.example.org" || c.Settings["token"] != "t0psecret" {
		t.Errorf("%v", c.Settings)
	}
	change(func(f url.Values) { f.Set("s.token", "another"); f.Set("clear.pin", "yes") }).is(http.StatusSeeOther)
	if c := s.stored(made.ID); c.Settings["token"] != "another" || c.Settings["pin"] != "" {
		t.Errorf("%v", c.Settings)
	}
	change(func(f url.Values) { f.Set("s.token", "third"); f.Set("s.server_url", "https://new.example.org") }).is(http.StatusSeeOther)

	hook := s.channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/s3cretpath", "headers_down": "Authorization: Bearer s3crettoken"})
	hookPath := s.path("integrations/" + hook.ID.String())
	b.get(hookPath).is(http.StatusOK).hasNo("s3cretpath", "s3crettoken")
	b.post(hookPath, url.Values{"name": {"hook"}, "s.url_down": {"https://attacker.example/"}}).is(http.StatusBadRequest).has("Headers down must be typed again")
	b.post(hookPath, url.Values{"name": {"hook"}, "s.url_up": {"https://attacker.example/"}}).is(http.StatusBadRequest)
	b.post(hookPath, url.Values{"name": {"hook"}, "s.body_down": {"$NAME"}}).is(http.StatusSeeOther)
	if c := s.stored(hook.ID); c.Settings["headers_down"] != "Authorization: Bearer s3crettoken" || c.Settings["body_down"] != "$NAME" {
		t.Errorf("%v", c.Settings)
	}
}

// TestIntegrationSources checks that values from files and variables are neither shown nor changed, nor sent elsewhere.
func TestIntegrationSources(t *testing.T) {
	s, _ := withReceiver(t)
	c, err := s.mon.Project(s.project.ID).CreateChannel(t.Context(), channels.Channel{
		Kind: "pager", Name: "house",
		Settings: map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "note": "hidden note"},
		Sources:  map[string]string{"token": "$ROLLCALL_HOUSE", "note": "file note.txt"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, path := s.signedIn(s.keys.ReadWrite), s.path("integrations/"+c.ID.String())
	b.get(path).is(http.StatusOK).has("$ROLLCALL_HOUSE", "file note.txt").hasNo("t0psecret", "hidden note", `name="s.token"`, `name="s.note"`)
	b.post(path, url.Values{"name": {"house"}, "s.server_url": {"https://attacker.example"}}).is(http.StatusBadRequest).has("cannot change here, because Token comes from $ROLLCALL_HOUSE")
	b.post(path, url.Values{"name": {"renamed"}, "s.server_url": {"https://house.example.org"}, "s.token": {"typed"}, "s.note": {"typed"}, "clear.token": {"yes"}}).is(http.StatusSeeOther)
	got := s.stored(c.ID)
	if got.Name != "renamed" || got.Settings["token"] != "t0psecret" || got.Settings["note"] != "hidden note" || len(got.Sources) != 2 {
		t.Errorf("%#v with %v", got, got.Settings)
	}
}

func TestIntegrationGroups(t *testing.T) {
	s, r := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	first := s.channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	second := s.channel(channels.Email, "mail", map[string]string{"to": "ops@example.org"})
	b.get(s.path("integrations/new?kind=group")).is(http.StatusOK).has("Members", first.ID.String(), second.ID.String())
	b.post(s.path("integrations/new?kind=group"), url.Values{"name": {"all"}}).is(http.StatusBadRequest).has("is missing")
	group := s.created(b.post(s.path("integrations/new?kind=group"), url.Values{"name": {"all"}, "member": {first.ID.String(), second.ID.String()}}))
	if members := strings.Split(group.Settings["channels"], ","); len(members) != 2 {
		t.Errorf("members %v", members)
	}
	path := s.path("integrations/" + group.ID.String())
	b.get(path).is(http.StatusOK).has("checked")
	s.create(checks.Spec{Name: new("backup"), Channels: new(group.ID.String())})
	b.get(s.path("integrations")).has("in all", "1 check")
	r.fail(errors.New("away"))
	b.post(path, url.Values{"action": {"test"}}).is(http.StatusOK).has("house", "mail", "away")
	b.post(path, url.Values{"name": {"all"}, "member": {second.ID.String()}}).is(http.StatusSeeOther)
	if members := s.stored(group.ID).Settings["channels"]; members != second.ID.String() {
		t.Errorf("members %v", members)
	}
	b.post(path, url.Values{"name": {"all"}, "member": {group.ID.String()}}).is(http.StatusBadRequest).has("contains the group itself")
	b.post(path, url.Values{"name": {"all"}, "member": {"*"}}).is(http.StatusSeeOther)
}

// TestIntegrationKinds checks who may make which kinds: nothing that acts on the server's machine, unless the program
// allows it.
func TestIntegrationKinds(t *testing.T) {
	command := url.Values{"name": {"x"}, "s.line": {"rm -rf /"}}
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	b.get(s.path("integrations/new?kind=command")).is(http.StatusForbidden)
	b.post(s.path("integrations/new?kind=command"), command).is(http.StatusForbidden)
	c := s.channel("command", "restart", map[string]string{"line": "true"})
	path := s.path("integrations/" + c.ID.String())
	b.get(path).is(http.StatusOK).has("rollcall apply", "Send a test alert").hasNo(`name="s.line"`)
	b.post(path, command).is(http.StatusForbidden)
	if got := s.stored(c.ID); got.Name != "restart" || got.Settings["line"] != "true" {
		t.Errorf("%v", got.Settings)
	}

	s, _ = withReceiver(t, func(c *config) { c.pages.Kinds = []channels.Kind{"command"} })
	b = s.signedIn(s.keys.ReadWrite)
	b.post(s.path("integrations/new?kind=pager"), house()).is(http.StatusForbidden)
	s.created(b.post(s.path("integrations/new?kind=command"), command))

	s, _ = withReceiver(t, func(c *config) { c.pages.Kinds = []channels.Kind{} })
	b = s.signedIn(s.keys.ReadWrite)
	b.get(s.path("integrations/new")).is(http.StatusOK).has("rollcall channel create")
	b.get(s.path("integrations")).hasNo("integrations/new")
	b.post(s.path("integrations/new?kind=email"), url.Values{"s.to": {"a@example.org"}}).is(http.StatusForbidden)
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
	s := newSiteOn(t, &monitor.Config{Channels: types})
	b := s.signedIn(s.keys.ReadWrite)
	for _, info := range types {
		want := http.StatusOK
		if info.Privileged {
			want = http.StatusForbidden
		}
		b.get(s.path("integrations/new?kind=" + string(info.Kind))).is(want)
	}
	form := url.Values{"s.url_down": {inside.URL + "/metadata"}}
	b.post(s.path("integrations/new?kind=webhook"), form).is(http.StatusBadRequest).
		has("Not saved.", "URL down is at a private or reserved address, to which alerts may not go.").hasNo("metadata")
	form.Set("action", "test")
	b.post(s.path("integrations/new?kind=webhook"), form).is(http.StatusOK).has("failed", "private or reserved network").hasNo("metadata")
	b.post(s.path("integrations/new?kind=email"), url.Values{"s.to": {"ops@example.org"}}).is(http.StatusBadRequest).
		has("Not saved: no mail server is configured on this server.", "ops@example.org")
	b.post(s.path("integrations/new?kind=sms"), url.Values{"s.to": {"+37120000000"}}).is(http.StatusBadRequest).
		has("Not saved: neither the integration nor the server has a Twilio account with a sender for this kind.")
	if list, err := s.mon.Project(s.project.ID).Channels(t.Context()); len(list) > 0 || err != nil {
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
	s := newSiteOn(t, &monitor.Config{Channels: types})
	b := s.signedIn(s.keys.ReadWrite)
	const warning = "“Body down” is not JSON where the value of $NAME has a quote or a line break: write $NAME_JSON in place of &#34;$NAME&#34;."
	form := url.Values{"name": {"hook"}, "s.url_down": {"https://x.example/"}, "s.body_down": {`{"text": "$NAME"}`}, "use": {"none"}}
	made := s.created(b.post(s.path("integrations/new?kind=webhook"), form))
	path := s.path("integrations/" + made.ID.String())
	b.get(path).is(http.StatusOK).has(warning)
	form.Set("s.body_down", `{"text": $NAME_JSON}`)
	b.post(path, form).is(http.StatusSeeOther)
	b.get(path).is(http.StatusOK).hasNo("is not JSON")
}

// TestIntegrationsOfOthers checks that the integrations of one project are nothing to another, and that other sites cannot
// act.
func TestIntegrationsOfOthers(t *testing.T) {
	s, r := withReceiver(t)
	c := s.channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	other, keys, err := s.mon.Projects().Create(t.Context(), projectSpec("other"))
	if err != nil {
		t.Fatal(err)
	}
	b := s.signedIn(keys.ReadWrite)
	base := "/projects/" + other.ID.String() + "/integrations/" + c.ID.String()
	for _, path := range []string{base, base + "/delete", s.path("integrations"), s.path("integrations/" + c.ID.String()), s.path("keys"), s.path("deliveries"), s.path("export")} {
		b.get(path).is(http.StatusNotFound)
	}
	for _, path := range []string{base, base + "/delete", base + "/assign", s.path("integrations/" + c.ID.String() + "/delete"), s.path("delete"), s.path("keys")} {
		b.post(path, house()).is(http.StatusNotFound)
	}
	group := s.channel(channels.Group, "g", map[string]string{"channels": "*"})
	b.post("/projects/"+other.ID.String()+"/integrations/new?kind=group", url.Values{"member": {c.ID.String(), group.ID.String()}}).is(http.StatusBadRequest)

	mine := s.signedIn(s.keys.ReadWrite)
	mine.header.Set("Origin", "https://attacker.example")
	for _, path := range []string{"integrations/new?kind=pager", "integrations/" + c.ID.String(), "integrations/" + c.ID.String() + "/delete", "keys", "delete", "deliveries/retry-failed"} {
		mine.post(s.path(path), house()).is(http.StatusForbidden)
	}
	if _, err := s.mon.Projects().ByID(context.Background(), s.project.ID); err != nil || r.count() != 0 {
		t.Errorf("%v, %d alerts", err, r.count())
	}
}

// TestSettingLabels finds the labels of settings, not their names, where a text speaks of another setting.
func TestSettingLabels(t *testing.T) {
	s := newSite(t)
	s.signedIn(s.keys.ReadWrite).get(s.path("integrations/new?kind=sms")).is(http.StatusOK).
		has("An API key of the account, instead of “Auth token”").hasNo("instead of auth_token")
}

// only returns the check with a name.
func (s *site) only(name string) checks.Check {
	s.t.Helper()
	list, err := s.mon.Views().Checks(context.Background(), s.project.ID, checks.Query{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range list {
		if c.Name == name {
			return c
		}
	}
	s.t.Fatalf("no check %s", name)
	return checks.Check{}
}

// TestIntegrationUse chooses which checks use a new integration. Only the first of a project has a choice made already.
func TestIntegrationUse(t *testing.T) {
	s, _ := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	for name, tags := range map[string][]string{"a": {"prod"}, "b": {"prod", "db"}, "c": nil} {
		s.create(checks.Spec{Name: &name, Tags: tags})
	}
	page := s.path("integrations/new?kind=pager")
	b.get(page).has(`value="all" required checked`)
	var notice *answer
	for i, test := range []struct {
		form url.Values
		want []string
	}{
		{url.Values{"use": {"all"}}, []string{"a", "b", "c"}},
		{url.Values{"use": {"none"}, "tag": {"prod"}}, nil},
		{url.Values{"use": {"some"}, "tag": {"db"}, "check": {s.only("c").ID.String()}}, []string{"b", "c"}},
	} {
		form := house()
		for name, values := range test.form {
			form[name] = values
		}
		made := s.created(b.post(page, form))
		var got []string
		for _, name := range []string{"a", "b", "c"} {
			if slices.Contains(s.only(name).Channels, made.ID) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%d: used by %v, want %v", i, got, test.want)
		}
		notice = b.get(page).hasNo("required checked")
	}
	b.undo(notice)
	if len(s.only("c").Channels) != 1 {
		t.Error("Undo did not take the integration away")
	}
	form := house()
	form.Set("use", "some")
	b.post(page, form).is(http.StatusBadRequest).has("Choose tags or checks")
	form.Set("use", "all")
	form.Set("id", uuid.NewString())
	first, again := s.created(b.post(page, form)), s.created(b.post(page, form))
	if first.ID != again.ID {
		t.Error("a form that was sent twice made two integrations")
	}
}

// TestIntegrationTestOfForm tests what a form holds before it is saved, for new integrations and for others, with stored
// secrets where none were typed. Nothing is saved.
func TestIntegrationTestOfForm(t *testing.T) {
	s, r := withReceiver(t)
	b := s.signedIn(s.keys.ReadWrite)
	last := func() channels.Channel {
		t.Helper()
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.to[len(r.to)-1]
	}
	form := house()
	form.Set("action", "test")
	b.post(s.path("integrations/new?kind=pager"), form).is(http.StatusOK).has("Test alert sent", "not saved yet", `value="https://house.example.org"`).hasNo("t0psecret")
	if got := last(); got.Settings["token"] != "t0psecret" || got.Settings["loud"] != "low" || got.ProjectID != s.project.ID {
		t.Errorf("tested %+v with %v", got, got.Settings)
	}
	b.get(s.path("integrations")).has("No integrations yet")
	form.Set("s.pin", "toolong")
	b.post(s.path("integrations/new?kind=pager"), form).is(http.StatusBadRequest).has("Not sent", "Pin is malformed")

	c := s.created(b.post(s.path("integrations/new?kind=pager"), house()))
	path := s.path("integrations/" + c.ID.String())
	typed := url.Values{"action": {"test"}, "name": {"night"}, "s.server_url": {"https://house.example.org"}, "s.loud": {"high"}}
	b.post(path, typed).is(http.StatusOK).has("Test alert sent", `value="night"`).hasNo("t0psecret")
	if got := last(); got.Settings["loud"] != "high" || got.Settings["token"] != "t0psecret" || got.Name != "night" {
		t.Errorf("tested %+v with %v", got, got.Settings)
	}
	if got := s.stored(c.ID); got.Name != "house" || got.Settings["loud"] != "low" {
		t.Errorf("a test has saved %+v with %v", got, got.Settings)
	}
	typed.Set("s.server_url", "https://attacker.example")
	b.post(path, typed).is(http.StatusBadRequest).has("Token must be typed again")
	r.fail(errors.New("refused t0psecret"))
	typed.Set("s.server_url", "https://house.example.org")
	b.post(path, typed).is(http.StatusOK).has("Test alert failed", "refused ***").hasNo("t0psecret")

	r.fail(nil)
	group := url.Values{"action": {"test"}, "name": {"all"}, "member": {c.ID.String()}}
	b.post(s.path("integrations/new?kind=group"), group).is(http.StatusOK).has("Test alert sent")
	if got := last(); got.ID != c.ID {
		t.Errorf("tested %+v, want the member", got)
	}
}
