package session_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestKeys(t *testing.T) {
	s := pagetest.New(t)
	admin := s.Key(checks.Admin)
	b := s.SignedIn(admin)
	page := b.Get(s.Path("keys")).Is(http.StatusOK).Has("this session", s.Project.PingKey, "read-only", "read-write").HasNo(s.Keys.ReadWrite, s.Keys.ReadOnly)
	if strings.Count(page.Body, "Revoke…") != 3 {
		t.Errorf("not three keys: %s", page.Body)
	}
	made := b.Post(s.Path("keys"), url.Values{"kind": {"read-only"}}).Is(http.StatusOK).Has("once")
	if made.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page with the key may be stored")
	}
	_, rest, _ := strings.Cut(made.Body, `id="fresh-key" tabindex="0">`)
	text, _, _ := strings.Cut(rest, "<")
	key, err := s.Mon.Projects().Authenticate(t.Context(), text)
	if err != nil || key.Scope != checks.ReadOnly || key.ProjectID != s.Project.ID {
		t.Fatalf("the key %q: %+v, %v", text, key, err)
	}
	b.Get(s.Path("keys")).HasNo(text)
	b.Post(s.Path("keys"), url.Values{"kind": {"owner"}}).Is(http.StatusBadRequest)

	other := s.SignedIn(text)
	other.Get(s.Path("keys")).Is(http.StatusForbidden).HasNo(s.Project.PingKey)
	other.Get(s.Path("settings")).Is(http.StatusOK).HasNo("Keys", "Delete", "Export", s.Project.PingKey)
	other.Post(s.Path("keys"), url.Values{"kind": {"read-write"}}).Is(http.StatusForbidden)
	other.Post(s.Path("keys/"+key.ID.String()+"/revoke"), nil).Is(http.StatusForbidden)

	b.Get(s.Path("keys/"+key.ID.String()+"/revoke")).Is(http.StatusOK).HasNo("signs you out", "last admin key")
	b.Post(s.Path("keys/"+key.ID.String()+"/revoke"), nil).Is(http.StatusSeeOther)
	b.Get(s.Path("keys")).Has("Revoked the read-only key " + text[:8])
	other.Get(s.Path("")).Is(http.StatusSeeOther)
	b.Get(s.Path("keys/" + key.ID.String() + "/revoke")).Is(http.StatusNotFound)

	own, err := s.Mon.Projects().Authenticate(t.Context(), admin)
	if err != nil {
		t.Fatal(err)
	}
	b.Get(s.Path("keys/"+own.ID.String()+"/revoke")).Is(http.StatusOK).Has("signs you out", "last admin key")
	b.Post(s.Path("keys/"+own.ID.String()+"/revoke"), nil).Is(http.StatusSeeOther)
	if to := b.Get(s.Path("keys")).Is(http.StatusSeeOther).Location(); !strings.HasPrefix(to, "/signin") {
		t.Errorf("after its key was revoked, the session leads to %q", to)
	}
}

// TestKeyScopes signs in with a key of each scope, and with one of the installation.
func TestKeyScopes(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup")})
	for _, scope := range checks.Scopes() {
		page := s.SignedIn(s.Key(scope)).Get("/checks/" + c.UniqueKey()).Is(http.StatusOK)
		if edits := strings.Contains(page.Body, c.ID.String()); edits != scope.Right().Edits() {
			t.Errorf("%s: the page has the UUID: %t, want %t", scope, edits, !edits)
		}
		s.Owner().Post(s.Path("keys"), url.Values{"kind": {string(scope)}}).Is(http.StatusOK).Has("Your new " + string(scope) + " key")
	}
	text, _, err := s.Mon.Installation().CreateKey(t.Context())
	pagetest.NoError(t, err)
	s.Browser().Post("/signin", url.Values{"key": {text}}).Is(http.StatusForbidden).Has("This key is for the API of the whole installation")
	if _, err := s.Pages.SignInLink(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("link: %v", err)
	}
}

// TestKeysExpire creates a key with a last day, in the zone of the viewer. The page says when it ends; from then on it neither signs in
// nor keeps anybody signed in, and its links do not work.
func TestKeysExpire(t *testing.T) {
	s := pagetest.New(t)
	b := s.Owner().In("Asia/Tokyo")
	page := b.Post(s.Path("keys"), url.Values{"kind": {"read-only"}, "expires": {"2026-11-30"}}).Is(http.StatusOK).Has("It expires on", "30 Nov 2026 23:59:59")
	_, rest, _ := strings.Cut(page.Body, `id="fresh-key" tabindex="0">`)
	text, _, _ := strings.Cut(rest, "<")
	key, err := s.Mon.Projects().Authenticate(t.Context(), text)
	pagetest.NoError(t, err)
	if want := time.Date(2026, 11, 30, 14, 59, 59, 0, time.UTC); !key.ExpiresAt.Equal(want) {
		t.Errorf("the key expires at %s, want %s", key.ExpiresAt, want)
	}
	b.Get(s.Path("keys")).Is(http.StatusOK).Has("in 8 days", "never")
	for _, wrong := range []string{"2026-11-21", "2040-01-01", "tomorrow", "2026-13-01", "<script>"} {
		b.Post(s.Path("keys"), url.Values{"kind": {"read-only"}, "expires": {wrong}}).Is(http.StatusBadRequest).Has("The last day must be").HasNo("Your new", "<script>")
	}
	reader := s.SignedIn(text)
	link, err := s.Pages.SignInLink(t.Context(), text)
	pagetest.NoError(t, err)
	s.Advance(key.ExpiresAt.Sub(s.Now()) - time.Second)
	reader.Get(s.Path("")).Is(http.StatusOK)
	s.Advance(time.Second)
	reader.Get(s.Path("")).Is(http.StatusSeeOther)
	s.Browser().Get(link).Is(http.StatusForbidden)
	s.Browser().Post("/signin", url.Values{"key": {text}}).Is(http.StatusForbidden).Has("This key has expired")
	if _, err := s.Pages.SignInLink(t.Context(), text); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("link: %v", err)
	}
	owner := s.Owner()
	owner.Get(s.Path("keys")).Is(http.StatusOK).Has("expired", key.Hint)
	owner.Post(s.Path("keys/"+key.ID.String()+"/revoke"), nil).Is(http.StatusSeeOther)
}

// TestRotatePingKey replaces the ping key: pages show the new one, and pings with the old one are refused.
func TestRotatePingKey(t *testing.T) {
	s := pagetest.New(t)
	s.Create(checks.Spec{Slug: new("backup")})
	b := s.Owner()
	b.Get(s.Path("ping-key")).Is(http.StatusOK).HasNo(s.Project.PingKey)
	s.SignedIn(s.Keys.ReadWrite).Post(s.Path("ping-key"), nil).Is(http.StatusForbidden)
	b.Get(s.Path("keys")).Has(s.Project.PingKey)
	b.Post(s.Path("ping-key"), nil).Is(http.StatusSeeOther)
	b.Get(s.Path("keys")).Is(http.StatusOK).Has("Replaced the ping key.").HasNo(s.Project.PingKey)
	if _, _, err := s.Mon.PingSlug(t.Context(), s.Project.PingKey, "backup", false, pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("with the old key: %v", err)
	}
	project, err := s.Mon.Projects().ByID(t.Context(), s.Project.ID)
	pagetest.NoError(t, err)
	_, _, err = s.Mon.PingSlug(t.Context(), project.PingKey, "backup", false, pings.Signal{})
	pagetest.NoError(t, err)
}
