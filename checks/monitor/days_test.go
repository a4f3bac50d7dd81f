package monitor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDays(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, test := range []struct {
		from, to string
		want     []string
	}{
		{"2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z", []string{"2026-02-28", "2026-03-01", "2026-03-02"}},
		{"2026-02-28T00:00:00Z", "2026-02-28T23:59:59Z", []string{"2026-02-28", "2026-03-01"}},
		{"2026-03-01T01:00:00+02:00", "2026-03-01T01:30:00+02:00", []string{"2026-02-28", "2026-03-01"}},
		{"2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", nil},
	} {
		var got []string
		for _, bound := range days(at(test.from), at(test.to)) {
			if bound.Location() != time.UTC || !bound.Equal(bound.Truncate(24*time.Hour)) {
				t.Errorf("%v is no midnight in UTC", bound)
			}
			got = append(got, bound.Format(time.DateOnly))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("from %s to %s (-want +got):\n%s", test.from, test.to, diff)
		}
	}
}
