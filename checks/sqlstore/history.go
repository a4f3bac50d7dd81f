package sqlstore

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// The history of a check is stored as a version byte, 1, followed by varints:
//
//   - Today: the date in days since 1970, runs, failures, timed runs, and the sum, the least and the largest duration
//   - the last success in microseconds since 1970, or 0, and its duration
//   - Recent as it is
//
// Durations are in units of 10 ms. The zero value is NULL.

const (
	historyVersion = 1
	durationUnit   = 10 * time.Millisecond
)

var errHistory = errors.New("sqlstore: the column history has a value that this version cannot read")

// encodeHistory returns nil for the zero value.
func encodeHistory(h *checks.History) []byte {
	if *h == (checks.History{}) {
		return nil
	}
	b := make([]byte, 0, 64+len(h.Recent))
	b = append(b, historyVersion)
	b = binary.AppendVarint(b, dayNumber(h.Today.Date))
	b = appendTotals(b, h.Today.Totals)
	b = binary.AppendVarint(b, micros(h.LastSuccess))
	b = binary.AppendUvarint(b, uint64(h.LastSuccessDuration/durationUnit))
	return append(b, h.Recent...)
}

func decodeHistory(b []byte) (h checks.History, err error) {
	if len(b) == 0 {
		return h, nil
	}
	if b[0] != historyVersion {
		return h, errHistory
	}
	r := reader{rest: b[1:]}
	h.Today.Date = dayOf(r.signed())
	h.Today.Totals = r.totals()
	h.LastSuccess = instant(r.signed())
	h.LastSuccessDuration = r.duration()
	h.Recent = checks.Recent(r.rest)
	if r.failed {
		return checks.History{}, errHistory
	}
	return h, nil
}

// dayNumber returns the days from 1970 to a date, or 0 for the zero time.
func dayNumber(date time.Time) int64 {
	if date.IsZero() {
		return 0
	}
	return date.Unix() / secondsOfDay
}

func dayOf(number int64) time.Time {
	if number == 0 {
		return time.Time{}
	}
	return time.Unix(number*secondsOfDay, 0).UTC()
}

const secondsOfDay = 24 * 60 * 60

func appendTotals(b []byte, t checks.Totals) []byte {
	for _, v := range [...]int64{
		t.Runs, t.Failures, t.Timed, int64(t.Sum / durationUnit), int64(t.Min / durationUnit), int64(t.Max / durationUnit),
	} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

// reader reads varints. After a fault, failed is set and all further values are 0.
type reader struct {
	rest   []byte
	failed bool
}

// maxDuration is the largest duration in units of durationUnit.
const maxDuration = math.MaxInt64 / uint64(durationUnit)

func (r *reader) signed() int64 {
	v, n := binary.Varint(r.rest)
	return took(r, v, n)
}

func (r *reader) unsigned() uint64 {
	v, n := binary.Uvarint(r.rest)
	return took(r, v, n)
}

// took skips the n bytes of a value and returns it.
func took[T int64 | uint64](r *reader, v T, n int) T {
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// atMost reads a number that must not be larger than a limit.
func (r *reader) atMost(limit uint64) uint64 {
	v := r.unsigned()
	if v > limit {
		r.failed = true
		return 0
	}
	return v
}

func (r *reader) count() int64 { return int64(r.atMost(math.MaxInt64)) }

func (r *reader) duration() time.Duration {
	return time.Duration(r.atMost(maxDuration)) * durationUnit
}

func (r *reader) totals() checks.Totals {
	return checks.Totals{
		Runs: r.count(), Failures: r.count(), Timed: r.count(), Sum: r.duration(), Min: r.duration(), Max: r.duration(),
	}
}
