// Package timeline turns the log of a check into its runs: when each began and ended, how it ended, and which ones did
// not come. It is pure.
//
//	line := timeline.Of(c, log, now.Add(-24*time.Hour), now)
//	for _, run := range line.Runs {
//		fmt.Println(run.Start, run.Result)
//	}
//	next, more := timeline.Expected(c, now, now.Add(24*time.Hour), 100)
//
// [Logs] joins what a monitor returns of many checks at once.
package timeline

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// Result says how a run ended, or that it did not.
type Result string

// The results of a run.
const (
	Success Result = "success" // it succeeded
	Failure Result = "fail"    // it failed
	Missed  Result = "missed"  // it was expected, and did not arrive within the grace time
	Late    Result = "late"    // it was expected, has not come, and the grace time has not passed
	Running Result = "running" // it has started, and its limit has not passed
	Overrun Result = "overrun" // it has started, and did not report its end within its limit
	Unended Result = "unended" // it never reported its end, and another run started or ended within its limit
)

// Bad reports whether the result is a failure: of the job, by a missed deadline or by an overrun.
func (r Result) Bad() bool { return r == Failure || r == Missed || r == Overrun }

// Run is one run of a job.
type Run struct {
	Result Result
	// Start is when the run began. If the job reports no start, it is End. For Missed and Late, it is when the run was
	// expected.
	Start time.Time
	// End is when the run ended. For Missed, Overrun and Unended it is when the wait for it ended: at the next run, the
	// next time at which one was expected, or a pause. It is the zero time while the run, or the wait for it, goes on.
	End time.Time
	// Limit is the instant by which the run had to begin, for Missed and Late, or to end, if Timed, by the present
	// settings. Otherwise it is the zero time.
	Limit time.Time
	// Timed reports whether the start is known, so that End-Start is how long the run took.
	Timed bool
	// StartN and EndN are the numbers of its pings, 0 for one that the log does not hold.
	StartN, EndN int64
	// ExitStatus is the one that the job reported at the end, or nil.
	ExitStatus *int
	// BodySize is the length of the body of the ping that ended the run, in bytes.
	BodySize int64
}

// TookTooLong reports whether the run ended after its limit.
func (r Run) TookTooLong() bool {
	return r.Timed && (r.Result == Success || r.Result == Failure) && r.End.After(r.Limit)
}

// Log is the newest part of what is stored about the runs of a check.
type Log struct {
	// Pings are the newest pings, newest first. They have at least N, Kind, At, RunID, ExitStatus, Duration and BodySize.
	Pings []pings.Ping
	// Transitions are the transitions and the pauses since an instant, by time.
	Transitions []checks.Transition
}

// Logs returns the logs of checks that have pings or transitions.
func Logs(recent map[uuid.UUID][]pings.Ping, transitions map[uuid.UUID][]checks.Transition) map[uuid.UUID]Log {
	logs := make(map[uuid.UUID]Log, len(recent))
	for id, list := range recent {
		logs[id] = Log{Pings: list}
	}
	for id, list := range transitions {
		logs[id] = Log{Pings: logs[id].Pings, Transitions: list}
	}
	return logs
}

// Timeline is what is known of the runs of a check since an instant.
type Timeline struct {
	// Since is how far back the timeline reaches: to the instant asked for, or to the oldest ping in the log.
	Since time.Time
	// Runs are the runs that went on at or after Since, by Start. Missed runs are among them.
	Runs []Run
	// More reports that runs were missed beyond the first [MaxMissed], which Runs leaves out.
	More bool
}

const (
	// MaxMissed bounds the missed runs of a timeline: one a minute for a day, and some.
	MaxMissed = 1500
	// maxSteps bounds the expected instants that are examined.
	maxSteps = 5000
)

