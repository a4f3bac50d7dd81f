package lists_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestBulkMany pauses all checks that match, on whatever page they are. Counts are of what changed.
func TestBulkMany(t *testing.T) {
	s := pagetest.New(t)
	var first checks.Check
	for i := range 300 {
		c := s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%d", i)), Tags: []string{"nightly"}})
		if i == 0 {
			first = c
		}
	}
	other := s.Create(checks.Spec{Name: new("other")})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": pagetest.IDs(first)}).Is(http.StatusSeeOther)
	b.Get(s.Path("?tag=nightly")).Has("Paused 1 check.", "All 300 matches")
	b.Post(s.Path("bulk?tag=nightly"), url.Values{"action": {"pause"}, "all": {"1"}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Paused 299 checks. 1 was paused already.")
	if s.Check(first).Stored != checks.StatusPaused || s.Check(other).Stored != checks.StatusNew {
		t.Error("other checks have changed")
	}
	b.Post(s.Path("bulk"), url.Values{"action": {"tag"}, "tag": {" "}, "check": pagetest.IDs(first)}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Enter a tag. Nothing was changed.").HasNo(">Undo<")
	b.Post(s.Path("bulk"), url.Values{"action": {"untag"}, "tag": {numbers(100_000)}, "check": pagetest.IDs(first)}).Is(http.StatusBadRequest).Has("tags is too long")
}

// numbers are n different words.
func numbers(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	return strings.Join(words, " ")
}

// TestBulkEdit shows the page that changes several checks, and what is wrong with what was typed.
func TestBulkEdit(t *testing.T) {
	s := pagetest.New(t)
	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	a, c := s.Create(checks.Spec{Name: new("<a>")}), s.Create(checks.Spec{Name: new("b"), Channels: new("*")})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("bulk"), url.Values{"action": {"edit"}, "check": pagetest.IDs(a, c)}).Is(http.StatusOK).Has("Edit 2 checks", "&lt;a&gt;", a.ID.String(), "hook").HasNo("<a>")
	for want, form := range map[string]url.Values{
		"Grace time has no unit":                  {"grace": {"5"}, "tz": {"Europe/Riga"}},
		"Schedule and interval exclude":           {"schedule": {"0 3 * * *"}, "timeout": {"1 h"}},
		"Time zone":                               {"tz": {"Mars"}},
		"Integrations are ticked: choose what to": {"channel": {hook.ID.String()}},
		"Integrations are too many":               {"channel": strings.Split(numbers(501), " "), "channels": {"add"}},
		"Tags is too long":                        {"add_tags": {numbers(50_000)}},
		"Tags is too long: 588889 characters":     {"drop_tags": {numbers(100_000)}},
	} {
		form["check"] = pagetest.IDs(a, c)
		b.Post(s.Path("bulk/edit"), form).Is(http.StatusUnprocessableEntity).Has(want, a.ID.String())
	}
	b.Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a, c), "channels": {"set"}, "channel": {hook.ID.String()}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Changed 1 check. 1 was like that already.")
	if len(s.Check(a).Channels) != 1 {
		t.Error("the integration was not added")
	}
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a)}).Is(http.StatusForbidden)
}
