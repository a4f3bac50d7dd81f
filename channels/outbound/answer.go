package outbound

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

const (
	// maxText is how many characters of an answer an error shows.
	maxText = 200
	// maxError is how many characters an error of the connection has.
	maxError = 300
	// maxRetryAfter is the longest pause that a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
	// minSecret is the least length, in bytes, of a part of a URL or of a header
	// that an error hides; a shorter one tells nothing.
	minSecret = 4
)

// A StatusError tells that a receiver has answered a request with a status that
// is not 2xx.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Text is the beginning of the answer: at most 200 printable characters,
	// without the parts of the request that may be secret.
	Text string
}

// Error returns the status and the text.
func (e *StatusError) Error() string {
	text := "the receiver answered with status " + strconv.Itoa(e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// CheckStatus returns the error that an answer stands for, and nil for the
// statuses 2xx. It is a [*StatusError], marked
//
//   - by [channels.Permanent] for 410, by which a receiver says that it is gone
//     for good. All other statuses may be cured, by the receiver or by its
//     administrator, while the alert is tried again: a 404 by a deployment that
//     ends, a 401 by a token that is renewed;
//   - by [channels.RetryAfter] for 429 and 503 with a header Retry-After, in
//     seconds or as a date, which is compared with now. More than 24 hours count
//     as 24 hours.
//
// The body of the answer is given apart, since it can be read only once. Parts
// of the request's URL and headers that the answer repeats are not shown.
func CheckStatus(res *http.Response, body []byte, now time.Time) error {
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	err := &StatusError{Status: res.StatusCode, Text: message.Line(redact(string(body), res.Request), maxText)}
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

// retryAfter reads the header (RFC 9110, section 10.2.3); 0 means no pause.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return maxRetryAfter // More digits than a number has.
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

// Clean returns an error of a client, or of the parsing of a URL, without the
// URL, which may hold a token, and with at most 300 characters. It wraps what
// the error wraps, so that [errors.Is] works for [ErrPrivateAddress] and for
// those of package context. Clean(nil) is nil.
func Clean(err error) error {
	if err == nil {
		return nil
	}
	for e, found := errors.AsType[*url.Error](err); found; e, found = errors.AsType[*url.Error](err) {
		if e.Op == "parse" {
			return errors.New("the URL is malformed") // The reason repeats parts of it.
		}
		err = e.Err
	}
	return cleanError{err}
}

// cleanError bounds the text of an error, which can quote what a peer has sent.
type cleanError struct{ error }

func (e cleanError) Error() string { return message.Line(e.error.Error(), maxError) }
func (e cleanError) Unwrap() error { return e.error }

// redact redacts the parts of a request that an answer repeats, as error pages do. req is the last of a chain of
// redirects, or nil.
func redact(text string, req *http.Request) string {
	var list []string
	for ; req != nil; req = before(req) {
		list = append(list, secrets(req)...)
	}
	return channels.Redact(text, slices.DeleteFunc(list, func(secret string) bool { return len(secret) < minSecret })...)
}

func before(req *http.Request) *http.Request {
	if req.Response == nil {
		return nil
	}
	return req.Response.Request
}

// secrets returns what of a request may be secret.
func secrets(req *http.Request) []string {
	var list []string
	if u := req.URL; u != nil {
		list = append(list, u.String(), u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		list = append(list, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			list = append(list, values...)
		}
		if password, ok := u.User.Password(); ok {
			list = append(list, password)
		}
	}
	for name, values := range req.Header {
		if isKept(name) {
			continue
		}
		for _, value := range values {
			list = append(list, value)
			if _, token, found := strings.Cut(value, " "); found { // "Bearer" is none.
				list = append(list, token)
			}
		}
	}
	return list
}
