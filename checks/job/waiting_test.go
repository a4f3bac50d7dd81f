package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// outage is a project whose receiver of pings a test takes away: the server of a pinger, or the database of a monitor.
type outage struct {
	place
	reporter job.Reporter
	check    uuid.UUID
	refuse   atomic.Pointer[func(try int64) bool] // whether a try fails; nil for an outage
	tries    atomic.Int64
	close    func(ctx context.Context) error
}

func (o *outage) away()       { o.refuse.Store(new(func(int64) bool { return true })) }
func (o *outage) back()       { o.refuse.Store(new(func(int64) bool { return false })) }
func (o *outage) fails() bool { return (*o.refuse.Load())(o.tries.Add(1)) }

// line is the way from a pinger to a server in memory.
type line struct {
	*outage
	handler http.Handler
}

func (l line) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if l.fails() {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		if r.Body == nil {
			r.Body = http.NoBody
		}
		l.handler.ServeHTTP(w, r)
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// eachOutage runs a test in a synctest bubble, with a pinger and with the job of a monitor.
func eachOutage(t *testing.T, test func(t *testing.T, o *outage)) {
	t.Helper()
	for _, name := range []string{"pinger", "job"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &outage{}
				o.back()
				var mu sync.Mutex
				var errs []error
				o.pingErr = func() error {
					mu.Lock()
					defer mu.Unlock()
					return errors.Join(errs...)
				}
				o.config = job.Config{OnPingError: func(_ context.Context, err error) {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}}
				db := &dbtest.Hooked{Store: dbtest.SQLite(t).Open(t), Around: func(op string, do func() error) error {
					if name == "job" && op == "Update" && o.fails() {
						return fmt.Errorf("%w: frozen", checks.ErrUnavailable)
					}
					return do()
				}}
				quiet := slog.New(slog.DiscardHandler)
				var err error
				o.mon, err = monitor.New(db, &monitor.Config{Logger: quiet, Job: o.config})
				must(t, err)
				project, _, err := o.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "jobs"})
				must(t, err)
				o.project = project.ID
				o.check = o.create(t).ID
				o.reporter, o.close = o.mon.Job(o.check), o.mon.Stop
				if name == "pinger" {
					signer, err := badges.NewSigner([]byte("0123456789abcdef0123456789abcdef"))
					must(t, err)
					srv, err := server.New(o.mon, &server.Config{BaseURL: "http://h", Signer: signer, Logger: quiet, AcceptLate: 24 * time.Hour})
					must(t, err)
					p, err := client.NewPinger("http://h/ping/"+o.check.String(), &client.PingerConfig{Job: o.config, HTTPClient: &http.Client{Transport: line{o, srv}}})
					must(t, err)
					o.reporter, o.close = p, p.Close
				}
				test(t, o)
			})
		})
	}
}

// wait reports failures with the bodies from first to last, which all wait, and for the try in the background.
func (o *outage) wait(t *testing.T, first, last int) {
	t.Helper()
	for i := first; i <= last; i++ {
		if err := o.reporter.Failure(t.Context(), []byte(strconv.Itoa(i))); !errors.Is(err, job.ErrPending) {
			t.Fatalf("ping %d: %v", i, err)
		}
	}
	synctest.Wait()
}

// arrived compares the bodies in the log with those from first to last.
func (o *outage) arrived(t *testing.T, first, last int) {
	t.Helper()
	_, bodies := o.log(t, o.check)
	var want []string
	for i := first; i <= last; i++ {
		want = append(want, strconv.Itoa(i))
	}
	if !slices.Equal(bodies, want) {
		t.Errorf("%d pings arrived, want those from %d to %d: %.200q", len(bodies), first, last, bodies)
	}
}

// TestPingsOutliveOutages: what waits arrives in its order and with its time, after seconds and after hours, whether the program
// goes on or closes its reporter meanwhile.
func TestPingsOutliveOutages(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		began := time.Now()
		o.wait(t, 1, 2)
		time.Sleep(5 * time.Hour)
		o.wait(t, 3, 10)
		o.back()
		time.Sleep(time.Minute)
		o.arrived(t, 1, 10)
		list, _ := o.log(t, o.check)
		for i, late := range map[int]time.Duration{0: 0, 1: 0, 2: 5 * time.Hour} {
			if got := list[i].At.Sub(began); got < late || got > late+20*time.Second {
				t.Errorf("ping %d is logged at %v, want %v", i+1, got, late)
			}
		}
		o.away()
		o.wait(t, 11, 12)
		time.AfterFunc(4*time.Second, o.back)
		must(t, o.close(t.Context()))
		o.arrived(t, 1, 12)
		must(t, o.pingErr())
	})
}

