package client_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

// kinds returns the kinds of the pings in a log.
func kinds(list []client.Ping) (kinds []pings.Kind) {
	for _, p := range list {
		kinds = append(kinds, p.Kind)
	}
	return kinds
}

func TestPings(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	byID := s.create(checks.Spec{Methods: new("POST")})
	bySlug := s.create(checks.Spec{Slug: new("job_1-x")})
	for name, test := range map[string]struct {
		check client.Check
		url   string
	}{
		"uuid":            {byID, byID.PingURL},
		"slug":            {bySlug, client.SlugURL(s.url+"/ping/", s.project.PingKey, "job_1-x")},
		"slug and create": {s.create(checks.Spec{Slug: new("more")}), client.SlugURL(s.url+"/ping", s.project.PingKey, "more") + "?create=1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := client.NewPinger(test.url, &client.Config{UserAgent: "the job"})
			if err != nil {
				t.Fatal(err)
			}
			run, err := p.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.clock.Advance(1234 * time.Millisecond)
			id := uuid.MustParse("22222222-2222-4333-8444-555555555555")
			for i, send := range []func() error{
				func() error { return run.Log(t.Context(), []byte("half way")) },
				func() error { return run.Success(t.Context(), []byte("all fine\n")) },
				func() error { return p.Fail(t.Context(), []byte("é\x00\xff")) },
				func() error { return p.Log(t.Context(), nil) },
				func() error { return p.Success(t.Context(), nil) },
				func() error { return p.ExitStatus(t.Context(), 0, nil) },
				func() error { return run.ExitStatus(t.Context(), 255, []byte("killed")) },
				func() error {
					return p.Ping(t.Context(), pings.Signal{RunID: uuid.NullUUID{UUID: id, Valid: true}})
				},
				func() error { return run.Fail(t.Context(), nil) },
			} {
				if err := send(); err != nil {
					t.Fatal(i, err)
				}
			}
			list, bodies := s.log(test.check)
			equal(t, "kinds", kinds(list), []pings.Kind{"start", "log", "success", "fail", "log", "success", "success", "fail", "success", "fail"})
			equal(t, "bodies", bodies, []string{"", "half way", "all fine\n", "é\x00\xff", "", "", "", "killed", "", ""})
			own := uuid.NullUUID{UUID: run.ID(), Valid: true}
			for i, want := range []uuid.NullUUID{own, own, own, {}, {}, {}, {}, own, {UUID: id, Valid: true}, own} {
				if list[i].RunID != want {
					t.Errorf("ping %d: run %v, want %v", i+1, list[i].RunID, want)
				}
			}
			equal(t, "third", list[2], client.Ping{
				N: 3, Kind: pings.Success, At: s.clock.Now(), Scheme: "http", RemoteAddr: "127.0.0.1", Method: "POST", UserAgent: "the job",
				RunID: own, Duration: new(1230 * time.Millisecond), HasBody: true,
			})
		})
	}
}

func TestPingCreates(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	url := client.SlugURL(s.url+"/ping", s.project.PingKey, "fresh")
	if err := s.pinger(url).Success(t.Context(), nil); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("without create: %v", err)
	}
	run, err := s.pinger(url + "?create=1").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.client.List(t.Context(), client.Query{Slug: "fresh"})
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if log, _ := s.log(list[0]); len(log) != 1 || log[0].RunID.UUID != run.ID() {
		t.Errorf("log %+v", log)
	}
}

// The server tells overlapping runs apart.
func TestOverlappingRuns(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	c := s.create(checks.Spec{})
	p := s.pinger(c.PingURL)
	first, _ := p.Start(t.Context())
	s.clock.Advance(time.Second)
	second, _ := p.Start(t.Context())
	s.clock.Advance(time.Second)
	if err := errors.Join(first.Success(t.Context(), nil), second.Success(t.Context(), nil)); err != nil {
		t.Fatal(err)
	}
	list, _ := s.log(c)
	if *list[2].Duration != 2*time.Second || *list[3].Duration != time.Second {
		t.Errorf("durations %v and %v", *list[2].Duration, *list[3].Duration)
	}
}

// Many goroutines can share a pinger, each with its own runs.
func TestPingerIsShared(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	c := s.create(checks.Spec{})
	p := s.pinger(c.PingURL)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if jobErr, pingErr := p.Run(t.Context(), func(context.Context) error { return nil }); jobErr != nil || pingErr != nil {
				t.Error(jobErr, pingErr)
			}
		})
	}
	wg.Wait()
	list, _ := s.log(c)
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
}

