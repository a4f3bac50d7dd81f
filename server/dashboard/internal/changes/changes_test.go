package changes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestAuditPages: the history of a project and the page of a check say who changed what. Viewers see neither values nor names,
// and only owners see addresses.
func TestAuditPages(t *testing.T) {
	s := pagetest.New(t)
	key := s.Key(checks.Admin)
	b := s.SignedIn(key)
	c := s.Create(checks.Spec{Name: new("Nightly backup"), Desc: new("<i>old</i>")})
	s.Advance(time.Minute)
	edit := "/checks/" + c.UniqueKey() + "/"
	b.Post(edit+"pause", nil).Is(http.StatusSeeOther)
	s.Advance(time.Minute)
	b.Post(edit+"resume", nil).Is(http.StatusSeeOther)
	if _, err := s.Mon.Project(s.Project.ID).Update(t.Context(), c.ID, checks.Spec{Desc: new("new\u202e"), Grace: new(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	hint := key[:8]
	for _, path := range []string{s.Path("history?kind=changes"), s.Path("history"), "/checks/" + c.UniqueKey()} {
		page := b.Get(path).Is(http.StatusOK)
		page.Has("was created", "by an embedding program", "was paused", "was resumed", "by the API key "+hint+"… from 127.0.0.1",
			"&lt;i&gt;old&lt;/i&gt;</del> → <ins>new</ins>", "<del>1h</del> → <ins>2h</ins>")
		if n := strings.Count(page.Body, "was paused"); n != 1 {
			t.Errorf("%s names the pause %d times", path, n)
		}
		s.SignedIn(s.Keys.ReadOnly).Get(path).Is(http.StatusOK).Has("was changed", "was paused").HasNo(hint, "by an embedding program", "→", "127.0.0.1", "&lt;i&gt;")
	}
}

// TestWindowChanges: an entry about a window has times as the clock of the viewer shows them, and the names of its checks.
func TestWindowChanges(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	c := s.Create(checks.Spec{Name: new("Nightly <b>")})
	b.Post("/checks/"+c.UniqueKey()+"/snooze", url.Values{"for": {"30m"}}).Is(http.StatusSeeOther)
	for _, path := range []string{s.Path("history?kind=changes"), "/checks/" + c.UniqueKey()} {
		b.Get(path).Is(http.StatusOK).Has("Snooze", "was created", "<ins>Nightly &lt;b&gt;</ins>", "<ins>22 Nov 2026 12:30</ins>").HasNo("2026-11-22T12:30:00Z</ins>", "Snooze snooze", "<b>snooze</b>")
	}
}
