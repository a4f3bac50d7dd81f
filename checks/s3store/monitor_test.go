package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/s3store"
	"github.com/rollcall-dev/rollcall/checks/s3store/internal/s3test"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// patience bounds waits for background work. Only a failure reaches it.
const patience = 2 * time.Minute

// service is a monitor on a database and a bucket, with a project.
type service struct {
	*monitor.Monitor
	project checks.Project
}

func newMonitor(t *testing.T, db dbtest.DB, bodies monitor.BodyStore) *monitor.Monitor {
	t.Helper()
	mon, err := monitor.New(db.Open(t), &monitor.Config{Logger: slog.New(slog.DiscardHandler), Bodies: bodies, BodyEvery: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

func newService(t *testing.T, db dbtest.DB, bodies monitor.BodyStore) service {
	t.Helper()
	s := service{Monitor: newMonitor(t, db, bodies)}
	var err error
	if s.project, _, err = s.Projects().Create(t.Context(), checks.ProjectSpec{Name: "p"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s service) create(t *testing.T) checks.Check {
	t.Helper()
	c, err := s.Project(s.project.ID).Create(t.Context(), checks.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	return *c.Check
}

// large returns a binary body that goes to object storage.
func large(i int) []byte {
	return append(bytes.Repeat([]byte{0xff, 0, '\r', '\n', byte(i)}, 30+i), fmt.Sprint(i)...)
}

// ping sends n pings with large bodies.
func (s service) ping(t *testing.T, c checks.Check, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: large(i)}); err != nil {
			t.Fatal(err)
		}
	}
}

// read compares the bodies of n pings.
func (s service) read(t *testing.T, c checks.Check, n int) {
	t.Helper()
	for i := range n {
		if body, err := s.Project(c.ProjectID).PingBody(t.Context(), c.ID, int64(i+1)); err != nil || !bytes.Equal(body, large(i)) {
			t.Errorf("body %d came back as %q, %v", i, body, err)
		}
	}
}

// run runs monitors until stop is called.
func run(t *testing.T, list ...*monitor.Monitor) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, m := range list {
		running.Go(func() { _ = m.Run(ctx) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func waitForKeys(t *testing.T, server *s3test.Server, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		keys := server.Keys(t)
		if len(keys) == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("there are %d objects, want %d", len(keys), n)
		}
	}
}

// waitForRecords waits until the database knows all objects: what a monitor that stops has not recorded, another puts again.
func waitForRecords(t *testing.T, db dbtest.DB) {
	t.Helper()
	pool := db.Bun(t)
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left, err := pool.NewSelect().Table("rollcall_uploads").Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d objects are not recorded", left)
		}
	}
}

// TestLifeOfBodies lets Run move bodies, reads them, and removes them with their check.
func TestLifeOfBodies(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		server := s3test.Start(t)
		s := newService(t, db, newStore(t, configFor(server.URL)))
		stop := run(t, s.Monitor)
		c, other := s.create(t), s.create(t)
		s.ping(t, c, 30)
		s.ping(t, other, 1)
		waitForKeys(t, server, 31)
		s.read(t, c, 30)
		for _, key := range server.Keys(t) {
			if !strings.HasPrefix(key, c.ID.String()+"/") && !strings.HasPrefix(key, other.ID.String()+"/") {
				t.Errorf("the key %s is not below the UUID of a check", key)
			}
		}
		stop()
		if _, err := s.Project(c.ProjectID).Delete(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
		// One process prunes the log, without object storage; another removes the objects.
		pruner := newMonitor(t, db, nil)
		for range 3 {
			if err := pruner.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(server.Keys(t)); n != 31 {
			t.Errorf("%d objects before they are removed, want 31", n)
		}
		again := newMonitor(t, db, newStore(t, configFor(server.URL)))
		run(t, again)
		waitForKeys(t, server, 1)
		service{Monitor: again}.read(t, other, 1)
	})
}

// upload does a round of the monitor's work and returns how many bodies have moved.
func (s service) upload(t *testing.T) (moved int, err error) {
	t.Helper()
	err = s.Tick(background.WithRound(t.Context(), background.Round{Done: func(step string, n int) {
		if step == "upload" {
			moved = n
		}
	}}))
	return moved, err
}

// TestServerDown sends pings while the server is down. Nothing is lost, and the uploads follow when it is back.
func TestServerDown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		server := s3test.Start(t)
		s := newService(t, db, newStore(t, configFor(server.URL)))
		c := s.create(t)
		server.Stop()
		run(t, s.Monitor)
		s.ping(t, c, 100)
		if n, err := s.upload(t); n != 0 || err != nil && !errors.Is(err, checks.ErrBodyUnavailable) {
			t.Errorf("%d bodies moved, %v", n, err)
		}
		s.read(t, c, 100)
		server.Restart(t)
		waitForKeys(t, server, 100)
		s.read(t, c, 100)
	})
}

