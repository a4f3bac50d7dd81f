package prose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

func TestSimilar(t *testing.T) {
	names := []string{"nightly", "nightly-backup", "db", "Ops", "weekly report", "Ünal", strings.Repeat("x", 300)}
	for text, want := range map[string]string{
		"nightyl": "nightly", "nighly": "nightly", "NIGHTLY": "nightly", "nightly-bakcup": "nightly-backup", "nightli-bacup": "nightly-backup",
		"ops": "Ops", "DB": "db", "weekly-report": "weekly report", "ünal": "Ünal",
		"": "", "d": "", "bd": "", "opt": "", "hourly": "", "night": "", "nightly": "", strings.Repeat("x", 299): "",
	} {
		if got := prose.Similar(text, slices.Values(names)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
