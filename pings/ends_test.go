package pings_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/pings"
)

// TestEnds: Ends keeps what pings.Cut keeps of all that was written, however it was written.
func TestEnds(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 2, 3, 7, 100} {
		for _, writes := range [][]string{{}, {""}, {"abc"}, {"abc", "", "defg"}, {strings.Repeat("x", 20), "yz"}, {"ab", strings.Repeat("0123456789", 3)}, strings.Split(strings.Repeat("a,bc,", 90), ",")} {
			ends, whole := pings.NewEnds(limit), ""
			for _, text := range writes {
				if n, err := ends.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
				whole += text
				want, wantCut := pings.Cut([]byte(whole), limit)
				for _, e := range []*pings.Ends{ends, pings.EndsOf([]byte(whole), limit)} {
					if got, cut := e.Body(); string(got) != string(want) || cut != wantCut {
						t.Fatalf("limit %d, %q: %q without %d bytes, want %q without %d", limit, whole, got, cut, want, wantCut)
					}
				}
			}
		}
	}
}
