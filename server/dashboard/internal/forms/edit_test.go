package forms_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
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
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// inputs returns what a browser would send of the form of a page.
func inputs(a *pagetest.Answer, id string) url.Values {
	a.T.Helper()
	page, err := html.Parse(strings.NewReader(a.Body))
	if err != nil {
		a.T.Fatal(err)
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
		a.T.Fatalf("the page has no form %s:\n%s", id, a.Body)
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
func webhook(s *pagetest.Site, name string) channels.Channel {
	s.T.Helper()
	c, err := s.Mon.Project(s.Project.ID).CreateChannel(s.T.Context(), channels.Channel{Kind: channels.Webhook, Name: name, Settings: map[string]string{"url_down": "https://example.org/"}})
	if err != nil {
		s.T.Fatal(err)
	}
	return c
}

// checkAt returns the check to whose page an answer leads.
func checkAt(s *pagetest.Site, a *pagetest.Answer) checks.Check {
	s.T.Helper()
	_, key, _ := strings.Cut(a.Is(http.StatusSeeOther).Header.Get("Location"), "/checks/")
	c, err := s.Mon.Project(s.Project.ID).CheckByUniqueKey(s.T.Context(), key)
	if err != nil {
		s.T.Fatalf("led to %q, want the page of a check", a.Header.Get("Location"))
	}
	return *c.Check
}

// TestEveryField makes a check with every setting on the page, finds them all there again, and changes them back.
func TestEveryField(t *testing.T) {
	s := pagetest.New(t)
	ops, _ := webhook(s, "ops"), webhook(s, "pager")
	if _, err := s.Mon.Project(s.Project.ID).Create(t.Context(), checks.Spec{Slug: new("nightly-dump")}); err != nil {
		t.Fatal(err)
	}
	b := s.SignedIn(s.Keys.ReadWrite)
	form := inputs(b.Get(s.Path("checks/new")).Is(http.StatusOK), "edit")
	before := form.Get("id")
	var spec checks.Spec
	for _, setting := range checks.AllSettings() {
		setting.Set(&spec, setting.Example)
		form.Set(setting.Name, words.Typed(setting, setting.Example))
	}
	for name, text := range map[string]string{
		"name": `Nightly <b>"backup"</b>`, "tags": " prod  db prod ", "desc": "\r\nFirst line\r\n<script>alert(1)</script>",
		"kind": "schedule", "schedule": "Mon..Fri 03:00\r\nSat 04:00", "tz": "Europe/Kiev", "grace": "1.5 h",
		"quiet_hours": "22:00-06:00\r\nSat 00:00-24:00",
	} {
		form.Set(name, text)
	}
	form["channels"] = []string{ops.ID.String()}
	c := checkAt(s, b.Post(s.Path("checks/new"), form))
	wanted, err := checks.New(c.ID, spec, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	want := wanted.Settings
	want.Name, want.Tags, want.Desc = `Nightly <b>"backup"</b>`, []string{"prod", "db", "prod"}, "\nFirst line\n<script>alert(1)</script>"
	want.Schedule, want.TZ, want.Grace = "Mon..Fri 03:00\nSat 04:00", "Europe/Kyiv", 90*time.Minute
	want.QuietHours = "22:00-06:00\nSat 00:00-24:00"
	if diff := cmp.Diff(want, c.Settings); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(c.Channels, []uuid.UUID{ops.ID}) || c.ID.String() != before {
		t.Errorf("integrations %v, identifier %s", c.Channels, c.ID)
	}

	page := b.Get("/checks/" + c.ID.String() + "/edit").Is(http.StatusOK)
	page.HasNo("<script>alert", "<b>")
	if got := strings.Count(page.Body, `<details class="part" open>`); got != 4 {
		t.Errorf("%d sections are open, want all 4", got)
	}
	form = inputs(page, "edit")
	same := checkAt(s, b.Post("/checks/"+c.ID.String()+"/edit", form))
	if diff := cmp.Diff(c, same, cmpopts.IgnoreUnexported(checks.Check{})); diff != "" {
		t.Errorf("saving without a change changed the check: %s", diff)
	}
	b.Get(s.Path("")).Has("Nothing was changed.")
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
	c = checkAt(s, b.Post("/checks/"+c.ID.String()+"/edit", form))
	if diff := cmp.Diff(checks.Defaults(), c.Settings); diff != "" {
		t.Error(diff)
	}
	if len(c.Channels) != 0 {
		t.Errorf("integrations %v, want none", c.Channels)
	}
}

// TestNewCheckDefaults checks what the page of a new check suggests, and that a form sent twice makes one check.
func TestNewCheckDefaults(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(s.Path("checks/new")).Has("so no one will be notified")
	webhook(s, "ops")
	webhook(s, "pager")
	u, _ := url.Parse(s.Web.URL)
	b.Client.Jar.SetCookies(u, []*http.Cookie{{Name: "rollcall_zone", Value: "Europe/Riga"}})
	page := b.Get(s.Path("checks/new")).Is(http.StatusOK).Has("within 1 day of the last one", "down 1 h later").HasNo("<details class=\"part\" open")
	form := inputs(page, "edit")
	if form.Get("tz") != "Europe/Riga" || len(form["channels"]) != 2 || form.Get("timeout") != "1 day" {
		t.Errorf("the form suggests %v", form)
	}
	first := checkAt(s, b.Post(s.Path("checks/new"), form))
	again := checkAt(s, b.Post(s.Path("checks/new"), form))
	if first.ID != again.ID || len(first.Channels) != 2 {
		t.Errorf("sent twice, the form made %s and %s", first.ID, again.ID)
	}
	other, _, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := s.Mon.Project(other.ID).Create(t.Context(), checks.Spec{Name: new("secret")})
	if err != nil {
		t.Fatal(err)
	}
	form.Set("id", foreign.ID.String())
	b.Post(s.Path("checks/new"), form).Is(http.StatusBadRequest).HasNo("secret")
}

// TestRefusedFields checks for each field that an error keeps the input and stands beside the field.
func TestRefusedFields(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	c := s.Create(checks.Spec{Name: new("backup"), Schedule: new("0 3 * * *")})
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
		{"tz", "Europe/Rigga", "is not a time zone of the IANA database", nil},
		{"tz", "../../etc/passwd", "is not a time zone of the IANA database", nil},
		{"grace", "90", "Grace time has no unit: write 90 min, 90 h or 90 days.", nil},
		{"grace", "366 days", "Grace time is too long: 366 days, the maximum is 365 days.", nil},
		{"max_runtime", "10 s", "Maximum run time is too short", nil},
		{"alert_after", "101", "Alert after is too large: 101, the maximum is 100.", nil},
		{"alert_after", "two", "Alert after is not a whole number: two.", nil},
		{"repeat_every", "often", "Repeat every is not a duration", nil},
		{"quiet_hours", "25:00-26:00", "Quiet hours cannot be read: &#34;25:00-26:00&#34;: 25:00 is not a time of day.", nil},
		{"methods", "PUT", "Methods must be", nil},
		{"success_kw", strings.Repeat("k", 201), "Success keywords is too long", nil},
		{"channels", uuid.NewString(), "Integrations cannot be chosen", nil},
	} {
		for what, path := range map[string]string{"new": s.Path("checks/new"), "edit": "/checks/" + c.ID.String() + "/edit"} {
			form := inputs(b.Get(path), "edit")
			form.Set("desc", "kept <input>")
			form.Set("kind", "schedule")
			form.Set("schedule", "0 4 * * *")
			for i := 0; i+1 < len(test.more); i += 2 {
				form.Set(test.more[i], test.more[i+1])
			}
			form.Set(test.name, test.value)
			answer := b.Post(path, form).Is(http.StatusUnprocessableEntity)
			answer.Has(test.want, "Not saved", `href="#`+test.name+`"`)
			if test.name != "methods" && test.name != "channels" {
				answer.Has(`id="`+test.name+`-wrong"`, `aria-describedby="`+test.name+"-wrong")
				kept := inputs(answer, "edit")
				if got, want := strings.ToValidUTF8(kept.Get(test.name), "\uFFFD"), strings.ToValidUTF8(strings.ReplaceAll(test.value, "\x00", "\uFFFD"), "\uFFFD"); got != want {
					t.Errorf("%s, %s: the input became %.80q, want %.80q", what, test.name, got, want)
				}
				if test.name != "desc" && kept.Get("desc") != "kept <input>" {
					t.Errorf("%s, %s: another input became %q", what, test.name, kept.Get("desc"))
				}
			}
		}
	}
	if got := s.Check(c); got.Schedule != "0 3 * * *" || got.Desc != "" {
		t.Errorf("a refused form has changed the check: %+v", got.Settings)
	}
	form := inputs(b.Get(s.Path("checks/new")), "edit")
	form.Set("grace", "x")
	form.Set("slug", "X")
	form.Set("quiet_hours", "x")
	b.Post(s.Path("checks/new"), form).Is(http.StatusUnprocessableEntity).Has(`href="#grace"`, `href="#slug"`, `href="#quiet_hours"`, `id="problems" tabindex="-1" autofocus`)
}

func TestCheckLimit(t *testing.T) {
	s := pagetest.New(t)
	p, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "small", Account: "small", MaxChecks: 1})
	if err != nil {
		t.Fatal(err)
	}
	s.Project = p
	b := s.SignedIn(keys.ReadWrite)
	form := inputs(b.Get(s.Path("checks/new")), "edit")
	s.Create(checks.Spec{Name: new("only")})
	form.Set("name", "one more")
	b.Post(s.Path("checks/new"), form).Is(http.StatusUnprocessableEntity).Has("this account is limited to 1 check", `value="one more"`)
}

