package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/s3store"
	"github.com/rollcall-dev/rollcall/checks/s3store/internal/s3test"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// configFor is a configuration for a server, or for a proxy of one. Only a failure reaches its timeout.
func configFor(url string) s3store.Config {
	return s3store.Config{
		Endpoint: url, Bucket: s3test.Bucket, Region: s3test.Region,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, Timeout: time.Minute,
	}
}

func newStore(t *testing.T, config s3store.Config) *s3store.Store {
	t.Helper()
	s, err := s3store.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *s3store.Store, key string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), key, body); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	server := s3test.Start(t)
	s := newStore(t, configFor(server.URL))
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 1_000_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	for i, body := range [][]byte{
		[]byte("text"), {0}, {}, {0xff, 0xfe, '\r', '\n', 0}, []byte("\x1f\x8b\b\x00 not gzip"), random,
		[]byte("<?xml version=\"1.0\"?><Error><Code>NoSuchKey</Code></Error>"), bytes.Repeat([]byte("a"), 70_000),
	} {
		key := fmt.Sprintf("check/%d-1", i)
		put(t, s, key, []byte("another one first"))
		put(t, s, key, body)
		got, err := s.Get(t.Context(), key, int64(len(body)))
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("body %d came back with %d bytes of %d, %v", i, len(got), len(body), err)
		}
		if !bytes.Equal(server.Object(t, key), body) {
			t.Errorf("body %d is stored differently", i)
		}
		if _, err := s.Get(t.Context(), key, int64(len(body)+1)); !errors.Is(err, checks.ErrBodyCorrupt) || errors.Is(err, checks.ErrNotFound) {
			t.Errorf("an object of another size: %v", err)
		}
	}
	if _, err := s.Get(t.Context(), "check/99-1", 4); !errors.Is(err, checks.ErrNotFound) || errors.Is(err, checks.ErrBodyUnavailable) {
		t.Errorf("an object that does not exist: %v, want ErrNotFound", err)
	}
}

func TestRemove(t *testing.T) {
	server := s3test.Start(t)
	s := newStore(t, configFor(server.URL))
	var keys []string
	for i := range 20 {
		key := fmt.Sprintf("check/%d", i)
		put(t, s, key, []byte("body"))
		keys = append(keys, key)
	}
	put(t, s, "check/kept", []byte("body"))
	for i := range 480 {
		keys = append(keys, fmt.Sprintf("missing/%d <&> \u00fc", i))
	}
	for range 2 {
		if err := s.Remove(t.Context(), keys); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"check/kept"}, server.Keys(t)); diff != "" {
			t.Error(diff)
		}
	}
	if err := s.Remove(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// everyCall checks that each method of a store returns ErrBodyUnavailable, without a secret in the text.
func everyCall(t *testing.T, s *s3store.Store) (texts string) {
	t.Helper()
	_, err := s.Get(t.Context(), "check/1", 4)
	for name, err := range map[string]error{
		"put": s.Put(t.Context(), "check/1", []byte("body")), "get": err,
		"remove": s.Remove(t.Context(), []string{"check/1", "check/2"}), "probe": s.Probe(t.Context()),
	} {
		if !errors.Is(err, checks.ErrBodyUnavailable) || errors.Is(err, checks.ErrNotFound) {
			t.Errorf("%s: %v, want ErrBodyUnavailable", name, err)
			continue
		}
		for _, secret := range []string{s3test.AccessKey, s3test.SecretKey, "wrong-"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error has a key: %v", name, err)
			}
		}
		texts += err.Error() + "\n"
	}
	return texts
}

// TestUnusable covers wrong configurations and broken servers.
func TestUnusable(t *testing.T) {
	server := s3test.Start(t)
	page := func(status int, kind string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Last-Modified", "Sun, 01 Mar 2026 12:00:00 GMT")
			w.WriteHeader(status)
			io.WriteString(w, "page")
		}))
		t.Cleanup(web.Close)
		return web.URL
	}
	for name, test := range map[string]struct {
		change func(*s3store.Config)
		says   string
	}{
		"wrong access key":  {func(c *s3store.Config) { c.AccessKey = "wrong-access-key" }, "is unavailable"}, // the code differs between services
		"wrong secret key":  {func(c *s3store.Config) { c.SecretKey = "wrong-secret-key" }, "SignatureDoesNotMatch"},
		"no such bucket":    {func(c *s3store.Config) { c.Bucket = "missing" }, "NoSuchBucket"},
		"nothing listens":   {func(c *s3store.Config) { c.Endpoint = "http://127.0.0.1:1" }, "connection refused"},
		"TLS is not spoken": {func(c *s3store.Config) { c.Endpoint = strings.Replace(c.Endpoint, "http:", "https:", 1) }, "HTTPS"},
		"a web site":        {func(c *s3store.Config) { c.Endpoint = page(200, "text/html") }, "is unavailable"},
		"a page not found":  {func(c *s3store.Config) { c.Endpoint = page(404, "text/html") }, "not from an S3 service"},
		"an XHTML page":     {func(c *s3store.Config) { c.Endpoint = page(404, "application/xhtml+xml") }, "not from an S3 service"},
		"a bad gateway":     {func(c *s3store.Config) { c.Endpoint = page(502, "text/html") }, "502"},
		"a redirect":        {func(c *s3store.Config) { c.Endpoint = page(302, "text/html") }, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			config := configFor(server.URL)
			test.change(&config)
			if texts := everyCall(t, newStore(t, config)); strings.Count(texts, test.says) < 4 {
				t.Errorf("not all errors say %q:\n%s", test.says, texts)
			}
		})
	}
	if keys := server.Keys(t); len(keys) != 0 {
		t.Errorf("objects were stored: %v", keys)
	}
}

