package dashboard_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// stream is an open stream of events.
type stream struct {
	t      *testing.T
	events chan [2]string // name and data; closed with the stream
	cancel context.CancelFunc
}

func (b *browser) stream() *stream {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.web.URL+b.path("events"), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("the stream answers %d", answer.StatusCode)
	}
	s := &stream{t: b.t, events: make(chan [2]string, 100), cancel: cancel}
	go func() {
		defer close(s.events)
		defer answer.Body.Close()
		var name string
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = text
			} else if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				s.events <- [2]string{name, text}
			}
		}
	}()
	b.t.Cleanup(cancel)
	return s
}

// next returns the next event, and false at the end of the stream.
func (s *stream) next() (name, data string, ok bool) {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		return e[0], e[1], ok
	case <-time.After(2 * time.Minute):
		s.t.Fatal("no event")
		return "", "", false
	}
}

type change struct {
	Version string
	Kinds   []string
	Checks  []string
}

// until returns the first change of a kind.
func (s *stream) until(kind string) change {
	s.t.Helper()
	for {
		name, data, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before a change of %s", kind)
		}
		var c change
		if name == "change" {
			if err := json.Unmarshal([]byte(data), &c); err != nil {
				s.t.Fatal(err)
			}
		}
		if slices.Contains(c.Kinds, kind) {
			return c
		}
	}
}

func TestStream(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("backup"), Timeout: new(time.Hour), Grace: new(time.Hour)})
	b := s.signedIn(s.keys.ReadOnly)
	page := b.get(s.path("")).is(http.StatusOK)
	stream := b.stream()
	_, hello, _ := stream.next()
	page.has(`data-version="` + hello + `"`)
	refresh := func(version string) *answer {
		b.header.Set("Rollcall-Version", version)
		defer b.header.Del("Rollcall-Version")
		return b.get(s.path(""))
	}
	refresh(hello).is(http.StatusNoContent)

	if _, err := s.mon.Ping(t.Context(), c.ID, pings.Signal{}); err != nil {
		t.Fatal(err)
	}
	first := stream.until("status")
	if !slices.Equal(first.Checks, []string{c.UniqueKey()}) {
		t.Errorf("the change names %v", first.Checks)
	}
	refresh(hello).is(http.StatusOK).has(`data-state="up"`)
	refresh(first.Version).is(http.StatusNoContent)

	// Only the clock makes a check late.
	s.advance(time.Hour)
	late := stream.until("status")
	if !slices.Equal(late.Checks, []string{c.UniqueKey()}) {
		t.Errorf("the change names %v", late.Checks)
	}
	refresh(first.Version).is(http.StatusOK).has(`data-state="late"`)
	s.advance(time.Hour)
	stream.until("status")
	refresh(late.Version).is(http.StatusOK).has(`data-state="down"`, "<title>1 down")
}

func TestStreamEndsWithTheKey(t *testing.T) {
	s := newSite(t)
	text, key, err := s.mon.Project(s.project.ID).CreateKey(t.Context(), checks.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	stream := s.signedIn(text).stream()
	other := s.signedIn(s.keys.ReadOnly).stream()
	stream.next()
	other.next()
	if err := s.mon.Project(s.project.ID).DeleteKey(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	for name, data, ok := stream.next(); ok; name, data, ok = stream.next() {
		if name != "counts" && name != "gone" { // counts are from before
			t.Errorf("event %s %s after the key was revoked", name, data)
		}
	}
	other.until("project")
}

func TestClose(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadOnly)
	stream := b.stream()
	stream.next()
	s.pages.Close()
	for name, _, ok := stream.next(); ok; name, _, ok = stream.next() {
		if name != "counts" { // from before
			t.Errorf("event %s after Close", name)
		}
	}
	again := b.stream()
	again.next()
	if _, _, ok := again.next(); ok {
		t.Error("a stream stays open after Close")
	}
	b.get(s.path("")).is(http.StatusOK)
}