// TestTwoEditors has two people change a check at once.
func TestTwoEditors(t *testing.T) {
	s := pagetest.New(t)
	ops, pager := webhook(s, "ops"), webhook(s, "pager")
	c := s.Create(checks.Spec{Name: new("backup"), Grace: new(time.Hour), Desc: new("one\r\ntwo")})
	path := "/checks/" + c.ID.String() + "/edit"
	anna, ben := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadWrite)
	annas, bens := inputs(anna.Get(path), "edit"), inputs(ben.Get(path), "edit")

	annas.Set("grace", "2 h")
	annas["channels"] = []string{ops.ID.String()}
	checkAt(s, anna.Post(path, annas))
	bens.Set("name", "restore")
	checkAt(s, ben.Post(path, bens))
	got := s.Check(c)
	if got.Grace != 2*time.Hour || got.Name != "restore" || len(got.Channels) != 1 || got.Desc != "one\r\ntwo" {
		t.Errorf("after two changes of different settings: %+v, %v", got.Settings, got.Channels)
	}
	ben.Get(s.Path("")).Has("Someone else also changed: grace time, integrations.")

	annas, bens = inputs(anna.Get(path), "edit"), inputs(ben.Get(path), "edit")
	annas.Set("grace", "3 h")
	annas.Set("tags", "new")
	annas["channels"] = []string{pager.ID.String()}
	annas.Set("schedule", "0 3 * * *")
	annas.Set("kind", "schedule")
	checkAt(s, anna.Post(path, annas))
	bens.Set("grace", "4 h")
	bens.Set("desc", "mine")
	bens["channels"] = nil
	bens.Set("timeout", "2 days")
	page := ben.Post(path, bens).Is(http.StatusConflict)
	page.Has("Grace time was changed by someone else to “3 h”. Save again", "Integrations was changed by someone else to “pager”.", "someone else to “0 3 * * *”.")
	if got := s.Check(c); got.Grace != 3*time.Hour || got.Desc != "one\r\ntwo" {
		t.Errorf("a conflict has changed the check: %+v", got.Settings)
	}
	again := inputs(page, "edit")
	if again.Get("grace") != "4 h" || again.Get("tags") != "new" || again.Get("desc") != "mine" || len(again["channels"]) != 0 || again.Get("kind") != "simple" {
		t.Errorf("after a conflict the form has %v", again)
	}
	checkAt(s, ben.Post(path, again))
	got = s.Check(c)
	if got.Grace != 4*time.Hour || got.Desc != "mine" || got.TagList()[0] != "new" || len(got.Channels) != 0 || got.IsCron() || got.Timeout != 48*time.Hour {
		t.Errorf("after saving again: %+v", got.Settings)
	}

	same := inputs(ben.Get(path), "edit")
	same.Set("grace", "5 h")
	checkAt(s, ben.Post(path, same))
	checkAt(s, anna.Post(path, same)) // both make the same change
}

