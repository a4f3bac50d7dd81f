package main

import (
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestCrashedServer tests an integration after a crash of the server, which could not say that it ends. The command then sends
// the test itself.
func TestCrashedServer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel() // it waits
		start(t, db.URL, "--enable-shell", "--base-url", "https://rollcall.example.org").kill()
		administer(t, db, "channel", "create", "--kind", "shell", "--name", "log", "--set", "command_down=true")
		var stdout, stderr strings.Builder
		if status := run([]string{"--database", db.URL, "channel", "test", "log"}, &stdout, &stderr); status != console.ExitError {
			t.Errorf("status %d: %s", status, stdout.String())
		}
		for _, want := range []string{"does not answer", "the command sends the test itself", "--enable-shell (tried by this command)"} {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("standard error lacks %q: %s", want, stderr.String())
			}
		}
		if out := administer(t, db, "user", "create", "ann@example.org"); !strings.Contains(out, "https://rollcall.example.org/signin/") {
			t.Errorf("the link has another base URL: %s", out)
		}
	})
}
