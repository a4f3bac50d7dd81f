package job_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
)

func TestSignals(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		r := p.reporter(t, c.ID)
		run, err := r.Start(t.Context())
		must(t, err)
		p.clock.Advance(1234 * time.Millisecond)
		id := uuid.NullUUID{UUID: uuid.New(), Valid: true}
		for _, send := range []func() error{
			func() error { return run.Log(t.Context(), []byte("half way")) },
			func() error { return run.Success(t.Context(), []byte("all fine\n")) },
			func() error { return r.Failure(t.Context(), []byte("é\x00\xff")) },
			func() error { return r.Log(t.Context(), nil) },
			func() error { return r.Success(t.Context(), nil) },
			func() error { return r.ExitStatus(t.Context(), 0, nil) },
			func() error { return run.ExitStatus(t.Context(), 255, []byte("killed")) },
			func() error { return r.Ping(t.Context(), pings.Signal{RunID: id}) },
			func() error { return run.Failure(t.Context(), nil) },
			// Only the kind, the run, the exit status and the body of a signal count.
			func() error { return r.Ping(t.Context(), pings.Signal{UserAgent: "other", RemoteAddr: "192.0.2.1"}) },
		} {
			must(t, send())
		}
		list, bodies := p.log(t, c.ID)
		equal(t, "kinds", kinds(list), []pings.Kind{"start", "log", "success", "fail", "log", "success", "success", "fail", "success", "fail", "success"})
		equal(t, "bodies", bodies, []string{"", "half way", "all fine\n", "é\x00\xff", "", "", "", "killed", "", "", ""})
		own := uuid.NullUUID{UUID: run.ID(), Valid: true}
		for i, want := range []uuid.NullUUID{own, own, own, {}, {}, {}, {}, own, id, own, {}} {
			if list[i].RunID != want {
				t.Errorf("ping %d: run %v, want %v", i+1, list[i].RunID, want)
			}
		}
		equal(t, "duration", list[2].Duration, new(1230*time.Millisecond))
		equal(t, "exit statuses", []*int{list[6].ExitStatus, list[7].ExitStatus}, []*int{new(0), new(255)})
		if last := list[10]; last.UserAgent == "other" || last.RemoteAddr == "192.0.2.1" {
			t.Errorf("the last ping is %+v", last)
		}
	})
}

func TestInvalidSignals(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		r := p.reporter(t, c.ID)
		for _, s := range []pings.Signal{
			{Kind: pings.Ignored}, {Kind: "succes"}, {ExitStatus: new(256)}, {ExitStatus: new(-1)},
			{Kind: pings.Success, ExitStatus: new(3)}, {Kind: pings.Failure, ExitStatus: new(0)}, {Kind: pings.Start, ExitStatus: new(1)},
		} {
			e, ok := errors.AsType[*checks.FieldError](r.Ping(t.Context(), s))
			if !ok || e.Field != "signal" {
				t.Errorf("%+v: %v", s, e)
			}
			_, err := p.mon.Ping(t.Context(), c.ID, s)
			if m, ok := errors.AsType[*checks.FieldError](err); !ok || e.Error() != m.Error() {
				t.Errorf("%+v: the job says %v, the monitor %v", s, e, err)
			}
		}
		// A reporter would lose the text that the check searches for keywords.
		for _, s := range []pings.Signal{
			pings.FromMail("", nil, &pings.Mail{Subject: "failed"}), pings.FromHTTP("POST", true, []byte("failed")), {Method: "POST"}, {Scheme: "HTTP"},
		} {
			if e, ok := errors.AsType[*checks.FieldError](r.Ping(t.Context(), s)); !ok || e.Field != "signal" {
				t.Errorf("%+v: %v", s, e)
			}
		}
		if list, _ := p.log(t, c.ID); len(list) > 0 {
			t.Errorf("the log has %+v", list)
		}
		if err := p.reporter(t, uuid.New()).Success(t.Context(), nil); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("unknown check: %v", err)
		}
	})
}

// TestExitStatusAlone sends an exit status without a kind, to the job and to the monitor.
func TestExitStatusAlone(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		for _, status := range []int{0, 3} {
			must(t, p.reporter(t, c.ID).Ping(t.Context(), pings.Signal{ExitStatus: &status}))
			_, err := p.mon.Ping(t.Context(), c.ID, pings.Signal{ExitStatus: &status})
			must(t, err)
		}
		list, _ := p.log(t, c.ID)
		equal(t, "kinds", kinds(list), []pings.Kind{"success", "success", "fail", "fail"})
		equal(t, "exit status", *list[2].ExitStatus, 3)
	})
}

