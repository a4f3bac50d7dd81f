package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// firstPause and longestPause bound the pauses between tries; the first is doubled each time.
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
	// maxDocument bounds what is read of a JSON answer, in bytes: far more than a list of 10,000 checks has.
	maxDocument = 64 << 20
	// maxRedirects bounds how many redirects one try follows.
	maxRedirects = 5
)

// request is one HTTP request, sent as often as it takes.
type request struct {
	what        string // for errors, as in "create check"
	method, url string
	header      http.Header
	body        []byte
	repeat      bool // may be sent again though the server may have acted
	sameHost    bool // must not be sent to another host
	means       map[int]error
	// seen, if not nil, is shown the header of every answer.
	seen func(http.Header)
}

// caller makes requests.
type caller struct {
	http      *http.Client
	userAgent string
	timeout   time.Duration
	tries     int
}

func newCaller(config *Config, timeout time.Duration) (caller, error) {
	var c Config
	if config != nil {
		c = *config
	}
	switch {
	case c.Timeout < 0:
		return caller{}, fmt.Errorf("client: Timeout is negative: %v", c.Timeout)
	case c.Tries < 0:
		return caller{}, fmt.Errorf("client: Tries is negative: %d", c.Tries)
	}
	own := &http.Client{}
	if c.HTTPClient != nil {
		*own = *c.HTTPClient
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // see redirect
	k := caller{http: own, userAgent: c.UserAgent, timeout: c.Timeout, tries: c.Tries}
	if k.userAgent == "" {
		k.userAgent = "rollcall-client"
	}
	if k.timeout == 0 {
		k.timeout = timeout
	}
	if k.tries == 0 {
		k.tries = DefaultTries
	}
	return k, nil
}

// connectionError says that a try ended without a whole answer.
type connectionError struct {
	err error
	// unsent is true when the request cannot have reached the server.
	unsent bool
}

func (e *connectionError) Error() string { return e.err.Error() }
func (e *connectionError) Unwrap() error { return e.err }

// errNoAnswer is how a try ends that takes too long.
var errNoAnswer = errors.New("no answer in time")

// do sends a request until it succeeds. It shows the answer to read, which may be called once for every try, and closes
// it unless read has kept its body.
func (c *caller) do(ctx context.Context, r request, read func(*answer) error) error {
	end := time.Now().Add(c.timeout)
	if own, ok := ctx.Deadline(); ok && own.Before(end) {
		end = own
	}
	pause := firstPause
	for n := 1; ; n++ {
		limit := time.Until(end)
		if r.repeat && n < c.tries {
			limit = min(limit, c.timeout/2)
		}
		err := c.try(ctx, r, limit, read)
		if err == nil {
			return nil
		}
		wait := pause/2 + rand.N(pause/2)
		pause = min(2*pause, longestPause)
		if answered, ok := errors.AsType[*Error](err); ok {
			wait = max(wait, answered.RetryAfter)
		}
		if n >= c.tries || !mayRepeat(err, r.repeat) || time.Until(end) <= wait {
			return describe(ctx, r, n, err)
		}
		select {
		case <-ctx.Done():
			return describe(ctx, r, n, err)
		case <-time.After(wait):
		}
	}
}

// describe adds to an error what was tried. When ctx has ended, the error is that of ctx as well.
func describe(ctx context.Context, r request, tries int, err error) error {
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w: %w", ended, err)
	}
	if tries > 1 {
		return fmt.Errorf("client: %s: %w (after %d tries)", r.what, err, tries)
	}
	return fmt.Errorf("client: %s: %w", r.what, err)
}

// mayRepeat reports whether trying again can help, and is allowed.
func mayRepeat(err error, repeat bool) bool {
	if e, ok := errors.AsType[*Error](err); ok {
		switch e.StatusCode {
		case http.StatusTooManyRequests: // refused before anything was done
			return true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return repeat
		}
		return false
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return false
	}
	e, ok := errors.AsType[*connectionError](err)
	return ok && (repeat || e.unsent)
}

