// Command load measures how many pings a Rollcall server takes and how fast it answers them.
//
// It runs two servers in turn, each in a process of its own: the ceiling, which is net/http with httprouter and answers
// OK to everything, and rollcall on a new database. Compare the share of the ceiling that rollcall reaches in the same
// round: pings a second depend on the machine and on what else runs there. The pings come from one core, over
// connections that stay open and send the next ping as soon as the last one was answered.
//
//	go run ./load                                            # SQLite, 1,000 checks, 64 connections
//	go run ./load --database postgres --connections 256
//	go run ./load --checks 100000 --rate 0.5                 # latency at half of the highest rate
//	go run ./load --new-connections                          # a connection for each ping
//	go run ./load --database postgres --servers 2            # two servers on one database against one
//	go run ./load --database postgres --database citus       # several databases against each other
//	go run ./load --reads --channels 2                       # lists, checks and badges under 2,000 pings/s
//	go run ./load --pages 100                                # the dashboard, and 100 open pages under 1,000 pings/s
//	go run ./load --stored --database sqlite --database postgres --checks 1000,10000 # bytes of a check and of a ping
//	go run ./load --checks 1000000 --overdue 10000
//	go run ./load --checks 1000,20000,200000                 # lists, pages and metrics as a project grows
//	go run ./load --deadlines 60 --duration 60s              # how long after their deadlines alerts arrive, on an idle server
//	go run ./load --deadlines 60 --rate 1                    # the same under all the pings that the server takes
//	go run ./load --deadlines 60 --against /tmp/base         # the same of two binaries in turn
//	go run ./load --profile cpu.pprof                        # a CPU profile of rollcall, for go tool pprof
//	go run ./load --rollcall /tmp/rollcall                   # measures a binary that is already built
//
// Each round prints a line for each server, and the last lines are the medians of all rounds:
//
//	share           pings a second over those of the ceiling
//	CPU µs          CPU time a ping of the server and its database
//	database µs     the part of the database in it: all processes of PostgreSQL, on Citus of all nodes
//	coordinator     on Citus, the share of the coordinator in the CPU time of the database
//	generator µs    CPU time a ping of this program
//	bytes           bytes a ping that the server and its database write to the disk
//	batch           pings a transaction, from the metrics of rollcall
//
// CPU times and bytes are 0 where there is no /proc.
//
// All servers listen on the loopback interface, and the program removes its files at the end. PostgreSQL is a throwaway
// server with fsync, or the server of an empty database that a URL names, whose CPU time does not count. Citus is a
// throwaway coordinator with two workers, which share the machine. It needs the extension in PostgreSQL; .ci/citus builds it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

type options struct {
	Database       []string      `default:"sqlite" sep:"none" help:"sqlite, postgres (a throwaway server with fsync), citus (a throwaway coordinator with two workers), or the URL of an empty PostgreSQL database. Repeat it to compare several."`
	Checks         []int         `default:"1000" help:"Number of checks. They are pinged in random order. With several numbers, measure what lists, pages, metrics and badges cost at each."`
	Channels       int           `help:"Number of integrations of each check."`
	Connections    int           `default:"64" help:"Number of connections that send pings at once."`
	NewConnections bool          `help:"Use a new connection for each ping."`
	Rate           float64       `help:"Pings a second; up to 1 it is a share of the highest rate. 0 sends each ping as soon as the last one was answered."`
	Duration       time.Duration `default:"5s" help:"Length of a round for each of the servers."`
	Rounds         int           `default:"3" help:"Number of rounds."`
	Body           int           `help:"Bytes of the body of a ping; with any, pings are POST requests."`
	Servers        int           `default:"1" help:"Compare this many servers on one database with one of them. Each check is always pinged at the same server."`
	Scatter        bool          `help:"With several servers, ping each check at all of them."`
	Reads          bool          `help:"Measure lists, single checks and badges while the server takes 2,000 pings a second."`
	Pages          int           `help:"Measure the pages of the dashboard, and what this many open pages cost while the server takes 1,000 pings a second."`
	Stored         bool          `help:"Measure how many bytes a check and a ping, with and without a body, take in the database. It starts no server."`
	Overdue        int           `help:"Measure start-up, memory, the idle watcher, and how soon this many checks are down that become overdue at once."`
	Deadlines      int           `help:"Measure how long after their deadlines, spread over each round, the alerts of this many checks arrive. With --rate the server takes pings of other checks meanwhile."`
	CommitMargin   time.Duration `help:"The commit margin of the servers with --deadlines: alerts leave that much later."`
	Against        string        `help:"With --deadlines, the binary to measure in turn with this one; each has its own database." placeholder:"FILE"`
	Rollcall       string        `help:"The binary to measure (default: built from this module)." placeholder:"FILE"`
	Profile        string        `help:"Write a CPU profile of rollcall to this file." placeholder:"FILE"`
	receiver       string        // gets the alerts of --deadlines
	Dir            string        `help:"Where the databases go, on the disk to be measured (default: the directory for temporary files)." placeholder:"DIR"`
}