func TestOverlappingRuns(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		r := p.reporter(t, c.ID)
		first, err1 := r.Start(t.Context())
		p.clock.Advance(time.Second)
		second, err2 := r.Start(t.Context())
		p.clock.Advance(time.Second)
		must(t, errors.Join(err1, err2, first.Success(t.Context(), nil), second.Success(t.Context(), nil)))
		list, _ := p.log(t, c.ID)
		if *list[2].Duration != 2*time.Second || *list[3].Duration != time.Second {
			t.Errorf("durations %v and %v", *list[2].Duration, *list[3].Duration)
		}
	})
}

// Many goroutines can share a reporter, each with its own runs.
func TestReporterIsShared(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		r := p.reporter(t, c.ID)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := errors.Join(r.Run(t.Context(), func(context.Context) error { return nil }), p.pingErr()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		list, _ := p.log(t, c.ID)
		runs := make(map[uuid.UUID]int)
		for _, ping := range list {
			runs[ping.RunID.UUID]++
			if (ping.Duration != nil) != (ping.Kind == pings.Success) {
				t.Errorf("duration of %+v", ping)
			}
		}
		if len(list) != 40 || len(runs) != 20 {
			t.Errorf("%d pings of %d runs, want 40 of 20", len(list), len(runs))
		}
	})
}

func TestRun(t *testing.T) {
	broken := errors.New("the disk is full")
	each(t, func(t *testing.T, p place) {
		for name, test := range map[string]struct {
			job       func(ctx context.Context) error
			err       error
			panics    any
			last      pings.Kind
			body      string // how the last body begins
			alsoInEnd string
		}{
			"success": {job: func(context.Context) error { return nil }, last: pings.Success},
			"failure": {job: func(context.Context) error { return broken }, err: broken, last: pings.Failure, body: "the disk is full"},
			"panic": {job: func(context.Context) error { panic(broken) }, panics: broken, last: pings.Failure,
				body: "panic: the disk is full\n\ngoroutine ", alsoInEnd: "job_test.go"},
			"nil panic": {job: func(context.Context) error { panic(nil) }, panics: "", last: pings.Failure, body: "panic: panic called with nil argument"},
			"goexit":    {job: func(context.Context) error { runtime.Goexit(); return nil }, last: pings.Failure, body: "the job called runtime.Goexit instead of returning"},
		} {
			t.Run(name, func(t *testing.T) {
				c := p.create(t)
				r := p.reporter(t, c.ID)
				var jobErr error
				var reason any
				var wg sync.WaitGroup
				wg.Go(func() { // Goexit ends the goroutine
					defer func() { reason = recover() }()
					jobErr = r.Run(t.Context(), test.job)
				})
				wg.Wait()
				if _, isNil := reason.(*runtime.PanicNilError); isNil {
					reason = ""
				}
				pingErr := p.pingErr()
				if jobErr != test.err || pingErr != nil || reason != test.panics {
					t.Errorf("%v, %v, panic %v", jobErr, pingErr, reason)
				}
				list, bodies := p.log(t, c.ID)
				equal(t, "kinds", kinds(list), []pings.Kind{pings.Start, test.last})
				if list[0].RunID != list[1].RunID || !list[0].RunID.Valid || list[1].Duration == nil {
					t.Errorf("the run has no identifier or no duration: %+v", list)
				}
				if !strings.HasPrefix(bodies[1], test.body) || !strings.Contains(bodies[1], test.alsoInEnd) || test.body == "" && bodies[1] != "" {
					t.Errorf("body %q", bodies[1])
				}
			})
		}
	})
}

// A job runs even if its pings fail, and its end is reported even if its context has ended. A run that was cancelled from
// outside is no failure, and leaves the check waiting for its end.
func TestRunWithoutReceiverOrContext(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := p.reporter(t, c.ID).Run(ctx, func(ctx context.Context) error {
			cancel()
			return fmt.Errorf("copying: %w", ctx.Err())
		})
		if !errors.Is(err, context.Canceled) || p.pingErr() != nil {
			t.Error(err)
		}
		list, bodies := p.log(t, c.ID)
		if equal(t, "kinds", kinds(list), []pings.Kind{"start", "log"}); bodies[1] != "copying: context canceled" {
			t.Errorf("%q", bodies)
		}
		started, err := p.mon.Check(t.Context(), c.ID)
		if err != nil || !started.Started(p.clock.Now()) || started.Status(p.clock.Now().Add(started.RunLimit())) != checks.StatusDown {
			t.Errorf("%+v, %v", started, err)
		}

		ran := false
		err = p.reporter(t, uuid.New()).Run(t.Context(), func(context.Context) error {
			ran = true
			return nil
		})
		if pingErr := p.pingErr(); !ran || err != nil || !errors.Is(pingErr, checks.ErrNotFound) || strings.Count(pingErr.Error(), "not found") != 2 {
			t.Errorf("ran %t, %v, %v", ran, err, pingErr)
		}
	})
}

