package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// target is what a load is put on: rollcall servers on one database, or the ceiling.
type target struct {
	name    string
	servers []*program.Server  // of rollcall
	startup time.Duration      // of the last one
	nodes   []*pgserver.Server // of the database, whose cost counts as the servers' own; on Citus the coordinator first
	data    *fixture

	ceiling *exec.Cmd // nil for rollcall
	address string    // of the ceiling
}

// ceilingArg makes this program the ceiling.
const ceilingArg = "ceiling"

// startCeiling starts the ceiling as a separate process. It gets the same pings as a server.
func startCeiling(data *fixture) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &target{name: "ceiling", data: data, ceiling: exec.Command(self, ceilingArg)}
	if _, err := t.ceiling.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.ceiling.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.ceiling.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fscanln(out, &t.address); err != nil {
		t.stop()
		return nil, fmt.Errorf("the ceiling did not start: %w", err)
	}
	return t, nil
}

// serveCeiling does as little as a server can that answers pings. It prints its address, and ends with its input so
// that it does not outlive the program that started it.
func serveCeiling() {
	router := httprouter.New()
	ok := func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) { _, _ = w.Write([]byte("OK")) }
	router.GET("/ping/:id", ok)
	router.POST("/ping/:id", ok)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		return
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, router)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (t *target) stop() {
	for _, s := range t.servers {
		s.Kill()
	}
	if t.ceiling != nil {
		_ = t.ceiling.Process.Kill()
		_ = t.ceiling.Wait()
	}
	for _, node := range t.nodes {
		node.Stop()
	}
}

// load returns the load that the flags describe.
func (o *options) load(t *target) loadgen.Load {
	l := loadgen.Load{
		Checks: t.data.checks, Scatter: o.Scatter, Connections: o.Connections, Reconnect: o.NewConnections,
		Body: o.Body, Duration: o.Duration,
	}
	if t.ceiling != nil {
		l.Servers = []string{t.address}
	}
	for _, s := range t.servers {
		l.Servers = append(l.Servers, strings.TrimPrefix(s.Greeting().URL, "http://"))
	}
	return l
}

// usage is what a target has used and written since it started.
type usage struct {
	program.Usage
	database, coordinator time.Duration // the CPU time of PostgreSQL in it, and of its first node
	pings, batches        float64
	down                  float64 // checks that the watcher took down
}

// spent returns what a target uses and writes while work runs.
func (t *target) spent(ctx context.Context, work func() error) (usage, error) {
	before, err := t.usage(ctx)
	if err != nil {
		return usage{}, err
	}
	if err := work(); err != nil {
		return usage{}, err
	}
	u, err := t.usage(ctx)
	u.CPU, u.Written, u.Wakeups = u.CPU-before.CPU, u.Written-before.Written, u.Wakeups-before.Wakeups
	u.database, u.coordinator = u.database-before.database, u.coordinator-before.coordinator
	u.pings, u.batches, u.down = u.pings-before.pings, u.batches-before.batches, u.down-before.down
	return u, err
}

func (t *target) usage(ctx context.Context) (u usage, err error) {
	var pids []int
	if t.ceiling != nil {
		pids = []int{t.ceiling.Process.Pid}
	}
	for _, s := range t.servers {
		pids = append(pids, s.PID())
		metrics, err := s.Metrics(ctx)
		if err != nil {
			return u, err
		}
		u.pings += metrics["rollcall_ping_batch_size_sum"]
		u.batches += metrics["rollcall_ping_batch_size_count"]
		u.down += metrics["rollcall_overdue_lag_seconds_count"]
	}
	u.Usage = program.UsageOf(pids...)
	for i, node := range t.nodes {
		spent := program.UsageOf(program.WithChildren(node.PID())...)
		u.CPU, u.Written, u.database = u.CPU+spent.CPU, u.Written+spent.Written, u.database+spent.CPU
		if i == 0 {
			u.coordinator = spent.CPU
		}
	}
	return u, nil
}
