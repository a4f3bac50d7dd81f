package dashboard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

// No name on a page turns the text around it. Inputs keep what is stored.
func TestNamesThatTurnText(t *testing.T) {
	s, _ := withReceiver(t)
	const turned = "\u202eevil\u2066\u200f\u061c"
	id := s.channel("pager", turned+"pager", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "pin": "q7xz"}).ID
	c := s.create(checks.Spec{Name: new(turned + "job"), Tags: []string{turned + "tag"}, Channels: new("*")})
	page, err := s.mon.Project(s.project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: turned + "page", Tags: []string{turned + "tag"}})
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := s.mon.Projects().Create(t.Context(), projectSpec(turned+"project"))
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := s.mon.Project(other.ID).CreateKey(t.Context(), checks.Admin)
	noError(t, err)
	s.goDown(c)
	b := s.signedIn(s.keys.ReadWrite)
	b.post("/signin", map[string][]string{"key": {key}})
	typed := regexp.MustCompile(`(?s)value="[^"]*"|<textarea.*?</textarea>|<svg.*?</svg>`)
	check := "/checks/" + c.UniqueKey()
	for _, path := range []string{
		s.path(""), s.path("overview"), s.path("board"), s.path("board?group=tag"), s.path("integrations"), s.path("integrations/" + id.String()), s.path("integrations/" + id.String() + "/delete"),
		s.path("deliveries"), s.path("status"), s.path("status/" + page.ID.String()), s.path("status/" + page.ID.String() + "/delete"), s.path("badges"),
		check, check + "/edit", check + "/copy", check + "/transfer", check + "/delete", "/projects/" + other.ID.String() + "/settings", "/projects/" + other.ID.String() + "/delete",
	} {
		body := typed.ReplaceAllString(b.get(path).is(200).has("evil").body, "")
		if at := strings.IndexFunc(body, func(r rune) bool { return strings.ContainsRune(turned, r) && r > 'z' }); at >= 0 {
			t.Errorf("%s has a character that turns text: …%q", path, body[max(0, at-100):at+20])
		}
	}
	b.get(s.path("deliveries?check=evil")).is(200).has("eviljob").hasNo("No check matches")
	b.post("/projects/"+other.ID.String()+"/delete", map[string][]string{"name": {"evilproject"}}).is(303)
}