// What an error of a job means is up to Classify. By default, only a context that was cancelled from outside makes it an
// interruption.
func TestClassify(t *testing.T) {
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	as := func(kind pings.Kind) *job.Config {
		return &job.Config{Classify: func(_ context.Context, err error) pings.Kind {
			if err != broken {
				t.Error(err)
			}
			return kind
		}}
	}
	for name, test := range map[string]struct {
		ctx    context.Context
		config *job.Config
		err    error
		want   []pings.Kind
	}{
		"cancelled":             {cancelled, nil, broken, []pings.Kind{"start", "log"}},
		"cancelled but fine":    {cancelled, nil, nil, []pings.Kind{"start", "success"}},
		"too late":              {late, nil, context.DeadlineExceeded, []pings.Kind{"start", "fail"}},
		"cancelled by the job":  {t.Context(), nil, context.Canceled, []pings.Kind{"start", "fail"}},
		"success":               {t.Context(), as(pings.Success), broken, []pings.Kind{"start", "success"}},
		"failure":               {cancelled, as(pings.Failure), broken, []pings.Kind{"start", "fail"}},
		"log":                   {t.Context(), as(pings.Log), broken, []pings.Kind{"start", "log"}},
		"nothing":               {t.Context(), as(""), broken, []pings.Kind{"start"}},
		"success needs no word": {t.Context(), as(pings.Failure), nil, []pings.Kind{"start", "success"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r recorder
			if err := job.New(&r, test.config).Run(test.ctx, func(context.Context) error { return test.err }); err != test.err {
				t.Error(err)
			}
			var got []pings.Kind
			for _, s := range r.sent {
				got = append(got, s.Kind)
			}
			equal(t, "kinds", got, test.want)
		})
	}
}

// The errors of pings go to OnPingError one by one. End reports that of the start, too.
func TestOnPingError(t *testing.T) {
	away := sendFunc(func(_ context.Context, s pings.Signal) error { return errors.New("no " + string(s.Kind)) })
	var got []string
	j := job.New(away, &job.Config{OnPingError: func(_ context.Context, err error) { got = append(got, err.Error()) }})
	broken := errors.New("broken")
	if err := j.Run(t.Context(), func(context.Context) error { return broken }); err != broken {
		t.Error(err)
	}
	run, err := j.Start(t.Context())
	if err == nil {
		t.Error("Start returns no error")
	}
	run.End(t.Context(), nil)
	equal(t, "errors", got, []string{"no start", "no fail", "no start\nno success"})
}

// A body keeps its beginning and its end, the report of a panic the reason. Neither loses the trace.
func TestLimitOfBodies(t *testing.T) {
	each(t, func(t *testing.T, p place) {
		c := p.create(t)
		r := p.reporter(t, c.ID)
		const line = "trace_id=4bf92f35\n"
		traced := context.WithValue(t.Context(), traceKey{}, "4bf92f35")
		must(t, r.Log(t.Context(), nil)) // its response states the server's limit
		filler := strings.Repeat(".", p.limit-len(line)-1)
		must(t, r.Success(traced, []byte("cut"+filler+"!")))
		func() {
			defer func() { _ = recover() }()
			_ = r.Run(traced, func(context.Context) error { panic("out of tape" + filler) })
		}()
		list, bodies := p.log(t, c.ID)
		for i := range list {
			list[i], _ = p.mon.Project(p.project).PingWithBody(t.Context(), c.ID, list[i].N)
		}
		cut, left := pings.Cut([]byte(line+"cut"+filler+"!"), p.limit)
		if bodies[1] != string(cut) || list[1].BodyCut != left {
			t.Errorf("the body has %d bytes without %d and begins with %.40q", len(bodies[1]), list[1].BodyCut, bodies[1])
		}
		if want := line + "panic: out of tape..."; len(bodies[3]) != p.limit || !strings.HasPrefix(bodies[3], want) || list[3].BodyCut == 0 {
			t.Errorf("the panic has %d bytes without %d and begins with %.40q, want %q", len(bodies[3]), list[3].BodyCut, bodies[3], want)
		}
	})
}

