package dashboard_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// No name on a page turns the text around it. Inputs keep what is stored.
func TestNamesThatTurnText(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	const turned = "\u202eevil\u2066\u200f\u061c"
	id := s.Channel("pager", turned+"pager", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret", "pin": "q7xz"}).ID
	c := s.Create(checks.Spec{Name: new(turned + "job"), Tags: []string{turned + "tag"}, Channels: new("*")})
	page, err := s.Mon.Project(s.Project.ID).CreateStatusPage(t.Context(), checks.StatusPage{Slug: "acme", Title: turned + "page", Tags: []string{turned + "tag"}})
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := s.Mon.Projects().Create(t.Context(), monitor.ProjectSpec{Name: turned + "project"})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := s.Mon.Project(other.ID).CreateKey(t.Context(), checks.Admin)
	pagetest.NoError(t, err)
	s.GoDown(c)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post("/signin", map[string][]string{"key": {key}})
	typed := regexp.MustCompile(`(?s)value="[^"]*"|<textarea.*?</textarea>|<svg.*?</svg>`)
	check := "/checks/" + c.UniqueKey()
	for _, path := range []string{
		s.Path(""), s.Path("overview"), s.Path("board"), s.Path("board?group=tag"), s.Path("integrations"), s.Path("integrations/" + id.String()), s.Path("integrations/" + id.String() + "/delete"),
		s.Path("deliveries"), s.Path("status"), s.Path("status/" + page.ID.String()), s.Path("status/" + page.ID.String() + "/delete"), s.Path("badges"),
		check, check + "/edit", check + "/copy", check + "/transfer", check + "/delete", "/projects/" + other.ID.String() + "/settings", "/projects/" + other.ID.String() + "/delete",
	} {
		body := typed.ReplaceAllString(b.Get(path).Is(200).Has("evil").Body, "")
		if at := strings.IndexFunc(body, func(r rune) bool { return strings.ContainsRune(turned, r) && r > 'z' }); at >= 0 {
			t.Errorf("%s has a character that turns text: …%q", path, body[max(0, at-100):at+20])
		}
	}
	b.Get(s.Path("deliveries?check=evil")).Is(200).Has("eviljob").HasNo("No check matches")
	b.Post("/projects/"+other.ID.String()+"/delete", map[string][]string{"name": {"evilproject"}}).Is(303)
}
