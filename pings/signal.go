package pings

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
)

// MaxUserAgent is the number of characters that are kept of a user agent.
const MaxUserAgent = 200

// maxLabel bounds the other short texts of a ping (scheme, method, address), in characters. A real one is far shorter.
const maxLabel = 100

// Signal is what a job sends. Only Kind is required.
type Signal struct {
	// Kind is what the job says: Success, Start, Fail or Log. The zero value is taken as Success.
	Kind Kind
	// RunID names the run, so that runs that overlap are told apart. Optional.
	RunID uuid.NullUUID
	// ExitStatus is the job's exit status, 0 to 255. It is kept for the log and does not change Kind. Optional.
	ExitStatus *int
	// Body is what the job has to say, kept as it is. The caller bounds its length. The monitor keeps a
	// reference until the ping is stored: do not change the bytes after handing them over.
	Body []byte
	// Filtered is what keywords are looked for in when the signal came over HTTP and the stored Body is shorter
	// than the part that API-V3.md section 2.1.1 wants looked at. When nil, Body is used.
	Filtered []byte
	// Mail is set when the signal came by e-mail.
	Mail *Mail

	// Scheme, Method, RemoteAddr and UserAgent describe the request. They are empty for a signal given in
	// process; then the check's rules about HTTP methods and HTTP bodies do not apply.
	Scheme, Method, RemoteAddr, UserAgent string
}

// Mail is the text of an inbound message as far as keyword rules look at it.
type Mail struct {
	// Subject is the decoded subject.
	Subject string
	// Text is the decoded text of the plain part and of the HTML part.
	Text string
}

// OverHTTP reports whether the signal came as an HTTP request.
func (s Signal) OverHTTP() bool { return s.Scheme == "http" || s.Scheme == "https" }

// Valid reports whether the signal's kind and exit status are ones that a job can send.
func (s Signal) Valid() bool {
	switch s.Kind {
	case "", Success, Start, Fail, Log:
	default:
		return false
	}
	return s.ExitStatus == nil || (*s.ExitStatus >= 0 && *s.ExitStatus <= 255)
}

// Cleaned returns the signal with its short texts cut to their limits, and made valid UTF-8 without NUL, so that
// every database takes them whatever a client has sent, and a run identifier that is not valid becomes none. The body is
// left as it is.
func (s Signal) Cleaned() Signal {
	if s.Kind == "" {
		s.Kind = Success
	}
	if !s.RunID.Valid {
		s.RunID = uuid.NullUUID{}
	}
	s.Scheme = clean(s.Scheme, maxLabel)
	s.Method = clean(s.Method, maxLabel)
	s.RemoteAddr = clean(s.RemoteAddr, maxLabel)
	s.UserAgent = clean(s.UserAgent, MaxUserAgent)
	return s
}

func clean(text string, limit int) string {
	if len(text) > limit*utf8.UTFMax {
		text = text[:limit*utf8.UTFMax] // enough for limit characters; the rest need not be looked at
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	if len(text) <= limit {
		return text
	}
	n := 0
	for i := range text {
		if n == limit {
			return text[:i]
		}
		n++
	}
	return text
}
