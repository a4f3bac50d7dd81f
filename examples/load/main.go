// Command load measures how many pings a Rollcall server takes, and how fast it answers them.
//
// It runs two servers in turn, each in a process of its own: the bare ceiling, which is net/http with httprouter and
// answers OK, and Rollcall on a new database. The figure to look at is the ratio of the two in one round, which says
// more than pings a second do: those depend on the machine and on what else it does. The generator runs on one core,
// keeps its connections open and sends the next ping on each as soon as the last one was answered.
//
//	go run ./examples/load
//	go run ./examples/load --database postgres --connections 256 --svg latency.svg
//	go run ./examples/load --checks 100000 --rate 0.5
//	go run ./examples/load --reads --channels 2
//	go run ./examples/load --database postgres --servers 2
//	go run ./examples/load --overdue 10000 --checks 1000000
//
// Everything listens on the loopback interface, and all that was made is removed at the end. PostgreSQL is a throwaway
// server with fsync, or one that a URL names; of that, the database must be empty.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/checks/storetest/pgserver"
)

type cli struct {
	Run   measurement `cmd:"" default:"withargs" help:"Measure."`
	Child child       `cmd:"" hidden:""`
}

// measurement is what to measure. Each run is bounded by its rounds and their duration.
type measurement struct {
	Database       string        `default:"sqlite" help:"sqlite, postgres (a throwaway server with fsync), or the URL of an empty PostgreSQL database."`
	Checks         int           `default:"1000" help:"How many checks there are. They are pinged in a random order."`
	Projects       int           `default:"1" help:"How many projects the checks are spread over."`
	Channels       int           `help:"How many integrations each check of the first project has."`
	Connections    int           `default:"64" help:"How many connections send pings at once."`
	NewConnections bool          `help:"Open a connection for each ping."`
	Rate           float64       `help:"Pings a second; up to 1 it is a share of what the closed loop reaches. 0 sends each ping as soon as the last was answered."`
	Duration       time.Duration `default:"5s" help:"How long a round is, for each of the servers."`
	Rounds         int           `default:"3" help:"How many rounds there are."`
	Body           int           `help:"Bytes of the body of a ping; with any, pings are POST requests."`
	Servers        int           `default:"1" help:"Compare so many servers on one database with one of them. The pings of a check go to the same server each time."`
	Scatter        bool          `help:"With several servers, the pings of a check go to all of them."`
	Reads          bool          `help:"Measure lists, single checks and badges while 2,000 pings a second are taken."`
	Overdue        int           `help:"Measure start-up, memory, the idle watcher, and how long it takes until so many checks that are overdue at once are down."`
	SVG            string        `help:"Write a chart of latency over load to this file." placeholder:"FILE"`
	Profile        string        `help:"Write the CPU profiles of the Rollcall server into this directory." placeholder:"DIR"`
	Dir            string        `help:"Where the databases are, on the disk that is to be measured. Default: the directory for temporary files."`
}

// Validate bounds what a typing error could make of a measurement. Kong calls it.
func (m *measurement) Validate() error {
	for _, limit := range []struct {
		flag             string
		value, low, high int
	}{
		{"checks", m.Checks, 1, 10_000_000}, {"projects", m.Projects, 1, m.Checks}, {"channels", m.Channels, 0, 100}, {"connections", m.Connections, 1, 10_000},
		{"rounds", m.Rounds, 1, 1000}, {"body", m.Body, 0, 10_000_000}, {"overdue", m.Overdue, 0, m.Checks},
		{"servers", m.Servers, 1, 16},
		{"duration (ms)", int(m.Duration.Milliseconds()), 10, 3_600_000}, {"rate", int(m.Rate), 0, 1_000_000},
	} {
		if limit.value < limit.low || limit.value > limit.high {
			return fmt.Errorf("--%s: must be %d to %d: %d", limit.flag, limit.low, limit.high, limit.value)
		}
	}
	if m.Servers > 1 && (m.Reads || m.Overdue > 0) {
		return fmt.Errorf("--servers: compares pings; leave out --reads and --overdue")
	}
	if m.Database != "sqlite" && m.Database != "postgres" && !strings.HasPrefix(m.Database, "postgres://") {
		return fmt.Errorf("--database: must be sqlite, postgres or postgres://…: %q", m.Database)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c cli
	parser, err := kong.New(&c, kong.Name("load"), kong.Description("Measure how many pings a Rollcall server takes."))
	if err != nil {
		return err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	if strings.HasPrefix(parsed.Command(), "child") {
		return c.Child.serve(ctx, os.Stdin, out)
	}
	return c.Run.measure(ctx, out)
}

// measure starts the servers, does what was asked for and stops them.
func (m *measurement) measure(ctx context.Context, out io.Writer) error {
	// The generator is to leave the machine to the servers: one core, and little garbage collection.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	dir, err := os.MkdirTemp(m.Dir, "rollcall-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url, db := m.Database, (*pgserver.Server)(nil)
	switch m.Database {
	case "sqlite":
		url = "sqlite:" + filepath.Join(dir, "rollcall.db")
	case "postgres":
		// With the settings that it has by itself: fsync and synchronous_commit are on.
		if db, err = pgserver.New(ctx, dir, "shared_buffers=512MB", "max_wal_size=4GB"); err != nil {
			return err
		}
		defer db.Stop()
		url = db.URL("postgres")
	}
	product, err := start(ctx, settings{Database: url, Checks: m.Checks, Projects: m.Projects, Channels: m.Channels})
	if err != nil {
		return err
	}
	defer product.stop()
	product.database = db
	if db != nil {
		if err := recycleLog(ctx, url); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s, %d checks in %d projects, %d CPUs, %s\n", kindOf(m.Database), m.Checks, m.Projects, runtime.NumCPU(), runtime.Version())
	switch {
	case m.Overdue > 0:
		return m.measureOverdue(ctx, out, product)
	case m.Reads:
		return m.measureReads(ctx, out, product)
	case m.Servers > 1:
		return m.measureServers(ctx, out, url, product)
	}
	ceiling, err := start(ctx, settings{})
	if err != nil {
		return err
	}
	defer ceiling.stop()
	return m.measurePings(ctx, out, ceiling, product)
}

func kindOf(database string) string {
	if database == "sqlite" {
		return "SQLite"
	}
	return "PostgreSQL"
}
