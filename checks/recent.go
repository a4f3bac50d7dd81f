package checks

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
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
// empty string has none. [Recent.Runs] returns the runs. Its JSON is base64.
type Recent string

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

// Runs returns the runs, oldest first. It returns none for a string that is not from [RecentRuns] or a [Check].
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

// MarshalText implements encoding.TextMarshaler.
func (r Recent) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(r)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Recent) UnmarshalText(text []byte) error {
	packed, err := base64.StdEncoding.AppendDecode(nil, text)
	*r = Recent(packed)
	return err
}

// unpack returns the number of runs, or 0 if it cannot read them all.
func (r Recent) unpack(list *packedRuns) (n int) {
	var last, step int64
	for rest := []byte(r); len(rest) > 0; n++ {
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

// with returns the runs with one more, and without the oldest if there is no room. The newest comes last, also if a clock
// was set back; another one takes the place of its time.
func (r Recent) with(run Run, newest bool) Recent {
	result := max(0, slices.Index(runResults[:], run.Result))
	added := packedRun{run.At.UnixMicro(), uint64(max(0, run.Duration)/durationUnit)<<resultBits | uint64(result)}
	var list packedRuns
	n := r.unpack(&list)
	place := n
	for !newest && place > 0 && list[place-1].at > added.at {
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
	return Recent(b)
}
