package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sync/semaphore"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

func newMonitor(t *testing.T) *monitor.Monitor {
	mon, err := monitor.New(dbtest.SQLite(t).Open(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return mon
}

func newSigner(t *testing.T) badges.Signer {
	signer, err := badges.NewSigner(bytes.Repeat([]byte("s"), badges.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

func TestNew(t *testing.T) {
	mon, signer := newMonitor(t), newSigner(t)
	s, err := New(mon, &Config{Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	if s.base.Text != "http://localhost:8000" || s.ping.Text != "http://localhost:8000/ping" || s.bodyLimit != 100_000 || s.limiter != nil {
		t.Errorf("unexpected defaults: %+v", s)
	}
	if s, err = New(mon, &Config{Signer: signer, BaseURL: "HTTPS://Example.org:8443/a-b/c_d//"}); err != nil ||
		s.base.Text != "HTTPS://Example.org:8443/a-b/c_d" || s.base.Host != "example.org:8443" || s.base.Path != "/a-b/c_d" {
		t.Errorf("BaseURL is %+v, error %v", s, err)
	}
	if _, err := New(nil, &Config{Signer: signer}); err == nil {
		t.Error("New accepted no monitor")
	}
	if _, err := New(mon, nil); err != nil {
		t.Errorf("New needs a configuration: %v", err)
	}
	for field, c := range map[string]Config{
		"RateLimit":                   {RateLimit: -1},
		"PingBodyLimit is too small:": {PingBodyLimit: -1},
		"PingBodyLimit is too large:": {PingBodyLimit: monitor.MaxBody + 1},
		"TrustedProxies":              {TrustedProxies: []netip.Prefix{{}}},
		"PingBaseURL":                 {PingBaseURL: "ping.example.org"},
	} {
		c.Signer = signer
		if _, err := New(mon, &c); err == nil || !strings.HasPrefix(err.Error(), "server: "+field+" ") {
			t.Errorf("error %v, want one about %s", err, field)
		}
	}
	for _, base := range []string{
		"/", "localhost", "localhost:8000", "//x", "ftp://x", "http://", "http:///x", "http://:80", "http://x?a", "http://x#a", "http://x?",
		"http://u@x", "http://x/a b", "http://x/%41", "http://x/a//b", "http://x/é", "http://x:y", "http://[::1", "\x00",
	} {
		if s, err := New(mon, &Config{Signer: signer, BaseURL: base}); err == nil {
			t.Errorf("BaseURL %q was accepted: %+v", base, s.base)
		}
	}
}

// TestSignerOfInstallation: servers without a Signer on one database give a badge the same address, and it is that of the
// secret with which rollcall serve signs.
func TestSignerOfInstallation(t *testing.T) {
	mon := newMonitor(t)
	secret, err := mon.Installation().Secret(t.Context(), "secret_key")
	if err != nil {
		t.Fatal(err)
	}
	want, err := badges.NewSigner([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := New(mon, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.badgeSigner(t.Context())
		if path := want.Path("key", "backup", badges.SVG, true); err != nil || got.Path("key", "backup", badges.SVG, true) != path {
			t.Errorf("the address is not %s, error %v", path, err)
		}
	}
}

// TestSeparateHandlers: API, Pings and Badges work without Handler.
func TestSeparateHandlers(t *testing.T) {
	s, err := New(newMonitor(t), &Config{Signer: newSigner(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		handler      http.Handler
		method, path string
		status       int
	}{
		{s.API(), "GET", "/api/v3/status/", 200},
		{s.API(), "GET", "/", 404},
		{s.API(), "GET", "/api/v3/checks", 401},
		{s.API(), "OPTIONS", "*", 204},
		{s.API(), "CONNECT", "/api/v3/checks", 405},
		{s.Pings(), "GET", "/ping/" + testID, 404},
		{s.Pings(), "PUT", "/ping/" + testID, 405},
		{s.Pings(), "PUT", "/" + testID, 404},
		{s.Pings(), "GET", "/ping/" + testID + "/256", 400},
		{s.Badges(), "GET", "/b/2/" + testID + ".svg", 404},
		{s.Badges(), "GET", "/badge/x", 404},
		{s, "OPTIONS", "*", 404},
		{s, "GET", "/", 200},
	} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if w.Code != c.status || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: status %d, headers %s, want %d with nosniff", c.method, c.path, w.Code, w.Header(), c.status)
		}
	}
}

// TestMounting: every handler takes the whole path of a request, at the addresses of the configuration.
func TestMounting(t *testing.T) {
	s, err := New(newMonitor(t), &Config{
		Signer: newSigner(t), Logger: slog.New(slog.DiscardHandler), BaseURL: "https://example.org/ops/", PingBaseURL: "https://example.org/alive",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		handler http.Handler
		path    string
		status  int
		text    string
	}{
		{s.API(), "/ops/api/v3/status/", 200, `{"status":"ok"}` + "\n"},
		{s.API(), "/api/v3/status/", 404, ""},
		{s.API(), "/opsapi/v3/status/", 404, ""},
		{s.API(), "/ops", 404, ""},
		{s.Pings(), "/alive/" + testID + "/256", 400, "invalid url format"},
		{s.Pings(), "/alive/" + testID, 404, "not found"},
		{s.Pings(), "/" + testID + "/256", 404, ""},
		{s.Pings(), "/alive", 404, "not found"},
		{s.Badges(), "/ops/b/2/" + testID + ".svg", 404, ""},
		{s, "/ops/api/v3/status/", 200, ""},
		{s, "/ops/", 200, ""},
		{s, "/alive/" + testID + "/256", 400, "invalid url format"},
	} {
		w := httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", c.path, nil))
		if w.Code != c.status || c.text != "" && w.Body.String() != c.text {
			t.Errorf("%s: %d %q, want %d %q", c.path, w.Code, w.Body, c.status, c.text)
		}
		// A request for another path must not change what the handler does next.
		w = httptest.NewRecorder()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/elsewhere", nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("/elsewhere: %d", w.Code)
		}
	}
}

func TestReadEnds(t *testing.T) {
	const text = "0123456789"
	long := strings.Repeat(text, 2000)
	for _, c := range []struct {
		body        string
		limit       int64
		kept, start string
		cut         int64
	}{
		{"", 5, "", "", 0},
		{text, 11, text, text, 0},
		{text, 10, text, text, 0},
		{text, 9, text[:4] + text[5:], text, 1},
		{text, 1, text[9:], text, 9},
		{long, 9_999, long[:4_999] + long[15_000:], long[:10_000], 10_001},
		{long, 10_000, long[:5_000] + long[15_000:], long[:10_000], 10_000},
		{long, 15_000, long[:7_500] + long[12_500:], long[:10_000], 5_000},
		{long, 19_999, long[:9_999] + long[10_000:], long[:10_000], 1},
		{long, 20_000, long, long[:10_000], 0},
		{long, 1 << 40, long, long[:10_000], 0},
	} {
		// The announced length is only a hint.
		for _, length := range []int64{-1, 0, 3, int64(len(c.body)), 1 << 60} {
			b := &body{src: iotest.OneByteReader(strings.NewReader(c.body)), length: length, memory: semaphore.NewWeighted(1e6)}
			kept, start, cut, err := b.readEnds(t.Context(), c.limit, 10_000)
			if err != nil || string(kept) != c.kept || string(start) != c.start || cut != c.cut {
				t.Errorf("%d bytes, limit %d: kept %d, start %d, cut %d, error %v", len(c.body), c.limit, len(kept), len(start), cut, err)
			}
			if same, cut := pings.Cut([]byte(c.body), int(c.limit)); string(same) != c.kept || cut != c.cut {
				t.Errorf("%d bytes, limit %d: pings.Cut returns %d and %d", len(c.body), c.limit, len(same), cut)
			}
		}
	}
	half := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, _, _, err := (&body{src: half, length: 100}).readEnds(t.Context(), 100, 10_000); err == nil {
		t.Error("half a body was accepted")
	}
	// A job that hangs up after more than is kept has sent its ping.
	half = io.MultiReader(strings.NewReader(long), iotest.ErrReader(io.ErrUnexpectedEOF))
	b := &body{src: half, length: 1 << 40, memory: semaphore.NewWeighted(1e6)}
	if kept, _, cut, err := b.readEnds(t.Context(), 10_000, 10_000); err != nil || len(kept) != 10_000 || cut != 10_000 {
		t.Errorf("kept %d, cut %d, %v", len(kept), cut, err)
	}
}

func TestProblemOf(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{errors.New("secret"), 500, "internal error"},
		{fmt.Errorf("secret: %w", checks.ErrUnavailable), 503, "unavailable"},
		{fmt.Errorf("secret: %w", errNotFound), 404, "not found"},
		{fmt.Errorf("%w: %w", errProbe, checks.ErrUnavailable), 500, "the database does not answer"},
	} {
		if p := problemOf(c.err); p.status != c.status || p.text != c.text {
			t.Errorf("%v: %d %s, want %d %s", c.err, p.status, p.text, c.status, c.text)
		}
	}
}