// TestManyEditors has many people save different values of one setting at the same moment: one of them succeeds.
func TestManyEditors(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey() + "/edit"
	b := s.SignedIn(s.Keys.ReadWrite)
	form := inputs(b.Get(path), "edit")
	answers := make([]*pagetest.Answer, 12)
	var group sync.WaitGroup
	for i := range answers {
		mine := maps.Clone(form)
		mine["grace"] = []string{fmt.Sprint(i+2, " h")}
		group.Go(func() { answers[i] = b.Post(path, mine) })
	}
	group.Wait()
	var saved []int
	for i, a := range answers {
		if a.Status == http.StatusSeeOther {
			saved = append(saved, i)
		} else {
			a.Is(http.StatusConflict)
		}
	}
	if len(saved) != 1 || s.Check(c).Grace != time.Duration(saved[0]+2)*time.Hour {
		t.Errorf("%v were saved, and the grace time is %v", saved, s.Check(c).Grace)
	}
}

func TestEditForbidden(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	check := "/checks/" + c.ID.String()
	looks := s.SignedIn(s.Keys.ReadOnly)
	for _, path := range []string{s.Path("checks/new"), check + "/edit", check + "/copy", check + "/pause", check + "/resume", check + "/delete", check + "/transfer", check + "/acknowledge", check + "/unacknowledge"} {
		looks.Get(path).Is(http.StatusForbidden)
		s.Browser().Get(path).Is(http.StatusSeeOther)
	}
	form := url.Values{"name": {"changed"}, "was": {"name=backup"}, "id": {uuid.NewString()}}
	for _, path := range []string{s.Path("checks/new"), check + "/edit", check + "/pause", check + "/resume", check + "/delete", check + "/transfer", check + "/acknowledge", check + "/unacknowledge", s.Path("preview/schedule")} {
		looks.Post(path, form).Is(http.StatusForbidden)
		foreign := s.SignedIn(s.Keys.ReadWrite)
		foreign.Header.Set("Sec-Fetch-Site", "cross-site")
		foreign.Post(path, form).Is(http.StatusForbidden)
	}
	if got := s.Check(c); got.Name != "backup" || got.Stored != checks.StatusNew {
		t.Errorf("the check was changed: %+v", got)
	}
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get("/checks/" + uuid.NewString() + "/edit").Is(http.StatusNotFound)
	b.Post(check+"/edit", url.Values{"name": {"x"}}).Is(http.StatusBadRequest)
	b.Post(check+"/edit", url.Values{"name": {"x"}, "was": {"%zz"}}).Is(http.StatusBadRequest)
	b.Post(s.Path("checks/new"), url.Values{"name": {"x"}}).Is(http.StatusBadRequest)
	b.Post(s.Path("preview/other"), url.Values{}).Is(http.StatusNotFound)
}