// TestNoAnswer uses a server that never answers: every call ends.
func TestNoAnswer(t *testing.T) {
	proxy := s3test.Start(t).StartProxy(t)
	proxy.Hold()
	config := configFor(proxy.URL)
	config.Timeout = 50 * time.Millisecond
	if texts := everyCall(t, newStore(t, config)); strings.Count(texts, "deadline exceeded") < 4 {
		t.Errorf("the errors are:\n%s", texts)
	}
}

// counting counts the requests with one method.
type counting struct {
	http.RoundTripper
	method string

	mu sync.Mutex
	n  int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == c.method {
		c.mu.Lock()
		c.n++
		c.mu.Unlock()
	}
	return c.RoundTripper.RoundTrip(r)
}

func (c *counting) take() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, c.n = c.n, 0
	return n
}

// TestFailFast checks that reads fail without a request after several failures, and recover with one probe.
func TestFailFast(t *testing.T) {
	server := s3test.Start(t)
	requests := &counting{RoundTripper: &http.Transport{DisableKeepAlives: true}, method: http.MethodGet}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	config := configFor(server.URL)
	config.FailAfter, config.Cooldown, config.Transport = 3, time.Minute, requests
	config.Now = func() time.Time { return now }
	s := newStore(t, config)
	put(t, s, "check/1", []byte("body"))
	read := func(wantErr error, wantRequests int) {
		t.Helper()
		requests.take()
		for range 5 {
			if _, err := s.Get(t.Context(), "check/1", 4); !errors.Is(err, wantErr) {
				t.Errorf("error %v, want %v", err, wantErr)
			}
		}
		if n := requests.take(); n != wantRequests {
			t.Errorf("%d requests for 5 reads, want %d", n, wantRequests)
		}
	}
	// Objects that do not exist or have another size are answers, not failures.
	for range 5 {
		_, missing := s.Get(t.Context(), "check/2", 4)
		_, size := s.Get(t.Context(), "check/1", 5)
		if !errors.Is(missing, checks.ErrNotFound) || errors.Is(size, checks.ErrBodyUnavailable) {
			t.Errorf("errors %v and %v", missing, size)
		}
	}
	read(nil, 5)
	server.Stop()
	read(checks.ErrBodyUnavailable, 3)
	read(checks.ErrBodyUnavailable, 0)
	now = now.Add(time.Minute - 1)
	read(checks.ErrBodyUnavailable, 0)
	now = now.Add(1)
	read(checks.ErrBodyUnavailable, 1) // the probe
	server.Restart(t)
	read(checks.ErrBodyUnavailable, 0)
	now = now.Add(time.Minute)
	read(nil, 5)
}

// gated is a transport whose requests fail unless the test lets them through.
type gated struct {
	entered chan struct{}
	wait    chan error
}

