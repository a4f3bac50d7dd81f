package monitor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// shelf is a body store in memory whose faults a test sets.
type shelf struct {
	mu      sync.Mutex
	objects map[string][]byte
	puts    int
	down    error                  // what every call returns, if not nil
	refuse  func(key string) error // what a call for one object returns
	onPut   func(key string)       // called before an object is stored
	lie     func([]byte) []byte    // what is stored of a body, nothing if it returns nil
}

func (s *shelf) fault(keys ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return s.down
	}
	for _, key := range keys {
		if s.refuse != nil {
			if err := s.refuse(key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shelf) Put(_ context.Context, key string, body []byte) error {
	s.mu.Lock()
	s.puts++
	onPut := s.onPut
	s.mu.Unlock()
	if onPut != nil {
		onPut(key)
	}
	if err := s.fault(key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = make(map[string][]byte)
	}
	if s.lie != nil {
		if body = s.lie(body); body == nil {
			return nil
		}
	}
	s.objects[key] = bytes.Clone(body)
	return nil
}

func (s *shelf) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	if err := s.fault(key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.objects[key]
	if !ok {
		return nil, fmt.Errorf("get: %w", checks.ErrNotFound)
	}
	return body, nil
}

func (s *shelf) Remove(_ context.Context, keys []string) error {
	if err := s.fault(keys...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		delete(s.objects, key)
	}
	return nil
}

func (s *shelf) set(change func(*shelf)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *shelf) count() (objects, puts int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.objects), s.puts
}

// withBodies is a setup whose monitor moves bodies of more than 4 bytes to a shelf.
func withBodies(t *testing.T, db monitor.Store) (setup, *shelf) {
	t.Helper()
	s := newSetup(t, db, checks.ProjectSpec{Name: "p"})
	sh := &shelf{}
	s.Monitor = s.another(t, db, sh)
	return s, sh
}

// another is a further monitor with the clock of a setup.
func (s setup) another(t *testing.T, db monitor.Store, bodies monitor.BodyStore) *monitor.Monitor {
	t.Helper()
	return s.with(t, db, monitor.Config{Bodies: bodies, BodyThreshold: 4})
}

func (s setup) pingBody(t *testing.T, c checks.Check, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
}

// bodies compares the bodies of a check's pings, from the first one on.
func (s setup) bodies(t *testing.T, c checks.Check, want ...string) {
	t.Helper()
	for i, body := range want {
		got, err := s.PingBody(t.Context(), c.ID, int64(i+1))
		if err != nil || string(got) != body {
			t.Errorf("the body of ping %d: %q, %v; want %q", i+1, got, err, body)
		}
	}
}

func upload(t *testing.T, m *monitor.Monitor, want int) {
	t.Helper()
	if n, err := m.UploadBodies(t.Context()); n != want || err != nil {
		t.Errorf("%d bodies moved, %v; want %d", n, err, want)
	}
}

func TestBodiesMove(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s, sh := withBodies(t, open())
		c := s.create(t, checks.Spec{})
		bodies := []string{"tiny", "large\x00\xff\xfe\r\n", "", "large"}
		s.pingBody(t, c, bodies...)
		check := func() {
			t.Helper()
			s.bodies(t, c, bodies[:2]...)
			if _, err := s.PingBody(t.Context(), c.ID, 3); !errors.Is(err, checks.ErrNotFound) {
				t.Errorf("a ping without a body: %v, want ErrNotFound", err)
			}
		}
		check()
		upload(t, s.Monitor, 2)
		if n, _ := sh.count(); n != 2 {
			t.Errorf("%d objects, want 2", n)
		}
		check()
		upload(t, s.Monitor, 0)

		// Without object storage, only bodies in the database can be read.
		without := s.another(t, open(), nil)
		if _, err := on(without).PingBody(t.Context(), c.ID, 2); !errors.Is(err, checks.ErrBodyUnavailable) {
			t.Errorf("without object storage: %v, want ErrBodyUnavailable", err)
		}
		if body, err := on(without).PingBody(t.Context(), c.ID, 1); err != nil || string(body) != "tiny" {
			t.Errorf("a body in the database: %q, %v", body, err)
		}
		if n, err := without.UploadBodies(t.Context()); n != 0 || err != nil {
			t.Errorf("uploads without object storage: %d, %v", n, err)
		}
		if n, err := without.RemoveBodies(t.Context()); n != 0 || err != nil {
			t.Errorf("removals without object storage: %d, %v", n, err)
		}
		sh.set(func(s *shelf) { s.objects = nil })
		if _, err := s.PingBody(t.Context(), c.ID, 2); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an object that was lost: %v, want ErrNotFound", err)
		}
	})
}

