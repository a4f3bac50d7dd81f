package pings

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// maxUserAgent is the maximum length of a user agent, in characters. [Signal.Normalized] cuts longer ones.
const maxUserAgent = 200

const (
	// MaxQueued is how old [Signal.At] may be.
	MaxQueued = 31 * 24 * time.Hour
	// MaxAhead is how far [Signal.At] may lie in the future, because clocks differ.
	MaxAhead = time.Minute
)

// maxLabel is the maximum length of scheme, method and address, in characters. Real ones are far shorter.
const maxLabel = 100

// Signal is what a job sends. The zero value is a success without details. [Signal.Normalized] has the rules.
type Signal struct {
	// Kind is what the job says: Success, Start, Failure or Log. The zero value means Success, or Failure if ExitStatus is
	// not 0.
	Kind Kind
	// At is when the job sent the signal, if the signal has waited in a queue of the job since. The log shows the ping at
	// this time. The ping changes the state of the check only if it is the newest, and never alerts by itself. At lies at
	// most [MaxQueued] before now, and at most [MaxAhead] after now, which counts as now. The zero time means now.
	At time.Time
	// RunID tells overlapping runs apart. Optional.
	RunID uuid.NullUUID
	// ExitStatus is the exit status of the job, 0 to 255: 0 is a Success, any other a Failure. Optional.
	ExitStatus *int
	// Body is the output of the job, stored unchanged. The caller bounds its length. Do not modify the bytes afterwards:
	// the monitor keeps a reference until the ping is stored.
	Body []byte
	// BodyCut is how many bytes of a longer body the caller left out of the middle: Body is then its beginning and its end, as
	// [Cut] returns them. BodyCharset is the character set of the text in the body, for those who show it; it is "" for UTF-8.
	BodyCut     int64
	BodyCharset string
	// Filtered, unless nil, is the text to search for keywords instead of the first 10,000 bytes of Body. An HTTP server sets it
	// if it stores less of a body than the keyword search needs, and if the text is in another character set or compressed.
	Filtered []byte
	// Mail is the text of the message, for a signal that came by e-mail.
	Mail *Mail

	// Scheme, Method, RemoteAddr and UserAgent describe the request. They are empty for a signal from the same process,
	// to which rules about HTTP methods and bodies do not apply.
	Scheme, Method, RemoteAddr, UserAgent string
}

// Mail is the text of an inbound message to search for keywords.
type Mail struct {
	// Subject is the decoded subject.
	Subject string
	// Text is the decoded text of the plain part and of the HTML part.
	Text string
}

// Normalized returns the signal as it is logged, in a form that every database accepts. If Kind is "", it follows from
// the exit status: Success for 0 and for none, otherwise Failure. Short texts are cut to their limits, invalid UTF-8 and
// NUL in them are replaced, and an invalid run identifier is zero. The body is unchanged.
//
// The error says that no job may send the kind or the exit status, or that they contradict each other: only a Success
// has the exit status 0, and only a Failure another one. Its text begins in lower case and names the values.
func (s Signal) Normalized() (Signal, error) {
	if s.ExitStatus != nil {
		if *s.ExitStatus < 0 || *s.ExitStatus > 255 {
			return s, fmt.Errorf("the exit status %d is not in 0 to 255", *s.ExitStatus)
		}
		kind := Success
		if *s.ExitStatus != 0 {
			kind = Failure
		}
		switch s.Kind {
		case "":
			s.Kind = kind
		case Success, Start, Failure, Log:
			if s.Kind != kind {
				return s, fmt.Errorf("the kind %s contradicts the exit status %d", s.Kind, *s.ExitStatus)
			}
		}
	}
	switch s.Kind {
	case "":
		s.Kind = Success
	case Success, Start, Failure, Log:
	default:
		return s, fmt.Errorf("the kind %q is not success, start, fail or log", s.Kind)
	}
	if !s.RunID.Valid {
		s.RunID = uuid.NullUUID{}
	}
	if s.BodyCut < 0 || len(s.Body) == 0 {
		s.BodyCut = 0
	}
	s.BodyCharset = clean(s.BodyCharset, maxLabel)
	s.Scheme = clean(s.Scheme, maxLabel)
	s.Method = clean(s.Method, maxLabel)
	s.RemoteAddr = clean(s.RemoteAddr, maxLabel)
	s.UserAgent = clean(s.UserAgent, maxUserAgent)
	return s, nil
}

// Cut returns at most limit bytes of a body, and how many it left out: its first limit/2 bytes and its last ones are what stays
// of a longer body.
func Cut(body []byte, limit int) (kept []byte, cut int64) {
	limit = max(limit, 0)
	if len(body) <= limit {
		return body, 0
	}
	head := limit / 2
	kept = append(append(make([]byte, 0, limit), body[:head]...), body[len(body)-(limit-head):]...)
	return kept, int64(len(body) - limit)
}

func clean(text string, limit int) string {
	if len(text) > limit*utf8.UTFMax {
		text = text[:limit*utf8.UTFMax] // enough for limit characters
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
