package dashboard_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/store"
	"github.com/rollcall-dev/rollcall/server/dashboard"
)

// awayStore is a database that a test takes away.
type awayStore struct {
	store.Store
	away atomic.Bool
}

func (s *awayStore) err() error {
	if s.away.Load() {
		return fmt.Errorf("%w: connection refused", monitor.ErrUnavailable)
	}
	return nil
}

func (s *awayStore) Keys(ctx context.Context, f store.KeyFilter) ([]checks.Key, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Store.Keys(ctx, f)
}

func (s *awayStore) EndSession(ctx context.Context, id uuid.UUID, now, until time.Time) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Store.EndSession(ctx, id, now, until)
}

func (s *awayStore) Setting(ctx context.Context, name, initial string) (string, error) {
	if err := s.err(); err != nil {
		return "", err
	}
	return s.Store.Setting(ctx, name, initial)
}

// lockedText is a log that many goroutines write.
type lockedText struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

// A link that signs in works again after an outage, so the log must not have it. While the database is away every
// request fails, and anybody can send them: the log has one line a second.
func TestLogDuringOutage(t *testing.T) {
	var log lockedText
	var db *awayStore
	s := newSiteStored(t, func(inner store.Store) store.Store {
		db = &awayStore{Store: inner}
		return db
	}, func(c *dashboard.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	link, err := s.pages.SignInLink(t.Context(), s.keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	db.away.Store(true)
	b := s.browser()
	for range 200 {
		b.get(link).is(http.StatusServiceUnavailable)
	}
	s.advance(time.Second)
	b.post("/signin", url.Values{"key": {s.keys.ReadOnly}}).is(http.StatusServiceUnavailable)
	if strings.Contains(log.String(), link[strings.LastIndexByte(link, '/')+1:]) {
		t.Errorf("the log has the link:\n%.500s", log.String())
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "unlogged=199") || !strings.Contains(log.String(), "/signin/") {
		t.Errorf("the log has %d lines, want 2 with the route and the number of requests that are left out:\n%.2000s", n, log.String())
	}
	db.away.Store(false)
	b.get(link).is(http.StatusSeeOther)
}
