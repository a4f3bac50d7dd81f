//go:build unix

package discover

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A crontab that is no file, never ends or leads out of the tree is left out, and reading it does not wait.
func TestHostileTree(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("0 3 * * * root /opt/secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write("etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	write("etc/cron.d/good", "0 3 * * * root /opt/x/good \x1b]0;title\x07\x1b[2J\n")
	write("etc/cron.d/huge", "# ")
	if err := os.Truncate(filepath.Join(dir, "etc/cron.d/huge"), 100<<20); err != nil {
		t.Fatal(err)
	}
	write("etc/cron.d/long", "0 3 * * * root "+strings.Repeat("x", 1<<20)+"\n")
	write("etc/cron.d/zeros", "0 3 * * * root /opt/a\x00\n")
	if err := syscall.Mkfifo(filepath.Join(dir, "etc/cron.d/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	link("loop", "etc/cron.d/loop")
	link("b/x", "etc/a")
	link("a/x", "etc/b")
	link("../a", "etc/cron.d/loops")
	link(filepath.Join(outside, "secret"), "etc/cron.d/absolute")
	link(strings.Repeat("../", 40)+filepath.Join(outside, "secret")[1:], "etc/cron.d/relative")
	link("/etc/cron.d/good", "etc/cron.d/inside")
	link("/dev/zero", "etc/crontab")

	root, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	found := Machine{FS: root, Cron: Debian, Now: testNow}.Read()
	got := make(map[string]string)
	for _, left := range found.LeftOut {
		got[left.Source] = left.Reason + " " + left.Detail
	}
	for _, job := range found.Jobs {
		got[job.Source] = job.Command
	}
	want := map[string]string{
		"/etc/cron.d/absolute": "unreadable broken link",
		"/etc/cron.d/good:1":   "/opt/x/good \x1b]0;title\x07\x1b[2J",
		"/etc/cron.d/huge":     "too-large too large",
		"/etc/cron.d/inside:1": "duplicate /etc/cron.d/good:1",
		"/etc/cron.d/long":     "file-ignored line 1: bad command too long",
		"/etc/cron.d/loop":     "unreadable too many symbolic links",
		"/etc/cron.d/loops":    "unreadable too many symbolic links",
		"/etc/cron.d/pipe":     "not-regular cron reads regular files only",
		"/etc/cron.d/relative": "unreadable broken link",
		"/etc/cron.d/zeros":    "binary it has bytes that no crontab has",
		"/etc/crontab":         "unreadable broken link",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
