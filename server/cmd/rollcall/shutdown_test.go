package main

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// A server that stops under load answers every request that it accepted, and accepts no more: the log has exactly the
// acknowledged pings.
func TestShutdownUnderLoad(t *testing.T) {
	const slugs, jobs, pings = 4, 16, 600
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		p := start(t, db.URL, "--shutdown-timeout", "1h")
		key := keyOf(t, p)
		var list []apiCheck
		for i := range slugs {
			list = append(list, createCheck(t, p, key, fmt.Sprintf("job-%d", i)))
		}
		l := startLoad(t, p, list, jobs)
		l.waitFor(t, pings, 0)
		state, err := p.stop(syscall.SIGTERM) // which waits less long than the server may take
		if err != nil || state.ExitCode() != 0 {
			t.Errorf("the server ended with %v, %v:\n%s", state, err, p.stderr.String())
		}
		l.jobs.Wait() // each job ends when the server is gone
		l.verify(t)
		mon := openMonitor(t, db)
		for _, c := range list {
			if diff := cmp.Diff(l.names(c.UUID), logOf(t, mon, c)); diff != "" {
				t.Errorf("the log (-acknowledged +recorded):\n%s", diff)
			}
		}
	})
}
