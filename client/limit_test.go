package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// limited is a client of a real server that allows 100 requests a minute. It counts the statuses of the responses.
type limited struct {
	*client.Client
	mu       sync.Mutex
	statuses map[int]int
}

// newLimited starts a server in memory, for a synctest bubble.
func newLimited(t *testing.T, config client.Config) *limited {
	t.Helper()
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, keys, err := mon.CreateProject(t.Context(), monitor.ProjectSpec{Name: "fleet"})
	if err != nil {
		t.Fatal(err)
	}
	signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(mon, &server.Config{
		BaseURL: "https://rollcall.example.org", RateLimit: 100, Signer: signer, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l := &limited{statuses: make(map[int]int)}
	config.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		srv.Handler().ServeHTTP(w, r)
		l.mu.Lock()
		l.statuses[w.Code]++
		l.mu.Unlock()
		res := w.Result()
		res.Request = r
		return res, nil
	})}
	if l.Client, err = client.New("https://rollcall.example.org", keys.ReadWrite, &config); err != nil {
		t.Fatal(err)
	}
	return l
}

// Four workers upsert 200 checks within a limit of 100 requests a minute, although each call has less time than that
// takes, and one try.
func TestWorkersWithinARateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newLimited(t, client.Config{Timeout: time.Second, Tries: 1})
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
		if c.statuses[201] != 200 || c.statuses[429] > 300 {
			t.Errorf("responses %v", c.statuses)
		}
		list, err := c.List(t.Context(), client.Query{})
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
			_, err := c.List(ctx, client.Query{})
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

// A ping is bounded by its timeout alone, whatever the server asks for.
func TestPingDoesNotWaitForALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(seconds string) *http.Response {
			return respond(nil, 429, "text/plain", "too many", "Retry-After", seconds)
		}
		s := &script{answers: []any{after("60"), nil, after("4"), after("4"), after("4")}}
		p := s.pinger(t, client.Config{Tries: 1})
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrRateLimited) || time.Since(s.began) != 0 {
			t.Errorf("after %v: %v", time.Since(s.began), err)
		}
		if err := p.Fail(t.Context(), nil); err != nil { // another ping tries its own luck
			t.Error(err)
		}
		began := time.Now()
		if err := p.Fail(t.Context(), nil); !errors.Is(err, client.ErrRateLimited) || time.Since(began) != 8*time.Second || len(s.at) != 5 {
			t.Errorf("after %v and %d requests: %v", time.Since(began), len(s.at), err)
		}
	})
}
