package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// crashing is a store whose process dies before it can record results.
type crashing struct{ store.Store }

var errCrash = errors.New("crash")

func (crashing) RecordBodies(context.Context, []store.BodyResult) error { return errCrash }

// TestCrashAfterUpload has a process die after an upload, before it is recorded. If the ping still exists, the upload is
// repeated; otherwise the object is removed.
func TestCrashAfterUpload(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := open()
		s, sh := withBodies(t, store)
		kept, gone := s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
		s.pingBody(t, kept, "large")
		s.pingBody(t, gone, "large, too")
		if _, err := s.another(t, database{crashing{store}}, sh).UploadBodies(t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n, puts := sh.count(); n != 2 || puts != 2 {
			t.Fatalf("%d objects, %d puts", n, puts)
		}
		s.bodies(t, kept, "large")
		if _, err := s.Delete(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		pruneAll(t, s.Monitor)
		upload(t, s.Monitor, 0) // leased to the dead process
		s.clock.Advance(10 * time.Minute)
		upload(t, s.Monitor, 1)
		if n, err := s.RemoveBodies(t.Context()); n != 1 || err != nil {
			t.Errorf("%d objects removed, %v", n, err)
		}
		if n, puts := sh.count(); n != 1 || puts != 3 {
			t.Errorf("%d objects, %d puts; want 1 and 3", n, puts)
		}
		s.bodies(t, kept, "large")
	})
}

// pruneAll goes round the whole log.
func pruneAll(t *testing.T, m *monitor.Monitor) {
	t.Helper()
	for range 3 {
		if _, err := m.Prune(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPrunedWhileUploaded removes a ping while its body is being uploaded. The object must not stay.
func TestPrunedWhileUploaded(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		s, sh := withBodies(t, open())
		c := s.create(t, checks.Spec{})
		s.pingBody(t, c, "large")
		sh.onPut = func(string) {
			if _, err := s.Delete(t.Context(), c.ID); err != nil {
				t.Error(err)
			}
			pruneAll(t, s.Monitor)
			// A removal meanwhile must not count for the object that is yet to come.
			if _, err := s.RemoveBodies(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.UploadBodies(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, _ := sh.count(); n != 1 {
			t.Fatalf("%d objects, want the one of the ping that is gone", n)
		}
		if n, err := s.RemoveBodies(t.Context()); n != 1 || err != nil {
			t.Errorf("%d objects removed, %v", n, err)
		}
		if n, _ := sh.count(); n != 0 {
			t.Errorf("%d objects are left", n)
		}
	})
}

// TestObjectsAreRemoved removes the objects of deleted checks and pruned pings, even when the process dies in between,
// object storage is away for a while, or one object cannot be removed.
func TestObjectsAreRemoved(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := open()
		s, sh := withBodies(t, store)
		kept, gone := s.create(t, checks.Spec{}), s.create(t, checks.Spec{})
		s.pingBody(t, kept, "large")
		var want []string
		for range 150 {
			want = append(want, "large")
		}
		s.pingBody(t, gone, want...)
		upload(t, s.Monitor, 151)
		if _, err := s.Delete(t.Context(), gone.ID); err != nil {
			t.Fatal(err)
		}
		pruneAll(t, s.Monitor)
		sh.set(func(s *shelf) { s.down = checks.ErrBodyUnavailable })
		for range 3 {
			if n, err := s.RemoveBodies(t.Context()); n != 0 || !errors.Is(err, checks.ErrBodyUnavailable) {
				t.Errorf("%d objects removed, %v", n, err)
			}
		}
		var bad string
		sh.set(func(s *shelf) {
			s.down = nil
			s.refuse = func(key string) error {
				if bad == "" || key == bad {
					bad = key
					return errors.New("locked")
				}
				return nil
			}
		})
		if _, err := s.another(t, database{crashing{store}}, sh).RemoveBodies(t.Context()); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if n, _ := sh.count(); n != 2 {
			t.Errorf("%d objects are left, want 2", n)
		}
		s.clock.Advance(2 * time.Minute)
		if n, err := s.RemoveBodies(t.Context()); n != 149 || err != nil {
			t.Errorf("%d removals done, %v; want all but one", n, err)
		}
		sh.set(func(s *shelf) { s.refuse = nil })
		s.clock.Advance(time.Hour)
		if n, err := s.RemoveBodies(t.Context()); n != 1 || err != nil {
			t.Errorf("%d removals done, %v; want the last one", n, err)
		}
		if n, _ := sh.count(); n != 1 {
			t.Errorf("%d objects are left, want that of the check that was kept", n)
		}
		sh.set(func(s *shelf) { s.refuse = nil })
		s.bodies(t, kept, "large")
	})
}

// TestShutdownReleasesUploads stops a monitor in the middle of an upload. Another one need not wait for the lease to end.
func TestShutdownReleasesUploads(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		store := open()
		s, _ := withBodies(t, store)
		c := s.create(t, checks.Spec{})
		s.pingBody(t, c, "large")
		ctx, cancel := context.WithCancel(t.Context())
		if n, err := s.another(t, store, hanging{cancel}).UploadBodies(ctx); n != 0 || err == nil {
			t.Errorf("%d moved, %v", n, err)
		}
		upload(t, s.Monitor, 1)
		s.bodies(t, c, "large")
	})
}