func TestBodyIsCutAtItsStart(t *testing.T) {
	s := serve(t, server.Config{PingBodyLimit: 10}, checks.Paid)
	c := s.create(checks.Spec{})
	p := s.pinger(c.PingURL)
	if p.BodyLimit() != client.DefaultBodyLimit {
		t.Errorf("limit %d before the first answer", p.BodyLimit())
	}
	run, err := p.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p.BodyLimit() != 10 {
		t.Errorf("limit %d", p.BodyLimit())
	}
	// "é" has two bytes, "€" three. The cut removes a character that it goes through.
	for _, body := range []string{"0123456789", "x0123456789", "é123456789", "€123456789", "€12345678", strings.Repeat("\x80", 12), "\U0001F4A912345678"} {
		if err := run.Log(t.Context(), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	_, bodies := s.log(c)
	equal(t, "bodies", bodies[1:], []string{
		"0123456789", "0123456789", "123456789", "123456789", "12345678", strings.Repeat("\x80", 10), "12345678"})
}

func TestRun(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	broken := errors.New("the disk is full")
	for name, test := range map[string]struct {
		job       func(ctx context.Context) error
		err       error
		panics    any
		last      pings.Kind
		body      string // how the last body begins
		alsoInEnd string
	}{
		"success": {job: func(context.Context) error { return nil }, last: pings.Success},
		"failure": {job: func(context.Context) error { return broken }, err: broken, last: pings.Fail, body: "the disk is full"},
		"panic": {job: func(context.Context) error { panic(broken) }, panics: broken, last: pings.Fail,
			body: "panic: the disk is full\n\ngoroutine ", alsoInEnd: "pinger_test.go"},
		"nil panic": {job: func(context.Context) error { panic(nil) }, panics: "", last: pings.Fail, body: "panic: panic called with nil argument"},
		"goexit":    {job: func(context.Context) error { runtime.Goexit(); return nil }, last: pings.Fail, body: "the job called runtime.Goexit instead of returning"},
	} {
		t.Run(name, func(t *testing.T) {
			c := s.create(checks.Spec{})
			p := s.pinger(c.PingURL)
			var jobErr, pingErr error
			var reason any
			var wg sync.WaitGroup
			wg.Go(func() { // Goexit ends the goroutine
				defer func() { reason = recover() }()
				jobErr, pingErr = p.Run(t.Context(), test.job)
			})
			wg.Wait()
			if _, isNil := reason.(*runtime.PanicNilError); isNil {
				reason = ""
			}
			if jobErr != test.err || pingErr != nil || reason != test.panics {
				t.Errorf("%v, %v, panic %v", jobErr, pingErr, reason)
			}
			list, bodies := s.log(c)
			equal(t, "kinds", kinds(list), []pings.Kind{pings.Start, test.last})
			if list[0].RunID != list[1].RunID || !list[0].RunID.Valid || list[1].Duration == nil {
				t.Errorf("the run has no identifier or no duration: %+v", list)
			}
			if !strings.HasPrefix(bodies[1], test.body) || !strings.Contains(bodies[1], test.alsoInEnd) || test.body == "" && bodies[1] != "" {
				t.Errorf("body %q", bodies[1])
			}
		})
	}
}

// The report of a panic is cut at its end, because the reason comes first.
func TestPanicReportKeepsItsStart(t *testing.T) {
	s := serve(t, server.Config{PingBodyLimit: 20}, checks.Paid)
	c := s.create(checks.Spec{})
	func() {
		defer func() { _ = recover() }()
		_, _ = s.pinger(c.PingURL).Run(t.Context(), func(context.Context) error { panic("out of tape") })
	}()
	if _, bodies := s.log(c); len(bodies) != 2 || !strings.HasPrefix(bodies[1], "panic: out of tape") {
		t.Errorf("bodies %q", bodies)
	}
}

// A job runs even if its pings fail, and its end is reported even if its context has ended.
func TestRunWithoutServerOrContext(t *testing.T) {
	s := serve(t, server.Config{}, checks.Paid)
	c := s.create(checks.Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	jobErr, pingErr := s.pinger(c.PingURL).Run(ctx, func(ctx context.Context) error {
		cancel()
		return ctx.Err()
	})
	if jobErr != context.Canceled || pingErr != nil {
		t.Errorf("%v, %v", jobErr, pingErr)
	}
	if list, bodies := s.log(c); len(list) != 2 || bodies[1] != "context canceled" {
		t.Errorf("%+v, %q", list, bodies)
	}

	ran := false
	jobErr, pingErr = s.pinger(s.url+"/ping/none").Run(ctx, func(context.Context) error {
		ran = true
		return nil
	})
	if !ran || jobErr != nil || !errors.Is(pingErr, context.Canceled) || !errors.Is(pingErr, checks.ErrNotFound) {
		t.Errorf("ran %t, %v, %v", ran, jobErr, pingErr)
	}
}

func TestNewPingerRefuses(t *testing.T) {
	for _, url := range []string{
		"", "secret", "http://h", "http://h/", "ftp://h/secret", "http:///secret", "http://h/secret#x", "http://h/%zz/secret",
		client.SlugURL("http://h/ping", "secret", ""), client.SlugURL("http://h/ping", "secret", ".."), client.SlugURL("http://h/ping", "", "secret"),
		client.SlugURL("", "secret", "x"), "http://h//secret", "http://h/secret/", "http://h/secret//", "http://h/./secret",
	} {
		if p, err := client.NewPinger(url, nil); err == nil || p != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", url, err)
		}
	}
	if got, want := client.SlugURL("http://h/a/", "k/é", "b c"), "http://h/a/k%2F%C3%A9/b%20c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTail(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 2, 7, 100} {
		for _, writes := range [][]string{{}, {""}, {"abc"}, {"abc", "", "defg"}, {strings.Repeat("x", 20), "yz"}, {"ab", strings.Repeat("0123456789", 3)}, strings.Split(strings.Repeat("a,bc,", 30), ",")} {
			tail := client.NewTail(limit)
			whole := ""
			for _, text := range writes {
				if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
				whole += text
				want := whole[max(0, len(whole)-max(limit, 0)):]
				if got := string(tail.Bytes()); got != want {
					t.Fatalf("limit %d, %q: %q, want %q", limit, whole, got, want)
				}
			}
		}
	}
	tail := client.NewTail(4)
	for range 20 {
		_, _ = tail.Write([]byte("é€"))
		if got := string(tail.Bytes()); got != "€" {
			if got != "é€" && strings.ToValidUTF8(got, "?") != got {
				t.Fatalf("%q", got)
			}
		}
	}
}
