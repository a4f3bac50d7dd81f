package client_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/server"
)

// severed is a transport that reaches no server while down is set.
type severed struct{ down atomic.Bool }

func (s *severed) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.down.Load() {
		return nil, errors.New("connection refused")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// during returns a client that does not reach the server of a site, with a queue or without.
func (s *site) during(queue string) (*client.Client, *severed) {
	transport := &severed{}
	transport.down.Store(true)
	c, err := client.New(s.url, s.keys.ReadWrite, &client.Config{
		HTTPClient: &http.Client{Transport: transport}, Tries: 1,
		Pinger: client.PingerConfig{Queue: queue, Job: job.Config{OnPingError: func(context.Context, error) {}}},
	})
	if err != nil {
		s.Fatal(err)
	}
	return c, transport
}

// logged returns the kinds of the pings of a check, oldest first.
func (s *site) logged(slug string) (kinds []string) {
	s.Helper()
	c, err := s.client.CheckBySlug(s.Context(), slug)
	if err != nil {
		s.Fatal(err)
	}
	list, err := checks.Collect(s.client.Pings(s.Context(), c.ID, checks.PingQuery{}))
	if err != nil {
		s.Fatal(err)
	}
	for i := range list {
		kinds = append(kinds, string(list[len(list)-1-i].Kind))
	}
	return kinds
}

// TestRegisterDuringOutage registers a job while the server does not answer. The reporter keeps the pings, in memory or in the
// queue, registers the check when the server is back, and sends them in their order.
func TestRegisterDuringOutage(t *testing.T) {
	for _, queue := range []string{"", t.TempDir()} {
		s := serve(t, server.Config{}, "paid")
		c, transport := s.during(queue)
		spec := checks.Spec{Slug: new("backup"), Schedule: new("0 3 * * *")}
		r, err := c.Register(t.Context(), spec)
		if !errors.Is(err, client.ErrPending) || !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("queue %q: %v", queue, err)
		}
		waits := client.ErrPending
		if queue != "" {
			waits = client.ErrQueued
		}
		for range 2 {
			_ = r.Run(t.Context(), func(context.Context) error { return nil })
		}
		if err := r.Failure(t.Context(), []byte("why")); !errors.Is(err, waits) {
			t.Errorf("queue %q: %v, want %v", queue, err, waits)
		}
		again, err := c.Register(t.Context(), spec)
		if !errors.Is(err, client.ErrPending) || again != r {
			t.Errorf("queue %q: another reporter, %v", queue, err)
		}
		transport.down.Store(false)
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := []string{"start", "success", "start", "success", "fail"}
		if diff := cmp.Diff(want, s.logged("backup")); diff != "" {
			t.Errorf("queue %q (-want +got):\n%s", queue, diff)
		}
		after, err := c.Register(t.Context(), spec)
		if err == nil {
			err = after.Success(t.Context(), nil)
		}
		if err != nil || after != r {
			t.Errorf("queue %q: %v", queue, err)
		}
	}
}

// TestRegisterByNextProcess sends the pings of a process that ended before it could register its check.
func TestRegisterByNextProcess(t *testing.T) {
	s, queue := serve(t, server.Config{}, "paid"), t.TempDir()
	c, _ := s.during(queue)
	spec := checks.Spec{Slug: new("backup")}
	r, _ := c.Register(t.Context(), spec)
	_ = r.Run(t.Context(), func(context.Context) error { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ctx); !errors.Is(err, client.ErrQueued) {
		t.Errorf("Close: %v", err)
	}
	if files, err := filepath.Glob(filepath.Join(queue, "*", "*.ping")); err != nil || len(files) != 2 {
		t.Errorf("%q, %v", files, err)
	}
	next, transport := s.during(queue)
	transport.down.Store(false)
	if _, err := next.Register(t.Context(), spec); err != nil {
		t.Error(err)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"start", "success"}, s.logged("backup")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRegisterRefused has a reporter that only runs the job where the server refuses the check, also when it does so after an
// outage: then the errors go to OnPingError, and nothing waits for ever.
func TestRegisterRefused(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	c, transport := s.during("")
	spec := checks.Spec{Slug: new("backup"), Schedule: new("never")}
	r, err := c.Register(t.Context(), spec)
	if !errors.Is(err, client.ErrPending) {
		t.Error(err)
	}
	_ = r.Success(t.Context(), nil)
	transport.down.Store(false)
	if err := c.Close(t.Context()); err == nil || err.Error() != "client: close: pings that were not sent: 1" {
		t.Error(err)
	}
	if _, err := s.client.CheckBySlug(t.Context(), "backup"); !errors.Is(err, checks.ErrNotFound) {
		t.Error(err)
	}
	r, err = s.client.Register(t.Context(), spec)
	if _, ok := errors.AsType[*checks.FieldError](err); !ok || errors.Is(err, client.ErrPending) {
		t.Error(err)
	}
	ran := false
	if err := r.Run(t.Context(), func(context.Context) error { ran = true; return os.ErrExist }); err != os.ErrExist || !ran {
		t.Errorf("%v, ran %v", err, ran)
	}
	unreachable, _ := s.during("")
	if _, err := unreachable.Register(t.Context(), checks.Spec{Slug: new("other")}); !errors.Is(err, client.ErrPending) {
		t.Error(err)
	}
	if err := unreachable.Close(t.Context()); err != nil { // nothing waits
		t.Error(err)
	}
}
