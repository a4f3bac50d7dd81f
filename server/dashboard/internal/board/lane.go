package board

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
)

// Kind is what a mark stands for.
type Kind string

// The kinds of marks.
const (
	Run      Kind = "run"      // a run that succeeded
	Slow     Kind = "slow"     // one that succeeded after its limit
	Failed   Kind = "failed"   // a run that failed
	Running  Kind = "running"  // a run that goes on
	Overrun  Kind = "overrun"  // a run that did not end in time
	Unended  Kind = "unended"  // a run that was started again before it ended
	Missed   Kind = "missed"   // a run that did not arrive, at the instant at which it was expected
	Late     Kind = "late"     // one that is awaited, until the end of its grace time
	Expected Kind = "expected" // an instant at which a run is expected
	Band     Kind = "band"     // runs that would touch each other
	Many     Kind = "many"     // expected instants that would touch each other
)

// Mark is something on a lane.
type Mark struct {
	Kind Kind
	// X and W are the left edge and the width. Missed and Expected are centred on X and have no width.
	X, W float64
	// Limit is the position of the end of the limit of a Slow run.
	Limit float64
	// Wait is where the wait for a Missed run or for the end of an Overrun ended: the end of the dotted line.
	Wait float64
	// Open reports that a Missed run may still come: the wait goes on.
	Open bool
	// Row is the number of the row, from 0, of the Rows that runs take side by side because they overlapped.
	Row, Rows int
	// Count is the number of runs or expected instants, and Bad that of the failures among them.
	Count, Bad int
	// Over reports that the mark lies on a band that counts its runs too. It stands for the failures among Of runs.
	Over bool
	Of   int
	// First and Last are the starts of the first and the last of several runs, or instants.
	First, Last time.Time
	// Run is the run, or the first one of several.
	Run timeline.Run
	// More reports that Count is a lower bound.
	More bool
}

// Lane is what a board shows of a check.
type Lane struct {
	checks.Check
	Status checks.Status
	// Marks are in the order in which they are drawn: bands before what lies on them.
	Marks []Mark
	// Known is where the log of the check begins, 0 if it covers the whole past.
	Known float64
	// Since is how far back the log reaches.
	Since time.Time
	// Runs, Bad and Overlaps count the runs of the past, the failures among them, and those that began while another
	// went on.
	Runs, Bad, Overlaps int
	// Ahead is how far the clock in the zone of the schedule is ahead of the viewer's now.
	Ahead time.Duration
}

// maxExpected bounds the expected instants that are counted.
const maxExpected = 1500

// NewLane lays out the runs of a check.
func NewLane(c checks.Check, line timeline.Timeline, axis *Axis) Lane {
	l := Lane{Check: c, Status: c.Status(axis.Now), Since: line.Since}
	if line.Since.After(axis.From) && c.CreatedAt.Before(line.Since) {
		l.Known = axis.X(line.Since)
	}
	if c.IsCron() {
		l.Ahead = ahead(c.TZ, axis)
	}
	runs := slices.DeleteFunc(slices.Clone(line.Runs), func(r timeline.Run) bool { return r.Start.After(axis.To) })
	l.count(runs)
	l.Marks = past(runs, axis)
	if line.More {
		for i := range slices.Backward(l.Marks) {
			if l.Marks[i].Kind == Missed {
				l.Marks[i].More = true
				break
			}
		}
	}
	l.Marks = append(l.Marks, future(c, axis)...)
	return l
}

// count sets the numbers of the past.
func (l *Lane) count(runs []timeline.Run) {
	var reach time.Time // the latest end so far
	for _, r := range runs {
		if r.Result == timeline.Late {
			continue
		}
		l.Runs++
		if r.Result.Bad() {
			l.Bad++
		}
		if !r.Timed {
			continue
		}
		if r.Start.Before(reach) {
			l.Overlaps++
		}
		end := r.End
		if r.Result == timeline.Running || r.Result == timeline.Overrun {
			end = r.Limit
		}
		if end.After(reach) {
			reach = end
		}
	}
}

// ahead returns how far the clock in a zone is ahead of the one of the axis.
func ahead(tz string, axis *Axis) time.Duration {
	zone, err := schedule.LoadLocation(tz)
	if err != nil {
		return 0
	}
	_, there := axis.Now.In(zone).Zone()
	_, here := axis.Now.In(axis.Zone).Zone()
	return time.Duration(there-here) * time.Second
}

const (
	ringGap  = 16 // pixels between rings below which they merge
	ringsMin = 4  // rings that merge, at least
)

// future returns the marks of the instants at which runs are expected.
func future(c checks.Check, axis *Axis) (marks []Mark) {
	list, more := timeline.Expected(c, axis.Now, axis.To, maxExpected)
	for len(list) > 0 {
		n := 1
		for n < len(list) && axis.X(list[n])-axis.X(list[n-1]) < percent(ringGap) {
			n++
		}
		part := list[:n]
		if list = list[n:]; n >= ringsMin {
			m := Mark{Kind: Many, X: axis.X(part[0]), Count: n, First: part[0], Last: part[n-1], More: more && len(list) == 0}
			if m.W = axis.X(m.Last) - m.X; m.More {
				m.W = 100 - m.X
			}
			marks = append(marks, m)
			continue
		}
		for _, at := range part {
			marks = append(marks, Mark{Kind: Expected, X: axis.X(at), Count: 1, First: at, Last: at})
		}
	}
	return marks
}
