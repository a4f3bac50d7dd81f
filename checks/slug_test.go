package checks_test

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestSlugOf(t *testing.T) {
	for name, want := range map[string]string{
		"":                          "",
		"backup":                    "backup",
		"-a--b_":                    "-a--b_", // valid as it is
		"Nightly Backup":            "nightly-backup",
		"email:welcome":             "email-welcome",
		"(*Reports).Monthly-fm":     "reports-monthly-fm",
		"Ünïcode – café":            "n-code-caf",
		"日本":                        "",
		"\xff\x00x":                 "x",
		strings.Repeat("A b", 60):   strings.Repeat("a-ba-b", 16) + "a-ba",
		strings.Repeat("abcd ", 30): strings.Repeat("abcd-", 20)[:99],
	} {
		got := checks.SlugOf(name)
		if got != want || !checks.ValidSlug(got) || checks.SlugOf(got) != got {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
