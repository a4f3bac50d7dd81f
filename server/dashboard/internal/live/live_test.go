package live_test

import (
	"net/http"
	"slices"
	"sync/atomic"
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

// TestManyStreams: a key and the server have so many streams at once, and those beyond learn which bound it is. One that ends makes
// room.
func TestManyStreams(t *testing.T) {
	s := pagetest.New(t, func(c *pagetest.Config) { c.Pages.MaxStreams = 25 })
	var wall []*pagetest.Stream
	for range 10 { // screens that share a key
		stream := s.SignedIn(s.Keys.ReadOnly).Stream()
		stream.Next()
		wall = append(wall, stream)
	}
	refused := func(b *pagetest.Browser, status int, text string) {
		t.Helper()
		if a := b.Get(s.Path("events")).Is(status).Has(text); a.Header.Get("Retry-After") != "30" {
			t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
		}
		b.Get(s.Path("")).Is(http.StatusOK)
	}
	refused(s.SignedIn(s.Keys.ReadOnly), http.StatusTooManyRequests, "You have 10 streams of open pages, the maximum for a person or a key")
	for range 10 {
		s.SignedIn(s.Keys.ReadWrite).Stream().Next()
	}
	owner := s.Owner()
	for range 5 {
		owner.Stream().Next()
	}
	refused(owner, http.StatusServiceUnavailable, "This server has 25 streams of open pages, the maximum")
	wall[0].Close()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		answer, err := owner.Client.Head(s.Web.URL + s.Path("events"))
		pagetest.NoError(t, err)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("HEAD: %d", answer.StatusCode)
		}
		if stream, ok := owner.TryStream(); ok {
			stream.Next()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a stream that has ended makes no room")
		}
	}
}

// TestStreamsTakeTurns: when a project changes, its streams ask one after the other whether their viewers may still look, so that a
// ping does not wait behind the queries of all.
func TestStreamsTakeTurns(t *testing.T) {
	var asking, most, asked atomic.Int64
	counts := atomic.Bool{}
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if op != "Records" || !counts.Load() {
				return do()
			}
			asked.Add(1)
			now := asking.Add(1)
			defer asking.Add(-1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			time.Sleep(time.Millisecond) // the database takes a while
			return do()
		}
	})
	c := s.Create(checks.Spec{Name: new("backup")})
	var streams []*pagetest.Stream
	for range 50 {
		streams = append(streams, s.SignedIn(s.Keys.ReadOnly).Stream())
	}
	for _, stream := range streams {
		stream.Next()
	}
	counts.Store(true)
	s.Ping(c, pings.Signal{})
	for _, stream := range streams {
		stream.Until("status")
	}
	if n := asked.Load(); n < 50 {
		t.Errorf("%d streams have asked, want 50", n)
	}
	if n := most.Load(); n > 2 {
		t.Errorf("%d streams ask at once", n)
	}
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
