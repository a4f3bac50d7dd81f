package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestUndo undoes what the list changes: exactly that, for the checks that nobody has changed since, once.
func TestUndo(t *testing.T) {
	s := pagetest.New(t)
	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	backup := s.Create(checks.Spec{Name: new("backup"), Tags: []string{"b", "a"}, Timeout: new(time.Hour), Grace: new(time.Hour), Channels: new("*")})
	export := s.Create(checks.Spec{Name: new("export"), Tags: []string{"a"}, Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	for _, c := range []checks.Check{backup, export} {
		s.Ping(c, pings.Signal{})
	}
	both := []checks.Check{s.Check(backup), s.Check(export)}
	b := s.SignedIn(s.Keys.ReadWrite)
	unchanged := func(what string) {
		t.Helper()
		for _, c := range both {
			got := s.Check(c)
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
		form["check"] = pagetest.IDs(both...)
		b.Post(s.Path("bulk"), form).Is(http.StatusSeeOther)
		b.Undo(b.Get(s.Path("")).Has("2 checks.")).Has("Undone for 2 checks.")
		unchanged(what)
	}
	edit := url.Values{"check": pagetest.IDs(both...), "add_tags": {"new"}, "timeout": {"2 h"}, "grace": {"5 min"}, "tz": {"Asia/Tokyo"}, "channels": {"drop"}, "channel": {hook.ID.String()}}
	b.Post(s.Path("bulk/edit"), edit).Is(http.StatusSeeOther)
	if got := s.Check(export); got.IsCron() || got.Timeout != 2*time.Hour || got.Grace != 5*time.Minute || len(s.Check(backup).Channels) != 0 {
		t.Errorf("changed to %+v", got)
	}
	b.Undo(b.Get(s.Path("")).Has("Changed 2 checks.")).Has("Undone for 2 checks.")
	unchanged("edit")

	// What somebody else changes stays.
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": pagetest.IDs(both...)}).Is(http.StatusSeeOther)
	page := b.Get(s.Path(""))
	s.Ping(backup, pings.Signal{})
	b.Undo(page).Has("Undone for 1 check. 1 check changed since, and stays as now.")
	b.Undo(page).Has("Nothing was undone: 2 checks changed since.")
	b.Get(s.Path("")).HasNo("Undo")

	// A resume, too.
	b.Post("/checks/"+backup.UniqueKey()+"/pause", nil).Is(http.StatusSeeOther)
	b.Get("/checks/"+backup.UniqueKey()).Has("Paused.", ">Undo<")
	both = []checks.Check{s.Check(backup)}
	b.Post("/checks/"+backup.UniqueKey()+"/resume", nil).Is(http.StatusSeeOther)
	b.Undo(b.Get("/checks/" + backup.UniqueKey())).Has("Undone for 1 check.")
	unchanged("resume")
}

// TestUndoOfOthers refuses what a notice did not offer: another project's, a forged one, an old one, that of a reader.
func TestUndoOfOthers(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": pagetest.IDs(c)}).Is(http.StatusSeeOther)
	token := b.Get(s.Path("")).Undo()
	other, keys, err := s.Mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	stranger := s.SignedIn(keys.ReadWrite)
	stranger.Post("/projects/"+other.ID.String()+"/undo", url.Values{"undo": {token}}).Is(http.StatusSeeOther)
	stranger.Get("/projects/" + other.ID.String() + "/").Has("can no longer be undone")
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("undo"), url.Values{"undo": {token}}).Is(http.StatusForbidden)
	for _, forged := range []string{"", "x", token[1:], uuid.NewString()} {
		b.Post(s.Path("undo"), url.Values{"undo": {forged}, "back": {"//attacker.example/"}}).Is(http.StatusSeeOther)
		b.Get(s.Path("")).Has("can no longer be undone")
	}
	s.Advance(2 * time.Hour)
	b.Post(s.Path("undo"), url.Values{"undo": {token}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("can no longer be undone")
	if got := s.Check(c); got.Stored != checks.StatusPaused {
		t.Errorf("the check is %s", got.Stored)
	}
}

// TestUndoMany undoes more changes than a cookie has room for. A check that a ping has reached since stays as it is.
func TestUndoMany(t *testing.T) {
	s := pagetest.New(t)
	var list []checks.Check
	for range 200 {
		c := s.Create(checks.Spec{})
		s.Ping(c, pings.Signal{})
		list = append(list, c)
	}
	b := s.SignedIn(s.Keys.ReadWrite)
	answer := b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": pagetest.IDs(list...)}).Is(http.StatusSeeOther)
	if n := len(strings.Join(answer.Header.Values("Set-Cookie"), "")); n > 4096 {
		t.Errorf("%d bytes of cookies", n)
	}
	page := b.Get(s.Path(""))
	s.Ping(list[0], pings.Signal{Kind: pings.Failure})
	b.Undo(page).Has("Undone for 199 checks.")
	if got := s.Check(list[0]).Stored; got != checks.StatusDown {
		t.Errorf("the check that was pinged is %s", got)
	}
	if got := s.Check(list[1]).Stored; got != checks.StatusUp {
		t.Errorf("after Undo, a check is %s", got)
	}
}