// TestServerSlow stalls the server. The monitor still accepts pings; reads of stored bodies fail with
// ErrBodyUnavailable, soon without waiting. The remaining bodies move when the server answers again.
func TestServerSlow(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		server := s3test.Start(t)
		proxy := server.StartProxy(t)
		s := newService(t, db, newStore(t, configFor(proxy.URL)))
		c := s.create(t)
		s.ping(t, c, 3)
		if n, err := s.upload(t); n != 3 || err != nil {
			t.Fatalf("%d bodies moved, %v", n, err)
		}
		config := configFor(proxy.URL)
		reads := &counting{RoundTripper: &http.Transport{DisableKeepAlives: true}, method: http.MethodGet}
		config.Timeout, config.FailAfter, config.Cooldown, config.Transport = 50*time.Millisecond, 2, 24*time.Hour, reads
		impatient := service{newMonitor(t, db, newStore(t, config)), s.project}
		proxy.Hold()
		stop := run(t, impatient.Monitor)
		for i := range 20 {
			if _, err := impatient.Ping(t.Context(), c.ID, pings.Signal{Body: large(3 + i)}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 50 {
			if _, err := impatient.Project(c.ProjectID).PingBody(t.Context(), c.ID, 1); !errors.Is(err, checks.ErrBodyUnavailable) {
				t.Fatalf("read %d: %v, want ErrBodyUnavailable", i, err)
			}
		}
		if n := reads.take(); n != 2 {
			t.Errorf("%d of 50 reads waited for the server, want 2", n)
		}
		stop()
		proxy.Release()
		if n, err := s.upload(t); n != 20 || err != nil {
			t.Errorf("%d bodies moved, %v; want 20", n, err)
		}
		s.read(t, c, 23)
	})
}

// TestReadAlways reads bodies continuously while they arrive and move.
func TestReadAlways(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		const n = 150
		server := s3test.Start(t)
		s := newService(t, db, newStore(t, configFor(server.URL)))
		c := s.create(t)
		run(t, s.Monitor)
		var known atomic.Int64
		done := make(chan struct{})
		var readers sync.WaitGroup
		for r := range 3 {
			readers.Go(func() {
				for i := int64(r); ; i++ {
					select {
					case <-done:
						return
					default:
					}
					newest := known.Load()
					if newest == 0 {
						continue
					}
					which := newest - i%min(newest, 20) // among those that are moving
					body, err := s.Project(c.ProjectID).PingBody(t.Context(), c.ID, which)
					if err != nil || !bytes.Equal(body, large(int(which-1))) {
						t.Errorf("body %d came back with %d bytes, %v", which, len(body), err)
						return
					}
				}
			})
		}
		for i := range n {
			if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: large(i)}); err != nil {
				t.Fatal(err)
			}
			known.Store(int64(i + 1))
		}
		waitForKeys(t, server, n)
		close(done)
		readers.Wait()
		s.read(t, c, n)
	})
}

// onePut counts how often each object is put.
type onePut struct {
	*s3store.Store
	mu   *sync.Mutex
	puts map[string]int
}

func (o onePut) Put(ctx context.Context, key string, body []byte) error {
	o.mu.Lock()
	o.puts[key]++
	o.mu.Unlock()
	return o.Store.Put(ctx, key, body)
}

// TestSharedQueue lets two servers share the work on one PostgreSQL database: one of them uploads each body, once.
func TestSharedQueue(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	server := s3test.Start(t)
	var mu sync.Mutex
	var list [2]onePut
	for i := range list {
		list[i] = onePut{newStore(t, configFor(server.URL)), &mu, make(map[string]int)}
	}
	const n = 400
	s := newService(t, db, list[0])
	c := s.create(t)
	s.ping(t, c, n)
	stop := run(t, s.Monitor, newMonitor(t, db, list[1]))
	waitForKeys(t, server, n)
	waitForRecords(t, db)
	stop()
	s.read(t, c, n)
	puts := make(map[string]int)
	for i, one := range list {
		t.Logf("server %d has uploaded %d bodies", i, len(one.puts))
		for key, n := range one.puts {
			puts[key] += n
		}
	}
	for key, n := range puts {
		if n != 1 {
			t.Errorf("%s was put %d times", key, n)
		}
	}
}

// TestLostObject removes an object behind Rollcall's back.
func TestLostObject(t *testing.T) {
	server := s3test.Start(t)
	s := newService(t, dbtest.SQLite(t), newStore(t, configFor(server.URL)))
	c := s.create(t)
	s.ping(t, c, 1)
	if n, err := s.upload(t); n != 1 || err != nil {
		t.Fatalf("%d bodies moved, %v", n, err)
	}
	server.Remove(t, server.Keys(t)[0])
	if _, err := s.Project(c.ProjectID).PingBody(t.Context(), c.ID, 1); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
}

// TestSwappedObjects swaps two objects of equal size behind Rollcall's back.
func TestSwappedObjects(t *testing.T) {
	server := s3test.Start(t)
	bucket := newStore(t, configFor(server.URL))
	s := newService(t, dbtest.SQLite(t), bucket)
	c := s.create(t)
	for _, body := range []byte("ab") {
		if _, err := s.Ping(t.Context(), c.ID, pings.Signal{Body: bytes.Repeat([]byte{body}, 200)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.upload(t); n != 2 || err != nil {
		t.Fatalf("%d bodies moved, %v", n, err)
	}
	keys := server.Keys(t)
	first, second := server.Object(t, keys[0]), server.Object(t, keys[1])
	put(t, bucket, keys[0], second)
	put(t, bucket, keys[1], first)
	for n := range keys {
		if body, err := s.Project(c.ProjectID).PingBody(t.Context(), c.ID, int64(n+1)); !errors.Is(err, checks.ErrBodyCorrupt) {
			t.Errorf("body %d is %.10q, %v; want ErrBodyCorrupt", n+1, body, err)
		}
	}
}
