package live_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

func TestStream(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	b := s.SignedIn(s.Keys.ReadOnly)
	page := b.Get(s.Path("")).Is(http.StatusOK)
	stream := b.Stream()
	_, hello, _ := stream.Next()
	page.Has(`data-version="` + hello + `"`)
	refresh := func(version string) *pagetest.Answer {
		b.Header.Set("Rollcall-Version", version)
		defer b.Header.Del("Rollcall-Version")
		return b.Get(s.Path(""))
	}
	refresh(hello).Is(http.StatusNoContent)

	s.Ping(c, pings.Signal{})
	first := stream.Until("status")
	if !slices.Equal(first.Checks, []string{c.UniqueKey()}) {
		t.Errorf("the change names %v", first.Checks)
	}
	refresh(hello).Is(http.StatusOK).Has(`data-state="up"`)
	refresh(first.Version).Is(http.StatusNoContent)

	// Only the clock makes a check late.
	s.Advance(time.Hour)
	late := stream.Until("status")
	if !slices.Equal(late.Checks, []string{c.UniqueKey()}) {
		t.Errorf("the change names %v", late.Checks)
	}
	refresh(first.Version).Is(http.StatusOK).Has(`data-state="late"`)
	s.Advance(time.Hour)
	stream.Until("status")
	refresh(late.Version).Is(http.StatusOK).Has(`data-state="down"`, "<title>1 down")
}

func TestStreamEndsWithTheKey(t *testing.T) {
	s := pagetest.New(t)
	text, key, err := s.Mon.Project(s.Project.ID).CreateKey(t.Context(), checks.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	stream := s.SignedIn(text).Stream()
	other := s.SignedIn(s.Keys.ReadOnly).Stream()
	stream.Next()
	other.Next()
	if err := s.Mon.Project(s.Project.ID).DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	for name, data, ok := stream.Next(); ok; name, data, ok = stream.Next() {
		if name != "counts" && name != "gone" { // counts are from before
			t.Errorf("event %s %s after the key was revoked", name, data)
		}
	}
	other.Until("project")
}

func TestClose(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadOnly)
	stream := b.Stream()
	stream.Next()
	s.Pages.Close()
	for name, _, ok := stream.Next(); ok; name, _, ok = stream.Next() {
		if name != "counts" { // from before
			t.Errorf("event %s after Close", name)
		}
	}
	again := b.Stream()
	again.Next()
	if _, _, ok := again.Next(); ok {
		t.Error("a stream stays open after Close")
	}
	b.Get(s.Path("")).Is(http.StatusOK)
}
