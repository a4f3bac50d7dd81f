package checks

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// History is what a check remembers of its runs. Pause and resume keep it. The zero value has no runs.
type History struct {
	// Recent are the last runs.
	Recent Recent `json:"recent,omitzero"`
	// LastSuccess is when the last success ended, or the zero time. LastSuccessDuration is its Run.Duration.
	LastSuccess         time.Time     `json:"last_success,omitzero"`
	LastSuccessDuration time.Duration `json:"last_success_duration,omitzero"`
	// Today has the totals of the day of the newest run, which need not be the current day.
	Today Day `json:"today,omitzero"`
}

// end ends the run that a success or a failure is about: if pair is set it ends runs in progress, and gives the ping its
// duration if the start is known. It adds the run to the history. Call it before the ping changes the state.
func (c Check) end(ping *pings.Ping, pair, newest bool, effects *Effects) Check {
	if pair && len(c.Runs) > 0 {
		c = c.endRuns(ping)
		runs, took, paired := c.Runs.end(ping.RunID, ping.At)
		if c.Runs = runs; paired {
			ping.Duration = &took
		}
	}
	if ping.RunID.Valid {
		c.Ended = c.Ended.add(ping.RunID.UUID, ping.At)
	}
	run := Run{At: ping.At, Result: RunSuccess}
	if ping.Kind == pings.Failure {
		run.Result = RunFailure
	}
	if ping.Duration != nil {
		run.Duration = *ping.Duration
	}
	return c.addRun(run, ping.Duration != nil, newest, effects)
}

// addRun adds a run to the history. The totals of a day that is over go to the effects, and so does a run of an earlier
// day.
func (c Check) addRun(run Run, timed, newest bool, effects *Effects) Check {
	totals := Totals{Runs: 1}
	if run.Result != RunSuccess {
		totals.Failures = 1
	}
	if timed {
		totals.Timed, totals.Sum, totals.Min, totals.Max = 1, run.Duration, run.Duration, run.Duration
	}
	h := &c.History
	h.Recent = h.Recent.with(run, newest)
	if run.Result == RunSuccess && (newest || !run.At.Before(h.LastSuccess)) {
		h.LastSuccess, h.LastSuccessDuration = run.At, run.Duration
	}
	if date := date(run.At); !date.Equal(h.Today.Date) {
		if !newest && date.Before(h.Today.Date) {
			effects.Days = append(effects.Days, Day{date, totals})
			return c
		}
		if h.Today.Runs > 0 {
			effects.Days = append(effects.Days, h.Today)
		}
		h.Today = Day{Date: date}
	}
	h.Today.Totals = h.Today.Add(totals)
	return c
}

// SlowFrom is the duration from which on a run can be slow: nobody cares about seconds.
const SlowFrom = 10 * time.Second

// leastRuns is how many earlier runs tell what is usual.
const leastRuns = 5

// Slow reports whether the last success whose duration is known took unusually long, and returns it with the median of the
// successes before it: at least twice that, longer than 95% of them, and at least [SlowFrom] more. At least 5 successes
// before it tell what is usual.
func (h History) Slow() (run Run, usual time.Duration, slow bool) {
	runs := slices.DeleteFunc(h.Recent.Runs(), func(r Run) bool { return r.Result != RunSuccess || r.Duration == 0 })
	if len(runs) <= leastRuns {
		return run, 0, false
	}
	run = runs[len(runs)-1]
	took := make([]time.Duration, len(runs)-1)
	for i := range took {
		took[i] = runs[i].Duration
	}
	slices.Sort(took)
	median, p95 := took[len(took)/2], took[(len(took)*95+99)/100-1]
	return run, median, run.Duration >= 2*median && run.Duration > p95 && run.Duration >= median+SlowFrom
}

// Day has the totals of one day.
type Day struct {
	// Date is midnight UTC at the start of the day.
	Date time.Time `json:"date"`
	Totals
}

