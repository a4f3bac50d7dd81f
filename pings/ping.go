package pings

import (
	"time"

	"github.com/google/uuid"
)

// Kind is what a ping means: the field type of section 2.2 of the API.
type Kind string

// The kinds of a ping. A signal has one of the first four. Only the rules of a check make a ping Ignored.
const (
	Success Kind = "success" // the job ran and succeeded
	Start   Kind = "start"   // a run of the job began
	Failure Kind = "fail"    // the job ran and failed
	Log     Kind = "log"     // a note for the log, changes no state
	Ignored Kind = "ign"     // logged and counted, changes nothing else
)

// MaxRunTime is the longest run that gets a duration.
const MaxRunTime = 72 * time.Hour

// Ping is one entry of a check's ping log.
type Ping struct {
	// N numbers the pings of a check: 1, 2, 3 and so on, without gaps.
	N int64
	// Kind is how the check classified the signal.
	Kind Kind
	// At is when the ping was received, or [Signal.At] of a ping that waited in a queue, in UTC and whole microseconds.
	At time.Time
	// Scheme is "http", "https" or "email", or "" for a signal from the same process.
	Scheme string
	// Method is the HTTP method of the ping, or "".
	Method string
	// RemoteAddr is the address that the ping came from, without the port, or "".
	RemoteAddr string
	// UserAgent is the ping's user agent, at most 200 characters.
	UserAgent string
	// RunID tells overlapping runs of one job apart. It is not valid if the job sent none.
	RunID uuid.NullUUID
	// ExitStatus is the exit status that the job reported, 0 to 255, or nil.
	ExitStatus *int
	// Duration is the duration of the run that this ping ended, in multiples of 10 ms, or nil.
	Duration *time.Duration
	// BodySize is the length of the stored body in bytes.
	BodySize int64
	// BodyCut is how many bytes of a longer body were left out. They stood after the first half of the stored body, which is
	// BodySize / 2 bytes. It is 0 in lists.
	BodyCut int64
	// BodyCharset is the character set of the body's text, or "" if the job did not say. It is empty in lists.
	BodyCharset string
	// Body is the body. It is nil in lists, and if the body is in object storage.
	Body []byte
	// WrongMethod says that the ping is Ignored because the check does not allow its method. Only the result of a ping has it,
	// not the log.
	WrongMethod bool
	// BodyKey is the name of the object in object storage that holds the body. It is empty in lists.
	BodyKey string
}
