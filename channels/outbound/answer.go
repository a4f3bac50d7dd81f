package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	// maxText is the maximum length of an answer in an error, in characters.
	maxText = 200
	// maxError is the maximum length of a connection error, in characters.
	maxError = 300
	// maxRetryAfter is the longest pause that a receiver can ask for.
	maxRetryAfter = 24 * time.Hour
	// minSecret and minWord are the minimum lengths in bytes of a part of a URL or a header to redact, with other characters
	// than letters and without. Shorter ones are words such as v1 and join.
	minSecret, minWord = 8, 16
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

// Clean removes the URL, which may contain a token, from the error of a client or of [url.Parse], and the addresses of
// connections and of name servers, which may be internal. It cuts the text at 300 characters. The result wraps what err wraps, so [errors.Is] finds [ErrPrivateAddress] and the errors of package
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

// cleanError bounds the text of an error, which may quote a peer, and leaves out addresses.
type cleanError struct{ error }

func (e cleanError) Error() string { return prose.Line(withoutAddresses(e.error), maxError) }
func (e cleanError) Unwrap() error { return e.error }

// withoutAddresses returns the text of an error without the addresses that package net adds.
func withoutAddresses(err error) string {
	text := err.Error()
	if e, found := errors.AsType[*net.OpError](err); found {
		inner := e.Op
		if e.Net != "" {
			inner += " " + e.Net
		}
		text = strings.Replace(text, e.Error(), inner+": "+withoutAddresses(e.Err), 1)
	}
	if e, found := errors.AsType[*net.DNSError](err); found {
		reason := e.Err
		if strings.ContainsAny(reason, "0123456789") { // an error of the connection to the name server
			reason = "the name server does not answer"
		}
		text = strings.Replace(text, e.Error(), "lookup "+e.Name+": "+reason, 1)
	}
	return text
}

// redact hides secrets of the request that an answer repeats, as error pages do. req is the last of a chain of
// redirects, or nil.
func redact(text string, req *http.Request) string {
	var list []string
	for ; req != nil; req = redirectedFrom(req) {
		list = append(list, secrets(req)...)
	}
	return channels.Redact(text, list...)
}

// redirectedFrom returns the request whose answer redirected to req, or nil.
func redirectedFrom(req *http.Request) *http.Request {
	if req.Response == nil {
		return nil
	}
	return req.Response.Request
}

// secrets returns the parts of a request that may be secret: credentials, and what is long enough. A short part of a path or a
// query is a word, which the answer may use too.
func secrets(req *http.Request) []string {
	var parts, list []string
	if u := req.URL; u != nil {
		parts = append(parts, u.String(), u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		parts = append(parts, strings.Split(u.Path, "/")...)
		for _, values := range u.Query() {
			parts = append(parts, values...)
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
			scheme, token, found := strings.Cut(value, " ")
			parts = append(parts, value, token) // without "Bearer"
			if name == "Authorization" && found && scheme != "" {
				list = append(list, token)
			}
		}
	}
	for _, part := range parts {
		if isLong(part) {
			list = append(list, part)
		}
	}
	return list
}

// isLong reports whether a part of a request is long enough for a secret. Letters alone need twice the length.
func isLong(part string) bool {
	isOther := func(r rune) bool { return !unicode.IsLetter(r) }
	return len(part) >= minWord || len(part) >= minSecret && strings.ContainsFunc(part, isOther)
}
