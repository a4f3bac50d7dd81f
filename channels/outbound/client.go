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
	"strings"
	"time"
)

const (
	// defaultTimeout bounds a request, with redirects and the body of the answer.
	defaultTimeout = 30 * time.Second
	// maxAnswer is how many bytes the client reads of an answer's body, unless its Config says otherwise.
	maxAnswer = 64 << 10
	// maxRedirects is the number of redirects that the client follows.
	maxRedirects = 3

	// connectTimeout bounds name resolution and connection together, and again the TLS handshake.
	connectTimeout = 10 * time.Second
	// idleTimeout is how long the client keeps an idle connection.
	idleTimeout = 10 * time.Second
	maxHeaders  = 64 << 10
)

// Config configures a client. The zero value of a field means its default.
type Config struct {
	// AllowPrivateNetworks allows connections to every address, also to the local machine. Default: public addresses
	// only.
	AllowPrivateNetworks bool
	// Timeout bounds a whole request. Default: 30 seconds.
	Timeout time.Duration
	// MaxAnswer is how many bytes the client reads of an answer's body. It ends there without an error. Default:
	// 64 KiB, which is also the limit of [Exchange] and [Do].
	MaxAnswer int64
	// RootCAs are the trusted certificate authorities. Default: those of the system.
	RootCAs *x509.CertPool
	// Proxy returns the proxy for a request, or nil for none, like [http.ProxyFromEnvironment]. The client connects to
	// any proxy and cannot see where the proxy connects, so the proxy itself must keep requests out of private networks.
	// The client only refuses hosts written as private addresses or as localhost. Default: no proxy; the client ignores
	// the environment.
	Proxy func(*http.Request) (*url.URL, error)
}

// New returns a client with the limits in the package comment. A nil config means the defaults. The client keeps idle
// connections for 10 seconds; CloseIdleConnections closes them at once.
func New(config *Config) *http.Client {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = maxAnswer
	}
	direct := newTransport(NewDialer(&c).DialContext, c.RootCAs)
	t := &transport{direct: direct, proxy: c.Proxy, allowPrivate: c.AllowPrivateNetworks, maxAnswer: c.MaxAnswer}
	if c.Proxy != nil {
		proxied := newTransport((&net.Dialer{Timeout: connectTimeout}).DialContext, c.RootCAs)
		proxied.Proxy = c.Proxy
		t.proxied = proxied
	}
	return &http.Client{Transport: t, CheckRedirect: checkRedirect, Timeout: c.Timeout}
}

// NewDialer returns a dialer that refuses addresses outside the public internet like [New], for protocols other than
// HTTP. Of the config only AllowPrivateNetworks counts; nil means the defaults. A connection takes at most 10 seconds.
func NewDialer(config *Config) *net.Dialer {
	dialer := &net.Dialer{Timeout: connectTimeout}
	if config == nil || !config.AllowPrivateNetworks {
		dialer.Control = control
	}
	return dialer
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func newTransport(dial dialFunc, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		ForceAttemptHTTP2:      true, // off by default with a custom dialer
		MaxResponseHeaderBytes: maxHeaders,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        idleTimeout,
	}
}

// transport bounds answers, and keeps proxied connections apart from direct ones.
type transport struct {
	direct, proxied *http.Transport
	proxy           func(*http.Request) (*url.URL, error)
	allowPrivate    bool
	maxAnswer       int64
}

// CloseIdleConnections implements the method that [http.Client.CloseIdleConnections] looks for.
func (t *transport) CloseIdleConnections() {
	t.direct.CloseIdleConnections()
	if t.proxied != nil {
		t.proxied.CloseIdleConnections()
	}
}

// RoundTrip sends one request, without following redirects.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.direct
	if t.proxy != nil {
		var err error
		if next, err = t.choose(req); err != nil {
			if req.Body != nil {
				_ = req.Body.Close() // a RoundTripper must always close the body
			}
			return nil, err
		}
	}
	res, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if _, err := res.Location(); err != nil {
		// A Location that cannot be parsed would make an error with the URL in it.
		res.Header.Del("Location")
	}
	res.Body = &limitedBody{Reader: io.LimitReader(res.Body, t.maxAnswer), Closer: res.Body}
	return res, nil
}

// choose returns the transport for a request where there may be a proxy.
func (t *transport) choose(req *http.Request) (*http.Transport, error) {
	proxy, err := t.proxy(req)
	if err != nil {
		return nil, errors.New("choosing the proxy for the request failed") // err may contain URLs
	}
	if proxy == nil {
		return t.direct, nil
	}
	if host := req.URL.Hostname(); !t.allowPrivate && namesPrivate(host) {
		return nil, ErrPrivateAddress
	}
	return t.proxied, nil
}

// namesPrivate reports whether a host is a private address or a name of the local machine, without a lookup.
func namesPrivate(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && !isPublic(addr)
}

// limitedBody reads the beginning of a body and closes the whole.
type limitedBody struct {
	io.Reader
	io.Closer
}

// checkRedirect decides whether to follow a redirect. Its errors contain no URL.
func checkRedirect(req *http.Request, via []*http.Request) error {
	first, last := via[0], via[len(via)-1]
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("the receiver redirects more than %d times", maxRedirects)
	case last.URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("the receiver redirects from https to an insecure address")
	case req.Method != last.Method:
		return fmt.Errorf("the receiver redirects with status %d, which would turn %s into %s and lose the message",
			req.Response.StatusCode, last.Method, req.Method)
	}
	req.Header.Del("Referer") // contains the first URL, with its secrets
	if !sameHost(first.URL, req.URL) {
		for name := range req.Header {
			if !isKept(name) {
				req.Header.Del(name)
			}
		}
	}
	return nil
}

// sameHost reports whether b is as trusted as a: the same host and port, or the same host with the default ports of
// http and https.
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

// isKept reports whether a redirect to another host keeps a header. All others may be credentials.
func isKept(name string) bool {
	switch name {
	case "Accept", "Content-Type", "Idempotency-Key", "User-Agent":
		return true
	}
	return false
}