// date returns midnight UTC of the day of an instant.
func date(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Totals counts the runs of a span of time.
type Totals struct {
	// Runs counts all runs, and Failures those with the result fail or missed.
	Runs     int64 `json:"runs,omitzero"`
	Failures int64 `json:"failures,omitzero"`
	// Timed counts the runs with a known duration. Sum, Min and Max are over their durations.
	Timed int64         `json:"timed,omitzero"`
	Sum   time.Duration `json:"sum,omitzero"`
	Min   time.Duration `json:"min,omitzero"`
	Max   time.Duration `json:"max,omitzero"`
}

// Add returns the totals of two spans together.
func (t Totals) Add(u Totals) Totals {
	switch {
	case u.Timed == 0:
	case t.Timed == 0:
		t.Min, t.Max = u.Min, u.Max
	default:
		t.Min, t.Max = min(t.Min, u.Min), max(t.Max, u.Max)
	}
	t.Runs, t.Failures, t.Timed, t.Sum = t.Runs+u.Runs, t.Failures+u.Failures, t.Timed+u.Timed, t.Sum+u.Sum
	return t
}

// DayStats is what a check did on one day: its runs, and the time that it was up, down and unwatched.
type DayStats struct {
	Day
	// Times add up to 24 hours, or less on the current day. The time before the check was created is unwatched.
	Times flips.Times
}

// SumDays returns the totals of days together.
func SumDays(days []DayStats) (totals Totals, times flips.Times) {
	for _, d := range days {
		totals, times = totals.Add(d.Totals), times.Add(d.Times)
	}
	return totals, times
}

// MaxRecent bounds the runs in a [Recent].
const MaxRecent = 20

// RunResult is the result of a finished run.
type RunResult string

// The results of a run.
const (
	RunSuccess RunResult = "success" // the job signalled success
	RunFailure RunResult = "fail"    // the job signalled failure
	RunMissed  RunResult = "missed"  // the expected ping did not arrive in time, or the run took too long
)

// Run is a finished run of a job. Each success and each failure ends one, and so does a missed deadline, at which the
// check goes down. While the check stays down, further pings that do not come are no runs.
type Run struct {
	// At is when the run ended: the time of its ping, or the deadline.
	At time.Time
	// Duration is the time from the start signal to the end, in multiples of 10 ms. It is 0 if the run took less than 5 ms
	// or sent no start signal, and for a missed run.
	Duration time.Duration
	Result   RunResult
}

// Recent are the last finished runs of a check, up to [MaxRecent], in a compact form: usually 5 to 8 bytes a run. The
// zero value has none. [Recent.Runs] returns the runs. The bytes never change.
type Recent []byte

// A Recent has two varints for each run. The first says how far its end is from where the two runs before it suggest, in
// microseconds: little for a job that is on time. The second has the duration and, in its lowest bits, the result.
const (
	durationUnit = 10 * time.Millisecond
	resultBits   = 2
	resultMask   = 1<<resultBits - 1
	maxUnits     = uint64(1<<63-1)/uint64(durationUnit)<<resultBits | resultMask
)

// runResults lists the results of runs. A Recent has the index.
var runResults = [...]RunResult{RunSuccess, RunFailure, RunMissed}

// packedRun is a run: its end in microseconds since 1970, and its duration with its result.
type packedRun struct {
	at    int64
	units uint64
}

// packedRuns has room for one run more than a Recent. Its size is fixed, so it needs no heap.
type packedRuns [MaxRecent + 1]packedRun

// RecentRuns returns runs in their compact form. They are given oldest first; of more than [MaxRecent] it takes the last
// ones.
func RecentRuns(runs ...Run) (r Recent) {
	for _, run := range runs {
		r = r.with(run, true)
	}
	return r
}

// Runs returns the runs, oldest first. It returns none for bytes that are not from [RecentRuns] or a [Check].
func (r Recent) Runs() []Run {
	var list packedRuns
	n := r.unpack(&list)
	if n == 0 {
		return nil
	}
	runs := make([]Run, n)
	for i, p := range list[:n] {
		runs[i] = Run{
			At: time.UnixMicro(p.at).UTC(), Duration: time.Duration(p.units>>resultBits) * durationUnit,
			Result: runResults[p.units&resultMask],
		}
	}
	return runs
}

// unpack returns the number of runs, or 0 if it cannot read them all.
func (r Recent) unpack(list *packedRuns) (n int) {
	var last, step int64
	for rest := r; len(rest) > 0; n++ {
		off, k := binary.Varint(rest)
		if k <= 0 || n == MaxRecent {
			return 0
		}
		units, m := binary.Uvarint(rest[k:])
		if m <= 0 || units > maxUnits || units&resultMask >= uint64(len(runResults)) {
			return 0
		}
		at := last + step + off
		list[n] = packedRun{at, units}
		if n > 0 {
			step = at - last
		}
		last, rest = at, rest[k+m:]
	}
	return n
}

// with returns the runs with one more, and without the oldest if there is no room. Each takes the place of its time, but the
// newest comes last if a clock was set back.
func (r Recent) with(run Run, newest bool) Recent {
	result := max(0, slices.Index(runResults[:], run.Result))
	added := packedRun{run.At.UnixMicro(), uint64(max(0, run.Duration)/durationUnit)<<resultBits | uint64(result)}
	var list packedRuns
	n := r.unpack(&list)
	place := n
	for place > 0 && list[place-1].at > added.at && (!newest || list[place-1].at-added.at <= maxLate.Microseconds()) {
		place--
	}
	copy(list[place+1:], list[place:n])
	list[place] = added
	var buffer [2 * MaxRecent * binary.MaxVarintLen64]byte
	b := buffer[:0]
	var last, step int64
	for i, p := range list[max(0, n+1-MaxRecent) : n+1] {
		b = binary.AppendVarint(b, p.at-last-step)
		b = binary.AppendUvarint(b, p.units)
		if i > 0 {
			step = p.at - last
		}
		last = p.at
	}
	return slices.Clone(b)
}
