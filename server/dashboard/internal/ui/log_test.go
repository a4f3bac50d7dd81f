package ui_test

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

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
	var db pagetest.Away
	s := pagetest.New(t, func(c *pagetest.Config) { c.Around, c.Logger = db.Around, slog.New(slog.NewTextHandler(&log, nil)) })
	link, err := s.Pages.SignInLink(t.Context(), s.Keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	db.Store(true)
	b := s.Browser()
	for range 200 {
		b.Get(link).Is(http.StatusServiceUnavailable)
	}
	s.Advance(time.Second)
	b.Post("/signin", url.Values{"key": {s.Keys.ReadOnly}}).Is(http.StatusServiceUnavailable)
	if strings.Contains(log.String(), link[strings.LastIndexByte(link, '/')+1:]) {
		t.Errorf("the log has the link:\n%.500s", log.String())
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "unlogged=199") || !strings.Contains(log.String(), "/signin/") {
		t.Errorf("the log has %d lines, want 2 with the route and the number of requests that are left out:\n%.2000s", n, log.String())
	}
	db.Store(false)
	b.Get(link).Is(http.StatusSeeOther)
}