// answer is the answer to a request, with a status of 200 to 299.
type answer struct {
	*http.Response
	timer  *time.Timer
	cancel context.CancelCauseFunc
	kept   bool
}

// try sends a request once, and follows its redirects. The time limit covers reading the answer, unless it is kept.
func (c *caller) try(ctx context.Context, r request, limit time.Duration, read func(*answer) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { cancel(errNoAnswer) })
	a := &answer{timer: timer, cancel: cancel}
	defer func() {
		if !a.kept {
			timer.Stop()
			cancel(nil)
		}
	}()
	target := r.url
	for hops := 0; ; hops++ {
		res, err := c.send(ctx, r, target)
		if err != nil {
			return connectionFailure(ctx, err)
		}
		if r.seen != nil {
			r.seen(res.Header)
		}
		if res.StatusCode >= 200 && res.StatusCode < 300 {
			a.Response = res
			break
		}
		next, err := redirect(res, r)
		if err == nil && next == "" {
			err = newError(res, r.means)
		} else if err == nil && hops == maxRedirects {
			err = &Error{StatusCode: res.StatusCode, Message: "too many redirects"}
		}
		closeBody(res)
		if err != nil {
			return err
		}
		target = next
	}
	err := read(a)
	if !a.kept {
		closeBody(a.Response)
	}
	if e, ok := errors.AsType[*connectionError](err); ok {
		return connectionFailure(ctx, e.err)
	}
	return err
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

// connectionFailure classifies the error of a connection. It leaves the address out: that of a ping is a secret.
func connectionFailure(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if errors.Is(context.Cause(ctx), errNoAnswer) {
		err = errNoAnswer
	}
	op, ok := errors.AsType[*net.OpError](err)
	return &connectionError{err: err, unsent: ok && (op.Op == "dial" || op.Op == "proxyconnect")}
}

// redirect returns where an answer sends the request, "" if nowhere. It is not left to net/http, which makes a GET of
// a POST, and takes the API key along to other hosts.
func redirect(res *http.Response, r request) (string, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", nil
	}
	next, err := res.Location()
	if err != nil {
		return "", nil
	}
	from := res.Request.URL
	downgrade := next.Scheme != "https" && next.Scheme != from.Scheme
	if downgrade || r.sameHost && next.Hostname() != from.Hostname() {
		where := next.Scheme + "://" + next.Host
		return "", &Error{StatusCode: res.StatusCode, Message: "the server redirects to " + strconv.Quote(where) + ", which is not followed"}
	}
	return next.String(), nil
}

// closeBody reads the rest of a short body first, so that the connection can be used again.
func closeBody(res *http.Response) {
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	res.Body.Close()
}

// decode reads the JSON document of an answer.
func (a *answer) decode(into any) error {
	data, err := io.ReadAll(io.LimitReader(a.Body, maxDocument+1))
	switch {
	case err != nil:
		return &connectionError{err: err}
	case len(data) > maxDocument:
		return fmt.Errorf("the answer is longer than %d bytes", maxDocument)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("the answer is not what API-V3.md says: %w", err)
	}
	return nil
}

// errMissing says that a document lacks the list that it is there for. An answer of another program must not pass for
// an empty list.
func errMissing(key string) error { return fmt.Errorf("the answer has no %s", key) }

// keep takes the body over from the answer: it has no time limit from then on but that of the caller's context.
func (a *answer) keep() (io.ReadCloser, error) {
	if !a.timer.Stop() {
		return nil, &connectionError{err: errNoAnswer}
	}
	a.kept = true
	return &keptBody{ReadCloser: a.Body, cancel: a.cancel}, nil
}

type keptBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

func (b *keptBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// retryAfter returns how long an answer asks to wait: a number of seconds, or until a date, which is taken by the
// server's clock where the answer tells it.
func retryAfter(res *http.Response, now time.Time) time.Duration {
	text := res.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = date
	}
	return max(0, until.Sub(now))
}
