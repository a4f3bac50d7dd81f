package checks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestCounts(t *testing.T) {
	sets := []checks.TagSet{
		{Tags: []string{"db", "prod"}, Counts: checks.Counts{checks.StatusUp: 3, checks.StatusDown: 1}},
		{Tags: []string{"db"}, Counts: checks.Counts{checks.StatusUp: 2}},
		{Counts: checks.Counts{checks.StatusNew: 4}},
	}
	all := checks.CountAll(sets)
	if diff := cmp.Diff(checks.Counts{checks.StatusUp: 5, checks.StatusDown: 1, checks.StatusNew: 4}, all); diff != "" || all.Total() != 10 {
		t.Errorf("all together, %d (-want +got):\n%s", all.Total(), diff)
	}
	want := map[string]checks.Counts{"db": {checks.StatusUp: 5, checks.StatusDown: 1}, "prod": {checks.StatusUp: 3, checks.StatusDown: 1}}
	if diff := cmp.Diff(want, checks.CountByTag(sets)); diff != "" {
		t.Errorf("by tag (-want +got):\n%s", diff)
	}
	if all := checks.CountAll(nil); all.Total() != 0 || len(checks.CountByTag(nil)) != 0 {
		t.Errorf("counts of no checks: %v", all)
	}
}