// TestBodyErrors turns whatever a body store returns into one of the errors of server/API.md section 4.9.
func TestBodyErrors(t *testing.T) {
	s, sh := withBodies(t, dbtest.SQLite(t).Open(t))
	c := s.create(t, checks.Spec{})
	s.pingBody(t, c, "large")
	upload(t, s.Monitor, 1)
	odd := errors.New("odd")
	for _, down := range []error{fmt.Errorf("%w: refused", checks.ErrBodyUnavailable), odd, context.DeadlineExceeded} {
		sh.set(func(s *shelf) { s.down = down })
		if _, err := s.PingBody(t.Context(), c.ID, 1); !errors.Is(err, checks.ErrBodyUnavailable) || !errors.Is(err, down) {
			t.Errorf("%v became %v", down, err)
		}
	}
	sh.set(func(s *shelf) {
		s.down = nil
		for key := range s.objects {
			s.objects[key] = []byte("cut")
		}
	})
	if _, err := s.PingBody(t.Context(), c.ID, 1); !errors.Is(err, checks.ErrBodyCorrupt) {
		t.Errorf("an object of another size: %v", err)
	}
}

// TestBodiesSwapped notices that the storage alters a body, or swaps two of equal size.
func TestBodiesSwapped(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s, sh := withBodies(t, open())
		c := s.create(t, checks.Spec{})
		bodies := []string{"backup done", "backup fail", "short"}
		s.pingBody(t, c, bodies...)
		upload(t, s.Monitor, 3)
		stored := maps.Clone(sh.objects)
		change := func(to func(key string, body []byte) []byte) {
			sh.set(func(s *shelf) {
				for key, body := range stored {
					s.objects[key] = to(key, body)
				}
			})
		}
		for name, to := range map[string]func(key string, body []byte) []byte{
			"swapped": func(key string, body []byte) []byte {
				for other, found := range stored {
					if other != key && len(found) >= len(body) {
						return found[:len(body)]
					}
				}
				return nil
			},
			"altered":  func(_ string, body []byte) []byte { return bytes.ToUpper(body) },
			"cut":      func(_ string, body []byte) []byte { return body[:3] },
			"extended": func(_ string, body []byte) []byte { return append(bytes.Clone(body), 0) },
		} {
			change(to)
			for n := range bodies {
				if body, err := s.PingBody(t.Context(), c.ID, int64(n+1)); !errors.Is(err, checks.ErrBodyCorrupt) || errors.Is(err, checks.ErrBodyUnavailable) {
					t.Errorf("%s: body %d is %q, %v; want ErrBodyCorrupt", name, n+1, body, err)
				}
			}
		}
		change(func(_ string, body []byte) []byte { return body })
		s.bodies(t, c, bodies...)
	})
}

// TestUploadIsProved has a storage that acknowledges what it does not store, or stores something else. The database keeps the
// bodies until the storage returns them.
func TestUploadIsProved(t *testing.T) {
	for name, store := range map[string]func(body []byte) []byte{
		"nothing": func([]byte) []byte { return nil }, "another body": bytes.ToUpper, "less": func(body []byte) []byte { return body[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, open func() database) {
				s, sh := withBodies(t, open())
				c := s.create(t, checks.Spec{})
				bodies := []string{"first", "second"}
				s.pingBody(t, c, bodies...)
				sh.set(func(s *shelf) { s.lie = store })
				for range 3 {
					upload(t, s.Monitor, 0)
					s.bodies(t, c, bodies...)
					s.clock.Advance(time.Hour)
				}
				if _, puts := sh.count(); puts != 6 {
					t.Errorf("%d attempts in 3 hours, want 6", puts)
				}
				sh.set(func(s *shelf) { s.lie = nil })
				upload(t, s.Monitor, 2)
				s.bodies(t, c, bodies...)
			})
		})
	}
}

// TestBodiesOutage receives pings while the storage is away. Nothing is lost, no object waits longer because of it, and
// all are uploaded as soon as the storage is back.
func TestBodiesOutage(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s, sh := withBodies(t, open())
		c := s.create(t, checks.Spec{})
		sh.set(func(s *shelf) { s.down = checks.ErrBodyUnavailable })
		var want []string
		for i := range 200 {
			want = append(want, fmt.Sprint("body ", i))
		}
		s.pingBody(t, c, want...)
		for range 20 {
			if n, err := s.UploadBodies(t.Context()); n != 0 || !errors.Is(err, checks.ErrBodyUnavailable) {
				t.Fatalf("%d bodies moved, %v", n, err)
			}
		}
		if _, puts := sh.count(); puts > 20*8 {
			t.Errorf("%d attempts in 20 rounds, more than 8 each", puts)
		}
		s.bodies(t, c, want...)
		sh.set(func(s *shelf) { s.down = nil })
		upload(t, s.Monitor, 200)
		s.bodies(t, c, want...)
	})
}

