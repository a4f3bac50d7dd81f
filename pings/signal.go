package pings

import (
	"errors"
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

// maxLabel is the maximum length of method, address and character set, in characters. Real ones are far shorter.
const maxLabel = 100

// Signal is what a job sends. The zero value is a success without details. [FromHTTP] and [FromMail] make the signal of a
// request and of a message, with all that the keyword search needs. [Signal.Normalized] has the rules.
type Signal struct {
	// Kind is what the job says: Success, Start, Failure or Log. The zero value means Success, or Failure if ExitStatus is
	// not 0.
	Kind Kind
	// At is when the job sent the signal, if the signal has waited in a queue of the job since. The log shows the ping at
	// this time. The ping changes the state of the check only if it is the newest, and never alerts by itself. At lies at
	// most [MaxQueued] before now, and at most [MaxAhead] after now, which counts as now. The zero time means now.
	At time.Time
	// WaitedSince is since when the signal may have waited for the monitor to run, such as in a socket of a machine that was
	// suspended. The ping does not take the check down for a deadline between this time and its receipt. The zero time means that
	// the signal did not wait. The monitor sets it.
	WaitedSince time.Time `json:",omitzero"`
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
	// Mail is the text of the message. A signal that came by e-mail has it, and no other.
	Mail *Mail

	// Scheme says how the signal arrived, and so which rules of the check apply: SchemeHTTP or SchemeHTTPS, SchemeEmail, or ""
	// for a signal from the same process, to which the rules about methods and keywords do not apply.
	Scheme string
	// Method, RemoteAddr and UserAgent describe the request. Only a signal over HTTP has a method.
	Method, RemoteAddr, UserAgent string
}

// The schemes of a [Signal] that did not come from the same process.
const (
	SchemeHTTP  = "http"
	SchemeHTTPS = "https"
	SchemeEmail = "email"
)

// FromHTTP returns the signal of an HTTP request: a Success with the request's method and its body, which may be nil. secure
// says that the request came over TLS. Add what else is known, such as Kind, RemoteAddr and UserAgent.
//
//	signal := pings.FromHTTP(r.Method, r.TLS != nil, body)
func FromHTTP(method string, secure bool, body []byte) Signal {
	s := Signal{Kind: Success, Scheme: SchemeHTTP, Method: method, Body: body}
	if secure {
		s.Scheme = SchemeHTTPS
	}
	return s
}

// FromMail returns the signal of an e-mail message: a Success with the raw message as its body. The text of the message is
// what package email makes of it. The sender may be empty: devices send so, but so do mail servers that report on a message,
// and such a report is Automatic. The user agent names the sender and what is Automatic.
//
//	signal := pings.FromMail("nas@example.org", raw, email.Parse(raw).Mail())
func FromMail(sender string, raw []byte, text *Mail) Signal {
	if sender == "" {
		sender = "<>"
		if text != nil && text.Report && text.Automatic == "" {
			text = &Mail{Subject: text.Subject, Text: text.Text, Automatic: "a delivery report", Report: true}
		}
	}
	s := Signal{Kind: Success, Scheme: SchemeEmail, UserAgent: "Email from " + sender, Body: raw, Mail: text}
	if text != nil && text.Automatic != "" {
		s.UserAgent += ", ignored: " + text.Automatic
	}
	return s
}

// Mail is the text of an inbound message to search for keywords.
type Mail struct {
	// Subject is the decoded subject.
	Subject string
	// Text is the decoded text of the plain part and of the HTML part.
	Text string
	// Automatic says what the message is if a mail program has written it in answer to another message, such as "an automatic
	// reply", or is "". Such a message says nothing about the job, and its ping is Ignored.
	Automatic string
	// Report says that the message is a report on another one (RFC 6522). It is Automatic if it has no sender.
	Report bool
}

// Normalized returns the signal as it is logged, in a form that every database accepts. If Kind is "", it follows from
// the exit status: Success for 0 and for none, otherwise Failure. Short texts are cut to their limits, invalid UTF-8 and
// NUL in them are replaced, and an invalid run identifier is zero. The body is unchanged.
//
// The error says that no job may send the kind or the exit status, or that they contradict each other: only a Success
// has the exit status 0, and only a Failure another one. It also says that the scheme is unknown, or that Mail, Method or
// Filtered do not belong to it: the check would not search them for keywords. Its text begins in lower case and names the
// values.
func (s Signal) Normalized() (Signal, error) {
	if s.ExitStatus != nil {
		if err := s.judgeExitStatus(); err != nil {
			return s, err
		}
	}
	switch s.Kind {
	case "":
		s.Kind = Success
	case Success, Start, Failure, Log:
	default:
		return s, fmt.Errorf("the kind %q is not success, start, fail or log", s.Kind)
	}
	switch http := s.Scheme == SchemeHTTP || s.Scheme == SchemeHTTPS; {
	case !http && s.Scheme != "" && s.Scheme != SchemeEmail:
		return s, fmt.Errorf("the scheme %q is not http, https or email, nor empty", s.Scheme)
	case s.Scheme == SchemeEmail && s.Mail == nil:
		return s, errors.New("the scheme is email, but the text of the message is missing")
	case s.Scheme != SchemeEmail && s.Mail != nil:
		return s, fmt.Errorf("it has the text of a message, but the scheme is %q and not email", s.Scheme)
	case !http && s.Method != "":
		return s, fmt.Errorf("it has the method %q, but the scheme is %q and not http or https", s.Method, s.Scheme)
	case !http && s.Filtered != nil:
		return s, fmt.Errorf("it has the text of a request, but the scheme is %q and not http or https", s.Scheme)
	}
	if !s.RunID.Valid {
		s.RunID = uuid.NullUUID{}
	}
	if s.BodyCut < 0 || len(s.Body) == 0 {
		s.BodyCut = 0
	}
	s.BodyCharset = clean(s.BodyCharset, maxLabel)
	s.Method = clean(s.Method, maxLabel)
	s.RemoteAddr = clean(s.RemoteAddr, maxLabel)
	s.UserAgent = clean(s.UserAgent, maxUserAgent)
	return s, nil
}

// judgeExitStatus sets a kind that is missing to what the exit status means.
func (s *Signal) judgeExitStatus() error {
	if *s.ExitStatus < 0 || *s.ExitStatus > 255 {
		return fmt.Errorf("the exit status %d is not in 0 to 255", *s.ExitStatus)
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
			return fmt.Errorf("the kind %s contradicts the exit status %d", s.Kind, *s.ExitStatus)
		}
	}
	return nil
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
