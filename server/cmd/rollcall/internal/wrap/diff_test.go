package wrap

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// need returns the path of a program of a Debian package.
func need(t *testing.T, program, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skipf("%s is missing; on Debian: apt-get install %s", program, pkg)
	}
	return path
}

// TestDiffApplies lets git apply differences.
func TestDiffApplies(t *testing.T) {
	git, dir := need(t, "git", "git"), t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		before := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,3}`), 1, 30).Draw(rt, "lines")
		after := append([]string(nil), before...)
		for i := range after {
			if rapid.IntRange(0, 4).Draw(rt, fmt.Sprint("change ", i)) == 0 {
				after[i] += "x"
			}
		}
		end := rapid.SampledFrom([]string{"", "\n"}).Draw(rt, "end")
		a, b := strings.Join(before, "\n")+"z"+end, strings.Join(after, "\n")+"z"+end
		if a == b {
			return
		}
		var text bytes.Buffer
		diff(&text, "/f", []byte(a), []byte(b))
		file := filepath.Join(dir, "f")
		os.WriteFile(file, []byte(a), 0o600)
		cmd := exec.Command(git, "apply")
		cmd.Dir, cmd.Stdin = dir, &text
		shown := text.String()
		if out, err := cmd.CombinedOutput(); err != nil {
			rt.Fatalf("%v %s\n%s", err, out, shown)
		}
		if got, _ := os.ReadFile(file); string(got) != b {
			rt.Fatalf("%q became %q instead of %q by\n%s", a, got, b, shown)
		}
	})
}

// TestDiff holds the form of differences.
func TestDiff(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{"", "a\nb\n", "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\nb\n", "", "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"},
		{"1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nV\n6\n", "--- a/f\n+++ b/f\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n+V\n 6\n"},
	} {
		var got bytes.Buffer
		nilIfEmpty := func(text string) []byte {
			if text == "" {
				return nil
			}
			return []byte(text)
		}
		if diff(&got, "/f", nilIfEmpty(c.before), nilIfEmpty(c.after)); got.String() != c.want {
			t.Errorf("%s\n%s", got.String(), c.want)
		}
	}
}