// TestTriesOfOnePing: a receiver that takes every third try gets all pings.
func TestTriesOfOnePing(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		o.tries.Store(0)
		o.refuse.Store(new(func(try int64) bool { return try%3 != 0 }))
		for i := range 10 {
			_ = o.reporter.Failure(t.Context(), []byte(strconv.Itoa(i)))
		}
		time.Sleep(10 * time.Minute)
		o.arrived(t, 0, 9)
		must(t, errors.Join(o.close(t.Context()), o.pingErr()))
	})
}

// TestPingsOfEndedContexts: a context that has ended, such as that of a job which was cancelled, does not keep a report from
// its receiver.
func TestPingsOfEndedContexts(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		must(t, errors.Join(o.reporter.Failure(cancelled, []byte("1")), o.reporter.Failure(late, []byte("2"))))
		o.arrived(t, 1, 2)
		run, err := o.reporter.Start(cancelled)
		must(t, errors.Join(err, run.Success(cancelled, nil), run.Log(late, nil)))
		o.away()
		for _, ctx := range []context.Context{cancelled, late} {
			if err := o.reporter.ExitStatus(ctx, 3, nil); !errors.Is(err, job.ErrPending) {
				t.Error(err)
			}
		}
		o.back()
		must(t, o.close(t.Context()))
		list, _ := o.log(t, o.check)
		equal(t, "kinds", kinds(list), []pings.Kind{"fail", "fail", "start", "success", "log", "fail", "fail"})
	})
}

// TestWaitingPingsAreBounded, by number and by bytes: the oldest are dropped, which OnPingError and Close say.
func TestWaitingPingsAreBounded(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		o.wait(t, 1, job.MaxBacklog+3)
		if err := o.pingErr(); err == nil || strings.Count(err.Error(), "the oldest were dropped: 1") != 3 {
			t.Error(err)
		}
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.close(within); err == nil || !strings.Contains(err.Error(), fmt.Sprint(": ", job.MaxBacklog+3)) {
			t.Error(err)
		}
	})
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		const n = job.MaxBacklogBytes / 100_000
		for i := range n + 2 {
			body := make([]byte, 100_000)
			copy(body, strconv.Itoa(i))
			if err := o.reporter.Failure(t.Context(), body); !errors.Is(err, job.ErrPending) {
				t.Fatal(err)
			}
		}
		o.back()
		if err := o.close(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": 2") {
			t.Error(err)
		}
		if list, bodies := o.log(t, o.check); len(list) != n || !strings.HasPrefix(bodies[0], "2\x00") {
			t.Errorf("%d pings arrived, want %d, the first with %.5q", len(list), n, bodies)
		}
	})
}

// TestCloseSaysWhatIsLost: what waits when the context of Close ends, when nothing can be sent for long, and what the receiver
// has refused meanwhile.
func TestCloseSaysWhatIsLost(t *testing.T) {
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		o.wait(t, 1, 7)
		within, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := o.close(within)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ": 7") || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := o.reporter.Failure(t.Context(), nil); err == nil || errors.Is(err, job.ErrPending) {
			t.Errorf("after Close: %v", err)
		}
	})
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		o.wait(t, 1, 7)
		began := time.Now()
		if err := o.close(context.Background()); err == nil || !strings.Contains(err.Error(), ": 7") || time.Since(began) > time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
	eachOutage(t, func(t *testing.T, o *outage) {
		o.away()
		o.wait(t, 1, 2)
		o.back()
		_, err := o.mon.Project(o.project).Delete(t.Context(), o.check)
		must(t, err)
		time.Sleep(time.Minute)
		if err := o.pingErr(); !errors.Is(err, checks.ErrNotFound) {
			t.Error(err)
		}
		if err := o.close(t.Context()); err == nil || !strings.Contains(err.Error(), ": 2") {
			t.Error(err)
		}
	})
}
