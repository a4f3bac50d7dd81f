package dashboard_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// away is a database that a test takes away.
type away struct{ atomic.Bool }

func (a *away) around(op string, do func() error) error {
	if a.Load() && (op == "Keys" || op == "EndSession" || op == "Setting") {
		return fmt.Errorf("%w: connection refused", checks.ErrUnavailable)
	}
	return do()
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
	var db away
	s := newSiteStored(t, db.around, func(c *config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	link, err := s.pages.SignInLink(t.Context(), s.keys.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	db.Store(true)
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
	db.Store(false)
	b.get(link).is(http.StatusSeeOther)
}
