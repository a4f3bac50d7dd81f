package sqlstore

import (
	"bytes"
	"testing"
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
		again, err := decodeRuns(encodeRuns(runs))
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