// TestBodyRefused has one object that the storage always refuses. It holds up no other, and its pauses grow.
func TestBodyRefused(t *testing.T) {
	for name, refusal := range map[string]func(){"error": nil, "panic": func() { panic("refused") }} {
		t.Run(name, func(t *testing.T) {
			s, sh := withBodies(t, dbtest.SQLite(t).Open(t))
			c := s.create(t, checks.Spec{})
			s.pingBody(t, c, "first", "second", "third")
			var bad string
			sh.refuse = func(key string) error {
				if bad == "" || key == bad {
					bad = key
					if refusal != nil {
						refusal()
					}
					return errors.New("too odd")
				}
				return nil
			}
			upload(t, s.Monitor, 2)
			before := 3
			var waits []time.Duration
			for range 10 {
				for waited := time.Duration(0); ; waited += 10 * time.Second {
					upload(t, s.Monitor, 0)
					if _, puts := sh.count(); puts > before {
						before = puts
						waits = append(waits, waited)
						break
					}
					s.clock.Advance(10 * time.Second)
				}
			}
			for i, wait := range waits {
				most := min(time.Hour, time.Minute<<i)
				if wait < most/2 || wait > most+10*time.Second {
					t.Errorf("attempt %d came after %v, want %v to %v", i+2, wait, most/2, most)
				}
			}
			s.bodies(t, c, "first", "second", "third")
			sh.set(func(s *shelf) { s.refuse = nil })
			s.clock.Advance(time.Hour)
			upload(t, s.Monitor, 1)
			s.bodies(t, c, "first", "second", "third")
		})
	}
}

// TestRunMovesBodies runs a monitor in a bubble. It moves bodies within seconds, makes growing pauses while the storage is
// away, and goes on afterwards.
func TestRunMovesBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := dbtest.SQLite(t).Open(t)
		sh := &shelf{}
		mon, err := monitor.New(store, &monitor.Config{Bodies: sh, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		p, _, err := on(mon).CreateProject(t.Context(), checks.ProjectSpec{Name: "p"})
		if err != nil {
			t.Fatal(err)
		}
		s := setup{verbs: on(mon), project: p}
		c := s.create(t, checks.Spec{Timeout: new(24 * time.Hour)})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- mon.Run(ctx) }()

		limit, large := string(make([]byte, 100)), string(make([]byte, 101))
		s.pingBody(t, c, limit, large)
		time.Sleep(1500 * time.Millisecond)
		if n, _ := sh.count(); n != 1 {
			t.Errorf("%d objects after 1.5 seconds, want 1", n)
		}
		var attempts []time.Time
		sh.set(func(s *shelf) {
			s.down = fmt.Errorf("%w: away", checks.ErrBodyUnavailable)
			s.onPut = func(string) { sh.set(func(*shelf) { attempts = append(attempts, time.Now()) }) }
		})
		s.pingBody(t, c, large)
		time.Sleep(10 * time.Minute)
		var waits []time.Duration
		sh.set(func(*shelf) {
			for i := range attempts[1:] {
				waits = append(waits, attempts[i+1].Sub(attempts[i]))
			}
		})
		for i, wait := range waits {
			if most := min(time.Minute, time.Second<<i); wait < most/2 || wait > most {
				t.Errorf("attempt %d came after %v, want %v to %v", i+2, wait, most/2, most)
			}
		}
		if len(waits) < 10 {
			t.Errorf("%d waits between attempts in 10 minutes", len(waits))
		}
		sh.set(func(s *shelf) { s.down = nil })
		time.Sleep(time.Minute + time.Second)
		if n, _ := sh.count(); n != 2 {
			t.Errorf("%d objects a minute after the storage is back, want 2", n)
		}
		s.bodies(t, c, limit, large, large)
		if _, err := s.Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if n, _ := sh.count(); n != 0 {
			t.Errorf("%d objects 15 seconds after the check was deleted", n)
		}
		cancel()
		<-done
	})
}

// TestBodiesOfManyChecks moves bodies of several checks whose pings were committed together.
func TestBodiesOfManyChecks(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s, sh := withBodies(t, open())
		var list []checks.Check
		for range 5 {
			list = append(list, s.create(t, checks.Spec{}))
		}
		var wg sync.WaitGroup
		sent := make([][]string, len(list))
		var mu sync.Mutex
		for i := range 100 {
			wg.Go(func() {
				which := i % len(list)
				body := fmt.Sprintf("%0*d", i%10, i) // some are small
				p, err := s.Ping(t.Context(), list[which].ID, pings.Signal{Body: []byte(body)})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				sent[which] = append(sent[which], fmt.Sprint(p.N, " ", body))
			})
		}
		wg.Wait()
		upload(t, s.Monitor, 50)
		if n, _ := sh.count(); n != 50 {
			t.Errorf("%d objects, want 50", n)
		}
		for i, c := range list {
			var got []string
			for n := range int64(20) {
				body, err := s.PingBody(t.Context(), c.ID, n+1)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(n+1, " ", string(body)))
			}
			slices.Sort(got)
			slices.Sort(sent[i])
			if diff := cmp.Diff(sent[i], got); diff != "" {
				t.Errorf("check %d (-sent +read):\n%s", i, diff)
			}
		}
	})
}
