package monitor_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// frozen is a store whose transactions and lookups of checks hang from freeze to thaw.
type frozen struct {
	store.Store
	mu   sync.Mutex
	gate chan struct{} // nil while it works
}

func (h *frozen) freeze() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gate = make(chan struct{})
}

func (h *frozen) thaw() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.gate)
	h.gate = nil
}

func (h *frozen) wait(ctx context.Context) error {
	h.mu.Lock()
	gate := h.gate
	h.mu.Unlock()
	if gate == nil {
		return nil
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *frozen) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if err := h.wait(ctx); err != nil {
		return err
	}
	return h.Store.Update(ctx, fn)
}

func (h *frozen) Checks(ctx context.Context, f store.CheckFilter) ([]checks.Check, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Store.Checks(ctx, f)
}

func (h *frozen) EachCheck(ctx context.Context, f store.CheckFilter) iter.Seq2[checks.Check, error] {
	return func(yield func(checks.Check, error) bool) {
		if err := h.wait(ctx); err != nil {
			yield(checks.Check{}, err)
			return
		}
		h.Store.EachCheck(ctx, f)(yield)
	}
}

// frozenOutbox is an outbox on a frozen store, whose jobs report errors to failed.
func frozenOutbox(t *testing.T, failed func(error)) (outbox, *frozen) {
	db := &frozen{Store: dbtest.SQLite(t).Open(t).Contract().(store.Store)}
	return newOutbox(t, database{db}, func(c *monitor.Config) {
		c.Now, c.WriteTimeout = nil, 0
		c.Job.OnPingError = func(_ context.Context, err error) { failed(err) }
	}), db
}

// kinds returns the pings of a check, oldest first, as kinds with the seconds since an instant.
func (s setup) kinds(t *testing.T, c checks.Check, since time.Time) (list []string) {
	t.Helper()
	log, err := s.Pings(t.Context(), c.ID)
	must(t, err)
	for i := range log {
		p := log[len(log)-1-i]
		list = append(list, string(p.Kind)+" "+p.At.Sub(since).String())
	}
	return list
}

// TestJobOnHangingDatabase runs jobs while the database hangs. The first run waits 3 seconds for one try of its start, the
// others for nothing, whatever the job. All pings are recorded once, with their times, by Stop at the latest, which also sends
// the alert; the watcher has judged no deadline before.
func TestJobOnHangingDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pending int
		o, db := frozenOutbox(t, func(err error) {
			if !errors.Is(err, job.ErrPending) {
				t.Error(err)
			}
			pending++
		})
		o.channel(t, "pager", "ops", nil)
		c, other := o.watched(t, "job"), o.watched(t, "other")
		o.ping(t, c.ID, pings.Success)
		must(t, o.Start(t.Context()))
		db.freeze()
		begin := o.Now()
		run := func(c checks.Check, wants time.Duration) {
			t.Helper()
			start := time.Now()
			_ = o.Job(c.ID).Run(t.Context(), func(context.Context) error {
				time.Sleep(time.Second)
				return errors.New("the disk is full")
			})
			if took := time.Since(start); took != wants {
				t.Errorf("a run took %v, want %v", took, wants)
			}
		}
		run(c, 4*time.Second)
		run(c, time.Second)
		run(other, time.Second)
		time.Sleep(time.Minute)
		if pending != 6 {
			t.Errorf("%d errors, want 6", pending)
		}
		time.AfterFunc(time.Second, db.thaw)
		remain(t, o.Stop(t.Context()), 0)
		want := []string{"success 0s", "start 0s", "fail 4s", "start 4s", "fail 5s"}
		if diff := cmp.Diff(want, o.kinds(t, c, begin)); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"start 5s", "fail 6s"}, o.kinds(t, other, begin)); diff != "" {
			t.Errorf("the other log (-want +got):\n%s", diff)
		}
		if got := o.received(); len(got) != 2 {
			t.Errorf("received %q", got)
		}
	})
}

