package ui_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
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

// TestLatePages has a database that takes longer than a request may. The viewer gets a page that says so, or the page that was
// ready nevertheless, and the log has one line with the route and the time. A stream is not late.
func TestLatePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after string // operations that the database begins late, or answers late
		var log lockedText
		mon, err := monitor.New(&dbtest.Hooked{Store: dbtest.Memory(t), Around: func(op string, do func() error) error {
			if op == before {
				time.Sleep(limit.AnswerTime + time.Second)
			}
			err := do()
			if op == after {
				time.Sleep(limit.AnswerTime + time.Second)
			}
			return err
		}}, nil)
		pagetest.NoError(t, err)
		project, err := mon.OpenProject(t.Context(), "jobs")
		pagetest.NoError(t, err)
		srv, err := server.New(mon, &server.Config{
			Dashboard: &dashboard.Config{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Authorize: func(*http.Request) (server.Access, error) {
				return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID(), Right: checks.Edit}}}, nil
			},
		})
		pagetest.NoError(t, err)
		defer srv.Close()
		path := "/projects/" + project.ID().String()
		for _, test := range []struct {
			page, before, after string
			status              int
			shown               string
			logged              []string
		}{
			{"/integrations", "Channels", "", 503, "Took too long", []string{"cannot answer a request", "/integrations", "context deadline exceeded"}},
			{"/import", "", "Projects", 200, "Import", []string{"a request took too long", "/import"}},
			{"/integrations", "", "", 200, "Integrations", nil},
		} {
			time.Sleep(time.Second) // for the next line of the log
			before, after = test.before, test.after
			logged := log.String()
			w := httptest.NewRecorder()
			srv.ServeHTTP(w, httptest.NewRequest("GET", path+test.page, nil))
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.shown) {
				t.Errorf("%s: status %d, %.2000s", test.page, w.Code, w.Body)
			}
			logged = strings.TrimPrefix(log.String(), logged)
			if want := min(len(test.logged), 1); strings.Count(logged, "\n") != want {
				t.Errorf("%s: logged %q, want %d lines", test.page, logged, want)
			}
			for _, want := range test.logged {
				if !strings.Contains(logged, want) || !strings.Contains(logged, "duration=51s") {
					t.Errorf("%s: the log lacks %q: %s", test.page, want, logged)
				}
			}
		}
		logged := log.String()
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			srv.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path+"/events", nil))
		}()
		time.Sleep(time.Hour)
		leave()
		<-ended
		if log.String() != logged {
			t.Errorf("a stream was logged: %s", strings.TrimPrefix(log.String(), logged))
		}
	})
}
