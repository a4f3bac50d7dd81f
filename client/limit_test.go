package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// memory is a real server without a network, for a synctest bubble. It counts the statuses of its responses.
type memory struct {
	mon      *monitor.Monitor
	key      string
	handler  http.Handler
	mu       sync.Mutex
	statuses map[int]int
}

func serveInMemory(t *testing.T, config server.Config) *memory {
	t.Helper()
	m := &memory{statuses: make(map[int]int)}
	var err error
	if m.mon, err = monitor.New(dbtest.SQLite(t).Open(t), nil); err != nil {
		t.Fatal(err)
	}
	_, keys, err := m.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	m.key = keys.ReadWrite
	if config.Signer, err = badges.NewSigner([]byte("0123456789abcdef0123456789abcdef")); err != nil {
		t.Fatal(err)
	}
	config.BaseURL, config.Logger = "https://rollcall.example.org", slog.New(slog.DiscardHandler)
	srv, err := server.New(m.mon, &config)
	if err != nil {
		t.Fatal(err)
	}
	m.handler = srv
	return m
}

func (m *memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	m.mu.Lock()
	m.statuses[w.Code]++
	m.mu.Unlock()
	res := w.Result()
	res.Request = r
	return res, nil
}

func (m *memory) client(t *testing.T, config client.Config) *client.Client {
	t.Helper()
	config.HTTPClient = &http.Client{Transport: m}
	c, err := client.New("https://rollcall.example.org", m.key, &config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Four workers upsert 200 checks within a limit of 100 requests a minute, although each call has less time than that
// takes, and one try.
func TestWorkersWithinARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := serveInMemory(t, server.Config{RateLimit: 100})
		c := m.client(t, client.Config{Timeout: time.Second, Tries: 1})
		began := time.Now()
		jobs := make(chan int)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range jobs {
					spec := checks.Spec{Slug: new(fmt.Sprintf("job-%03d", i)), Timeout: new(time.Hour)}
					if _, created, err := c.Upsert(t.Context(), spec, checks.UniqueSlug); err != nil || !created {
						t.Errorf("check %d: created %t, %v", i, created, err)
					}
				}
			})
		}
		for i := range 200 {
			jobs <- i
		}
		close(jobs)
		wg.Wait()
		if took := time.Since(began); took < 55*time.Second || took > 90*time.Second {
			t.Errorf("200 checks took %v", took)
		}
		if m.statuses[201] != 200 || m.statuses[429] > 300 {
			t.Errorf("responses %v", m.statuses)
		}
		list, err := c.Checks(t.Context(), checks.Query{})
		if err != nil || len(list) != 200 {
			t.Errorf("%d checks, %v", len(list), err)
		}
	})
}

// A pause keeps all calls of a client from sending, and ends them only by their context.
func TestPauseOfAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{respond(nil, 429, "application/json", `{"error": "too many requests"}`, "Retry-After", "300")}, success: `{"checks": []}`}
		c := s.client(t, client.Config{Timeout: 10 * time.Second})
		list := func(ctx context.Context) error {
			_, err := c.Checks(ctx, checks.Query{})
			return err
		}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if err := list(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(20 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := list(ctx) // the pause ends later, so there is nothing to wait for
		if e, ok := errors.AsType[*client.Error](err); !errors.Is(err, client.ErrRateLimited) || !ok || e.StatusCode != 429 || time.Since(s.began) != 20*time.Second {
			t.Errorf("after %v: %v", time.Since(s.began), err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := list(ctx); !errors.Is(err, client.ErrRateLimited) || !errors.Is(err, context.Canceled) || time.Since(s.began) != 21*time.Second {
			t.Errorf("after %v: %v", time.Since(s.began), err)
		}
		wg.Wait()
		if time.Since(s.began) != 300*time.Second || len(s.at) != 11 || s.at[1] != 300*time.Second {
			t.Errorf("sent at %v", s.at)
		}
	})
}

// OnRetry hears of each wait of a call, with its reason.
func TestOnRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{
			respond(nil, 429, "application/json", `{"error": "too many requests"}`, "Retry-After", "300"), respond(nil, 503, "text/plain", "busy", "Retry-After", "2"),
		}, success: `{"checks": []}`}
		var heard []string
		c := s.client(t, client.Config{OnRetry: func(err error, wait time.Duration) { heard = append(heard, fmt.Sprint(err, ", ", wait)) }})
		if _, err := c.Checks(t.Context(), checks.Query{}); err != nil {
			t.Fatal(err)
		}
		equal(t, "waits", heard, []string{"too many requests (status 429), 5m0s", "busy (status 503), 2s"})
	})
}

// OnWarning hears what the answers warn of, and nothing else.
func TestOnWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		answer := respond(nil, 200, "application/json", `{"checks": []}`, "Warning", `299 - "no check has the tag \"d\u00df\""`)
		answer.Header["Warning"] = append(answer.Header["Warning"], `299 - "second"`, "110 - stale")
		s := &script{answers: []any{respond(nil, 503, "text/plain", "busy", "Warning", `299 - "an error"`), answer}}
		c := s.client(t, client.Config{OnWarning: func(text string) { heard = append(heard, text) }})
		if _, err := c.Checks(t.Context(), checks.Query{}); err != nil {
			t.Fatal(err)
		}
		equal(t, "warnings", heard, []string{`no check has the tag "dß"`, "second"})
	})
}

// A server that answers every request with 429 ends a call by the time of the pauses, or by their number.
func TestEndlessLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			config    client.Config
			after     string
			most      time.Duration
			least, to int // requests
		}{
			"by time":   {client.Config{MaxWait: 2 * time.Minute}, "1", 2 * time.Minute, 5, 100},
			"by number": {client.Config{MaxWait: 24 * time.Hour}, "0", 30 * time.Minute, 100, 100},
		} {
			sent := 0
			test.config.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				return respond(r, 429, "application/json", `{"error": "too many requests: the limit is 100 a minute"}`, "Retry-After", test.after), nil
			})}
			c, err := client.New("https://rollcall.example.org", strings.Repeat("k", 32), &test.config)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_, err = c.Checks(t.Context(), checks.Query{})
			if took := time.Since(began); took > test.most || sent < test.least || sent > test.to {
				t.Errorf("%s: %d requests in %v", name, sent, took)
			}
			if !errors.Is(err, client.ErrRateLimited) || !strings.Contains(err.Error(), "the limit is 100 a minute (status 429) (after ") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A ping does not wait for the limit, and the background no longer than MaxWait.
func TestPingDoesNotWaitForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(seconds string) *http.Response {
			return respond(nil, 429, "text/plain", "too many", "Retry-After", seconds)
		}
		s := &script{answers: []any{after("60"), nil, after("901")}}
		var given error
		config := client.PingerConfig{}
		config.Job.OnPingError = func(_ context.Context, err error) { given = err }
		p := s.pinger(t, config)
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrRateLimited) || !errors.Is(err, client.ErrPending) || time.Since(s.began) != 0 {
			t.Errorf("after %v: %v", time.Since(s.began), err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.at) != 2 || s.at[1] != time.Minute || given != nil {
			t.Errorf("sent at %v: %v", s.at, given)
		}
		if err := p.Failure(t.Context(), nil); !errors.Is(err, client.ErrRateLimited) || errors.Is(err, client.ErrPending) {
			t.Error(err)
		}
		if err := p.Close(t.Context()); err != nil || time.Since(s.began) != time.Minute || len(s.at) != 3 {
			t.Errorf("after %v and %d requests: %v", time.Since(s.began), len(s.at), err)
		}
	})
}
