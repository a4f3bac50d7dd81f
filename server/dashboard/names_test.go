package dashboard_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// No name on a page turns the text around it. Inputs keep what is stored.
func TestNamesThatTurnText(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	const turned = "\u202eevil\u2066\u200f\u061c"
	id := s.Channel("pager", turned+"pager", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "pin": "q7xz"}).ID
	c := s.Create(checks.Spec{Name: new(turned + "job"), Tags: []string{turned + "tag"}, Channels: new("*"), Desc: new(turned + "desc\n" + turned), FailureKW: new(turned + "word")})
	page, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: turned + "page", Tags: []string{turned + "tag"}})
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: turned + "project"})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := s.Mon.Project(other.ID).CreateKey(t.Context(), checks.Admin)
	pagetest.NoError(t, err)
	_, err = s.Mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, Scheme: "https", Method: "POST", UserAgent: turned + "agent", Body: []byte("error: " + turned + "body\n")})
	pagetest.NoError(t, err)
	_, err = s.Mon.Project(s.Project.ID).AddWindow(t.Context(), gate.Window{Kind: gate.Maintenance, Checks: []uuid.UUID{c.ID}, Duration: time.Hour, Note: turned + "note"})
	pagetest.NoError(t, err)
	s.GoDown(c)
	_, err = s.Mon.Project(s.Project.ID).Acknowledge(t.Context(), c.ID, checks.AckSpec{By: turned + "ann", Note: turned + "note"})
	pagetest.NoError(t, err)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post("/signin", map[string][]string{"key": {key}})
	typed := regexp.MustCompile(`(?s)<input type="search"[^>]*>|<input (id|type="(text|hidden|checkbox|radio)"|name)[^>]*>|value="[^"]*"|<textarea.*?</textarea>|<svg.*?</svg>`)
	plain := func(path, body string) {
		t.Helper()
		body = typed.ReplaceAllStringFunc(body, func(input string) string {
			if strings.Contains(input, `type="search"`) {
				return input
			}
			return ""
		})
		if at := strings.IndexFunc(body, func(r rune) bool { return strings.ContainsRune(turned, r) && r > 'z' }); at >= 0 {
			t.Errorf("%s has a character that turns text: …%q", path, body[max(0, at-100):at+20])
		}
	}
	look := func(path string, has ...string) {
		t.Helper()
		a := b.Get(path)
		if a.Status != 200 {
			t.Fatal(path, a.Status)
		}
		plain(path, a.Has(has...).Body)
	}
	check := "/checks/" + c.UniqueKey()
	for _, path := range []string{
		s.Path(""), s.Path("overview"), s.Path("board"), s.Path("board?group=tag"), s.Path("integrations"), s.Path("integrations/" + id.String()), s.Path("integrations/" + id.String() + "/delete"),
		s.Path("deliveries"), s.Path("status"), s.Path("status/" + page.ID.String()), s.Path("status/" + page.ID.String() + "/delete"), s.Path("badges"),
		check, check + "/edit", check + "/copy", check + "/transfer", check + "/delete", "/projects/" + other.ID.String() + "/settings", "/projects/" + other.ID.String() + "/delete",
	} {
		look(path, "evil")
	}
	searched := url.QueryEscape(turned + "none")
	for _, path := range []string{
		s.Path("history?x="), s.Path("maintenance?x="), s.Path("escalation?x="), s.Path("rehearsal?x="), s.Path("settings?x="),
		s.Path("?q="), s.Path("?tag="), s.Path("?state="), s.Path("badges?q="), s.Path("deliveries?check="), s.Path("history?check="), s.Path("integrations/new?q="), s.Path("board?group=tag&tag="),
	} {
		look(path + searched)
	}
	for path, form := range map[string]url.Values{
		s.Path("checks/new"):                  {"name": {turned + "n"}, "kind": {"simple"}, "timeout": {turned + "1 x"}, "grace": {turned}, "tz": {turned}, "slug": {turned}, "methods": {turned}, "tags": {turned}},
		s.Path("maintenance"):                 {"when": {turned}, "note": {turned}, "start": {turned}, "duration": {turned}},
		s.Path("status/new"):                  {"title": {turned}, "slug": {turned}},
		s.Path("integrations/new?kind=email"): {"name": {turned}, "kind": {"email"}, "s.to": {turned}},
	} {
		plain(path, b.Post(path, form).Body)
	}
	look(check, "evildesc")
	look(check+"/pings/1", "evilagent", "evil", "body")
	look(s.Path("maintenance"), "evilnote")
	look(s.Path("deliveries?check="+searched), "No check matches “evilnone”.", `value="evilnone"`)
	b.Get(s.Path("deliveries?check=evil")).Is(200).Has("eviljob").HasNo("No check matches")
	b.Post("/projects/"+other.ID.String()+"/delete", map[string][]string{"name": {"evilproject"}}).Is(303)
}
