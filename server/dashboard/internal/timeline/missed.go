package timeline

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// wait knows when a check was watched and when its runs came.
type wait struct {
	checks.Check
	now         time.Time
	transitions []checks.Transition
	starts      []time.Time // of all runs, in order
	reach       []time.Time // how long the runs up to the same index went on, at most
	steps       int
	late        bool // a run is late
}

// index sorts runs by their starts.
func (w *wait) index(runs []Run) {
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Start.Compare(b.Start) })
	var last time.Time
	for _, r := range runs {
		end := r.End
		switch r.Result {
		case Running:
			end = w.now
		case Overrun:
			end = r.Limit
		}
		last = later(last, end)
		w.starts, w.reach = append(w.starts, r.Start), append(w.reach, last)
	}
}

// begin returns when the first run at or after an instant began, or the zero time.
func (w *wait) begin(at time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(w.starts, at, time.Time.Compare)
	if i == len(w.starts) {
		return time.Time{}
	}
	return w.starts[i]
}

// next is begin, but if a run went on at the instant, it returns the instant.
func (w *wait) next(at time.Time) time.Time {
	i, _ := slices.BinarySearchFunc(w.starts, at, time.Time.Compare)
	if i > 0 && !w.reach[i-1].Before(at) {
		return at
	}
	return w.begin(at)
}

// watched reports whether runs were expected from one instant to another.
func (w *wait) watched(from, to time.Time) bool {
	status := w.Stored
	if len(w.transitions) > 0 {
		status = w.transitions[0].From
	}
	for _, t := range w.transitions {
		if t.At.After(from) {
			break
		}
		status = t.To
	}
	if status != checks.StatusUp && status != checks.StatusDown {
		return false
	}
	return w.pause(from, to).IsZero()
}

// pause returns when the check was paused after an instant and, unless that is the zero time, up to another.
func (w *wait) pause(after, to time.Time) time.Time {
	for _, t := range w.transitions {
		if t.To == checks.StatusPaused && t.At.After(after) && (to.IsZero() || !t.At.After(to)) {
			return t.At
		}
	}
	return time.Time{}
}

// until returns when the wait that was on at an instant ended: at a run, at next or at a pause, or the zero time.
func (w *wait) until(at, next time.Time) time.Time {
	end := first(w.next(at), w.pause(at, time.Time{}))
	if !next.IsZero() && !next.After(w.now) {
		end = first(end, next)
	}
	return end
}

// expect adds the run that was expected at an instant to the list, if it is missing. The next one was expected at next.
func (w *wait) expect(list []Run, at, next time.Time) []Run {
	limit := at.Add(w.Grace)
	came := w.next(at)
	if !came.IsZero() && !came.After(limit) || at.After(w.now) || !w.watched(at, earlier(limit, w.now)) {
		return list
	}
	run := Run{Result: Missed, Start: at, End: w.until(at, next), Limit: limit}
	if limit.After(w.now) {
		if w.late { // one is enough to wait for
			return list
		}
		w.late, run.Result, run.End = true, Late, time.Time{}
	}
	return append(list, run)
}

// missed returns the runs that did not arrive since an instant, and the one that is awaited since before that. more reports
// that there are others.
func (w *wait) missed(since time.Time, finishes []time.Time) (list []Run, more bool) {
	from := later(since, w.TimingSince)
	if n := len(finishes); n > 0 {
		if e := w.ExpectedAfter(finishes[n-1]); !e.IsZero() && e.Before(from) {
			list = w.expect(list, e, w.following(e, from))
		}
	}
	if w.IsCron() {
		list, more = w.chain(list, w.ExpectedAfter(from.Add(-time.Microsecond)), w.now)
	} else {
		for i, at := range finishes {
			end := w.now
			if i+1 < len(finishes) {
				end = finishes[i+1]
			}
			if list, more = w.chain(list, w.following(at, from), end); more {
				break
			}
		}
	}
	return w.recorded(list), more
}

// following returns the first instant at or after from of those at which runs are expected after at, or the zero time.
func (w *wait) following(at, from time.Time) time.Time {
	if w.IsCron() {
		return w.ExpectedAfter(later(at, from.Add(-time.Microsecond)))
	}
	if w.Timeout <= 0 {
		return time.Time{}
	}
	e := at.Add(w.Timeout)
	if e.Before(from) {
		e = e.Add((from.Sub(e) + w.Timeout - 1) / w.Timeout * w.Timeout)
	}
	return e
}

// chain adds the runs that are missing from the one expected at an instant on, each a step after the one before, as long
// as those instants are before end.
func (w *wait) chain(list []Run, at, end time.Time) (_ []Run, more bool) {
	for !at.IsZero() && !at.After(end) {
		if w.steps++; w.steps > maxSteps || len(list) >= MaxMissed {
			return list, true
		}
		next := w.ExpectedAfter(at)
		if list = w.expect(list, at, next); !next.After(at) {
			break
		}
		at = next
	}
	return list, false
}

// recorded adds the missed runs that took the check down and that the present settings do not explain.
func (w *wait) recorded(list []Run) []Run {
	for _, t := range w.transitions {
		if t.Reason != flips.Overdue || t.To != checks.StatusDown {
			continue
		}
		expected := t.At.Add(-w.Grace)
		explained := func(r Run) bool { return !r.Start.After(t.At) && (r.End.IsZero() || !r.End.Before(t.At)) }
		if came := w.next(expected); !came.IsZero() && !came.After(t.At) || slices.ContainsFunc(list, explained) {
			continue // a ping that waited in a queue may have said later that the run had come
		}
		list = append(list, Run{Result: Missed, Start: expected, End: w.until(expected, time.Time{}), Limit: t.At})
	}
	return list
}

// first returns the earlier of two instants, of which the zero time is none.
func first(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func earlier(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }
func later(times ...time.Time) time.Time   { return slices.MaxFunc(times, time.Time.Compare) }
