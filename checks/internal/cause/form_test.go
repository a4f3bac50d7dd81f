package cause

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForms: the words of a form leave out no line that its expression matches.
func TestForms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	matched := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(content)+strings.ToLower(string(content)), "\n") {
			for name, f := range map[string]form{"thrower": thrower, "rubyThrows": rubyThrows, "compiler": compiler, "prefix": prefix, "progress": progress} {
				if got, want := f.FindString(line), f.whole.FindString(line); got != want || f.MatchString(line) != f.whole.MatchString(line) {
					t.Errorf("%s: %q in %q, want %q", name, got, line, want)
				}
				matched[name] = matched[name] || f.MatchString(line)
			}
		}
	}
	if len(matched) != 5 {
		t.Errorf("matched: %v", matched)
	}
	for name, any := range matched {
		if !any {
			t.Errorf("%s matches nothing", name)
		}
	}
}
