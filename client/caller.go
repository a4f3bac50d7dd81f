package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// maxResponse bounds a response in bytes that is read as a whole.
	maxResponse = 64 << 20
	// maxElement bounds each element of a list in bytes that is read one by one.
	maxElement = 1 << 20
	// maxRedirects bounds the redirects that one try follows.
	maxRedirects = 5
)

// request is an HTTP request that can be sent any number of times.
type request struct {
	name        string // for errors, such as "create check"
	method, url string
	header      http.Header
	body        []byte
	idempotent  bool                // may be retried after the server may have acted
	meaning     func(refusal) error // the library's error for a response of 300 to 499; an [Error] wraps it
	onHeader    func(http.Header)   // called with the header of every response unless nil
}

// caller sends requests.
type caller struct {
	http      *http.Client
	userAgent string
	timeout   time.Duration
	tries     int
	maxWait   time.Duration
	onRetry   func(err error, wait time.Duration)
	onWarning func(text string)
	pause     pause // of all calls after a 429
}

func newCaller(c Config, timeout time.Duration) (*caller, error) {
	switch {
	case c.Timeout < 0:
		return nil, fmt.Errorf("client: Timeout is negative: %v", c.Timeout)
	case c.Tries < 0:
		return nil, fmt.Errorf("client: Tries is negative: %d", c.Tries)
	case c.MaxWait < 0:
		return nil, fmt.Errorf("client: MaxWait is negative: %v", c.MaxWait)
	}
	own := &http.Client{}
	if c.HTTPClient != nil {
		*own = *c.HTTPClient
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // see redirect
	return &caller{
		http: own, userAgent: cmp.Or(c.UserAgent, "rollcall-client"), timeout: cmp.Or(c.Timeout, timeout),
		tries: cmp.Or(c.Tries, defaultTries), maxWait: cmp.Or(c.MaxWait, defaultMaxWait), onRetry: c.OnRetry, onWarning: c.OnWarning,
	}, nil
}

// connectionError reports a try that ended without a complete response.
type connectionError struct {
	err    error
	unsent bool // the request cannot have reached the server
}

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// Is reports that the server is unavailable, unless the caller gave up or the certificate is wrong.
func (e *connectionError) Is(target error) bool {
	return target == checks.ErrUnavailable && !errors.Is(e.err, context.Canceled) && !isCertificate(e.err)
}

func isCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// errNoResponse cancels a try that takes too long.
var errNoResponse = errors.New("no answer in time")

// lateError says errNoResponse of a try that the caller's deadline has ended.
type lateError struct{ cause error }

func (lateError) Error() string   { return errNoResponse.Error() }
func (e lateError) Unwrap() error { return e.cause }

// try sends a request once and follows its redirects. The limit includes reading the body.
func (c *caller) try(ctx context.Context, r request, limit time.Duration, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoResponse)
	defer cancel()
	res, err := c.follow(ctx, r)
	if err != nil {
		return err
	}
	err = read(res)
	closeBody(res)
	if e, ok := errors.AsType[*connectionError](err); ok {
		return connectionFailure(ctx, e.err)
	}
	return err
}

// follow sends a request and follows redirects until a response is a success or an error.
func (c *caller) follow(ctx context.Context, r request) (*http.Response, error) {
	target := r.url
	for hops := 0; ; hops++ {
		res, err := c.send(ctx, r, target)
		if err != nil {
			return nil, connectionFailure(ctx, err)
		}
		if r.onHeader != nil {
			r.onHeader(res.Header)
		}
		if res.StatusCode >= 200 && res.StatusCode < 300 {
			c.warn(res.Header)
			return res, nil
		}
		if target, err = redirect(res); err == nil {
			switch {
			case target == "":
				err = newError(res, r.meaning)
			case hops == maxRedirects:
				err = &Error{StatusCode: res.StatusCode, Message: "too many redirects", cause: ErrNotRollcall}
			}
		}
		closeBody(res)
		if err != nil {
			return nil, err
		}
	}
}

// warn passes the warnings of an answer on; see Config.OnWarning.
func (c *caller) warn(header http.Header) {
	for _, value := range header["Warning"] {
		_, quoted, _ := strings.Cut(value, "- ") // as in 299 - "text"
		if text, err := strconv.Unquote(quoted); err == nil && c.onWarning != nil {
			c.onWarning(text)
		}
	}
}