func (g gated) RoundTrip(r *http.Request) (*http.Response, error) {
	g.entered <- struct{}{}
	select {
	case err := <-g.wait:
		return nil, err
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestOneProbe checks that only one read goes through while the others fail at once. A caller who gives up does not
// count as a failure of the storage.
func TestOneProbe(t *testing.T) {
	gate := gated{make(chan struct{}, 100), make(chan error, 10)}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	config := configFor("https://s3.example.org")
	config.Transport, config.FailAfter, config.Now = gate, 2, func() time.Time { return now }
	s := newStore(t, config)
	for range 10 { // never counted
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Get(ctx, "check/1", 4); !errors.Is(err, context.Canceled) || errors.Is(err, checks.ErrBodyUnavailable) {
			t.Errorf("a caller who gave up: %v", err)
		}
	}
	broken := errors.New("broken")
	for range 2 {
		gate.wait <- broken
		if _, err := s.Get(t.Context(), "check/1", 4); !errors.Is(err, broken) || !errors.Is(err, checks.ErrBodyUnavailable) {
			t.Errorf("error %v", err)
		}
	}
	for len(gate.entered) > 0 {
		<-gate.entered
	}
	now = now.Add(10 * time.Second)
	for _, end := range []func(cancel func()){
		func(cancel func()) { cancel() },
		func(func()) { gate.wait <- broken },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		probe := make(chan error)
		go func() {
			_, err := s.Get(ctx, "check/1", 4)
			probe <- err
		}()
		<-gate.entered
		for range 5 {
			if _, err := s.Get(t.Context(), "check/1", 4); !errors.Is(err, checks.ErrBodyUnavailable) || errors.Is(err, broken) {
				t.Errorf("during a probe: %v", err)
			}
		}
		end(cancel)
		<-probe
		cancel()
	}
	if _, err := s.Get(t.Context(), "check/1", 4); !errors.Is(err, checks.ErrBodyUnavailable) || errors.Is(err, broken) {
		t.Errorf("after a probe that failed: %v", err)
	}
}

func TestNew(t *testing.T) {
	for name, change := range map[string]func(*s3store.Config){
		"no endpoint":       func(c *s3store.Config) { c.Endpoint = "" },
		"no scheme":         func(c *s3store.Config) { c.Endpoint = "s3.example.org" },
		"host and port":     func(c *s3store.Config) { c.Endpoint = "localhost:9000" },
		"other scheme":      func(c *s3store.Config) { c.Endpoint = "ftp://s3.example.org" },
		"no host":           func(c *s3store.Config) { c.Endpoint = "https://:443" },
		"user":              func(c *s3store.Config) { c.Endpoint = "https://sesame:sesame@s3.example.org" },
		"path":              func(c *s3store.Config) { c.Endpoint = "https://s3.example.org/bucket" },
		"query":             func(c *s3store.Config) { c.Endpoint = "https://s3.example.org?a=sesame" },
		"control character": func(c *s3store.Config) { c.Endpoint = "https://s3.example.org/\x7f" },
		"bad port":          func(c *s3store.Config) { c.Endpoint = "https://s3.example.org:port" },
		"no bucket":         func(c *s3store.Config) { c.Bucket = "" },
		"bad bucket":        func(c *s3store.Config) { c.Bucket = "a/../b" },
		"two dots":          func(c *s3store.Config) { c.Bucket = "a..b" },
		"short bucket":      func(c *s3store.Config) { c.Bucket = "ab" },
		"long bucket":       func(c *s3store.Config) { c.Bucket = strings.Repeat("a", 64) },
		"upper case":        func(c *s3store.Config) { c.Bucket = "Rollcall" },
		"last hyphen":       func(c *s3store.Config) { c.Bucket = "rollcall-" },
		"dot and hyphen":    func(c *s3store.Config) { c.Bucket = "roll.-call" },
		"an address":        func(c *s3store.Config) { c.Bucket = "192.0.2.1" },
		"line break":        func(c *s3store.Config) { c.Bucket = "rollcall\n" },
		"no access key":     func(c *s3store.Config) { c.AccessKey = "" },
		"no secret key":     func(c *s3store.Config) { c.SecretKey = "" },
		"negative timeout":  func(c *s3store.Config) { c.Timeout = -1 },
		"negative limit":    func(c *s3store.Config) { c.FailAfter = -1 },
		"negative cooldown": func(c *s3store.Config) { c.Cooldown = -1 },
	} {
		config := s3store.Config{Endpoint: "https://s3.example.org/", Bucket: "rollcall", AccessKey: "sesame", SecretKey: "sesame"}
		if _, err := s3store.New(config); err != nil {
			t.Fatal(err)
		}
		change(&config)
		_, err := s3store.New(config)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: the error has a secret: %v", name, err)
		}
	}
}

func TestConfigHidesKeys(t *testing.T) {
	config := s3store.Config{Endpoint: "https://s3.example.org", Bucket: "rollcall", AccessKey: "sesame", SecretKey: "sesame"}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("config", "value", config, "pointer", &config)
	store := newStore(t, config)
	for _, text := range []string{
		log.String(), fmt.Sprint(config), fmt.Sprintf("%+v", config), fmt.Sprintf("%#v", config), fmt.Sprintf("%+v", &config),
		fmt.Sprintf("%v %+v", store, store),
	} {
		if strings.Contains(text, "sesame") {
			t.Errorf("a key is shown: %s", text)
		}
	}
}
