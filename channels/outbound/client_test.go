package outbound_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// open returns a client that can reach the servers of tests.
func open(t *testing.T, config outbound.Config) *http.Client {
	t.Helper()
	config.AllowPrivateNetworks = true
	client := outbound.New(&config)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// redirect answers with a status and a Location.
func redirect(w http.ResponseWriter, status int, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(status)
}

func TestDo(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.UserAgent(), body)
	})
	got, err := outbound.Do(open(t, outbound.Config{}), request(t, "POST", server.URL+"/x", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("POST /x rollcall hello", string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestPrivateAddress(t *testing.T) {
	server := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request came through") })
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	client := outbound.New(nil)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		_, err := outbound.Do(client, request(t, "POST", "http://"+host+":"+port+"/s3cret?t=s3cret", "x"))
		if !errors.Is(err, outbound.ErrPrivateAddress) || strings.Contains(err.Error(), "s3cret") || channels.IsPermanent(err) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestEnvironmentProxyIsNotUsed checks that a proxy in the environment cannot lead into a private network.
func TestEnvironmentProxyIsNotUsed(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was used") })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	_, err := outbound.Do(outbound.New(nil), request(t, "GET", "http://10.0.0.1/", ""))
	if !errors.Is(err, outbound.ErrPrivateAddress) {
		t.Error(err)
	}
}

// proxied starts a proxy that answers requests itself, and returns a client that uses it for all hosts but the local
// machine.
func proxied(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	target, err := url.Parse(serve(t, handler).URL)
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(&outbound.Config{Proxy: func(req *http.Request) (*url.URL, error) {
		switch req.URL.Hostname() {
		case "direct.localhost", "127.0.0.1":
			return nil, nil
		case "broken.example":
			return nil, errors.New("s3cret")
		}
		return target, nil
	}})
	t.Cleanup(client.CloseIdleConnections)
	return client
}

func TestProxy(t *testing.T) {
	inside := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request came through") })
	client := proxied(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/private":
			redirect(w, http.StatusTemporaryRedirect, inside.URL)
		case "/literal":
			redirect(w, http.StatusTemporaryRedirect, "http://[fd00::1]/")
		default:
			fmt.Fprint(w, r.URL)
		}
	})
	got, err := outbound.Do(client, request(t, "POST", "http://public.example/x", ""))
	if diff := cmp.Diff("http://public.example/x", string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, address := range []string{
		"http://public.example/private", "http://public.example/literal", inside.URL, "http://10.0.0.1/",
		"http://localhost/", "http://LOCALHOST./", "http://app.localhost/",
	} {
		if _, err := outbound.Do(client, request(t, "POST", address, "x")); !errors.Is(err, outbound.ErrPrivateAddress) {
			t.Errorf("%s: %v", address, err)
		}
	}
	_, err = outbound.Do(client, request(t, "POST", "http://broken.example/", "x"))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var status, left int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &left); err != nil || left == 0 {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s %s", r.Method, body, r.Referer())
			return
		}
		redirect(w, status, fmt.Sprintf("http://%s/%d/%d", r.Host, status, left-1))
	})
	tests := []struct{ name, method, path, want, err string }{
		{"307 repeats the request", "POST", "/307/3", "POST body ", ""},
		{"308 repeats the request", "PUT", "/308/1", "PUT body ", ""},
		{"303 of GET", "GET", "/303/1", "GET  ", ""},
		{"301 of GET", "GET", "/301/3", "GET  ", ""},
		{"too many", "POST", "/307/4", "", "the receiver redirects more than 3 times"},
		{"301 of POST", "POST", "/301/1", "", "the receiver redirects with status 301, which would turn POST into GET and lose the message"},
		{"302 of PUT", "PUT", "/302/1", "", "the receiver redirects with status 302, which would turn PUT into GET and lose the message"},
		{"303 of POST", "POST", "/303/1", "", "the receiver redirects with status 303, which would turn POST into GET and lose the message"},
		{"no redirect", "POST", "/304/1", "", "the receiver answered with status 304 Not Modified"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := "body"
			if tt.method == "GET" {
				body = ""
			}
			got, err := outbound.Do(open(t, outbound.Config{}), request(t, tt.method, server.URL+tt.path, body))
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff([]string{tt.want, tt.err}, []string{string(got), text}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRedirectToAnotherHost checks that possible credentials in headers do not go to another host.
func TestRedirectToAnotherHost(t *testing.T) {
	got := make(chan http.Header, 2)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { got <- r.Header })
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			redirect(w, http.StatusPermanentRedirect, other.URL)
		case "/here":
			redirect(w, http.StatusPermanentRedirect, "/end")
		default:
			got <- r.Header
		}
	})
	client := open(t, outbound.Config{})
	for path, want := range map[string]bool{"/away": false, "/here": true} {
		req := request(t, "POST", first.URL+path, "x")
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Webhook-Signature", "Content-Type", "Idempotency-Key"} {
			req.Header.Set(name, "value")
		}
		if _, err := outbound.Do(client, req); err != nil {
			t.Fatal(err)
		}
		header := <-got
		for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Webhook-Signature"} {
			if (header.Get(name) != "") != want {
				t.Errorf("%s: %s is %q", path, name, header.Get(name))
			}
		}
		for _, name := range []string{"Content-Type", "Idempotency-Key", "User-Agent"} {
			if header.Get(name) == "" {
				t.Errorf("%s: %s is missing", path, name)
			}
		}
	}
}

func TestRedirectFromHTTPS(t *testing.T) {
	plain := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the request came through") })
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		redirect(w, http.StatusTemporaryRedirect, plain.URL)
	}))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	_, err := outbound.Do(open(t, outbound.Config{RootCAs: roots}), request(t, "POST", secure.URL, "x"))
	if diff := cmp.Diff("the receiver redirects from https to an insecure address", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if _, err := outbound.Do(open(t, outbound.Config{RootCAs: x509.NewCertPool()}), request(t, "POST", secure.URL, "x")); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
}

func TestMalformedLocation(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		redirect(w, http.StatusTemporaryRedirect, "http://s3cret:x:y/%zz")
	})
	_, err := outbound.Do(open(t, outbound.Config{}), request(t, "GET", server.URL, ""))
	if diff := cmp.Diff("the receiver answered with status 307 Temporary Redirect", fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
}

func TestLimits(t *testing.T) {
	done := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, strings.Repeat("x", 32<<10)); err != nil {
					return
				}
			}
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 128<<10))
		case "/hang":
			select {
			case <-r.Context().Done():
			case <-done:
			}
		}
	})
	defer close(done)
	got, err := outbound.Do(open(t, outbound.Config{}), request(t, "GET", server.URL+"/endless", ""))
	if err != nil || len(got) != 64<<10 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, limit := range []int64{10, 4 * 64 << 10} {
		res, err := open(t, outbound.Config{MaxAnswer: limit}).Get(server.URL + "/endless")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if res.Body.Close(); err != nil || int64(len(got)) != limit {
			t.Errorf("%d bytes of at most %d, %v", len(got), limit, err)
		}
	}
	if _, err := outbound.Do(open(t, outbound.Config{}), request(t, "GET", server.URL+"/headers", "")); err == nil {
		t.Error("no error for long headers")
	}
	_, err = outbound.Do(open(t, outbound.Config{Timeout: 50 * time.Millisecond}), request(t, "GET", server.URL+"/hang?s3cret", ""))
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = outbound.Do(open(t, outbound.Config{}), request(t, "GET", server.URL+"/hang", "").WithContext(ctx))
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
