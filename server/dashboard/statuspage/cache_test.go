package statuspage_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/statuspage"
)

// TestReadersCostNothing counts the queries of 10,000 readers, of pages that exist and of others.
func TestReadersCostNothing(t *testing.T) {
	dbtest.EachAtRelease(t, func(t *testing.T, db dbtest.DB) {
		s := newCounted(t, db)
		w := newWorld(t, s)
		for i := range 5 {
			c := w.check(fmt.Sprint("Service ", i), "web")
			w.ping(c, pings.Success)
			w.ping(c, pings.Failure)
			w.ping(c, pings.Success)
		}
		w.page("acme", "web")
		w.page("all")
		w.get("/acme")
		w.get("/all")
		before := s.queries.Load()
		var wg sync.WaitGroup
		for reader := range 10 {
			wg.Go(func() {
				for i := range 250 {
					for path, want := range map[string]int{
						"/acme": http.StatusOK, "/all/feed.atom": http.StatusOK, fmt.Sprintf("/unknown-%d-%d", reader, i): http.StatusNotFound, "/..%2f": http.StatusNotFound,
					} {
						if code := w.request(http.MethodGet, path, "Accept-Encoding", "gzip").Code; code != want {
							t.Errorf("%s: status %d, want %d", path, code, want)
						}
					}
				}
			})
		}
		wg.Wait()
		// The changes above may still be on their way, and make each of the two pages once more.
		if n := s.queries.Load() - before; n > 10 {
			t.Errorf("10,000 readers cost %d queries", n)
		}
	})
}

// counting is a store that counts what pages read, and can fail.
type counting struct {
	dbtest.Hooked
	checks, transitions, pages atomic.Int64
	failure                    atomic.Pointer[error]
}

func newCounting(t *testing.T) *counting {
	s := &counting{Hooked: dbtest.Hooked{Store: dbtest.Memory(t)}}
	reads := map[string]*atomic.Int64{"Checks": &s.checks, "Events": &s.transitions, "StatusPages": &s.pages}
	s.Around = func(op string, do func() error) error {
		if n := reads[op]; n != nil {
			n.Add(1)
			if err := s.failure.Load(); err != nil {
				return *err
			}
		}
		return do()
	}
	return s
}

func (s *counting) fail(err error) {
	if err == nil {
		s.failure.Store(nil)
		return
	}
	s.failure.Store(&err)
}

// reads returns how often checks, histories and the set of pages were read since the last call.
func (s *counting) reads() [3]int64 {
	return [3]int64{s.checks.Swap(0), s.transitions.Swap(0), s.pages.Swap(0)}
}

func (s *counting) wants(t *testing.T, what string, checks, transitions, pages int64) {
	t.Helper()
	if got, want := s.reads(), [3]int64{checks, transitions, pages}; got != want {
		t.Errorf("%s: read checks, histories and pages %v times, want %v", what, got, want)
	}
}

// TestPagesFollowChanges counts what each kind of change makes a reader read. The feed of changes has a pause, so the
// test runs in a bubble.
func TestPagesFollowChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounting(t)
		w := newWorld(t, s)
		settle := func(texts ...string) {
			t.Helper()
			time.Sleep(time.Second) // for the feed; the clock of the monitor stands
			w.shows("/acme", texts...)
		}
		w.page("acme", "web")
		a, b, other := w.check("A", "web"), w.check("B", "web"), w.check("Other")
		signal := func(c checks.Check, kind pings.Kind) {
			t.Helper()
			_, err := w.Ping(t.Context(), c.ID, pings.Signal{Kind: kind})
			w.must(err)
		}
		signal(a, pings.Success)
		signal(b, pings.Success)
		settle("Both services are up.")
		s.reads()
		settle()
		s.wants(t, "no change", 0, 0, 0)

		signal(a, pings.Failure)
		settle("1 of 2 services is down.")
		s.wants(t, "a failure", 1, 1, 0)
		signal(a, pings.Success)
		settle("Both services are up.")
		s.wants(t, "a recovery", 1, 1, 0)
		for range 10 {
			signal(a, pings.Success)
			settle("Both services are up.")
		}
		s.wants(t, "pings of a check that is up", 0, 0, 0)
		signal(other, pings.Failure)
		settle("Both services are up.")
		s.wants(t, "another check", 0, 0, 0)

		w.clock.Advance(time.Hour)
		settle("Both services are late.")
		s.wants(t, "an instant at which pings are due", 1, 0, 0)
		signal(b, pings.Success)
		settle("1 of 2 services is late.")
		s.wants(t, "a ping of a late check", 1, 0, 0)
		signal(a, pings.Success)
		settle("Both services are up.")
		s.wants(t, "a ping of the other one", 1, 0, 0)
		w.clock.Advance(30 * time.Minute)
		settle("Both services are up.")
		s.wants(t, "half an hour", 0, 0, 0)
		signal(a, pings.Success)
		signal(b, pings.Success)
		settle("Both services are up.")
		w.clock.Advance(40 * time.Minute)
		settle("Both services are up.")
		s.wants(t, "an instant at which pings were due that came early", 1, 0, 0)

		_, err := w.Project(other.ProjectID).Update(t.Context(), other.ID, checks.Spec{Tags: []string{"web"}})
		w.must(err)
		settle("1 of 3 services is down.")
		s.wants(t, "a tag", 1, 1, 0)
		list, err := w.Project(w.project).StatusPages(t.Context())
		w.must(err)
		p := list[0]
		s.reads()
		p.Slug, p.Title = "moved", "Moved"
		_, err = w.Project(w.project).UpdateStatusPage(t.Context(), p)
		w.must(err)
		s.reads()
		time.Sleep(time.Second)
		w.shows("/moved", "Moved")
		if code := w.request(http.MethodGet, "/acme").Code; code != http.StatusNotFound {
			t.Errorf("the old slug: status %d, want 404", code)
		}
		s.wants(t, "a new slug", 0, 0, 1)
		w.must(w.Projects().Delete(t.Context(), w.project))
		time.Sleep(time.Second)
		if code := w.request(http.MethodGet, "/moved").Code; code != http.StatusNotFound {
			t.Errorf("a deleted project: status %d, want 404", code)
		}
	})
}

