package ui

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
	"github.com/rollcall-dev/rollcall/pings/text"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// maxFailures bounds what is remembered of failures.
	maxFailures = 10_000
	// newFailures is how many failures a page looks up; the others follow when it asks again. searchedPings is how many pings
	// of a check are searched.
	newFailures, searchedPings = 300, 200
	// causeBytes is how much of the end of an output is searched for its cause, so that 200 of them take a page's time.
	causeBytes = 4 << 10
	// maxCause bounds a cause in characters.
	maxCause = 120
)

// Failure is the newest failure that a job reported.
type Failure struct {
	// N is the number of its ping, or 0 if the log does not go back to it.
	N  int64
	At time.Time
	// Output says that the ping has an output to show.
	Output     bool
	ExitStatus *int
	// Cause is the line of the output that says why, or "". It is cut and may hold any markup.
	Cause string
}

// Why says why the job failed, in few words: "exit 2: disk full".
func (f Failure) Why() string {
	switch {
	case f.ExitStatus == nil:
		return cmp.Or(f.Cause, "failed")
	case f.Cause == "":
		return "exit " + strconv.Itoa(*f.ExitStatus)
	}
	return "exit " + strconv.Itoa(*f.ExitStatus) + ": " + f.Cause
}

// leastAlike is how many outages without a cause make a group if they have the same reason. With a like cause, two do.
const leastAlike = 4

// Alike returns what outages share that pages show as one row: a like cause in the output, or else the reason in words. least is how many
// make a group. The title is "" if the cause, which the row quotes, says all.
func Alike(reason, cause string) (key string, least int, title string) {
	if key, known := verdict.CauseKey(cause); known {
		return "cause " + key, 2, key
	} else if key != "" {
		return "cause " + key, 2, ""
	}
	return reason, leastAlike, words.Capital(reason)
}

// AlikeID is the key of a group in an address and on a page.
func AlikeID(key string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return "g-" + strconv.FormatUint(h.Sum64(), 36)
}

// failures remembers the newest failures of checks, so that open pages read each output once.
type failures struct {
	mu    sync.Mutex
	known map[uuid.UUID]*knownFailure
}

// knownFailure is the newest failure of a check as it was when the log was read: how many pings it had, and when its last run that
// failed had ended, as far as it remembers runs.
type knownFailure struct {
	Failure
	pings int64
	last  time.Time
}

// of reports whether the failure is still the newest one of a check. Successes leave it so, however many they are.
func (f *knownFailure) of(c checks.Check) bool {
	if f == nil || c.NPings < f.pings {
		return false
	}
	if last := lastFailed(c); !last.IsZero() {
		return last.Equal(f.last)
	}
	return c.NPings-f.pings < checks.MaxRecent // the check remembers all runs since
}

// lastFailed returns when the last run of a check that failed ended, or the zero time if it remembers none.
func lastFailed(c checks.Check) time.Time {
	for _, run := range slices.Backward(c.History.Recent.Runs()) {
		if run.Result == checks.RunFailure {
			return run.At
		}
	}
	return time.Time{}
}

// Failures returns the newest failure of each check, by one query for all that it does not remember. An output in object
// storage has no cause here.
func (q *Request) Failures(list []checks.Check) (map[uuid.UUID]Failure, error) {
	found := make(map[uuid.UUID]Failure, len(list))
	var unknown []checks.Check
	var ids []uuid.UUID
	q.failures.mu.Lock()
	for _, c := range list {
		if f := q.failures.known[c.ID]; f.of(c) {
			f.pings, found[c.ID] = c.NPings, f.Failure
		} else if len(unknown) < newFailures {
			unknown, ids = append(unknown, c), append(ids, c.ID)
		}
	}
	q.failures.mu.Unlock()
	if len(unknown) == 0 {
		return found, nil
	}
	logs, err := q.Mon.Project(q.Project.ID).LastFailures(q.Ctx(), ids, searchedPings)
	if err != nil {
		return nil, err
	}
	for _, c := range unknown {
		found[c.ID] = FailureOf(logs[c.ID])
	}
	q.failures.mu.Lock()
	defer q.failures.mu.Unlock()
	if q.failures.known == nil || len(q.failures.known) > maxFailures {
		q.failures.known = map[uuid.UUID]*knownFailure{}
	}
	for _, c := range unknown {
		q.failures.known[c.ID] = &knownFailure{found[c.ID], c.NPings, lastFailed(c)}
	}
	return found, nil
}

// FailureOf describes a failure whose ping has the end of its body.
func FailureOf(p pings.Ping) Failure {
	if p.Scheme == "email" && int64(len(p.Body)) == p.BodySize { // else its beginning is missing
		mail := email.Parse(p.Body)
		p.Scheme, p.Body = "", []byte(cmp.Or(mail.Text, mail.HTML))
		p.BodySize = int64(len(p.Body))
	}
	output := p.BodySize > 0
	if p.Scheme != "email" {
		p.Body, p.BodyCut, p.BodyCharset = []byte(text.Lines(p)), 0, ""
		p.BodySize = int64(len(p.Body))
		p.Body = p.Body[max(0, len(p.Body)-causeBytes):]
	}
	return Failure{N: p.N, At: p.At, Output: output, ExitStatus: p.ExitStatus, Cause: prose.Cut(verdict.Cause(p), maxCause)}
}

// Reporting returns the ping that reported a transition, or nil: a missed run and one that timed out have none.
func Reporting(log []pings.Ping, t checks.Transition) *pings.Ping {
	kind := map[flips.Reason]pings.Kind{flips.Success: pings.Success, flips.Failure: pings.Failure}[t.Reason]
	i := slices.IndexFunc(log, func(p pings.Ping) bool { return kind != "" && p.Kind == kind && p.At.Equal(t.At) })
	if i < 0 {
		return nil
	}
	return &log[i]
}