func (c *caller) send(ctx context.Context, r request, target string) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.userAgent)
	return c.http.Do(req)
}

// connectionFailure classifies the error of a connection. It drops the URL, because a ping URL is a secret.
func connectionFailure(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errNoResponse):
		err = errNoResponse
	case errors.Is(cause, context.DeadlineExceeded): // the caller's deadline, which may come at the same moment
		err = lateError{cause}
	}
	op, ok := errors.AsType[*net.OpError](err)
	return &connectionError{err: err, unsent: ok && (op.Op == "dial" || op.Op == "proxyconnect")}
}

// redirect returns the URL that a response redirects to, or "". net/http must not follow redirects itself: it turns a
// POST into a GET and sends the API key to other ports and hosts.
func redirect(res *http.Response) (string, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", nil
	}
	to, err := res.Location()
	if err != nil {
		return "", nil
	}
	if !sameOrigin(res.Request.URL, to) {
		return "", &Error{StatusCode: res.StatusCode, cause: ErrNotRollcall, Message: fmt.Sprintf(
			"redirect to another origin refused: if %q is the right server, use its URL", to.Scheme+"://"+to.Host)}
	}
	return to.String(), nil
}

// sameOrigin reports whether two URLs have the same scheme, host and port. The upgrade from http to https on the
// default ports counts as the same origin: the owner of port 80 of a host also owns its certificate.
func sameOrigin(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) {
		return false
	}
	before, after := from.Scheme+":"+port(from), to.Scheme+":"+port(to)
	return before == after || before == "http:80" && after == "https:443"
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// closeBody reads the rest of a short body first, so that the connection can be reused.
func closeBody(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	res.Body.Close()
}

// readAll reads the body of a response.
func readAll(res *http.Response) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	switch {
	case err != nil:
		return nil, &connectionError{err: err}
	case len(data) > maxResponse:
		return nil, fmt.Errorf("the response is longer than %d bytes", maxResponse)
	}
	return data, nil
}

// decode reads the JSON document of a response.
func decode(res *http.Response, into any) error {
	data, err := readAll(res)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRollcall, err)
	}
	return nil
}

// errLongElement is the error for a list with an element that is too long.
var errLongElement = fmt.Errorf("an element of the response is longer than %d bytes", maxElement)

// elements is the body of a response that is a list of any length.
type elements struct {
	body   io.Reader
	left   int   // how many bytes may be read before the next element ends
	broken error // why the body ended early
}

// Read implements io.Reader.
func (e *elements) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, errLongElement
	}
	n, err := e.body.Read(p[:min(len(p), e.left)])
	e.left -= n
	if err != io.EOF {
		e.broken = err
	}
	return n, err
}

// decodeList reads the JSON document of a response, whose key has a list. It holds one document of the list at a time, and
// returns all or none of them.
func decodeList[D, V any](res *http.Response, key string, translate func(D) (V, error)) ([]V, error) {
	body := &elements{body: res.Body, left: maxElement}
	list, err := readList(json.NewDecoder(body), key, func(d D) (V, error) {
		body.left = maxElement
		return translate(d)
	})
	switch {
	case body.broken != nil:
		return nil, &connectionError{err: body.broken}
	case errors.Is(err, errLongElement):
		return nil, err
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRollcall, err)
	}
	return list, nil
}

// readList reads a whole JSON document. An io.EOF says that it is incomplete.
func readList[D, V any](d *json.Decoder, key string, translate func(D) (V, error)) (list []V, err error) {
	if err := open(d, '{', key); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		if name != key {
			if err := d.Decode(new(json.RawMessage)); err != nil {
				return nil, err
			}
			continue
		}
		if err := open(d, '[', key); err != nil {
			return nil, err
		}
		list = []V{}
		for d.More() {
			var document D
			if err := d.Decode(&document); err != nil {
				return nil, err
			}
			value, err := translate(document)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, cmp.Or(err, errors.New("the response has more than one document"))
	}
	if list == nil {
		return nil, errMissing(key)
	}
	return list, nil
}

// open reads the delimiter with which the list of a key, or the document around it, begins.
func open(d *json.Decoder, delimiter json.Delim, key string) error {
	token, err := d.Token()
	if err == nil && token != delimiter {
		err = errMissing(key)
	}
	return err
}
