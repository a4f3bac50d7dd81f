package checks

import (
	"encoding/base64"
	"encoding/binary"
	"time"
)

// MaxRecent bounds the runs in a [Recent].
const MaxRecent = 20

// RunResult is the result of a finished run.
type RunResult string

// The results of a run.
const (
	RunSuccess RunResult = "success" // the job signalled success
	RunFail    RunResult = "fail"    // the job signalled failure
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
// empty string has none. [Recent.Runs] returns the runs.
type Recent string

// RecentRuns returns runs in their compact form. They are given oldest first; of more than [MaxRecent] it takes the last
// ones.
func RecentRuns(runs ...Run) Recent {
	var list packedRuns
	for _, run := range runs {
		list.insert(pack(run), true)
	}
	return list.recent()
}

// Runs returns the runs, oldest first. It returns none for a string that is not from [RecentRuns] or a [Check].
func (r Recent) Runs() []Run {
	var list packedRuns
	if !list.read(r) || list.n == 0 {
		return nil
	}
	runs := make([]Run, list.n)
	for i, p := range list.runs[:list.n] {
		runs[i] = Run{
			At: time.UnixMicro(p.at).UTC(), Duration: time.Duration(p.units>>resultBits) * durationUnit,
			Result: runResults[p.units&resultMask],
		}
	}
	return runs
}

// MarshalText encodes the runs as base64.
func (r Recent) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(r)), nil
}

// UnmarshalText reads what MarshalText has written.
func (r *Recent) UnmarshalText(text []byte) error {
	packed, err := base64.StdEncoding.AppendDecode(nil, text)
	*r = Recent(packed)
	return err
}

// with returns the runs with one more. The newest comes last, also if a clock was set back; another one takes the place
// of its time.
func (r Recent) with(run Run, newest bool) Recent {
	var list packedRuns
	if !list.read(r) {
		list.n = 0
	}
	list.insert(pack(run), newest)
	return list.recent()
}

// A Recent has two varints for each run. The first says how far its end is from where the two runs before it suggest, in
// microseconds: little for a job that is on time. The second has the duration and, in its lowest bits, the result.

const (
	durationUnit = 10 * time.Millisecond
	resultBits   = 2
	resultMask   = 1<<resultBits - 1
	maxUnits     = uint64(1<<63-1)/uint64(durationUnit)<<resultBits | resultMask
)

// runResults lists the results of runs. A Recent has the index.
var runResults = [...]RunResult{RunSuccess, RunFail, RunMissed}

// packedRun is a run: its end in microseconds since 1970, and its duration with its result.
type packedRun struct {
	at    int64
	units uint64
}

func pack(run Run) packedRun {
	p := packedRun{run.At.UnixMicro(), uint64(max(0, run.Duration)/durationUnit) << resultBits}
	for i, result := range runResults {
		if result == run.Result {
			p.units |= uint64(i)
		}
	}
	return p
}

// packedRuns are runs in the order of a Recent. Its size is fixed, so it needs no heap.
type packedRuns struct {
	runs [MaxRecent]packedRun
	n    int
}

// read reports whether it could read all runs.
func (l *packedRuns) read(r Recent) bool {
	rest := []byte(r)
	var last, step int64
	for ; len(rest) > 0; l.n++ {
		off, n := binary.Varint(rest)
		if n <= 0 || l.n == MaxRecent {
			return false
		}
		units, m := binary.Uvarint(rest[n:])
		if m <= 0 || units > maxUnits || units&resultMask >= uint64(len(runResults)) {
			return false
		}
		at := last + step + off
		l.runs[l.n] = packedRun{at, units}
		if l.n > 0 {
			step = at - last
		}
		last, rest = at, rest[n+m:]
	}
	return true
}

// insert adds a run and drops the oldest if there is no room.
func (l *packedRuns) insert(run packedRun, newest bool) {
	place := l.n
	for !newest && place > 0 && l.runs[place-1].at > run.at {
		place--
	}
	if l.n < MaxRecent {
		copy(l.runs[place+1:], l.runs[place:l.n])
		l.runs[place] = run
		l.n++
		return
	}
	if place == 0 {
		return // older than all
	}
	copy(l.runs[:place-1], l.runs[1:place])
	l.runs[place-1] = run
}

func (l *packedRuns) recent() Recent {
	var buffer [2 * MaxRecent * binary.MaxVarintLen64]byte
	b := buffer[:0]
	var last, step int64
	for i, p := range l.runs[:l.n] {
		b = binary.AppendVarint(b, p.at-last-step)
		b = binary.AppendUvarint(b, p.units)
		if i > 0 {
			step = p.at - last
		}
		last = p.at
	}
	return Recent(b)
}
