// Command torture tries to make Rollcall lose something: it runs real servers on real databases, lets clients work on
// them, and kills and starves them meanwhile. Then it holds all that the clients were told, and all that the databases
// have, against the pure state machine of package checks.
//
//	go run ./examples/torture                      # all trials: some minutes
//	go run ./examples/torture --only three-servers --seed 17
//	go run ./examples/torture --soak 30m           # half of the highest load for half an hour
//
// The trials:
//
//	sqlite, shared-file, postgres, three-servers
//	    Clients ping checks in all ways, pause, resume, update and read them, while servers are killed (-9) and frozen
//	    and PostgreSQL is broken off: one server on an SQLite file, two on one file, one and three on PostgreSQL. The
//	    history of every check must be linearizable: there must be an order of its requests, in accord with when they
//	    were sent and answered, in which the state machine gives the same answers. A request without an answer may have
//	    had its effect or not. In the end the database must have what the model has, microsecond by microsecond: the
//	    log, the state, the flips, and a delivery for each alert and channel, which has arrived at least once and in
//	    order at a receiver that refuses some at first. Checks that are left alone must have gone down at the instant
//	    of their deadlines.
//	refused, silent
//	    PostgreSQL is gone under load: it does not run, or the network to it swallows everything. Pings must be refused
//	    soon, in bounded memory, and be taken again when it is back.
//	abuse
//	    Slow clients, endless bodies and ten thousand idle connections. Jobs must not notice.
//
// It exits with 1 when something was not as it must be. What is chosen at random follows from --seed, which is printed;
// what happens at the same time does not, so that a seed makes a failure likely and not certain.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	seed     uint64
	goal     goal
	outage   time.Duration
	idle     int
	slack    time.Duration
	soak     time.Duration
	only     string
	database string
	rollcall string
	dir      string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "what is chosen at random follows from this")
	flag.Int64Var(&o.goal.operations, "operations", 100_000, "least number of operations of a history")
	flag.Int64Var(&o.goal.kills, "kills", 50, "least number of kills and restarts of a history")
	flag.DurationVar(&o.goal.calm, "calm", 3*time.Second, "how long there is calm between them, in the mean")
	flag.DurationVar(&o.outage, "outage", time.Minute, "how long PostgreSQL is gone")
	flag.IntVar(&o.idle, "idle", 10_000, "how many idle connections there are, if the machine allows so many")
	flag.DurationVar(&o.slack, "slack", time.Second, "what bounds of time may be exceeded by, because the machine is busy")
	flag.StringVar(&o.only, "only", "", "only these trials, with commas between")
	flag.DurationVar(&o.soak, "soak", 0, "instead of the trials, keep a server under half of its highest load for so long")
	flag.StringVar(&o.database, "soak-database", "sqlite", "where the soaked server keeps its data: sqlite or postgres")
	flag.StringVar(&o.rollcall, "rollcall", "", "the binary to run (default: built from this module)")
	flag.StringVar(&o.dir, "dir", "", "where databases, logs and graphs go (default: a new directory, removed when all was well)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// errFound says that something was not as it must be; it has been printed.
var errFound = errors.New("problems were found")

func run(ctx context.Context, o options, out io.Writer) error {
	selected, err := o.trials()
	if err != nil {
		return err
	}
	temporary := o.dir == ""
	if o.dir, err = workDir(o.dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "seed %d, files in %s\n", o.seed, o.dir)
	if o.rollcall == "" {
		if o.rollcall, err = build(ctx, o.dir); err != nil {
			return err
		}
	}
	failed := false
	for _, t := range selected {
		problems, err := t.perform(ctx, o, out)
		for _, p := range problems {
			fmt.Fprintln(out, p)
		}
		if err != nil {
			return err
		}
		failed = failed || len(problems) > 0
	}
	if failed {
		return errFound
	}
	if temporary && o.soak == 0 {
		return os.RemoveAll(o.dir)
	}
	return nil
}

// trials returns what the flags select.
func (o options) trials() ([]trial, error) {
	if o.soak > 0 {
		return []trial{{setup{name: "soak", postgres: o.database == "postgres", metrics: true, servers: 1}, runSoak}}, nil
	}
	all := trials()
	if o.only == "" {
		return all, nil
	}
	var selected []trial
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(all, func(t trial) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no trial %q", name)
		}
		selected = append(selected, all[i])
	}
	return selected, nil
}

// workDir makes a directory that another user, who may have to run PostgreSQL, can look into.
func workDir(dir string) (string, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		return abs, os.MkdirAll(abs, 0o755)
	}
	dir, err := os.MkdirTemp("", "rollcall-torture-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

// build builds the program rollcall into a directory and returns its path.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "rollcall")
	const program = "github.com/rollcall-dev/rollcall/server/cmd/rollcall"
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, program).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("cannot build rollcall: %w\n%s", err, out)
	}
	return path, nil
}