// Validate rejects what would crash or never end. Kong calls it.
func (o *options) Validate() error {
	if len(o.Checks) == 0 {
		return fmt.Errorf("--checks: must not be empty")
	}
	for _, limit := range []struct {
		flag             string
		value, low, high int
	}{
		{"checks", slices.Min(o.Checks), 1, 10_000_000}, {"checks", slices.Max(o.Checks), 1, 10_000_000},
		{"channels", o.Channels, 0, 100}, {"connections", o.Connections, 1, 10_000},
		{"rounds", o.Rounds, 1, 1000}, {"body", o.Body, 0, 10_000_000}, {"servers", o.Servers, 1, 16},
		{"pages", o.Pages, 0, 1000}, {"overdue", o.Overdue, 0, slices.Min(o.Checks)},
		{"deadlines", o.Deadlines, 0, (slices.Min(o.Checks) - 1) / max(1, o.Rounds)}, {"rate", int(o.Rate), 0, 1_000_000},
		{"duration (ms)", int(o.Duration.Milliseconds()), 10, 3_600_000},
	} {
		if limit.value < limit.low || limit.value > limit.high {
			return fmt.Errorf("--%s: must be %d to %d: %d", limit.flag, limit.low, limit.high, limit.value)
		}
	}
	modes := o.Servers > 1 || o.Reads || o.Pages > 0 || o.Overdue > 0 || o.Deadlines > 0 || o.Profile != ""
	switch {
	case o.Servers > 1 && (o.Reads || o.Pages > 0 || o.Overdue > 0 || o.Deadlines > 0):
		return fmt.Errorf("--servers: cannot be combined with --reads, --pages, --overdue or --deadlines")
	case o.Stored && (modes || slices.Contains(o.Database, "citus")):
		return fmt.Errorf("--stored: cannot be combined with --servers, --reads, --pages, --overdue, --deadlines, --profile or --database citus")
	case o.Against != "" && (o.Deadlines == 0 || strings.Contains(o.Database[0], ":")):
		return fmt.Errorf("--against: needs --deadlines, and a database that this program makes")
	case o.Profile != "" && o.Rollcall != "":
		return fmt.Errorf("--profile: cannot be combined with --rollcall, because it needs a binary with a profiler")
	case len(o.Checks) > 1 && modes:
		return fmt.Errorf("--checks: several numbers cannot be combined with --servers, --reads, --pages, --overdue, --deadlines or --profile")
	case len(o.Database) > 1 && modes:
		return fmt.Errorf("--database: several cannot be combined with --servers, --reads, --pages, --overdue, --deadlines or --profile")
	}
	for _, d := range o.Database {
		if d != "sqlite" && d != "postgres" && d != "citus" && !strings.HasPrefix(d, "postgres://") {
			return fmt.Errorf("--database: must be sqlite, postgres, citus or postgres://…: %q", d)
		}
		if len(o.Checks) > 1 && strings.Contains(d, ":") {
			return fmt.Errorf("--database: a URL cannot be combined with several numbers of checks, which need a database each")
		}
	}
	return nil
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == ceilingArg {
		serveCeiling()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o, kong.Name("load"), kong.Description("Measure how many pings a Rollcall server takes."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	// The load leaves the machine to the servers: one core, and little garbage collection.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	dir, err := os.MkdirTemp(o.Dir, "rollcall-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// PostgreSQL may have to run as another user, who must be able to enter the directory.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return o.measure(ctx, dir, out)
}

// measure starts the servers and measures what the flags ask for.
func (o *options) measure(ctx context.Context, dir string, out io.Writer) (err error) {
	if o.Stored {
		return o.measureStored(ctx, dir, out)
	}
	if o.Rollcall == "" && o.Profile == "" {
		if o.Rollcall, err = program.Build(ctx, dir); err != nil {
			return err
		}
	}
	if o.Deadlines > 0 {
		return o.measureDeadlines(ctx, dir, out)
	}
	if len(o.Checks) > 1 {
		return o.measureSizes(ctx, dir, out)
	}
	var products []*target
	defer func() {
		for _, t := range products {
			t.stop()
		}
	}()
	for i, database := range o.Database {
		product := new(target)
		products = append(products, product)
		if err := o.startProduct(ctx, filepath.Join(dir, fmt.Sprint("database", i)), database, product); err != nil {
			return err
		}
		defer product.data.db.Close()
		fmt.Fprintf(out, "%s, %d checks, %d connections, %d CPUs, %s\n", product.name, o.Checks[0], o.Connections, runtime.NumCPU(), runtime.Version())
	}
	product := products[0]
	if o.Profile != "" {
		defer func() {
			_, stopErr := product.servers[0].Stop(syscall.SIGUSR1)
			err = errors.Join(err, stopErr)
		}()
	}
	switch {
	case o.Overdue > 0:
		return o.measureOverdue(ctx, out, product)
	case o.Reads:
		return o.measureReads(ctx, out, product)
	case o.Pages > 0:
		return o.measurePages(ctx, out, product)
	case o.Servers > 1:
		one := &target{name: "one server", servers: product.servers[:1], nodes: product.nodes, data: product.data}
		product.name = fmt.Sprintf("%d servers", o.Servers)
		return o.compare(ctx, out, one, product)
	}
	ceiling, err := startCeiling(product.data)
	if err != nil {
		return err
	}
	defer ceiling.stop()
	return o.compare(ctx, out, append([]*target{ceiling}, products...)...)
}

// startProduct makes a database and starts rollcall on it. The caller stops the target, even after an error, and closes its
// data.
func (o *options) startProduct(ctx context.Context, dir, database string, t *target) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	url, err := createDatabase(ctx, dir, database, t)
	if err != nil {
		return err
	}
	if t.data, err = fill(ctx, url, o.Checks[0], o.integrations()); err != nil {
		return err
	}
	if database == "citus" {
		err = t.data.distribute(ctx)
	}
	for _, node := range t.nodes {
		if err == nil {
			err = prepareLog(ctx, node.URL(databaseName))
		}
	}
	if err == nil {
		err = o.startServers(ctx, dir, url, t)
	}
	if err != nil {
		return errors.Join(err, t.data.db.Close())
	}
	return nil
}

// databaseName is the name of the database on throwaway servers.
const databaseName = "rollcall"

// citusWorkers is the number of workers of Citus beside the coordinator.
const citusWorkers = 2

// createDatabase makes an empty database, unless its URL was given, and returns its URL.
func createDatabase(ctx context.Context, dir, database string, t *target) (url string, err error) {
	// fsync and synchronous_commit are on by default.
	settings := []string{"shared_buffers=512MB", "max_wal_size=4GB"}
	t.name = "PostgreSQL"
	switch database {
	case "sqlite":
		t.name = "SQLite"
		file := filepath.Join(dir, "rollcall.db")
		return "sqlite:" + file, os.WriteFile(file, nil, 0o600) // rollcall warns of files that others can read
	case "postgres":
		server, err := pgserver.New(ctx, dir, settings...)
		if err != nil {
			return "", err
		}
		t.nodes = []*pgserver.Server{server}
		return server.Create(ctx, databaseName)
	case "citus":
		t.name = "Citus"
		if t.nodes, err = pgserver.NewCitus(ctx, dir, databaseName, citusWorkers, settings...); err != nil {
			return "", err
		}
		return t.nodes[0].URL(databaseName), nil
	}
	return database, nil
}

// startServers starts rollcall on the database, as often as the flags say. A profile is that of the first one.
func (o *options) startServers(ctx context.Context, dir, url string, t *target) (err error) {
	binary := o.Rollcall
	if o.Profile != "" {
		if binary, err = buildProfiled(ctx, dir); err != nil {
			return err
		}
	}
	for range o.Servers {
		// Warnings go where they are seen: work that fails would pass for speed.
		s := &program.Server{Path: binary, Args: []string{"--database", url, "--log-level", "warn"}, Log: os.Stderr}
		if o.Deadlines > 0 {
			s.Args = append(s.Args, "--allow-private-networks", "--commit-margin", o.CommitMargin.String())
		}
		if len(t.servers) == 0 && o.Profile != "" {
			s.Env = []string{profileEnv + "=" + o.Profile}
		}
		began := time.Now()
		if err := s.Start(ctx); err != nil {
			return err
		}
		t.servers, t.startup = append(t.servers, s), time.Since(began)
	}
	return nil
}
