package pings

import (
	"time"

	"github.com/google/uuid"
)

// Kind says what a ping means. Its text is the `type` of API-V3.md section 2.2.
type Kind string

// The kinds of a ping. A signal has one of the first four; Ignored is only ever given by a check's rules.
const (
	Success Kind = "success" // the job ran and succeeded
	Start   Kind = "start"   // a run of the job began
	Fail    Kind = "fail"    // the job ran and failed
	Log     Kind = "log"     // a note for the log; changes no state
	Ignored Kind = "ign"     // logged and counted, and nothing else
)

// Ends reports whether a ping of this kind ends a run.
func (k Kind) Ends() bool { return k == Success || k == Fail }

// Ping is one entry of a check's ping log (API-V3.md section 2.2).
type Ping struct {
	// N is the ping's number within its check: 1, 2, 3 … without gaps.
	N int64
	// Kind says what the check's rules made of the signal.
	Kind Kind
	// At is when the ping was received, in UTC with microseconds.
	At time.Time
	// Scheme is "http", "https", "email", or "" for a signal given in process.
	Scheme string
	// Method is the HTTP method of the ping, or "".
	Method string
	// RemoteAddr is the address that the ping came from, without a port, or "".
	RemoteAddr string
	// UserAgent is the ping's user agent, at most [MaxUserAgent] characters.
	UserAgent string
	// RunID tells runs of one job that overlap from each other; not valid when the job gave none.
	RunID uuid.NullUUID
	// ExitStatus is the exit status that the job reported, 0 to 255, or nil.
	ExitStatus *int
	// Duration is how long the run took that this ping ended, or nil where it ended none. It is a multiple of 10 ms.
	Duration *time.Duration
	// BodySize is the number of bytes of the stored body, 0 when there is none.
	BodySize int64
	// Body is the body. Listings of a log leave it nil whatever BodySize is.
	Body []byte
	// BodyKey is the name of the object that has the body, once it is in object storage and Body is nil for that
	// reason. Listings of a log leave it empty.
	BodyKey string
}