// TestJobRecovers records what waits soon after the database is back, without Stop, and takes further pings at once.
func TestJobRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, db := frozenOutbox(t, func(error) {})
		c := o.create(t, everyMinute())
		o.ping(t, c.ID, pings.Success)
		must(t, o.Start(t.Context()))
		begin := o.Now()
		time.Sleep(time.Minute)
		db.freeze()
		output := []byte("the disk is full")
		if err := o.Job(c.ID).Failure(t.Context(), output); !errors.Is(err, job.ErrPending) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		clear(output) // the caller may reuse the body
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := o.Job(c.ID).Success(ctx, nil); !errors.Is(err, job.ErrPending) {
			t.Error(err)
		}
		time.Sleep(10 * time.Minute) // the check would be down
		db.thaw()
		time.Sleep(20 * time.Second)
		must(t, o.Job(c.ID).Success(t.Context(), nil))
		want := []string{"success 0s", "fail 1m0s", "success 1m3s", "success 11m23s"}
		if diff := cmp.Diff(want, o.kinds(t, c, begin)); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		if body, err := o.PingBody(t.Context(), c.ID, 2); err != nil || string(body) != "the disk is full" {
			t.Errorf("%q, %v", body, err)
		}
		remain(t, o.Stop(t.Context()), 0)
	})
}

// TestStopOnHangingDatabase counts the pings that are left. After the next Start they are recorded.
func TestStopOnHangingDatabase(t *testing.T) {
	for _, started := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o, db := frozenOutbox(t, func(error) {})
			c := o.create(t, checks.Spec{})
			if started {
				must(t, o.Start(t.Context()))
			}
			begin := o.Now()
			db.freeze()
			_ = o.Job(c.ID).Run(t.Context(), func(context.Context) error { return nil })
			stopped := time.Now()
			err := o.Stop(t.Context())
			if left, ok := errors.AsType[*monitor.StopError](err); !ok || left.Pings != 2 {
				t.Errorf("started %v: %v", started, err)
			}
			if took := time.Since(stopped); took != 5*time.Second && took != 4*time.Second {
				t.Errorf("Stop took %v", took)
			}
			if err := o.Job(c.ID).Success(t.Context(), nil); err == nil || errors.Is(err, job.ErrPending) {
				t.Error(err)
			}
			db.thaw()
			time.Sleep(10 * time.Second)
			must(t, o.Start(t.Context()))
			time.Sleep(10 * time.Second)
			remain(t, o.Stop(t.Context()), 0)
			got := o.kinds(t, c, begin)
			slices.Sort(got) // after Stop, nothing waits for what is left
			if diff := cmp.Diff([]string{"start 0s", "success 3s"}, got[:2]); diff != "" || len(got) != 3 {
				t.Errorf("%q (-want +got):\n%s", got, diff)
			}
		})
	}
}

// TestRegisterOnHangingDatabase registers a job during an outage. Its reporter keeps the pings and sends them once the check
// could be registered.
func TestRegisterOnHangingDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, db := frozenOutbox(t, func(error) {})
		project := o.Monitor.Project(o.project.ID)
		must(t, o.Start(t.Context()))
		db.freeze()
		begin := time.Now()
		r, err := project.Register(t.Context(), checks.Spec{Slug: new("backup"), Timeout: new(time.Hour)})
		if took := time.Since(begin); !errors.Is(err, job.ErrPending) || took != 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		begin = time.Now()
		_ = r.Run(t.Context(), func(context.Context) error { return nil })
		again, err := project.Register(t.Context(), checks.Spec{Slug: new("backup"), Timeout: new(2 * time.Hour)})
		if !errors.Is(err, job.ErrPending) {
			t.Error(err)
		}
		_ = again.Run(t.Context(), func(context.Context) error { return nil })
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("the runs took %v", took)
		}
		time.Sleep(time.Minute)
		db.thaw()
		time.Sleep(10 * time.Second)
		c, err := project.CheckBySlug(t.Context(), "backup")
		must(t, err)
		if c.NPings != 4 || c.Timeout != 2*time.Hour {
			t.Errorf("%d pings, timeout %v", c.NPings, c.Timeout)
		}
		must(t, r.Success(t.Context(), nil))
		if _, err := project.Register(t.Context(), checks.Spec{Slug: new("no slug")}); errors.Is(err, job.ErrPending) || err == nil {
			t.Error(err)
		}
		remain(t, o.Stop(t.Context()), 0)
	})
}