func TestCopy(t *testing.T) {
	s := pagetest.New(t)
	webhook(s, "ops")
	c := s.Create(checks.Spec{Name: new(strings.Repeat("ü", 100)), Slug: new("one"), Tags: []string{"prod"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga"), Channels: new("*"), ManualResume: new(true)})
	b := s.SignedIn(s.Keys.ReadWrite)
	form := inputs(b.Get("/checks/"+c.ID.String()+"/copy").Is(http.StatusOK).Has("Copy of ü"), "edit")
	form.Set("schedule", "wrong")
	form = inputs(b.Post(s.Path("checks/new"), form).Is(http.StatusUnprocessableEntity).Has("Copy of ü"), "edit")
	form.Set("schedule", "0 3 * * *")
	made := checkAt(s, b.Post(s.Path("checks/new"), form))
	want := c.Settings
	want.Name, want.Slug = strings.Repeat("ü", 95)+" copy", ""
	if diff := cmp.Diff(want, made.Settings); diff != "" || made.ID == c.ID || len(made.Channels) != 1 {
		t.Error(diff, made.ID, made.Channels)
	}
}

func TestActions(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("<i>backup")})
	s.Ping(c, pings.Signal{})
	b := s.SignedIn(s.Keys.ReadWrite)
	path := "/checks/" + c.UniqueKey()
	b.Get(path+"/pause").Is(http.StatusOK).Has("Pause &lt;i&gt;backup?", `action="`+path+`/pause"`)
	checkAt(s, b.Post(path+"/pause", nil))
	if got := s.Check(c).Stored; got != checks.StatusPaused {
		t.Errorf("the check is %s", got)
	}
	b.Get(path + "/edit").Has(path + "/resume").HasNo(path + "/pause\"")
	checkAt(s, b.Post(path+"/resume", nil))
	checkAt(s, b.Post(path+"/resume", nil))
	if got := s.Check(c).Stored; got != checks.StatusNew {
		t.Errorf("the check is %s", got)
	}
	b.Get(path+"/delete").Is(http.StatusOK).Has("alerts and 1 ping are deleted", "pause it instead")
	if to := b.Post(path+"/delete", nil).Is(http.StatusSeeOther).Header.Get("Location"); to != s.Path("") {
		t.Errorf("led to %s", to)
	}
	b.Get(s.Path("")).Has("Deleted &lt;i&gt;backup.", "No checks yet")
	b.Get(path + "/edit").Is(http.StatusNotFound)
}

// TestAcknowledge takes an outage on from the check, the list and the overview. Those who may only look see that somebody has it.
func TestAcknowledge(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("<i>backup")})
	s.Ping(c, pings.Signal{})
	b, looks := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	path := "/checks/" + c.UniqueKey()
	by := "the API key " + s.Keys.ReadWrite[:8] + "…"
	pages := []string{path, s.Path(""), s.Path("overview")}
	for _, page := range pages {
		b.Get(page).HasNo("I have it")
	}
	checkAt(s, b.Post(path+"/acknowledge", nil))
	b.Get(path).Has("The check is not down.")
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	for to, page := range map[string]string{"": path, "?to=overview": s.Path("overview")} {
		b.Get(page).Has("I have it", path+"/acknowledge"+to+`"`)
		looks.Get(page).HasNo("I have it", "/acknowledge")
		if at := b.Post(path+"/acknowledge"+to, nil).Is(http.StatusSeeOther).Header.Get("Location"); at != page {
			t.Errorf("%q leads to %s, want %s", to, at, page)
		}
		b.Get(page).Has("Acknowledged: you have it.")
		for _, page := range pages {
			b.Get(page).Has("cknowledged", by).HasNo("I have it")
			looks.Get(page).Has("cknowledged").HasNo(by, "/unacknowledge")
		}
		checkAt(s, b.Post(path+"/unacknowledge", nil))
		b.Get(path).Has("Nobody has it now.")
	}
	b.Post(path+"/acknowledge", url.Values{"note": {strings.Repeat("x", 501)}}).Is(http.StatusUnprocessableEntity).Has("The note is too long: 501 characters, the maximum is 500.")
	checkAt(s, b.Post(path+"/acknowledge", url.Values{"note": {"<script>alert(1)</script>"}, "hours": {"4"}}))
	if a := s.Check(c).Ack; a.Note != "<script>alert(1)</script>" || !a.Until.Equal(a.At.Add(4*time.Hour)) {
		t.Errorf("acknowledgement %+v", a)
	}
	b.Get(path).Has("&lt;script&gt;alert(1)&lt;/script&gt;").HasNo("<script>alert")
	_, err := s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), c.ID, checks.AckSpec{By: "<b>Anna", TakeOver: true})
	if err != nil {
		t.Fatal(err)
	}
	checkAt(s, b.Post(path+"/acknowledge", nil))
	b.Get(path).Has("Someone else already has it.", "&lt;b&gt;Anna")
	b.Get(path+"/acknowledge").Has("&lt;b&gt;Anna has had it since", `name="take_over"`)
	checkAt(s, b.Post(path+"/acknowledge", url.Values{"take_over": {"1"}}))
	if a := s.Check(c).Ack; a.By != by {
		t.Errorf("not taken over: %+v", a)
	}
	b.Get(path).Has(">Change…</a>").HasNo("Take over")
	b.Get(path + "/acknowledge").Has("You have had it since").HasNo("You take it over")
}

