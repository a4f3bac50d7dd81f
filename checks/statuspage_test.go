package checks_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestStatusPageNormalize(t *testing.T) {
	shop, mail := uuid.New(), uuid.New()
	page := checks.StatusPage{
		Slug: "acme", Title: "  Acme ☃ ", Description: " one\r\ntwo\rthree\n", Tags: []string{"b", "a", "b"},
		Names: map[uuid.UUID]string{shop: " Shop ☃ ", mail: " "}, MinOutage: time.Minute,
	}
	got, err := page.Normalize()
	want := checks.StatusPage{
		Slug: "acme", Title: "Acme ☃", Description: "one\ntwo\nthree", Tags: []string{"b", "a"},
		Names: map[uuid.UUID]string{shop: "Shop ☃"}, MinOutage: time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	longest := checks.StatusPage{
		Slug: strings.Repeat("a", 100), Title: strings.Repeat("ü", 100), Description: strings.Repeat("ü", 1000), Tags: []string{strings.Repeat("ü", 500)},
		Names: named(slices.Repeat([]string{strings.Repeat("ü", 100)}, 500)...), MinOutage: 24 * time.Hour,
	}
	if _, err := longest.Normalize(); err != nil {
		t.Errorf("the longest texts: %v", err)
	}
}

// named returns names of checks.
func named(names ...string) map[uuid.UUID]string {
	list := make(map[uuid.UUID]string)
	for _, name := range names {
		list[uuid.New()] = name
	}
	return list
}

func TestStatusPageErrors(t *testing.T) {
	for _, test := range []struct {
		change func(p *checks.StatusPage)
		field  string
		want   string
	}{
		{func(p *checks.StatusPage) { p.Slug = "" }, "slug", "slug is empty"},
		{func(p *checks.StatusPage) { p.Slug = "Acme" }, "slug", `slug may only have a-z, 0-9 and hyphen: "Acme"`},
		{func(p *checks.StatusPage) { p.Slug = "a_b" }, "slug", `slug may only have a-z, 0-9 and hyphen: "a_b"`},
		{func(p *checks.StatusPage) { p.Slug = "a\n" }, "slug", `slug may only have a-z, 0-9 and hyphen: "a\n"`},
		{func(p *checks.StatusPage) { p.Slug = "../a" }, "slug", `slug may only have a-z, 0-9 and hyphen: "../a"`},
		{func(p *checks.StatusPage) { p.Slug = strings.Repeat("a", 101) }, "slug", "slug is too long: 101 characters, the maximum is 100"},
		{func(p *checks.StatusPage) { p.Title = " \t" }, "title", "title is empty"},
		{func(p *checks.StatusPage) { p.Title = "\u200b\u3164\u2800" }, "title", "title has no visible character: \"\\u200b\u3164\u2800\""},
		{func(p *checks.StatusPage) { p.Title = strings.Repeat("ü", 101) }, "title", "title is too long: 101 characters, the maximum is 100"},
		{func(p *checks.StatusPage) { p.Title = "a\nb" }, "title", "title has a control character"},
		{func(p *checks.StatusPage) { p.Title = "a\xff" }, "title", "title is not valid UTF-8"},
		{func(p *checks.StatusPage) { p.Description = "a\x1b[31m" }, "description", "description has a control character"},
		{func(p *checks.StatusPage) { p.Description = strings.Repeat("a", 1001) }, "description", "description is too long: 1001 characters, the maximum is 1000"},
		{func(p *checks.StatusPage) { p.Tags = []string{"two words"} }, "tags", `tags has an item with a blank: "two words"`},
		{func(p *checks.StatusPage) { p.Tags = []string{"a\x00"} }, "tags", "tags has a NUL character"},
		{func(p *checks.StatusPage) { p.Tags = []string{strings.Repeat("a", 250), strings.Repeat("b", 250)} }, "tags", "tags is too long: 501 characters, the maximum is 500"},
		{func(p *checks.StatusPage) { p.Names = named("\u200b\u2800") }, "names", "names has no visible character: \"\\u200b\u2800\""},
		{func(p *checks.StatusPage) { p.Names = named(strings.Repeat("ü", 101)) }, "names", "names is too long: 101 characters, the maximum is 100"},
		{func(p *checks.StatusPage) { p.Names = named("a\nb") }, "names", "names has a control character"},
		{func(p *checks.StatusPage) { p.Names = named("a\u0085b") }, "names", "names has a control character"},
		{func(p *checks.StatusPage) { p.Names = named("a\x00") }, "names", "names has a NUL character"},
		{func(p *checks.StatusPage) { p.Names = named("a\xff") }, "names", "names is not valid UTF-8"},
		{func(p *checks.StatusPage) { p.Names = named(slices.Repeat([]string{"a"}, 501)...) }, "names", "names has 501 items, the maximum is 500"},
		{func(p *checks.StatusPage) { p.MinOutage = -time.Second }, "min_outage", "min_outage is too small: -1, the minimum is 0"},
		{func(p *checks.StatusPage) { p.MinOutage = 24*time.Hour + time.Second }, "min_outage", "min_outage is too large: 86401, the maximum is 86400"},
		{func(p *checks.StatusPage) { p.MinOutage = time.Millisecond }, "min_outage", "min_outage is not a whole number of seconds: 1ms"},
	} {
		p := checks.StatusPage{Slug: "acme", Title: "Acme"}
		test.change(&p)
		_, err := p.Normalize()
		refused, ok := errors.AsType[*checks.FieldError](err)
		if !ok || refused.Field != test.field || err.Error() != test.want {
			t.Errorf("got error %v, want %q about %q", err, test.want, test.field)
		}
	}
}

func TestStatusPageShows(t *testing.T) {
	check := checks.Settings{Tags: strings.Split("web  eu\tprod", " ")}
	for _, test := range []struct {
		tags string
		want bool
	}{
		{"", true}, {"web", true}, {"prod", true}, {"db web", true}, {"db", false}, {"we", false}, {"WEB", false},
	} {
		page := checks.StatusPage{Tags: strings.Fields(test.tags)}
		if got := page.Shows(check); got != test.want {
			t.Errorf("a page for %q shows the check: %v, want %v", test.tags, got, test.want)
		}
	}
	if (checks.StatusPage{Tags: []string{"web"}}).Shows(checks.Settings{}) {
		t.Error("a page for a tag shows a check without tags")
	}
}