// A trace takes one line, and is left out where that would be more than the beginning of a long body.
func TestTraceLine(t *testing.T) {
	for _, test := range []struct {
		trace string
		limit int
		want  string
	}{
		{"abc", 100, "trace_id=abc\nbody"}, {"a\nb", 100, "trace_id=a\nbody"}, {"\n", 100, "body"}, {"", 100, "body"},
		{"abc", 25, "body"}, {"abc", 26, "trace_id=abc\nbody"}, {"abc", 12, "body"}, {"abc", 0, ""},
	} {
		var r recorder
		j := job.New(&r, &job.Config{BodyLimit: func() int { return test.limit }, TraceID: func(context.Context) string { return test.trace }})
		must(t, j.Success(t.Context(), []byte("body")))
		if got := r.last(); got != test.want {
			t.Errorf("%q within %d bytes: %q, want %q", test.trace, test.limit, got, test.want)
		}
	}
}

// Without a reporter, jobs run and nothing else happens.
func TestNil(t *testing.T) {
	for name, r := range map[string]job.Reporter{"pinger": (*client.Pinger)(nil), "job": (*job.Job)(nil)} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			run, err := r.Start(ctx)
			must(t, errors.Join(err, r.Ping(ctx, pings.Signal{Kind: "bogus"}), r.Success(ctx, nil), r.Failure(ctx, nil), r.Log(ctx, nil), r.ExitStatus(ctx, 300, nil),
				run.Success(ctx, nil), run.Failure(ctx, nil), run.Log(ctx, nil), run.ExitStatus(ctx, 1, nil)))
			if run.ID() == uuid.Nil {
				t.Error("the run has no identifier")
			}
			run.End(ctx, errors.New("broken"))
			broken := errors.New("broken")
			if err := r.Run(ctx, func(context.Context) error { return broken }); err != broken {
				t.Error(err)
			}
		})
	}
}

// Without a Sender, or without New, pings are errors and jobs run.
func TestNoSender(t *testing.T) {
	for name, j := range map[string]*job.Job{"nil": job.New(nil, nil), "zero": {}} {
		var reported []error
		if name == "nil" {
			j = job.New(nil, &job.Config{OnPingError: func(_ context.Context, err error) { reported = append(reported, err) }})
		}
		run, err := j.Start(t.Context())
		for _, err := range []error{err, j.Success(t.Context(), nil), j.Failure(t.Context(), nil), j.ExitStatus(t.Context(), 3, nil), run.Success(t.Context(), nil)} {
			if err == nil || !strings.Contains(err.Error(), "no Sender") {
				t.Errorf("%s: %v", name, err)
			}
		}
		broken := errors.New("broken")
		if err := j.Run(t.Context(), func(context.Context) error { return broken }); err != broken || name == "nil" && len(reported) != 2 {
			t.Errorf("%s: %v, reported %v", name, err, reported)
		}
	}
	used := false
	entry := job.Entry{Name: "x", Spec: func() (checks.Spec, error) { return checks.Spec{}, nil }, Use: func(r job.Reporter) { used = r.Success(t.Context(), nil) == nil }}
	if err := job.Sync(t.Context(), nil, "tag", []job.Entry{entry}, nil); err == nil || !used {
		t.Errorf("without a registry: %v, used %v", err, used)
	}
}

// diskError is an error whose Error method fails for a nil pointer.
type diskError struct{ disk string }

func (e *diskError) Error() string { return e.disk + " is full" }

// A nil pointer in an error is not nil. Its run is reported nevertheless.
func TestRunWithNilPointerError(t *testing.T) {
	var r recorder
	err := job.New(&r, nil).Run(t.Context(), func(context.Context) error {
		var e *diskError
		return e
	})
	if err == nil {
		t.Error("the error of the job is lost")
	}
	if last := r.sent[len(r.sent)-1]; last.Kind != pings.Failure || string(last.Body) != "<nil>" {
		t.Errorf("%s: %q", last.Kind, last.Body)
	}
}

// sendFunc is a receiver in a test.
type sendFunc func(ctx context.Context, s pings.Signal) error

func (f sendFunc) Ping(ctx context.Context, s pings.Signal) error { return f(ctx, s) }

func TestDefaultBodyLimit(t *testing.T) {
	var got int
	j := job.New(sendFunc(func(_ context.Context, s pings.Signal) error { got = len(s.Body); return nil }), nil)
	must(t, j.Success(t.Context(), make([]byte, 1_000_000)))
	if got != 100_000 {
		t.Errorf("%d bytes", got)
	}
}