func TestTransfer(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.UniqueKey()
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Get(path + "/transfer").Is(http.StatusOK).Has("There is no other project you can edit.").HasNo("<select")
	b.Get(path + "/edit").HasNo("/transfer")

	other, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "<other>", Account: "other", MaxChecks: 1})
	if err != nil {
		t.Fatal(err)
	}
	b.Post(path+"/transfer", url.Values{"project": {other.ID.String()}}).Is(http.StatusForbidden)
	b.Post("/signin", url.Values{"key": {keys.ReadOnly}}).Is(http.StatusSeeOther)
	b.Get(path + "/edit").HasNo("/transfer")
	b.Post(path+"/transfer", url.Values{"project": {other.ID.String()}}).Is(http.StatusForbidden)
	b.Post("/signin", url.Values{"key": {keys.ReadWrite}}).Is(http.StatusSeeOther)
	b.Get(path + "/edit").Has(path + "/transfer")
	b.Get(path+"/transfer").Has("&lt;other&gt;", other.ID.String()).HasNo(`value="` + s.Project.ID.String())
	for _, target := range []string{"", "x", uuid.NewString(), s.Project.ID.String()} {
		b.Post(path+"/transfer", url.Values{"project": {target}}).Is(http.StatusForbidden)
	}
	full, err := s.Mon.Project(other.ID).Create(t.Context(), checks.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	b.Post(path+"/transfer", url.Values{"project": {other.ID.String()}}).Is(http.StatusUnprocessableEntity).Has("account has reached its check limit")
	if _, err := s.Mon.Project(full.Check.ProjectID).Delete(t.Context(), full.ID); err != nil {
		t.Fatal(err)
	}
	if to := b.Post(path+"/transfer", url.Values{"project": {other.ID.String()}}).Is(http.StatusSeeOther).Header.Get("Location"); to != path {
		t.Errorf("led to %s", to)
	}
	if got := s.Check(c).ProjectID; got != other.ID {
		t.Errorf("the check is in %s, want %s", got, other.ID)
	}
}
