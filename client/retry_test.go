package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
)

// respond returns a response.
func respond(r *http.Request, status int, contentType, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {contentType}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

// script is a server that sends these responses in order. After the last one, and for nil, it sends a success.
type script struct {
	answers []any // a status, an error of the connection, a response, "hang" or "broken"
	success string
	mu      sync.Mutex
	at      []time.Duration // when each request came
	bodies  []string
	began   time.Time
}

// next notes a request and returns the next answer.
func (s *script) next(r *http.Request) (next any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, time.Since(s.began))
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		s.bodies = append(s.bodies, string(body))
	}
	if len(s.answers) > 0 {
		next, s.answers = s.answers[0], s.answers[1:]
	}
	return next
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	switch a := s.next(r).(type) {
	case int:
		return respond(r, a, "application/json", `{"error": "scripted"}`), nil
	case error:
		return nil, a
	case *http.Response:
		a.Request = r
		return a, nil
	case string:
		if a == "hang" {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		res := respond(r, 200, "application/json", "")
		res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"checks": [`), brokenReader{}))
		return res, nil
	}
	kind := "application/json"
	if s.success == "text" {
		kind = "text/plain"
	}
	return respond(r, 200, kind, s.success), nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

const someCheck = `{"uuid": "11111111-2222-4333-8444-555555555555", "channels": "", "status": "new"}`

// someKey has the form of an API key.
const someKey = "rcw_0000000000000000000000000000"

var someID = uuid.MustParse("11111111-2222-4333-8444-555555555555")

func (s *script) client(t *testing.T, config client.Config) *client.Client {
	t.Helper()
	s.began = time.Now()
	config.HTTPClient = &http.Client{Transport: s}
	c, err := client.New("https://rollcall.example.org", someKey, &config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *script) pinger(t *testing.T, config client.PingerConfig) *client.Pinger {
	t.Helper()
	s.began = time.Now()
	config.HTTPClient = &http.Client{Transport: s}
	s.success = "OK"
	p, err := client.NewPinger("https://rollcall.example.org/ping/secret-id", &config)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, p)
	return p
}

// closeAtEnd ends the background of a pinger before the synctest bubble ends.
func closeAtEnd(t *testing.T, p *client.Pinger) {
	t.Cleanup(func() { _ = p.Close(context.Background()) })
}

var (
	refused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	reset   = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}
)

// TestWhatIsRetried asserts, for every call and every failure, how often a request is sent to a server that works from
// the second request on.
func TestWhatIsRetried(t *testing.T) {
	calls := map[string]struct {
		success string
		again   bool // may take effect twice
		call    func(context.Context, *client.Client) error
	}{
		"list": {`{"checks": []}`, true, func(ctx context.Context, c *client.Client) error { _, err := c.Checks(ctx, checks.Query{}); return err }},
		"get":  {someCheck, true, func(ctx context.Context, c *client.Client) error { _, err := c.Check(ctx, someID); return err }},
		"pings": {`{"pings": []}`, true, func(ctx context.Context, c *client.Client) error {
			_, err := checks.Collect(c.Pings(ctx, someID, checks.PingQuery{}))
			return err
		}},
		"flips": {`[]`, true, func(ctx context.Context, c *client.Client) error {
			_, err := checks.Collect(c.Flips(ctx, someID, flips.Range{}))
			return err
		}},
		"status": {`{"status": "ok"}`, true, func(ctx context.Context, c *client.Client) error { return c.Probe(ctx) }},
		"body": {"text", true, func(ctx context.Context, c *client.Client) error {
			_, err := c.PingBody(ctx, someID, 1)
			return err
		}},
		"update": {someCheck, true, func(ctx context.Context, c *client.Client) error {
			_, err := c.Update(ctx, someID, checks.Spec{})
			return err
		}},
		"pause": {someCheck, true, func(ctx context.Context, c *client.Client) error { _, err := c.Pause(ctx, someID); return err }},
		"upsert": {someCheck, true, func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Upsert(ctx, checks.Spec{Slug: new("x"), Timeout: new(time.Hour)}, checks.UniqueSlug, checks.UniqueTimeout)
			return err
		}},
		"upsert by a field that is not set": {someCheck, false, func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Upsert(ctx, checks.Spec{Slug: new("x")}, checks.UniqueSlug, checks.UniqueName)
			return err
		}},
		"upsert of a cron check by timeout": {someCheck, false, func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Upsert(ctx, checks.Spec{Timeout: new(time.Hour), Schedule: new("* * * * *")}, checks.UniqueTimeout)
			return err
		}},
		"create": {someCheck, false, func(ctx context.Context, c *client.Client) error { _, err := c.Create(ctx, checks.Spec{}); return err }},
		"resume": {someCheck, false, func(ctx context.Context, c *client.Client) error { _, err := c.Resume(ctx, someID); return err }},
		"delete": {someCheck, false, func(ctx context.Context, c *client.Client) error { _, err := c.Delete(ctx, someID); return err }},
	}
	failures := map[string]struct {
		answer any
		unsure bool // the server may have acted
		never  bool // a retry cannot help
	}{
		"429": {answer: 429}, "refused": {answer: refused},
		"proxy refused": {answer: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: refused}},
		"502":           {answer: 502, unsure: true}, "503": {answer: 503, unsure: true}, "504": {answer: 504, unsure: true},
		"500":   {answer: 500, unsure: true},
		"reset": {answer: reset, unsure: true}, "eof": {answer: io.EOF, unsure: true}, "hang": {answer: "hang", unsure: true},
		"400": {answer: 400, never: true}, "401": {answer: 401, never: true}, "403": {answer: 403, never: true},
		"404": {answer: 404, never: true}, "409": {answer: 409, never: true}, "501": {answer: 501, never: true},
		"certificate": {answer: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}, never: true},
	}
	for name, k := range calls {
		for failure, f := range failures {
			t.Run(name+"/"+failure, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{answers: []any{f.answer}, success: k.success}
					err := k.call(t.Context(), s.client(t, client.Config{}))
					want := 1
					if !f.never && (k.again || !f.unsure) {
						want = 2
					}
					if len(s.at) != want || (err == nil) != (want == 2) {
						t.Errorf("sent %d times, want %d: %v", len(s.at), want, err)
					}
				})
			})
		}
	}
}

func TestPausesBetweenTries(t *testing.T) {
	date := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the clock of synctest begins here
	after := func(headers ...string) *http.Response {
		return respond(nil, 429, "text/plain", "slow down", headers...)
	}
	for name, test := range map[string]struct {
		answers  []any
		config   client.Config
		min, max []time.Duration // when each request comes
		fails    bool
	}{
		"doubled, with chance": {answers: []any{503, 502, 504, reset},
			min: []time.Duration{0, 125, 375, 875, 1875}, max: []time.Duration{0, 250, 750, 1750, 3750}},
		"given up": {answers: []any{503, 503, 503, 503, 503, 503}, fails: true,
			min: []time.Duration{0, 125, 375, 875, 1875}, max: []time.Duration{0, 250, 750, 1750, 3750}},
		"one try":          {answers: []any{503}, config: client.Config{Tries: 1}, fails: true, min: []time.Duration{0}, max: []time.Duration{0}},
		"seconds":          {answers: []any{after("Retry-After", "7")}, min: []time.Duration{0, 7000}, max: []time.Duration{0, 7000}},
		"zero":             {answers: []any{after("Retry-After", "0")}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
		"date":             {answers: []any{after("Retry-After", date.Add(9*time.Second).Format(http.TimeFormat))}, min: []time.Duration{0, 9000}, max: []time.Duration{0, 9000}},
		"past":             {answers: []any{after("Retry-After", date.Add(-time.Hour).Format(http.TimeFormat))}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
		"server's clock":   {answers: []any{after("Retry-After", "Sat, 15 Jun 2030 10:00:05 GMT", "Date", "Sat, 15 Jun 2030 10:00:00 GMT")}, min: []time.Duration{0, 5000}, max: []time.Duration{0, 5000}},
		"nonsense":         {answers: []any{after("Retry-After", "soon")}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
		"negative":         {answers: []any{after("Retry-After", "-5")}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
		"costs no time":    {answers: []any{after("Retry-After", "900"), after("Retry-After", "900")}, config: client.Config{Tries: 1, MaxWait: time.Hour}, min: []time.Duration{0, 900_000, 1800_000}, max: []time.Duration{0, 900_000, 1800_000}},
		"longer in all":    {answers: []any{after("Retry-After", "600"), after("Retry-After", "600")}, fails: true, min: []time.Duration{0, 600_000}, max: []time.Duration{0, 600_000}},
		"no wait":          {answers: []any{after("Retry-After", "2")}, config: client.Config{MaxWait: time.Second}, fails: true, min: []time.Duration{0}, max: []time.Duration{0}},
		"beyond the limit": {answers: []any{after("Retry-After", "901")}, fails: true, min: []time.Duration{0}, max: []time.Duration{0}},
		"far too long":     {answers: []any{after("Retry-After", "4294967295")}, fails: true, min: []time.Duration{0}, max: []time.Duration{0}},
		"too large":        {answers: []any{after("Retry-After", "99999999999999999999")}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
		"far date":         {answers: []any{after("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT")}, fails: true, min: []time.Duration{0}, max: []time.Duration{0}},
		"a try takes half": {answers: []any{"hang"}, min: []time.Duration{0, 30125}, max: []time.Duration{0, 30250}},
		"whole time":       {answers: []any{"hang", "hang", "hang"}, fails: true, min: []time.Duration{0, 30125}, max: []time.Duration{0, 30250}},
		"broken off":       {answers: []any{"broken"}, min: []time.Duration{0, 125}, max: []time.Duration{0, 250}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: test.answers, success: `{"checks": []}`}
				_, err := s.client(t, test.config).Checks(t.Context(), checks.Query{})
				if (err != nil) != test.fails {
					t.Errorf("error %v", err)
				}
				if took := time.Since(s.began); took > time.Minute && test.min[len(test.min)-1] < 60_000 {
					t.Errorf("took %v", took)
				}
				if len(s.at) != len(test.min) {
					t.Fatalf("sent at %v, want %v (ms)", s.at, test.min)
				}
				for i, at := range s.at {
					if at < test.min[i]*time.Millisecond || at > test.max[i]*time.Millisecond {
						t.Errorf("try %d after %v, want %d to %d ms", i+1, at, test.min[i], test.max[i])
					}
				}
			})
		})
	}
}

func TestErrorAfterRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{503, refused, 502}}
		_, err := s.client(t, client.Config{Tries: 3}).Check(t.Context(), someID)
		if want := "client: get check 11111111-2222-4333-8444-555555555555: scripted (status 502) (after 3 tries)"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
		s = &script{answers: []any{respond(nil, 429, "text/plain; charset=utf-8", "slow\n\tdown\n", "Retry-After", "3600")}}
		_, err = s.client(t, client.Config{}).Check(t.Context(), someID)
		if e, ok := errors.AsType[*client.Error](err); !ok || e.StatusCode != 429 || e.RetryAfter != time.Hour || e.Message != "slow down" {
			t.Errorf("error %+v", err)
		}
	})
}

func TestContextEndsACall(t *testing.T) {
	for name, answers := range map[string][]any{"while it waits": {"hang"}, "between tries": {respond(nil, 429, "", "", "Retry-After", "30")}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: answers}
				c := s.client(t, client.Config{})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, cancel)
				_, err := c.Check(ctx, someID)
				if !errors.Is(err, context.Canceled) || time.Since(s.began) != 5*time.Second || len(s.at) != 1 {
					t.Errorf("after %v and %d requests: %v", time.Since(s.began), len(s.at), err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		// A pause that would end after the deadline does not begin.
		s := &script{answers: []any{respond(nil, 429, "", "", "Retry-After", "30")}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := s.client(t, client.Config{}).Check(ctx, someID)
		if _, ok := errors.AsType[*client.Error](err); !ok || time.Since(s.began) != 0 {
			t.Errorf("after %v: %v", time.Since(s.began), err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// The deadline of the caller and that of the client come at the same moment: whichever ends the call, it says the same.
		for range 20 {
			s := &script{answers: []any{"hang"}}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := s.client(t, client.Config{Timeout: 5 * time.Second, Tries: 1}).Check(ctx, someID)
			cancel()
			if err == nil || !strings.HasSuffix(err.Error(), ": no answer in time") || !errors.Is(err, checks.ErrUnavailable) {
				t.Errorf("after %v: %v", time.Since(s.began), err)
			}
		}
	})
}

// A ping takes one try of its job, and its error does not contain the ping URL. The rest happens in the background, in
// which pings do not overtake each other.
func TestPingIsBounded(t *testing.T) {
	many := func(a any) (list []any) {
		for range 1000 {
			list = append(list, a)
		}
		return list
	}
	for name, answers := range map[string][]any{
		"hang": many("hang"), "refused": many(refused), "slow": many(503), "limited": many(429),
		"mix": {429, "hang", reset, 503, 503, 503, 503, 503, 503, 503},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: answers}
				p := s.pinger(t, client.PingerConfig{})
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				err := p.Failure(ctx, []byte("why"))
				if took := time.Since(s.began); !errors.Is(err, client.ErrPending) || took > 3*time.Second {
					t.Errorf("took %v: %v", took, err)
				}
				began := time.Now()
				if err := p.Success(ctx, []byte("why")); !errors.Is(err, client.ErrPending) || time.Since(began) > 0 {
					t.Errorf("the next one took %v: %v", time.Since(began), err)
				}
				lost := p.Close(t.Context())
				if took := time.Since(s.began); took > 40*time.Second || (lost == nil) != (name == "mix") || lost != nil && !strings.HasSuffix(lost.Error(), "pings that were not sent: 2") {
					t.Errorf("closed after %v: %v", took, lost)
				}
				if strings.Contains(fmt.Sprint(err, lost), "secret-id") {
					t.Errorf("an error shows the ping URL: %v, %v", err, lost)
				}
				for _, body := range s.bodies {
					if body != "why" {
						t.Errorf("body %q", body)
					}
				}
				if err := p.Success(t.Context(), nil); errors.Is(err, client.ErrPending) {
					t.Errorf("after Close: %v", err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{429, "hang", reset, 503}}
		p := s.pinger(t, client.PingerConfig{})
		if err := p.Success(t.Context(), nil); !errors.Is(err, client.ErrPending) || len(s.at) != 1 {
			t.Errorf("%d tries: %v", len(s.at), err)
		}
		if err := p.Close(t.Context()); err != nil || len(s.at) != 5 {
			t.Errorf("%d tries: %v", len(s.at), err)
		}
	})
}

// Close gives up when its context ends, and says how many pings are lost.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []any{refused, "hang"}}
		p := s.pinger(t, client.PingerConfig{})
		_, _ = p.Start(t.Context())
		_ = p.Success(t.Context(), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Close(ctx)
		if want := "client: close: context deadline exceeded; pings that were not sent: 2"; err == nil || err.Error() != want || time.Since(s.began) != time.Second {
			t.Errorf("after %v: %v, want %s", time.Since(s.began), err, want)
		}
		if err := (*client.Pinger)(nil).Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A server that accepts connections and never answers delays a run by one try. This uses a real network.
func TestBlackHole(t *testing.T) {
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hole.Close()
	for name, queue := range map[string]string{"memory": "", "queue": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			config := client.PingerConfig{Queue: queue, Timeout: time.Hour, HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				tries.Add(1)
				return http.DefaultTransport.RoundTrip(r)
			})}}
			var errs []error
			config.Job.OnPingError = func(_ context.Context, err error) { errs = append(errs, err) }
			p, err := client.NewPinger("http://"+hole.Addr().String()+"/ping/x", &config)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			for range 3 {
				// Of the six pings, only the first is tried until the context ends. Each of the others would take an hour.
				if err := p.Run(ctx, func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			}
			if err := p.Close(ctx); err == nil || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrQueued) != (queue != "") {
				t.Error(err)
			}
			if len(errs) != 6 || tries.Load() >= 6 {
				t.Errorf("%d tries, %v", tries.Load(), errs)
			}
			for _, err := range errs {
				if errors.Is(err, client.ErrQueued) != (queue != "") || errors.Is(err, client.ErrPending) != (queue == "") {
					t.Error(err)
				}
			}
		})
	}
}

// A call whose context has ended is not sent.
func TestEndedContext(t *testing.T) {
	s := &script{success: someCheck}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.client(t, client.Config{}).Check(ctx, someID)
	if want := "client: get check 11111111-2222-4333-8444-555555555555: context canceled"; err == nil || err.Error() != want || len(s.at) > 0 {
		t.Errorf("%d requests: %v, want %s", len(s.at), err, want)
	}
}

// A server that cannot be reached is unavailable, like the database of an embedded monitor.
func TestUnavailable(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   bool
	}{
		"503": {503, true}, "502": {502, true}, "refused": {refused, true}, "reset": {reset, true}, "hang": {"hang", true},
		"no such host": {&net.DNSError{Err: "no such host", Name: "rollcall.example.org", IsNotFound: true}, true},
		"500":          {500, false}, "404": {404, false}, "429": {respond(nil, 429, "", "", "Retry-After", "3600"), false},
		"certificate": {&tls.CertificateVerificationError{Err: errors.New("unknown authority")}, false},
		"canceled":    {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []any{test.answer, test.answer}}
				c := s.client(t, client.Config{Tries: 1})
				if _, err := c.Check(t.Context(), someID); errors.Is(err, checks.ErrUnavailable) != test.want {
					t.Error(err)
				}
			})
		})
	}
}
