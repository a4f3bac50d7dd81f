package browsertest_test

import (
	"testing"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/browsertest"
)

func TestSignInByKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := browsertest.Open(t, s.url)
	page.Tolerate("status of 403") // a wrong key
	page.Go(s.path("?state=down"))
	page.Type("input[name=key]", "rcw_00000000000000000000000000000")
	page.Submit("main button")
	page.WaitText("main", "This key is not valid.")
	page.Type("input[name=key]", s.keys.ReadWrite)
	page.Submit("main button")
	if got, want := page.Path(), s.path("?state=down"); got != want {
		t.Errorf("signing in led to %s, want %s", got, want)
	}
	page.WaitText("h1", "Checks")
	page.WaitText("main", "Create your first check")
	if text := browsertest.Eval[string](page, "document.cookie"); len(text) > 0 && text != "rollcall_zone=UTC" {
		t.Errorf("scripts see the cookie %q", text)
	}
	page.Submit(".me button")
	page.Go(s.path(""))
	page.WaitText("h1", "Sign in")

	reader := browsertest.Open(t, s.url)
	reader.Go("/")
	reader.Type("input[name=key]", s.keys.ReadOnly)
	reader.Submit("main button")
	reader.WaitText("header", "read-only")
	if reader.Count("a[href$='/checks/new']") > 0 {
		t.Error("a read-only key may make checks")
	}
}

func TestSignInByLink(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	link, err := s.pages.SignInLink(t.Context(), s.keys.ReadWrite)
	s.must(err)
	page := browsertest.Open(t, s.url)
	page.Go(link)
	page.WaitText("h1", "Overview")
	second := browsertest.Open(t, s.url)
	second.Tolerate("status of 403")
	second.Go(link)
	second.WaitText("main", "This link has expired or was already used")
	page.Go(s.path(""))
	page.WaitText("h1", "Checks")
}