// hanging is a body store that makes its caller give up, and does not answer before.
type hanging struct{ giveUp func() }

func (h hanging) Put(ctx context.Context, _ string, _ []byte) error {
	h.giveUp()
	<-ctx.Done()
	return ctx.Err()
}
func (h hanging) Get(ctx context.Context, _ string, _ int64) ([]byte, error) {
	return nil, h.Put(ctx, "", nil)
}
func (h hanging) Remove(ctx context.Context, _ []string) error { return h.Put(ctx, "", nil) }

// TestNoOrphans runs pings, deletions, pruning, uploads and removals of two servers at once while object storage fails now
// and then. In the end each listed body can be read, and there are no other objects.
func TestNoOrphans(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		const jobs, rounds, each = 3, 4, 5
		s, sh := withBodies(t, open())
		sh.refuse = func(string) error {
			switch rand.IntN(10) {
			case 0:
				return checks.ErrBodyUnavailable
			case 1:
				return errors.New("refused")
			}
			return nil
		}
		servers := []*monitor.Monitor{s.Monitor, s.another(t, open(), sh)}
		done := make(chan struct{})
		var background, pinging sync.WaitGroup
		for _, m := range servers {
			for _, task := range []func(context.Context) (int, error){m.UploadBodies, m.RemoveBodies, m.Prune} {
				background.Go(func() {
					for {
						select {
						case <-done:
							return
						default:
						}
						if _, err := task(t.Context()); err != nil && !errors.Is(err, checks.ErrBodyUnavailable) {
							t.Error(err)
							return
						}
						s.clock.Advance(time.Second) // so that leases end during the work
					}
				})
			}
		}
		var kept []checks.Check
		var mu sync.Mutex
		for range jobs {
			pinging.Go(func() {
				for round := range rounds {
					c, err := s.Create(t.Context(), s.project.ID, checks.Spec{})
					for i := 0; i < each && err == nil; i++ {
						_, err = s.Ping(t.Context(), c.ID, pings.Signal{Body: fmt.Append(nil, "body ", i)})
					}
					if round%2 == 0 && err == nil {
						_, err = s.Delete(t.Context(), c.ID)
					}
					if err != nil {
						t.Error(err)
						return
					}
					if round%2 == 1 {
						mu.Lock()
						kept = append(kept, c)
						mu.Unlock()
					}
				}
			})
		}
		pinging.Wait()
		close(done)
		background.Wait()
		sh.set(func(s *shelf) { s.refuse = nil })
		for range 3 {
			s.clock.Advance(2 * time.Hour)
			for _, task := range []func(context.Context) (int, error){s.UploadBodies, s.Prune, s.Prune, s.RemoveBodies} {
				if _, err := task(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n, _ := sh.count(); n != len(kept)*each {
			t.Errorf("%d objects, want %d", n, len(kept)*each)
		}
		for _, c := range kept {
			for i := range each {
				body, err := s.PingBody(t.Context(), c.ID, int64(i+1))
				if err != nil || string(body) != fmt.Sprint("body ", i) {
					t.Errorf("ping %d: %q, %v", i+1, body, err)
				}
			}
		}
	})
}
