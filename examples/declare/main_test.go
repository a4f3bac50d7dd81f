package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const first = `project "jobs"
  + project "jobs"
  + channel "ops"
      + kind: email
      + to: "ops@example.org"
  + channel "pager"
      + kind: webhook
      + headers_down: ($JOBS_PAGER)
      + method_down: "POST"
      + method_up: "POST"
      + url_down: (secret)
  + check "nightly"
      + name: "Nightly backup"
      + tags: "db prod"
      + schedule: "0 3 * * *"
      + tz: "Europe/Riga"
      + grace: 30m
      + channels: "ops,pager"
  + check "heartbeat"
      + timeout: 5m
      + grace: 1m
      + channels: "ops,pager"
  + status page "jobs"
      + title: "Our jobs"
      + tags: "prod"
6 changes
`

func TestDeclare(t *testing.T) {
	db := filepath.Join(t.TempDir(), "jobs.db")
	for _, want := range []string{first, "0 changes\n"} {
		cmd := exec.CommandContext(t.Context(), "go", "run", ".", db, "checks.yaml")
		cmd.Env = append(os.Environ(), "JOBS_PAGER=Authorization: Bearer x")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, string(out)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
