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
	// maxText is the maximum length of an answer in an error, in characters.
	maxText = 200
	// maxError is the maximum length of a connection error, in characters.
	maxError = 300
	// maxRetryAfter is the longest pause that a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
	// minSecret is the minimum length in bytes of a part of a URL or a header to redact. Shorter ones are words such as
	// v1.
	minSecret = 4
)

// A StatusError is the error of an answer with a status other than 2xx.
type StatusError struct {
	// Status is the HTTP status.
	Status int
	// Text is the beginning of the answer: at most 200 printable characters, with the secrets of the request redacted.
	Text string
}

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

// retryAfter parses the header (RFC 9110, section 10.2.3). It returns 0 for no pause.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return maxRetryAfter // the number overflows
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

// Clean removes the URL, which may contain a token, from the error of a client or of [url.Parse]. It cuts the text at
// 300 characters. The result wraps what err wraps, so [errors.Is] finds [ErrPrivateAddress] and the errors of package
// context. Clean(nil) is nil.
func Clean(err error) error {
	if err == nil {
		return nil
	}
	for e, found := errors.AsType[*url.Error](err); found; e, found = errors.AsType[*url.Error](err) {
		if e.Op == "parse" {
			return errors.New("the URL is malformed") // e repeats parts of the URL
		}
		err = e.Err
	}
	return cleanError{err}
}

// cleanError bounds the text of an error, which may quote a peer.
type cleanError struct{ error }

func (e cleanError) Error() string { return message.Line(e.error.Error(), maxError) }
func (e cleanError) Unwrap() error { return e.error }

// redact hides secrets of the request that an answer repeats, as error pages do. req is the last of a chain of
// redirects, or nil.
func redact(text string, req *http.Request) string {
	var list []string
	for ; req != nil; req = redirectedFrom(req) {
		list = append(list, secrets(req)...)
	}
	return channels.Redact(text, slices.DeleteFunc(list, func(secret string) bool { return len(secret) < minSecret })...)
}

// redirectedFrom returns the request whose answer redirected to req, or nil.
func redirectedFrom(req *http.Request) *http.Request {
	if req.Response == nil {
		return nil
	}
	return req.Response.Request
}

// secrets returns the parts of a request that may be secret.
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
			if _, token, found := strings.Cut(value, " "); found { // without "Bearer"
				list = append(list, token)
			}
		}
	}
	return list
}
