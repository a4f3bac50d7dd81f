package flips_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/flips"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func TestRetentionBoundary(t *testing.T) {
	tests := []struct{ now, want string }{
		{"2026-03-15T12:00:00Z", "2026-01-01T00:00:00Z"},
		{"2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"2026-02-28T23:59:59.999999Z", "2025-12-01T00:00:00Z"},
		{"2026-01-01T00:00:00Z", "2025-11-01T00:00:00Z"},
		{"2026-12-31T23:59:59Z", "2026-10-01T00:00:00Z"},
		{"2024-04-30T00:00:00Z", "2024-02-01T00:00:00Z"},
		{"2026-05-31T00:00:00Z", "2026-03-01T00:00:00Z"},      // not "March 31 minus a month"
		{"2026-03-01T01:30:00+02:00", "2025-12-01T00:00:00Z"}, // still February in UTC
		{"2026-02-28T23:30:00-02:00", "2026-01-01T00:00:00Z"}, // already March in UTC
	}
	for _, tt := range tests {
		t.Run(tt.now, func(t *testing.T) {
			got := flips.RetentionBoundary(at(t, tt.now))
			if diff := cmp.Diff(tt.want, got.Format(time.RFC3339Nano)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func ExampleRetentionBoundary() {
	now := time.Date(2026, time.March, 15, 12, 0, 0, 0, time.UTC)
	fmt.Println(flips.RetentionBoundary(now).Format(time.DateOnly))
	// Output: 2026-01-01
}
