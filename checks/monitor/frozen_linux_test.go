package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
)

// signalServer sends a signal to a PostgreSQL server and its backends.
func signalServer(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip("this kernel does not list the children of a process: ", err)
	}
	for _, id := range append(strings.Fields(string(children)), strconv.Itoa(pid)) {
		n, err := strconv.Atoi(id)
		must(t, err)
		_ = syscall.Kill(n, signal) // a backend may have ended
	}
}

// TestFrozenPostgreSQL freezes the whole database server during runs of a job. No ping is lost, and Stop, which is called
// while the server is still frozen, records them and sends the alert.
func TestFrozenPostgreSQL(t *testing.T) {
	t.Parallel() // it waits
	server := dbtest.Server(t)
	store, err := postgres.Open(t.Context(), server.URL("postgres"))
	must(t, err)
	defer store.Close()
	alerts := make(chan string, 10)
	mon, err := monitor.New(store, &monitor.Config{
		StopTimeout: patience, OnAlert: func(_ context.Context, n channels.Notification) error {
			alerts <- string(n.Status)
			return nil
		},
		Job: job.Config{OnPingError: func(_ context.Context, err error) {
			if !errors.Is(err, job.ErrPending) {
				t.Error(err)
			}
		}},
	})
	must(t, err)
	project, err := mon.OpenProject(t.Context(), "p")
	must(t, err)
	r, err := project.Register(t.Context(), checks.Spec{Slug: new("job")})
	must(t, err)
	must(t, mon.Start(t.Context()))
	signalServer(t, server.PID(), syscall.SIGSTOP)
	defer signalServer(t, server.PID(), syscall.SIGCONT)
	for i := range 3 {
		_ = r.Run(t.Context(), func(context.Context) error {
			if i == 2 {
				return errors.New("the disk is full")
			}
			return nil
		})
	}
	time.AfterFunc(time.Second, func() { signalServer(t, server.PID(), syscall.SIGCONT) })
	remain(t, mon.Stop(t.Context()), 0)
	c, err := project.CheckBySlug(t.Context(), "job")
	must(t, err)
	list, err := checks.Collect(project.Pings(t.Context(), c.ID, checks.PingQuery{}))
	must(t, err)
	var kinds []string
	for i := range list {
		kinds = append(kinds, string(list[len(list)-1-i].Kind))
	}
	if diff := cmp.Diff([]string{"start", "success", "start", "success", "start", "fail"}, kinds); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	close(alerts)
	var got []string
	for status := range alerts {
		got = append(got, status)
	}
	if len(got) != 1 || got[0] != "down" {
		t.Errorf("alerts %q", got)
	}
}

// TestReadyWhilePostgreSQLHangs freezes PostgreSQL. Ready answers all callers before the driver gives up, and with a spool the monitor
// stays ready.
func TestReadyWhilePostgreSQLHangs(t *testing.T) {
	t.Parallel() // it waits
	server := dbtest.Server(t)
	store, err := postgres.Open(t.Context(), server.URL("postgres"))
	must(t, err)
	defer store.Close()
	mon, err := monitor.New(store, nil)
	must(t, err)
	queue, err := spool.Open(t.TempDir(), nil)
	must(t, err)
	defer queue.Close()
	spooling, err := monitor.New(store, &monitor.Config{Spool: queue})
	must(t, err)
	if got := problems(mon.Ready(t.Context())); len(got) > 0 {
		t.Fatal(got)
	}
	signalServer(t, server.PID(), syscall.SIGSTOP)
	defer signalServer(t, server.PID(), syscall.SIGCONT)
	together(40, func(int) {
		if got := problems(mon.Ready(t.Context()))["database"]; got != "does not answer" {
			t.Errorf("Ready says %q", got)
		}
	})
	ready := spooling.Ready(t.Context())
	if len(problems(ready)) > 0 || ready[0].Detail != "does not answer; pings go to the spool" {
		t.Errorf("with a spool: %+v", ready)
	}
	signalServer(t, server.PID(), syscall.SIGCONT)
	for begin := time.Now(); len(problems(mon.Ready(t.Context()))) > 0; {
		if time.Since(begin) > patience {
			t.Fatal("not ready afterwards")
		}
	}
}
