package pagetest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Stream is an open stream of events.
type Stream struct {
	t      *testing.T
	events chan [2]string // name and data; closed with the stream
	cancel context.CancelFunc
}

// Stream opens the stream of the project.
func (b *Browser) Stream() *Stream {
	b.T.Helper()
	s, ok := b.TryStream()
	if !ok {
		b.T.Fatal("the stream is refused")
	}
	return s
}

// TryStream opens the stream of the project, unless the server refuses it.
func (b *Browser) TryStream() (_ *Stream, ok bool) {
	b.T.Helper()
	ctx, cancel := context.WithCancel(b.T.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.Web.URL+b.Path("events"), nil)
	NoError(b.T, err)
	answer, err := b.Client.Do(r)
	NoError(b.T, err)
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		cancel()
		return nil, false
	}
	s := &Stream{t: b.T, events: make(chan [2]string, 100), cancel: cancel}
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
	b.T.Cleanup(cancel)
	return s, true
}

// Close ends the stream.
func (s *Stream) Close() { s.cancel() }

// Next returns the next event, and false at the end of the stream.
func (s *Stream) Next() (name, data string, ok bool) {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		return e[0], e[1], ok
	case <-time.After(2 * time.Minute):
		s.t.Fatal("no event")
		return "", "", false
	}
}

// Change is the data of the event change.
type Change struct {
	Version string
	Kinds   []string
	Checks  []string
}

// Until returns the first change of a kind.
func (s *Stream) Until(kind string) Change {
	s.t.Helper()
	for {
		name, data, ok := s.Next()
		if !ok {
			s.t.Fatalf("the stream ended before a change of %s", kind)
		}
		var c Change
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
