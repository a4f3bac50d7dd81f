package outbound

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// userAgent is the default User-Agent of requests.
const userAgent = "rollcall"

// Do sends a request with a client of [New] and returns the body of the answer, at most 64 KiB.
//
// A status other than 2xx is a [*StatusError], permanent for 410 and with a pause for a Retry-After header. Connection
// errors are passed through [Clean]. A request without a User-Agent gets "rollcall".
func Do(client *http.Client, req *http.Request) ([]byte, error) {
	_, body, err := Exchange(client, req)
	return body, err
}

// Exchange is [Do] for services that explain a status in the body. It returns the answer, whose Body is closed, and its
// body, both also with a [*StatusError]. It redacts the given secrets in errors: those of the request's body, which Do
// cannot know.
func Exchange(client *http.Client, req *http.Request, secrets ...string) (*http.Response, []byte, error) {
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, nil, Redact(Clean(err), secrets...)
	}
	defer res.Body.Close()
	// A receiver that answered 2xx has the message, even if the rest of its answer is lost.
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	shown := body
	if len(secrets) > 0 { // before checkStatus cuts the text, which could leave the beginning of a secret
		shown = []byte(channels.Redact(string(body), secrets...))
	}
	if heard, ok := req.Context().Value(listener{}).(func(int, string)); ok {
		first, _, _ := strings.Cut(strings.TrimSpace(redact(string(shown), res.Request)), "\n")
		heard(res.StatusCode, prose.Line(first, maxText))
	}
	if err = checkStatus(res, shown, time.Now()); err != nil {
		err = Redact(err, secrets...)
	}
	return res, body, err
}

// listener is the key of the function of [Listen] in a context.
type listener struct{}

// Listen returns a context whose requests pass what the receiver answered to heard: the status, also one of success, and the first line
// of the body, at most 200 printable characters, with the secrets of the request redacted as in a [*StatusError]. An alert may make
// several requests, also at once.
func Listen(ctx context.Context, heard func(status int, text string)) context.Context {
	return context.WithValue(ctx, listener{}, heard)
}

// checkStatus returns the error of an answer, or nil for a status 2xx. It is a [*StatusError], marked
//
//   - by [channels.Permanent] for 410: the receiver is gone for good. Someone may fix any other status between retries:
//     a 404 by a deployment, a 401 by a new token;
//   - by [channels.RetryAfter] for 429 and 503 with a Retry-After header, in seconds or as a date relative to now. The
//     pause is at most 24 hours.
//
// The body is passed separately, because it can be read only once.
func checkStatus(res *http.Response, body []byte, now time.Time) error {
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	err := &StatusError{Status: res.StatusCode, Text: prose.Line(redact(string(body), res.Request), maxText)}
	switch res.StatusCode {
	case http.StatusGone:
		return channels.Permanent(err)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if after := retryAfter(res.Header.Get("Retry-After"), now); after > 0 {
			return channels.RetryAfter(err, after)
		}
	}
	return err
}

// Redact applies [channels.Redact] to the text of an error. The result wraps err, or is err itself if nothing was
// redacted. Redact(nil) is nil.
func Redact(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	text := channels.Redact(err.Error(), secrets...)
	if text == err.Error() {
		return err
	}
	return redactedError{err, text}
}

// redactedError is an error with another text.
type redactedError struct {
	error
	text string
}

func (e redactedError) Error() string { return e.text }
func (e redactedError) Unwrap() error { return e.error }
