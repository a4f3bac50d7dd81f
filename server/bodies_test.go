package server_test

import (
	"context"
	"fmt"
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
		s = s.another(s.store, monitor.Config{Bodies: bodies, BodyThreshold: 4}, server.Config{})
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
		bodies.Clear()
		read(1).refused(404, "not found")
	})
}