// Of returns the runs of a check since an instant, as far as the log reaches back. Its transitions must reach back to that
// instant. What the clock alone has done until now counts.
//
// A missed run is one whose grace time passed while the check was watched and nothing began. While a check stays down, each
// further time at which a run was expected is another. The present settings decide, and so does a transition where it
// was recorded under earlier ones.
func Of(c checks.Check, log Log, since, now time.Time) Timeline {
	transitions := log.Transitions
	_, effects := c.Settle(now)
	for _, t := range effects.Transitions {
		if !slices.Contains(transitions, t) {
			transitions = append(slices.Clip(transitions), t)
		}
	}
	line := Timeline{Since: since}
	if n := len(log.Pings); n > 0 && log.Pings[n-1].N > 1 && log.Pings[n-1].At.After(since) {
		line.Since = log.Pings[n-1].At
	}
	w := wait{Check: c, now: now, transitions: transitions}
	runs := w.conclude(pair(c, log.Pings, now))
	w.index(runs)
	for i, r := range runs {
		if r.Result == Overrun {
			runs[i].End = first(w.begin(r.Limit), w.pause(r.Limit, time.Time{}))
		}
	}
	missed, more := w.missed(line.Since, finishes(c, log.Pings))
	runs = append(runs, missed...)
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Start.Compare(b.Start) })
	for _, r := range runs {
		if r.End.IsZero() || !r.End.Before(line.Since) {
			line.Runs = append(line.Runs, r)
		}
	}
	line.More = more
	return line
}

// Runs returns the runs in a log, newest first, in no order: those that began or ended with one of its pings. Missed and late
// ones are not among them.
func Runs(c checks.Check, log []pings.Ping, now time.Time) []Run {
	w := wait{Check: c, now: now}
	return w.conclude(pair(c, log, now))
}

// LateAt reports whether a check that was up at an earlier instant was late then: a run was expected, and none had begun, nor
// had its grace time passed. The settings are those of now.
func (t Timeline) LateAt(c checks.Check, at time.Time) bool {
	var last time.Time // the end of the last run before
	for _, r := range t.Runs {
		switch r.Result {
		case Missed, Late:
			if !r.Start.After(at) && at.Before(r.Limit) {
				return true
			}
		case Success, Failure:
			if !r.End.After(at) {
				last = later(last, r.End)
			} else if !r.Start.After(at) {
				return false // it went on
			}
		case Running:
			if !r.Start.After(at) {
				return false
			}
		}
	}
	if last.IsZero() && !c.IsCron() {
		return false // when it was expected is not known
	}
	last = later(last, t.Since)
	expected := c.ExpectedAfter(last)
	return !expected.IsZero() && !expected.After(at) && at.Before(expected.Add(c.Grace))
}

// finishes returns the instants of the successes and failures that are known, in order.
func finishes(c checks.Check, log []pings.Ping) (list []time.Time) {
	if !c.LastPing.IsZero() {
		list = append(list, c.LastPing)
	}
	for _, p := range log {
		if p.Kind == pings.Success || p.Kind == pings.Failure {
			list = append(list, p.At)
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// CountExpected returns the number of the instants that [Expected] returns.
func CountExpected(c checks.Check, from, to time.Time, limit int) (n int, more bool) {
	if c.IsCron() {
		list, more := Expected(c, from, to, limit)
		return len(list), more
	}
	if c.Stored == checks.StatusPaused || c.LastPing.IsZero() || c.Timeout <= 0 || to.Before(from) {
		return 0, false
	}
	n = int(max(0, to.Sub(c.LastPing))/c.Timeout - max(0, from.Sub(c.LastPing))/c.Timeout)
	return min(n, limit), n > limit
}

// Expected returns the instants after from, up to and including to, at which runs are expected, at most limit of them;
// more reports that there are others. Nothing is expected of a paused check, nor of a new Simple check. A Simple check is
// expected each period after its last ping, as if all runs came on time.
func Expected(c checks.Check, from, to time.Time, limit int) (list []time.Time, more bool) {
	if c.Stored == checks.StatusPaused || !c.IsCron() && (c.LastPing.IsZero() || c.Timeout <= 0) {
		return nil, false
	}
	at := from
	if !c.IsCron() {
		if at = c.LastPing; at.Before(from) {
			at = at.Add(from.Sub(at) / c.Timeout * c.Timeout)
		}
	}
	for {
		next := c.ExpectedAfter(at)
		if !next.After(at) || next.After(to) {
			return list, false
		}
		if at = next; !at.After(from) {
			continue
		}
		if len(list) == limit {
			return list, true
		}
		list = append(list, at)
	}
}
