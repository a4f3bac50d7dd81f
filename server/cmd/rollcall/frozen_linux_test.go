package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/smtp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestFrozenServer stops a server around the deadline of its checks. Pings by HTTP and e-mail that arrive before the deadline wait
// in its sockets. Their checks stay up, one without a ping goes down at its deadline, and the log names the gap.
func TestFrozenServer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		t.Parallel() // it waits
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		p := start(t, db.URL, "--smtp-listen", "127.0.0.1:0", "--ping-email-domain", "ping.example.org")
		_, after, _ := strings.Cut(p.stdout.String(), "accepting e-mail for ping.example.org on ")
		mail, _, _ := strings.Cut(after, "\n")
		var ago atomic.Int64 // of the clock of a second monitor, which saves the test the wait for the deadline
		mon, err := monitor.New(db.Open(t), &monitor.Config{Now: func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) }})
		must(err)
		project, err := mon.OpenProject(t.Context(), "default")
		must(err)
		var list []checks.Snapshot
		deadline, left := time.Now(), 5*time.Second
		for !time.Now().Before(deadline) { // again with more time, if this machine is slow
			must(p.cmd.Process.Signal(syscall.SIGCONT))
			list, left = nil, 2*left
			ago.Store(int64(2*time.Minute - left))
			deadline = time.Now().Add(left)
			for i := range 12 {
				c, err := project.Create(t.Context(), checks.Spec{Name: new(fmt.Sprint("job ", i)), Timeout: new(time.Minute), Grace: new(time.Minute)})
				must(err)
				_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
				must(err)
				list = append(list, c)
			}
			must(p.cmd.Process.Signal(syscall.SIGSTOP))
			awaitStop(t, p.cmd.Process.Pid)
		}
		ago.Store(0)
		dead, mailed, pinged := list[0], list[1], list[2:]
		var wg sync.WaitGroup
		wg.Go(func() {
			message := []byte("Subject: done\r\n\r\ndone\r\n")
			if err := smtp.SendMail(mail, nil, "job@example.org", []string{mailed.ID.String() + "@ping.example.org"}, message); err != nil {
				t.Error(err)
			}
		})
		for _, c := range pinged {
			wg.Go(func() {
				status, text, err := (request{method: http.MethodPost, url: p.url + "/ping/" + c.ID.String()}).do()
				if status != 200 || err != nil {
					t.Errorf("a ping that waited: %d %s %v", status, text, err)
				}
			})
		}
		time.Sleep(time.Until(deadline.Add(2 * time.Second))) // real: the server must be stopped at the deadline
		must(p.cmd.Process.Signal(syscall.SIGCONT))
		wg.Wait()
		stored := func(c checks.Snapshot) checks.Check {
			got, err := mon.Check(t.Context(), c.ID)
			must(err)
			return got
		}
		if !eventually(patience, func() bool { return stored(dead).Stored == checks.StatusDown }) {
			t.Error("the check without a ping does not go down")
		}
		for _, c := range list[1:] {
			if got, err := checks.Collect(project.Flips(t.Context(), c.ID, flips.Range{})); err != nil || len(got) != 1 || stored(c).Stored != checks.StatusUp {
				t.Errorf("%s, whose ping waited in a socket: %v, error %v; want one flip, to up", c.Name, got, err)
			}
		}
		if log := p.stderr.String(); strings.Count(log, "did not run for a while") != 1 || t.Failed() {
			t.Errorf("the log must name the gap once:\n%s", log)
		}
	})
}

// awaitStop waits until no thread of a process runs any more: a busy machine may take a while to stop them.
func awaitStop(t *testing.T, pid int) {
	t.Helper()
	stopped := func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil || len(threads) == 0 {
			t.Fatal("no threads", err)
		}
		return !slices.ContainsFunc(threads, func(path string) bool {
			stat, err := os.ReadFile(path) // the state follows the name, which may contain anything
			return err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T ")
		})
	}
	if !eventually(patience, stopped) {
		t.Fatal("the server does not stop")
	}
}
