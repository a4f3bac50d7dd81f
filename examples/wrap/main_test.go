package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/examples/internal/testserver"
)

func TestWrap(t *testing.T) {
	site := testserver.Start(t)
	run := func(dir, pingURL string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "go", "run", ".", dir)
		cmd.Env = append(os.Environ(), "PING_URL="+pingURL)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(t.TempDir(), site.PingURL); err != nil || out != "0 files\n" {
		t.Errorf("%v, printed %q", err, out)
	}
	if diff := cmp.Diff([]string{"start", "success: 0 files"}, site.Pings()); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
	if out, err := run("no-such-directory", site.PingURL); err == nil {
		t.Errorf("it succeeded and printed %q", out)
	}
	if diff := cmp.Diff([]string{"start", "fail: open no-such-directory: no such file or directory"}, site.Pings()); diff != "" {
		t.Errorf("pings (-want +got):\n%s", diff)
	}
	if out, err := run(t.TempDir(), ""); err != nil || out != "0 files\n" {
		t.Errorf("without a ping URL: %v, printed %q", err, out)
	}
	if out, err := run(t.TempDir(), "not a URL"); err != nil || !strings.HasSuffix(out, "0 files\n") || !strings.Contains(out, "the ping URL contains white space") {
		t.Errorf("with a wrong ping URL: %v, printed %q", err, out)
	}
	// The job runs even if its check does not exist.
	out, err := run(t.TempDir(), site.URL+"/ping/00000000-0000-0000-0000-000000000000")
	if err != nil || !strings.Contains(out, "0 files\n") || !strings.Contains(out, "cannot report a run") {
		t.Errorf("%v, printed %q", err, out)
	}
}
