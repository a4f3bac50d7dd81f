package dashboard_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"golang.org/x/net/html"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// inputs returns what a browser would send of the form of a page.
func (a *answer) inputs(id string) url.Values {
	a.t.Helper()
	page, err := html.Parse(strings.NewReader(a.body))
	if err != nil {
		a.t.Fatal(err)
	}
	sent := url.Values{}
	for n := range page.Descendants() {
		if n.Data == "form" && attribute(n, "id") == id {
			for in := range n.Descendants() {
				addInput(sent, in)
			}
		}
	}
	if len(sent) == 0 {
		a.t.Fatalf("the page has no form %s:\n%s", id, a.body)
	}
	return sent
}

func addInput(sent url.Values, n *html.Node) {
	name := attribute(n, "name")
	switch {
	case name == "" || n.Data == "button":
	case n.Data == "textarea":
		text := ""
		if n.FirstChild != nil {
			text = n.FirstChild.Data
		}
		sent.Add(name, strings.ReplaceAll(text, "\n", "\r\n"))
	case n.Data == "input" && slices.Contains([]string{"checkbox", "radio"}, attribute(n, "type")):
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "checked" }) {
			sent.Add(name, attribute(n, "value"))
		}
	case n.Data == "input":
		sent.Add(name, attribute(n, "value"))
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// webhook adds an integration to the project.
func (s *site) webhook(name string) channels.Channel {
	s.t.Helper()
	c, err := s.mon.Project(s.project.ID).CreateChannel(s.t.Context(), channels.Channel{Kind: channels.Webhook, Name: name, Settings: map[string]string{"url_down": "https://example.org/"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// checkAt returns the check to whose page an answer leads.
func (s *site) checkAt(a *answer) checks.Check {
	s.t.Helper()
	_, key, _ := strings.Cut(a.is(http.StatusSeeOther).header.Get("Location"), "/checks/")
	c, err := s.mon.Project(s.project.ID).CheckByUniqueKey(s.t.Context(), key)
	if err != nil {
		s.t.Fatalf("led to %q, want the page of a check", a.header.Get("Location"))
	}
	return *c.Check
}

func (s *site) check(id uuid.UUID) checks.Check {
	s.t.Helper()
	c, err := s.mon.Check(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestEveryField makes a check with every setting on the page, finds them all there again, and changes them back.
func TestEveryField(t *testing.T) {
	s := newSite(t)
	ops, _ := s.webhook("ops"), s.webhook("pager")
	b := s.signedIn(s.keys.ReadWrite)
	form := b.get(s.path("checks/new")).is(http.StatusOK).inputs("edit")
	before := form.Get("id")
	for name, text := range map[string]string{
		"name": `Nightly <b>"backup"</b>`, "slug": "night-ly_1", "tags": " prod  db prod ", "desc": "\r\nFirst line\r\n<script>alert(1)</script>",
		"kind": "schedule", "schedule": "Mon..Fri 03:00\r\nSat 04:00", "tz": "Europe/Kiev", "grace": "1.5 h", "max_runtime": "2 h 30 min",
		"manual_resume": "on", "methods": "POST", "start_kw": "go", "success_kw": "done, ok", "failure_kw": "ERR",
		"filter_subject": "on", "filter_body": "on", "filter_http_body": "on", "filter_default_fail": "on",
		"alert_after": "3", "repeat_every": "1 day", "quiet_hours": "22:00-06:00\r\nSat 00:00-24:00",
	} {
		form.Set(name, text)
	}
	form["channels"] = []string{ops.ID.String()}
	c := s.checkAt(b.post(s.path("checks/new"), form))
	want := checks.Settings{
		Name: `Nightly <b>"backup"</b>`, Slug: "night-ly_1", Tags: []string{"prod", "db", "prod"}, Desc: "\nFirst line\n<script>alert(1)</script>",
		Timeout: checks.Defaults().Timeout, Schedule: "Mon..Fri 03:00\nSat 04:00", TZ: "Europe/Kyiv", Grace: 90 * time.Minute, MaxRuntime: 150 * time.Minute,
		ManualResume: true, Methods: "POST", StartKW: "go", SuccessKW: "done, ok", FailureKW: "ERR",
		FilterSubject: true, FilterBody: true, FilterHTTPBody: true, FilterDefaultFail: true,
		AlertAfter: 3, RepeatEvery: 24 * time.Hour, QuietHours: "22:00-06:00\nSat 00:00-24:00",
	}
	if diff := cmp.Diff(want, c.Settings); diff != "" {
		t.Error(diff)
	}
	for i, all := 0, reflect.ValueOf(want); i < all.NumField(); i++ {
		if all.Field(i).IsZero() {
			t.Errorf("this test does not set %s", all.Type().Field(i).Name)
		}
	}
	if !slices.Equal(c.Channels, []uuid.UUID{ops.ID}) || c.ID.String() != before {
		t.Errorf("integrations %v, identifier %s", c.Channels, c.ID)
	}

	page := b.get("/checks/" + c.ID.String() + "/edit").is(http.StatusOK)
	page.hasNo("<script>alert", "<b>")
	if got := strings.Count(page.body, `<details class="part" open>`); got != 4 {
		t.Errorf("%d sections are open, want all 4", got)
	}
	form = page.inputs("edit")
	same := s.checkAt(b.post("/checks/"+c.ID.String()+"/edit", form))
	if diff := cmp.Diff(c, same, cmpopts.IgnoreUnexported(checks.Check{})); diff != "" {
		t.Errorf("saving without a change changed the check: %s", diff)
	}
	b.get(s.path("")).has("Nothing was changed.")
	for name := range form {
		if !slices.Contains([]string{"id", "was", "kind", "timeout", "grace", "tz", "alert_after"}, name) {
			form.Del(name)
			form.Set(name, "")
		}
	}
	form.Set("kind", "simple")
	form.Set("timeout", "1 day")
	form.Set("grace", "1 hour")
	form.Set("tz", "UTC")
	form.Set("alert_after", "0")
	form.Del("channels")
	c = s.checkAt(b.post("/checks/"+c.ID.String()+"/edit", form))
	if diff := cmp.Diff(checks.Defaults(), c.Settings); diff != "" {
		t.Error(diff)
	}
	if len(c.Channels) != 0 {
		t.Errorf("integrations %v, want none", c.Channels)
	}
}

// TestNewCheckDefaults checks what the page of a new check suggests, and that a form sent twice makes one check.
func TestNewCheckDefaults(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	b.get(s.path("checks/new")).has("so no one will be notified")
	s.webhook("ops")
	s.webhook("pager")
	u, _ := url.Parse(s.web.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "rollcall_zone", Value: "Europe/Riga"}})
	page := b.get(s.path("checks/new")).is(http.StatusOK).has("within 1 day of the last one", "down 1 h later").hasNo("<details class=\"part\" open")
	form := page.inputs("edit")
	if form.Get("tz") != "Europe/Riga" || len(form["channels"]) != 2 || form.Get("timeout") != "1 day" {
		t.Errorf("the form suggests %v", form)
	}
	first := s.checkAt(b.post(s.path("checks/new"), form))
	again := s.checkAt(b.post(s.path("checks/new"), form))
	if first.ID != again.ID || len(first.Channels) != 2 {
		t.Errorf("sent twice, the form made %s and %s", first.ID, again.ID)
	}
	other, _, err := s.mon.Projects().Create(t.Context(), projectSpec("other"))
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := s.mon.Project(other.ID).Create(t.Context(), checks.Spec{Name: new("secret")})
	if err != nil {
		t.Fatal(err)
	}
	form.Set("id", foreign.ID.String())
	b.post(s.path("checks/new"), form).is(http.StatusBadRequest).hasNo("secret")
}

// TestRefusedFields checks for each field that an error keeps the input and stands beside the field.
func TestRefusedFields(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	c := s.create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *")})
	for _, test := range []struct {
		name, value, want string
		more              []string
	}{
		{"name", strings.Repeat("x", 101), "Name is too long: 101 characters, the maximum is 100.", nil},
		{"name", "a\x00b", "Name has a NUL character.", nil},
		{"name", "\xff", "Name is not valid UTF-8.", nil},
		{"slug", "Ä b", "Slug may only have a-z, 0-9, hyphen and underscore", nil},
		{"tags", strings.Repeat("tag ", 200), "Tags is too long", nil},
		{"desc", strings.Repeat("d", 10_001), "Description is too long", nil},
		{"timeout", "30 s", "Interval is too short: 30 s, the minimum is 1 min.", []string{"kind", "simple"}},
		{"timeout", "13 months", "Interval has months or years", []string{"kind", "simple"}},
		{"timeout", "", "Interval is missing", []string{"kind", "simple"}},
		{"schedule", "0 25 * * *", "Schedule is not a valid cron or OnCalendar expression: hour: 25 is not in 0–23.", nil},
		{"schedule", " ", "Schedule is missing", nil},
		{"schedule", "2001-01-01", "Schedule has no time to come", nil},
		{"schedule", strings.Repeat("1,", 60) + " * * * *", "Schedule is too long", nil},
		{"tz", "Europe/Rigga", "Time zone is not a valid time zone", nil},
		{"tz", "../../etc/passwd", "Time zone is not a valid time zone", nil},
		{"grace", "90", "Grace time has no unit: write 90 min, 90 h or 90 days.", nil},
		{"grace", "366 days", "Grace time is too long: 366 days, the maximum is 365 days.", nil},
		{"max_runtime", "10 s", "Maximum run time is too short", nil},
		{"alert_after", "101", "Alert after is too large: 101, the maximum is 100.", nil},
		{"alert_after", "two", "Alert after is not a whole number: two.", nil},
		{"repeat_every", "often", "Repeat every is not a period", nil},
		{"quiet_hours", "25:00-26:00", "Quiet hours cannot be read: &#34;25:00-26:00&#34;: 25:00 is not a time of day.", nil},
		{"methods", "PUT", "Methods must be", nil},
		{"success_kw", strings.Repeat("k", 201), "Success keywords is too long", nil},
		{"channels", uuid.NewString(), "Integrations cannot be chosen", nil},
	} {
		for what, path := range map[string]string{"new": s.path("checks/new"), "edit": "/checks/" + c.ID.String() + "/edit"} {
			form := b.get(path).inputs("edit")
			form.Set("desc", "kept <input>")
			form.Set("kind", "schedule")
			form.Set("schedule", "0 4 * * *")
			for i := 0; i+1 < len(test.more); i += 2 {
				form.Set(test.more[i], test.more[i+1])
			}
			form.Set(test.name, test.value)
			answer := b.post(path, form).is(http.StatusUnprocessableEntity)
			answer.has(test.want, "Not saved", `href="#`+test.name+`"`)
			if test.name != "methods" && test.name != "channels" {
				answer.has(`id="`+test.name+`-wrong"`, `aria-describedby="`+test.name+"-wrong")
				kept := answer.inputs("edit")
				if got, want := strings.ToValidUTF8(kept.Get(test.name), "\uFFFD"), strings.ToValidUTF8(strings.ReplaceAll(test.value, "\x00", "\uFFFD"), "\uFFFD"); got != want {
					t.Errorf("%s, %s: the input became %.80q, want %.80q", what, test.name, got, want)
				}
				if test.name != "desc" && kept.Get("desc") != "kept <input>" {
					t.Errorf("%s, %s: another input became %q", what, test.name, kept.Get("desc"))
				}
			}
		}
	}
	if got := s.check(c.ID); got.Schedule != "0 3 * * *" || got.Desc != "" {
		t.Errorf("a refused form has changed the check: %+v", got.Settings)
	}
	form := b.get(s.path("checks/new")).inputs("edit")
	form.Set("grace", "x")
	form.Set("slug", "X")
	form.Set("quiet_hours", "x")
	b.post(s.path("checks/new"), form).is(http.StatusUnprocessableEntity).has(`href="#grace"`, `href="#slug"`, `href="#quiet_hours"`, `id="problems" tabindex="-1" autofocus`)
}

func TestCheckLimit(t *testing.T) {
	s := newSite(t)
	p, keys, err := s.mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "small", Account: "small", MaxChecks: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.project = p
	b := s.signedIn(keys.ReadWrite)
	form := b.get(s.path("checks/new")).inputs("edit")
	s.create(checks.Spec{Name: new("only")})
	form.Set("name", "one more")
	b.post(s.path("checks/new"), form).is(http.StatusUnprocessableEntity).has("this account is limited to 1 check", `value="one more"`)
}

// TestTwoEditors has two people change a check at once.
func TestTwoEditors(t *testing.T) {
	s := newSite(t)
	ops, pager := s.webhook("ops"), s.webhook("pager")
	c := s.create(checks.Spec{Name: new("backup"), Grace: new(time.Hour), Desc: new("one\r\ntwo")})
	path := "/checks/" + c.ID.String() + "/edit"
	anna, ben := s.signedIn(s.keys.ReadWrite), s.signedIn(s.keys.ReadWrite)
	annas, bens := anna.get(path).inputs("edit"), ben.get(path).inputs("edit")

	annas.Set("grace", "2 h")
	annas["channels"] = []string{ops.ID.String()}
	s.checkAt(anna.post(path, annas))
	bens.Set("name", "restore")
	s.checkAt(ben.post(path, bens))
	got := s.check(c.ID)
	if got.Grace != 2*time.Hour || got.Name != "restore" || len(got.Channels) != 1 || got.Desc != "one\r\ntwo" {
		t.Errorf("after two changes of different settings: %+v, %v", got.Settings, got.Channels)
	}
	ben.get(s.path("")).has("Someone else also changed: grace time, integrations.")

	annas, bens = anna.get(path).inputs("edit"), ben.get(path).inputs("edit")
	annas.Set("grace", "3 h")
	annas.Set("tags", "new")
	annas["channels"] = []string{pager.ID.String()}
	annas.Set("schedule", "0 3 * * *")
	annas.Set("kind", "schedule")
	s.checkAt(anna.post(path, annas))
	bens.Set("grace", "4 h")
	bens.Set("desc", "mine")
	bens["channels"] = nil
	bens.Set("timeout", "2 days")
	page := ben.post(path, bens).is(http.StatusConflict)
	page.has("Grace time was changed by someone else to “3 h”. Save again", "Integrations was changed by someone else to “pager”.", "someone else to “0 3 * * *”.")
	if got := s.check(c.ID); got.Grace != 3*time.Hour || got.Desc != "one\r\ntwo" {
		t.Errorf("a conflict has changed the check: %+v", got.Settings)
	}
	again := page.inputs("edit")
	if again.Get("grace") != "4 h" || again.Get("tags") != "new" || again.Get("desc") != "mine" || len(again["channels"]) != 0 || again.Get("kind") != "simple" {
		t.Errorf("after a conflict the form has %v", again)
	}
	s.checkAt(ben.post(path, again))
	got = s.check(c.ID)
	if got.Grace != 4*time.Hour || got.Desc != "mine" || got.TagList()[0] != "new" || len(got.Channels) != 0 || got.IsCron() || got.Timeout != 48*time.Hour {
		t.Errorf("after saving again: %+v", got.Settings)
	}

	same := ben.get(path).inputs("edit")
	same.Set("grace", "5 h")
	s.checkAt(ben.post(path, same))
	s.checkAt(anna.post(path, same)) // both make the same change
}

// TestManyEditors has many people save different values of one setting at the same moment: one of them succeeds.
func TestManyEditors(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey() + "/edit"
	b := s.signedIn(s.keys.ReadWrite)
	form := b.get(path).inputs("edit")
	answers := make([]*answer, 12)
	var group sync.WaitGroup
	for i := range answers {
		mine := maps.Clone(form)
		mine["grace"] = []string{fmt.Sprint(i+2, " h")}
		group.Go(func() { answers[i] = b.post(path, mine) })
	}
	group.Wait()
	var saved []int
	for i, a := range answers {
		if a.status == http.StatusSeeOther {
			saved = append(saved, i)
		} else {
			a.is(http.StatusConflict)
		}
	}
	if len(saved) != 1 || s.check(c.ID).Grace != time.Duration(saved[0]+2)*time.Hour {
		t.Errorf("%v were saved, and the grace time is %v", saved, s.check(c.ID).Grace)
	}
}

func TestEditForbidden(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	check := "/checks/" + c.ID.String()
	looks := s.signedIn(s.keys.ReadOnly)
	for _, path := range []string{s.path("checks/new"), check + "/edit", check + "/copy", check + "/pause", check + "/resume", check + "/delete", check + "/transfer"} {
		looks.get(path).is(http.StatusForbidden)
		s.browser().get(path).is(http.StatusSeeOther)
	}
	form := url.Values{"name": {"changed"}, "was": {"name=backup"}, "id": {uuid.NewString()}}
	for _, path := range []string{s.path("checks/new"), check + "/edit", check + "/pause", check + "/resume", check + "/delete", check + "/transfer", s.path("preview/schedule")} {
		looks.post(path, form).is(http.StatusForbidden)
		foreign := s.signedIn(s.keys.ReadWrite)
		foreign.header.Set("Sec-Fetch-Site", "cross-site")
		foreign.post(path, form).is(http.StatusForbidden)
	}
	if got := s.check(c.ID); got.Name != "backup" || got.Stored != checks.StatusNew {
		t.Errorf("the check was changed: %+v", got)
	}
	b := s.signedIn(s.keys.ReadWrite)
	b.get("/checks/" + uuid.NewString() + "/edit").is(http.StatusNotFound)
	b.post(check+"/edit", url.Values{"name": {"x"}}).is(http.StatusBadRequest)
	b.post(check+"/edit", url.Values{"name": {"x"}, "was": {"%zz"}}).is(http.StatusBadRequest)
	b.post(s.path("checks/new"), url.Values{"name": {"x"}}).is(http.StatusBadRequest)
	b.post(s.path("preview/other"), url.Values{}).is(http.StatusNotFound)
}

func TestCopy(t *testing.T) {
	s := newSite(t)
	s.webhook("ops")
	c := s.create(checks.Spec{Name: new(strings.Repeat("ü", 100)), Slug: new("one"), Tags: []string{"prod"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Channels: new("*"), ManualResume: new(true)})
	b := s.signedIn(s.keys.ReadWrite)
	form := b.get("/checks/" + c.ID.String() + "/copy").is(http.StatusOK).has("Copy of ü").inputs("edit")
	form.Set("schedule", "wrong")
	form = b.post(s.path("checks/new"), form).is(http.StatusUnprocessableEntity).has("Copy of ü").inputs("edit")
	form.Set("schedule", "0 3 * * *")
	made := s.checkAt(b.post(s.path("checks/new"), form))
	want := c.Settings
	want.Name, want.Slug = strings.Repeat("ü", 95)+" copy", ""
	if diff := cmp.Diff(want, made.Settings); diff != "" || made.ID == c.ID || len(made.Channels) != 1 {
		t.Error(diff, made.ID, made.Channels)
	}
}

func TestActions(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("<i>backup")})
	if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	b := s.signedIn(s.keys.ReadWrite)
	path := "/checks/" + c.UniqueKey()
	b.get(path+"/pause").is(http.StatusOK).has("Pause &lt;i&gt;backup?", `action="`+path+`/pause"`)
	s.checkAt(b.post(path+"/pause", nil))
	if got := s.check(c.ID).Stored; got != checks.StatusPaused {
		t.Errorf("the check is %s", got)
	}
	b.get(path + "/edit").has(path + "/resume").hasNo(path + "/pause\"")
	s.checkAt(b.post(path+"/resume", nil))
	s.checkAt(b.post(path+"/resume", nil))
	if got := s.check(c.ID).Stored; got != checks.StatusNew {
		t.Errorf("the check is %s", got)
	}
	b.get(path+"/delete").is(http.StatusOK).has("alerts and 1 ping are deleted", "pause it instead")
	if to := b.post(path+"/delete", nil).is(http.StatusSeeOther).header.Get("Location"); to != s.path("") {
		t.Errorf("led to %s", to)
	}
	b.get(s.path("")).has("Deleted &lt;i&gt;backup.", "No checks yet")
	b.get(path + "/edit").is(http.StatusNotFound)
}

func TestTransfer(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey()
	b := s.signedIn(s.keys.ReadWrite)
	b.get(path + "/transfer").is(http.StatusOK).has("There is no other project you can edit.").hasNo("<select")
	b.get(path + "/edit").hasNo("/transfer")

	other, keys, err := s.mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: "<other>", Account: "other", MaxChecks: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.post(path+"/transfer", url.Values{"project": {other.ID.String()}}).is(http.StatusForbidden)
	b.post("/signin", url.Values{"key": {keys.ReadOnly}}).is(http.StatusSeeOther)
	b.get(path + "/edit").hasNo("/transfer")
	b.post(path+"/transfer", url.Values{"project": {other.ID.String()}}).is(http.StatusForbidden)
	b.post("/signin", url.Values{"key": {keys.ReadWrite}}).is(http.StatusSeeOther)
	b.get(path + "/edit").has(path + "/transfer")
	b.get(path+"/transfer").has("&lt;other&gt;", other.ID.String()).hasNo(`value="` + s.project.ID.String())
	for _, target := range []string{"", "x", uuid.NewString(), s.project.ID.String()} {
		b.post(path+"/transfer", url.Values{"project": {target}}).is(http.StatusForbidden)
	}
	full, err := s.mon.Project(other.ID).Create(t.Context(), checks.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	b.post(path+"/transfer", url.Values{"project": {other.ID.String()}}).is(http.StatusUnprocessableEntity).has("account has reached its check limit")
	if _, err := s.mon.Project(full.Check.ProjectID).Delete(t.Context(), full.ID); err != nil {
		t.Fatal(err)
	}
	if to := b.post(path+"/transfer", url.Values{"project": {other.ID.String()}}).is(http.StatusSeeOther).header.Get("Location"); to != path {
		t.Errorf("led to %s", to)
	}
	if got := s.check(c.ID).ProjectID; got != other.ID {
		t.Errorf("the check is in %s, want %s", got, other.ID)
	}
}
