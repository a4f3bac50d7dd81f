package server_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// shelf keeps bodies in memory. If err is set, reads fail.
type shelf struct {
	sync.Map
	err error
}

func (s *shelf) Put(_ context.Context, key string, body []byte) error {
	s.Store(key, body)
	return nil
}

func (s *shelf) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	body, ok := s.Load(key)
	if !ok {
		return nil, checks.ErrNotFound
	}
	return body.([]byte), nil
}

func (s *shelf) Remove(_ context.Context, keys []string) error {
	for _, key := range keys {
		s.Delete(key)
	}
	return nil
}

// TestBodiesInObjectStorage tests server/API.md section 4.9 with bodies in object storage.
func TestBodiesInObjectStorage(t *testing.T) {
	each(t, nil, func(s *site) {
		bodies := &shelf{}
		s = s.another(s.store, monitor.Config{Bodies: bodies, BodyThreshold: 4, Logger: s.logger()}, server.Config{})
		id := s.create(nil)["uuid"].(string)
		large := "large\x00\xff\r\n<b>"
		for _, body := range []string{large, "tiny", ""} {
			s.send("POST", "/ping/"+id, body).is(200)
		}
		read := func(n int) reply { return s.api("GET", fmt.Sprintf("/api/v3/checks/%s/pings/%d/body", id, n), nil) }
		present := func(n int, body string) {
			s.Helper()
			r := read(n)
			r.is(200)
			s.equal("body", r.body, body)
			s.equal("Content-Type", r.header.Get("Content-Type"), "text/plain")
		}
		present(1, large)
		s.must(s.mon.Tick(s.Context()))
		n := 0
		bodies.Range(func(any, any) bool { n++; return true })
		s.equal("uploaded bodies", n, 1)
		present(1, large)
		present(2, "tiny")
		read(3).refused(404, "not found")
		read(4).refused(404, "not found")

		bodies.err = fmt.Errorf("secret: %w: %w", checks.ErrBodyUnavailable, context.DeadlineExceeded)
		out := read(1)
		out.refused(503, "the object storage is unavailable")
		s.equal("Retry-After", out.header.Get("Retry-After"), "5")
		present(2, "tiny")
		bodies.err = nil
		present(1, large)
		// What the storage swaps, alters or cuts is nobody's evidence.
		s.send("POST", "/ping/"+id, "LARGE"+large[5:]).is(200)
		s.must(s.mon.Tick(s.Context()))
		stored := map[string][]byte{}
		bodies.Range(func(key, body any) bool { stored[key.(string)] = body.([]byte); return true })
		s.equal("uploaded bodies", len(stored), 2)
		for name, change := range map[string]func(body []byte) []byte{
			"swapped": func(body []byte) []byte {
				for _, other := range stored {
					if !bytes.Equal(other, body) {
						return other
					}
				}
				return nil
			},
			"altered": func(body []byte) []byte { return append([]byte("?"), body[1:]...) },
			"cut":     func(body []byte) []byte { return body[1:] },
			"empty":   func([]byte) []byte { return nil },
		} {
			for key, body := range stored {
				bodies.Store(key, change(body))
			}
			before := strings.Count(s.log.String(), "component=bodies")
			for _, n := range []int{1, 4} {
				read(n).refused(502, "the object storage returned another body than the ping had")
			}
			if lines := strings.Count(s.log.String(), "component=bodies") - before; lines != 2 {
				s.Errorf("%s: %d lines in the log, want 2: %s", name, lines, s.log)
			}
			present(2, "tiny")
		}
		bodies.Clear()
		read(1).refused(404, "not found")
	})
}
