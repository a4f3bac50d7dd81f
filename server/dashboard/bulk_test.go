package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// ids returns the identifiers of checks for a form.
func ids(list ...checks.Check) (texts []string) {
	for _, c := range list {
		texts = append(texts, c.ID.String())
	}
	return texts
}

// current returns a check as it is.
func (s *site) current(c checks.Check) checks.Check {
	s.t.Helper()
	got, err := s.mon.Check(s.t.Context(), c.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

var undoButton = regexp.MustCompile(`name="undo" value="([^"]+)"`)

// undo presses the Undo of the notice on a page, and returns the page after it.
func (b *browser) undo(page *answer) *answer {
	b.t.Helper()
	found := undoButton.FindStringSubmatch(page.body)
	if found == nil {
		b.t.Fatalf("no Undo on the page: %s", page.body)
	}
	b.post(b.path("undo"), url.Values{"undo": {html.UnescapeString(found[1])}, "back": {b.path("?state=up")}}).is(http.StatusSeeOther)
	return b.get(b.path(""))
}

// TestUndo undoes what the list changes: exactly that, for the checks that nobody has changed since, once.
func TestUndo(t *testing.T) {
	s := newSite(t)
	hook := s.channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	backup := s.create(checks.Spec{Name: new("backup"), Tags: []string{"b", "a"}, Timeout: new(time.Hour), Grace: new(time.Hour), Channels: new("*")})
	export := s.create(checks.Spec{Name: new("export"), Tags: []string{"a"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	for _, c := range []checks.Check{backup, export} {
		if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
			t.Fatal(err)
		}
	}
	both := []checks.Check{s.current(backup), s.current(export)}
	b := s.signedIn(s.keys.ReadWrite)
	unchanged := func(what string) {
		t.Helper()
		for _, c := range both {
			got := s.current(c)
			got.TimingSince = c.TimingSince
			if c.IsCron() {
				got.Timeout = c.Timeout // a Cron check ignores it
			}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("%s: not as before (-before +now):\n%s", what, diff)
			}
		}
	}
	for what, form := range map[string]url.Values{
		"pause": {"action": {"pause"}}, "tag": {"action": {"tag"}, "tag": {"z b"}}, "untag": {"action": {"untag"}, "tag": {"a"}},
	} {
		form["check"] = ids(both...)
		b.post(s.path("bulk"), form).is(http.StatusSeeOther)
		b.undo(b.get(s.path("")).has("2 checks.")).has("Undone for 2 checks.")
		unchanged(what)
	}
	edit := url.Values{"check": ids(both...), "add_tags": {"new"}, "timeout": {"2 h"}, "grace": {"5 min"}, "tz": {"Asia/Tokyo"}, "channels": {"drop"}, "channel": {hook.ID.String()}}
	b.post(s.path("bulk/edit"), edit).is(http.StatusSeeOther)
	if got := s.current(export); got.IsCron() || got.Timeout != 2*time.Hour || got.Grace != 5*time.Minute || len(s.current(backup).Channels) != 0 {
		t.Errorf("changed to %+v", got)
	}
	b.undo(b.get(s.path("")).has("Changed 2 checks.")).has("Undone for 2 checks.")
	unchanged("edit")

	// What somebody else changes stays.
	b.post(s.path("bulk"), url.Values{"action": {"pause"}, "check": ids(both...)}).is(http.StatusSeeOther)
	page := b.get(s.path(""))
	if _, err := s.mon.Ping(t.Context(), backup.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	b.undo(page).has("Undone for 1 check. 1 check changed since, and stays as now.")
	b.undo(page).has("Nothing was undone: 2 checks changed since.")
	b.get(s.path("")).hasNo("Undo")

	// A resume, too.
	b.post("/checks/"+backup.UniqueKey()+"/pause", nil).is(http.StatusSeeOther)
	b.get("/checks/"+backup.UniqueKey()).has("Paused.", ">Undo<")
	both = []checks.Check{s.current(backup)}
	b.post("/checks/"+backup.UniqueKey()+"/resume", nil).is(http.StatusSeeOther)
	b.undo(b.get("/checks/" + backup.UniqueKey())).has("Undone for 1 check.")
	unchanged("resume")
}

// TestUndoOfOthers refuses what a notice did not offer: another project's, a forged one, an old one, that of a reader.
func TestUndoOfOthers(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup")})
	b := s.signedIn(s.keys.ReadWrite)
	b.post(s.path("bulk"), url.Values{"action": {"pause"}, "check": ids(c)}).is(http.StatusSeeOther)
	token := html.UnescapeString(undoButton.FindStringSubmatch(b.get(s.path("")).body)[1])
	other, keys, err := s.mon.Projects().Create(t.Context(), projectSpec("other"))
	if err != nil {
		t.Fatal(err)
	}
	stranger := s.signedIn(keys.ReadWrite)
	stranger.post("/projects/"+other.ID.String()+"/undo", url.Values{"undo": {token}}).is(http.StatusSeeOther)
	stranger.get("/projects/" + other.ID.String() + "/").has("can no longer be undone")
	s.signedIn(s.keys.ReadOnly).post(s.path("undo"), url.Values{"undo": {token}}).is(http.StatusForbidden)
	for _, forged := range []string{"", "x", token[1:], uuid.NewString()} {
		b.post(s.path("undo"), url.Values{"undo": {forged}, "back": {"//attacker.example/"}}).is(http.StatusSeeOther)
		b.get(s.path("")).has("can no longer be undone")
	}
	s.advance(2 * time.Hour)
	b.post(s.path("undo"), url.Values{"undo": {token}}).is(http.StatusSeeOther)
	b.get(s.path("")).has("can no longer be undone")
	if got := s.current(c); got.Stored != checks.StatusPaused {
		t.Errorf("the check is %s", got.Stored)
	}
}

// TestBulkMany pauses more checks than a cookie has room for, of which all match, and undoes it. Counts are of what changed.
func TestBulkMany(t *testing.T) {
	s := newSite(t)
	var first checks.Check
	for i := range 300 {
		c := s.create(checks.Spec{Name: new(fmt.Sprintf("job-%d", i)), Tags: []string{"nightly"}})
		if i == 0 {
			first = c
		}
		if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
			t.Fatal(err)
		}
	}
	other := s.create(checks.Spec{Name: new("other")})
	b := s.signedIn(s.keys.ReadWrite)
	b.post(s.path("bulk"), url.Values{"action": {"pause"}, "check": ids(first)}).is(http.StatusSeeOther)
	b.get(s.path("?tag=nightly")).has("Paused 1 check.", "All 300 matches")
	answer := b.post(s.path("bulk?tag=nightly"), url.Values{"action": {"pause"}, "all": {"1"}}).is(http.StatusSeeOther)
	if n := len(strings.Join(answer.header.Values("Set-Cookie"), "")); n > 4096 {
		t.Errorf("%d bytes of cookies", n)
	}
	page := b.get(s.path("")).has("Paused 299 checks. 1 was paused already.")
	b.undo(page).has("Undone for 299 checks.")
	if s.current(first).Stored != checks.StatusPaused || s.current(other).Stored != checks.StatusNew {
		t.Error("other checks have changed")
	}
	b.post(s.path("bulk"), url.Values{"action": {"tag"}, "tag": {" "}, "check": ids(first)}).is(http.StatusSeeOther)
	b.get(s.path("")).has("Enter a tag. Nothing was changed.").hasNo(">Undo<")
	b.post(s.path("bulk"), url.Values{"action": {"untag"}, "tag": {numbers(100_000)}, "check": ids(first)}).is(http.StatusBadRequest).has("tags is too long")
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
	s := newSite(t)
	hook := s.channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	a, c := s.create(checks.Spec{Name: new("<a>")}), s.create(checks.Spec{Name: new("b"), Channels: new("*")})
	b := s.signedIn(s.keys.ReadWrite)
	b.post(s.path("bulk"), url.Values{"action": {"edit"}, "check": ids(a, c)}).is(http.StatusOK).has("Edit 2 checks", "&lt;a&gt;", a.ID.String(), "hook").hasNo("<a>")
	for want, form := range map[string]url.Values{
		"Grace time has no unit":                  {"grace": {"5"}, "tz": {"Europe/Riga"}},
		"Schedule and interval exclude":           {"schedule": {"0 3 * * *"}, "timeout": {"1 h"}},
		"Time zone":                               {"tz": {"Mars"}},
		"Integrations are ticked: choose what to": {"channel": {hook.ID.String()}},
		"Integrations are too many":               {"channel": strings.Split(numbers(501), " "), "channels": {"add"}},
		"Tags is too long":                        {"add_tags": {numbers(50_000)}},
		"Tags is too long: 588889 characters":     {"drop_tags": {numbers(100_000)}},
	} {
		form["check"] = ids(a, c)
		b.post(s.path("bulk/edit"), form).is(http.StatusUnprocessableEntity).has(want, a.ID.String())
	}
	b.post(s.path("bulk/edit"), url.Values{"check": ids(a, c), "channels": {"set"}, "channel": {hook.ID.String()}}).is(http.StatusSeeOther)
	b.get(s.path("")).has("Changed 1 check. 1 was like that already.")
	if len(s.current(a).Channels) != 1 {
		t.Error("the integration was not added")
	}
	s.signedIn(s.keys.ReadOnly).post(s.path("bulk/edit"), url.Values{"check": ids(a)}).is(http.StatusForbidden)
}
