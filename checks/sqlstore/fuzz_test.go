package sqlstore

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// FuzzDecodeRuns decodes any bytes as open runs. It fails, or the runs are the same after they are encoded and decoded
// again.
func FuzzDecodeRuns(f *testing.F) {
	run := append([]byte{0, 6, 0x4d, 1, 2, 3, 4, 5, 1}, bytes.Repeat([]byte{7}, 16)...)
	for _, seed := range [][]byte{nil, {0}, run, run[:9], run[:20], bytes.Repeat(run, 3), bytes.Repeat([]byte{0}, 9), bytes.Repeat([]byte{0xff}, 25)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		runs, err := decodeRuns(stored)
		if err != nil {
			return
		}
		again, err := decodeRuns(previousOf(&checks.State{Runs: runs}).runs)
		if err != nil || len(again) != len(runs) {
			t.Fatalf("%x: decoded %v, then %v, error %v", stored, runs, again, err)
		}
		for i := range runs {
			if !runs[i].StartedAt.Equal(again[i].StartedAt) || runs[i].ID != again[i].ID {
				t.Errorf("%x: run %d is %v, then %v", stored, i, runs[i], again[i])
			}
		}
	})
}

// FuzzDecodeHistory decodes any bytes as a history. It fails, or the history is the same after it is encoded and decoded
// again.
func FuzzDecodeHistory(f *testing.F) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	full := previousOf(&checks.State{History: checks.History{
		Recent:      checks.RecentRuns(checks.Run{At: at, Duration: time.Hour, Result: checks.RunSuccess}),
		LastSuccess: at, LastSuccessDuration: time.Hour,
		Today: checks.Day{Date: at.UTC().Truncate(24 * time.Hour), Totals: checks.Totals{Runs: 300, Failures: 2, Timed: 3, Sum: time.Hour, Min: time.Second, Max: time.Hour}},
	}}).history
	for _, seed := range [][]byte{nil, {0}, {1}, {2, 0}, full, full[:7], bytes.Repeat([]byte{0xff}, 25), append([]byte{1}, bytes.Repeat([]byte{0}, 9)...),
		[]byte("\x01\xd3\xd3\xd3\xd3\xd3\xd3000000000")} { // a day whose seconds overflow
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		h, err := decodeHistory(stored)
		if err != nil {
			return
		}
		again, err := decodeHistory(previousOf(&checks.State{History: h}).history)
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Errorf("%x: decoded %+v, then %+v, error %v", stored, h, again, err)
		}
		h.Recent.Runs()
	})
}

// FuzzDecodeDays decodes any bytes as the days of February. It fails, or the days are the same after they are encoded and
// decoded again.
func FuzzDecodeDays(f *testing.F) {
	for _, seed := range [][]byte{nil, {1}, {2}, {1, 0}, {1, 29 << 2}, {1, 4 | 3, 24, 1, 2, 99, 9, 90, 0, 0}, {1, 4, 4}, bytes.Repeat([]byte{0xff}, 25)} {
		f.Add(seed, true)
	}
	for _, folded := range []bool{true, false} {
		f.Add(encodeDays(busyMonth(folded)), folded)
	}
	f.Fuzz(func(t *testing.T, stored []byte, folded bool) {
		m := busyMonth(folded)
		days, err := decodeDays(m.Start, stored)
		if err != nil {
			return
		}
		for _, d := range days {
			// Without runs there is nothing else; only a folded month has times.
			if d.Runs == 0 && d.Totals != (checks.Totals{}) || !folded && d.Times != (flips.Times{}) || folded && d.Times == (flips.Times{}) {
				return
			}
		}
		m.Days = days
		if again, err := decodeDays(m.Start, encodeDays(m)); err != nil || !slices.Equal(again, days) {
			t.Errorf("%x: decoded %+v, then %+v, error %v", stored, days, again, err)
		}
	})
}

// busyMonth is a February of an hourly job.
func busyMonth(folded bool) *store.Month {
	m := &store.Month{Start: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	for i := range 28 {
		m.Add(checks.Day{Date: m.Start.AddDate(0, 0, i), Totals: checks.Totals{
			Runs: 24, Failures: int64(i % 10 / 9), Timed: 24, Sum: 16*time.Minute + time.Duration(i)*time.Second, Min: 35 * time.Second, Max: 62 * time.Second,
		}})
	}
	if folded {
		fold := store.Fold{Start: m.Start}
		for i := range 28 {
			down := time.Duration(i%10/9) * 1234567890 * time.Microsecond
			fold.Days = append(fold.Days, flips.Times{Up: 24*time.Hour - down, Down: down})
		}
		m.Fold(fold)
	}
	return m
}