// TestSecondPage reads a page for the first time after a change that the first page does not show.
func TestSecondPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, dbtest.Memory(t))
		w.page("a", "a")
		w.page("b", "b")
		w.check("A", "a")
		b := w.check("B", "b")
		w.get("/a")
		_, err := w.Ping(t.Context(), b.ID, pings.Signal{Kind: pings.Failure})
		w.must(err)
		time.Sleep(time.Second)
		w.shows("/a", "The service is not monitored right now.")
		w.shows("/b", "The service is down.")
	})
}

// TestCacheRests sees to it that the cache forgets everything after ten minutes without a reader.
func TestCacheRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCounting(t)
		w := newWorld(t, s)
		w.page("acme")
		w.check("Shop")
		w.get("/acme")
		s.reads()
		for range 3 {
			time.Sleep(9 * time.Minute)
			w.get("/acme")
		}
		s.wants(t, "a reader every 9 minutes", 0, 0, 0)
		time.Sleep(21 * time.Minute)
		w.get("/acme")
		s.wants(t, "a reader after 21 minutes", 1, 1, 1)
	})
}

// TestHerd sends many readers to pages that nobody has made yet.
func TestHerd(t *testing.T) {
	s := newCounting(t)
	w := newWorld(t, s)
	w.check("Shop")
	w.page("acme")
	s.reads()
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			path, want := "/acme", http.StatusOK
			if i%2 == 0 {
				path, want = fmt.Sprint("/unknown-", i), http.StatusNotFound
			}
			if code := w.request(http.MethodGet, path).Code; code != want {
				t.Errorf("%s: status %d, want %d", path, code, want)
			}
		})
	}
	wg.Wait()
	if got := s.reads(); got[0] > 2 || got[1] > 2 || got[2] > 2 { // a flight may end between a look and the next flight
		t.Errorf("200 readers at once read checks, histories and pages %v times", got)
	}
}

// TestDatabaseAway serves the last page for a minute, and asks the database once a second.
func TestDatabaseAway(t *testing.T) {
	s := newCounting(t)
	w := newWorld(t, s)
	c := w.check("Shop")
	w.ping(c, pings.Success)
	w.page("acme")
	w.get("/acme")
	var log bytes.Buffer
	var err error
	w.pages, err = statuspage.New(w.Monitor, &statuspage.Config{BaseURL: baseURL, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	w.must(err)
	t.Cleanup(w.pages.Close)
	w.get("/acme")
	s.fail(fmt.Errorf("%w: test", checks.ErrUnavailable))
	w.pages.Refresh()
	s.reads()
	for range 59 {
		for range 10 {
			w.shows("/acme", "The service is up.")
		}
		w.clock.Advance(time.Second)
	}
	if got := s.reads(); got[2] > 60 || got[0] > 60 {
		t.Errorf("in 59 s, checks, histories and pages were read %v times", got)
	}
	if lines := strings.Count(log.String(), "rollcall.component=statuspage"); lines == 0 || lines > 120 {
		t.Errorf("%d lines in the log, want two for each second: %.1000s", lines, log.String())
	}
	w.clock.Advance(2 * time.Second)
	for _, path := range []string{"/acme", "/acme/feed.atom", "/unknown"} {
		answer := w.request(http.MethodGet, path)
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s after a minute: status %d, headers %v", path, answer.Code, answer.Header())
		}
	}
	s.fail(nil)
	w.clock.Advance(time.Second)
	w.shows("/acme", "The service is up.")
}

// TestReaderGivesUp cancels the request of the first reader; the others get the page.
func TestReaderGivesUp(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t))
	w.page("acme")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/acme", nil))
	w.get("/acme")
}

// BenchmarkReaders measures readers of a page with 30 services.
func BenchmarkReaders(b *testing.B) {
	w := newWorld(b, dbtest.Memory(b))
	for i := range 30 {
		c := w.check(fmt.Sprint("Service ", i))
		for range 3 {
			w.ping(c, pings.Failure)
			w.ping(c, pings.Success)
		}
	}
	w.page("acme")
	b.SetBytes(int64(w.request(http.MethodGet, "/acme", "Accept-Encoding", "gzip").Body.Len()))
	r := httptest.NewRequest(http.MethodGet, baseURL+"/acme", strings.NewReader(""))
	r.Header.Set("Accept-Encoding", "gzip")
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			answer := httptest.NewRecorder()
			w.pages.ServeHTTP(answer, r)
			if answer.Code != http.StatusOK {
				b.Fatal(answer.Code)
			}
		}
	})
}
