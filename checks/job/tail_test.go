package job_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/job"
)

func TestTail(t *testing.T) {
	for _, limit := range []int{-1, 0, 1, 2, 7, 100} {
		for _, writes := range [][]string{{}, {""}, {"abc"}, {"abc", "", "defg"}, {strings.Repeat("x", 20), "yz"}, {"ab", strings.Repeat("0123456789", 3)}, strings.Split(strings.Repeat("a,bc,", 30), ",")} {
			tail := job.NewTail(limit)
			whole := ""
			for _, text := range writes {
				if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
					t.Fatal(n, err)
				}
				whole += text
				want := whole[max(0, len(whole)-max(limit, 0)):]
				if got := string(tail.Bytes()); got != want {
					t.Fatalf("limit %d, %q: %q, want %q", limit, whole, got, want)
				}
			}
		}
	}
	tail := job.NewTail(4)
	for range 20 {
		_, _ = tail.Write([]byte("é€"))
		if got := string(tail.Bytes()); got != "€" {
			if got != "é€" && strings.ToValidUTF8(got, "?") != got {
				t.Fatalf("%q", got)
			}
		}
	}
}
