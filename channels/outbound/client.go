package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultTimeout is how long a request may take in all, with its redirects
	// and the body of the answer.
	DefaultTimeout = 30 * time.Second
	// MaxAnswer is how many bytes of the body of an answer are read. A longer
	// body ends there.
	MaxAnswer = 64 << 10
	// MaxRedirects is how many redirects are followed.
	MaxRedirects = 3

	// connectTimeout bounds name resolution with the connection, and TLS.
	connectTimeout = 10 * time.Second
	// idleTimeout is how long a connection waits for another request.
	idleTimeout = 10 * time.Second
	maxHeaders  = 64 << 10
)

// Config says how a client connects. The zero value of a field stands for its
// default.
type Config struct {
	// AllowPrivateNetworks allows connections to every address, those of the
	// machine itself included. Default: only public addresses.
	AllowPrivateNetworks bool
	// Timeout bounds a whole request. Default: [DefaultTimeout].
	Timeout time.Duration
	// RootCAs are the certificate authorities that are trusted. Default: those
	// of the system.
	RootCAs *x509.CertPool
	// Proxy returns the proxy for a request, or nil for none, as
	// [http.ProxyFromEnvironment] does. The connection to a proxy is always
	// allowed, and so is what it connects to: it has to keep private networks
	// away by itself, except for hosts that are written as private addresses or
	// as localhost, which are refused here. Default: no proxy, whatever the
	// environment says.
	Proxy func(*http.Request) (*url.URL, error)
}

// New returns a client with the limits that the package comment describes; a nil
// config means the defaults. It keeps connections for 10 seconds at most, and
// its CloseIdleConnections closes them at once.
func New(config *Config) *http.Client {
	c := withDefaults(config)
	direct := newTransport(NewDialer(&c).DialContext, c.RootCAs)
	t := &transport{direct: direct, proxy: c.Proxy, private: c.AllowPrivateNetworks}
	if c.Proxy != nil {
		proxied := newTransport((&net.Dialer{Timeout: connectTimeout}).DialContext, c.RootCAs)
		proxied.Proxy = c.Proxy
		t.proxied = proxied
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect, Timeout: c.Timeout}
}

// NewDialer returns a dialer for connections that are not HTTP: it gives up
// after 10 seconds, or [Config.Timeout] if that is shorter, and refuses the
// addresses that [Control] refuses unless the config allows them. Only these two
// fields count; a nil config means the defaults.
func NewDialer(config *Config) *net.Dialer {
	c := withDefaults(config)
	dialer := &net.Dialer{Timeout: min(connectTimeout, c.Timeout)}
	if !c.AllowPrivateNetworks {
		dialer.Control = Control
	}
	return dialer
}

func withDefaults(config *Config) Config {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return c
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func newTransport(dial dialFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true, // Off by default with a dialer of one's own.
		MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleTimeout,
	}
}

// transport bounds the answers, and keeps requests by a proxy apart from others.
type transport struct {
	direct, proxied *http.Transport
	proxy           func(*http.Request) (*url.URL, error)
	private         bool // Private networks are allowed.
}

// CloseIdleConnections is what the method of [http.Client] calls.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	if t.proxied != nil {
		t.proxied.CloseIdleConnections()
	}
}

// RoundTrip sends one request; redirects are requests of their own.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	next, err := t.choose(req)
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // A RoundTripper has to, even then.
		}
		return nil, err
	}
	res, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if _, err := res.Location(); err != nil {
		// Without it a redirect is an answer as any other. The error of the
		// client would contain the URL that cannot be parsed.
		res.Header.Del("Location")
	}
	res.Body = &limitedBody{Reader: io.LimitReader(res.Body, MaxAnswer), Closer: res.Body}
	return res, nil
}

func (t *transport) choose(req *http.Request) (*http.Transport, error) {
	if t.proxy == nil {
		return t.direct, nil
	}
	proxy, err := t.proxy(req)
	if err != nil {
		return nil, errors.New("the proxy for the request is not known") // The error may contain URLs.
	}
	if proxy == nil {
		return t.direct, nil
	}
	if host := req.URL.Hostname(); !t.private && namesPrivate(host) {
		return nil, ErrPrivateAddress
	}
	return t.proxied, nil
}

// namesPrivate reports whether a host is a private address without any look-up.
func namesPrivate(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && !IsPublic(addr)
}

// limitedBody is the beginning of a body.
type limitedBody struct {
	io.Reader
	io.Closer
}

// KeptHeaders returns the names of the headers that a request keeps when it is
// redirected to another host. All others may be credentials.
func KeptHeaders() []string {
	return []string{"Accept", "Content-Type", "Idempotency-Key", "User-Agent"}
}

// checkRedirect decides whether a redirect is followed. Its errors show no URL.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	switch {
	case len(via) > MaxRedirects:
		return fmt.Errorf("the receiver redirects more than %d times", MaxRedirects)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("the receiver redirects from https to an address without it")
	case req.Method != last.Method && req.Response.StatusCode != http.StatusSeeOther:
		return fmt.Errorf("the receiver redirects with status %d, which would turn %s into %s and lose the message",
			req.Response.StatusCode, last.Method, req.Method)
	}
	req.Header.Del("Referer") // The URL of the request before, with its secrets.
	if !sameHost(first.URL, req.URL) {
		for name := range req.Header {
			if !isKept(name) {
				req.Header.Del(name)
			}
		}
	}
	return nil
}

// sameHost reports whether b is as trusted as a: the same host and port, or the
// same host with the default ports of http and https.
func sameHost(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	defaults := a.Port() == "" && b.Port() == ""
	return defaults || port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

func isKept(name string) bool { return slices.Contains(KeptHeaders(), name) }
