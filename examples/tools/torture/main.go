// Command torture tries to make Rollcall lose something. It runs real servers on real databases, lets clients work on
// them, and meanwhile kills and starves them. Then it compares everything that the clients saw and everything that the
// databases hold with the pure state machine of package checks.
//
//	go run ./torture                      # all trials: some minutes
//	go run ./torture --only three-servers --seed 17
//	go run ./torture --only citus,spool-citus --node-kills 8
//	go run ./torture --only three-servers --postgres postgres://user@host/empty
//	go run ./torture --soak 30m           # half of the highest load for half an hour
//
// The trials:
//
//	sqlite, shared-file, postgres, three-servers
//	    Clients ping, pause, resume, update and read checks, while servers are killed and frozen and PostgreSQL is
//	    restarted: one server on an SQLite file, two on one file, one and three on PostgreSQL. The history of every
//	    check must be linearizable: some order of its requests, in accord with when they were sent and answered, makes
//	    the state machine give the same answers. A request without an answer may have had its effect or not. In the end
//	    the database must equal the model, microsecond by microsecond: the log, the state, the flips, and a delivery for
//	    each alert and channel. Each delivery must have arrived at least once, and in order, at a receiver that refuses
//	    some at first. Maintenance windows open and end over some checks, outages are acknowledged, checks follow others, and
//	    one channel comes at a later step: no alert that a check is down may arrive within a window, or at the step before its
//	    time or after an acknowledgement, what is down at the end must be alerted then, and a recovery is reported to those who
//	    have heard of the outage, and only to them. Checks that are left alone must have gone down at the instant of their
//	    deadlines.
//	failover
//	    The same, on a primary of PostgreSQL with a synchronous standby. The primary is killed and the standby promoted,
//	    again and again; the killed one joins it by pg_rewind or a new base backup. All three servers must take pings again
//	    2 seconds after a promotion, and no check that is pinged may go down.
//	citus
//	    The same, on a coordinator of Citus with two workers, which are killed in turn while shards move between them. After a
//	    kill, what was acknowledged may stay invisible until Citus has ended commits in doubt, so what clients read meanwhile does not count.
//	refused, silent, broken
//	    PostgreSQL is gone under load: it does not run, it accepts connections and never answers, or it answers but has lost
//	    a table. The server must refuse pings soon, in bounded memory, and take them again once PostgreSQL is back.
//	spool, spool-silent, spool-broken, spool-kill
//	    The same outages, of three servers with a spool each. No ping may be refused, lost or recorded twice, none may change
//	    its time, and no check that reported in may go down. Checks that fail at one server and succeed at the next have
//	    gone down and up, as at one server. In spool-kill, servers are killed during the outage and while
//	    they record their spools. Deadlines pass during the outage if it takes a minute.
//	spool-citus
//	    The same, while the nodes of Citus are killed in turn and shards move.
//	receivers
//	    Hundreds of receivers accept requests and never answer, or let the answer drip, and one of two recipients of an
//	    integration fails. Alerts to all others must arrive within 2 seconds, and the one that failed must get what it has
//	    missed, in order and once.
//	abuse
//	    Slow clients, endless bodies and ten thousand idle connections. Jobs must not notice.
//
// The trials with Citus need the extension in PostgreSQL, which .ci/citus builds; without it they are left out.
//
// It exits with 1 if it finds a problem. All random choices follow from --seed, which it prints. Concurrency does not,
// so a seed makes a failure likely and not certain. It needs Linux.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

type options struct {
	Seed         uint64        `help:"Seed of all random choices (default: a random one)."`
	Only         []string      `help:"Run only these trials, separated by commas." placeholder:"TRIAL"`
	Postgres     string        `help:"An empty PostgreSQL database for the trial postgres or three-servers. Its server is not restarted." placeholder:"URL"`
	Operations   int64         `default:"100000" help:"Operations of a history, at least."`
	Kills        int64         `default:"50" help:"Kills of servers and restarts of PostgreSQL in a history, at least."`
	Calm         time.Duration `default:"3s" help:"Mean time between them."`
	Failovers    int64         `default:"20" help:"Failovers of PostgreSQL, at least."`
	NodeKills    int64         `default:"8" help:"Kills of each node of Citus."`
	Outage       time.Duration `default:"1m" help:"How long PostgreSQL is gone."`
	Jobs         int           `default:"100" help:"Jobs that ping all the time while there are spools, ten times a second each."`
	Idle         int           `default:"10000" help:"Idle connections, if the machine allows that many."`
	Slack        time.Duration `default:"1s" help:"Added to every time limit, for a busy machine."`
	Soak         time.Duration `help:"Instead of the trials, put a server under half of its highest load for this long."`
	SoakDatabase string        `default:"sqlite" enum:"sqlite,postgres" help:"Database of the soak: sqlite or postgres."`
	Rollcall     string        `help:"The binary to run (default: built from this module)." placeholder:"FILE"`
	Dir          string        `help:"Directory for databases and logs (default: a new one, removed if there was no problem)." placeholder:"DIR"`
}

func main() {
	var o options
	kong.Parse(&o, kong.Name("torture"), kong.Description("Try to make Rollcall lose something."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// errFound means that problems were printed.
var errFound = errors.New("problems were found")

func run(ctx context.Context, o options, out io.Writer) error {
	selected, err := o.trials()
	if err != nil {
		return err
	}
	temporary := o.Dir == ""
	if temporary {
		o.Dir, err = os.MkdirTemp("", "rollcall-torture-")
	} else {
		o.Dir, err = filepath.Abs(o.Dir)
	}
	if err != nil {
		return err
	}
	// PostgreSQL may have to run as another user, who must be able to enter the directory.
	if err := errors.Join(os.MkdirAll(o.Dir, 0o755), os.Chmod(o.Dir, 0o755)); err != nil {
		return err
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	fmt.Fprintf(out, "seed %d, files in %s\n", o.Seed, o.Dir)
	if o.Rollcall == "" {
		if o.Rollcall, err = program.Build(ctx, o.Dir); err != nil {
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
	if temporary {
		return os.RemoveAll(o.Dir)
	}
	return nil
}

// trial is one ordeal, on servers and a database of its own.
type trial struct {
	name       string
	postgres   bool
	replicated bool // PostgreSQL has a standby
	citus      bool // PostgreSQL is a coordinator of Citus with workers
	silent     bool // in an outage PostgreSQL does not stop, but freezes
	broken     bool // in an outage PostgreSQL answers, but has lost a table
	spooled    bool // each server has a spool
	killed     bool // servers die during the outage
	servers    int
	run        func(ctx context.Context, s *site, o options) (report string, err error)
}

func allTrials() []trial {
	return []trial{
		{name: "sqlite", servers: 1, run: runHistories},
		{name: "shared-file", servers: 2, run: runHistories},
		{name: "postgres", postgres: true, servers: 1, run: runHistories},
		{name: "three-servers", postgres: true, servers: 3, run: runHistories},
		{name: "failover", postgres: true, replicated: true, servers: 3, run: runFailover},
		{name: "citus", postgres: true, citus: true, servers: 3, run: runCitus},
		{name: "refused", postgres: true, servers: 1, run: runOutage},
		{name: "silent", postgres: true, silent: true, servers: 1, run: runOutage},
		{name: "broken", postgres: true, broken: true, servers: 1, run: runOutage},
		{name: "spool", postgres: true, spooled: true, servers: 3, run: runSpool},
		{name: "spool-silent", postgres: true, spooled: true, silent: true, servers: 3, run: runSpool},
		{name: "spool-broken", postgres: true, spooled: true, broken: true, servers: 3, run: runSpool},
		{name: "spool-kill", postgres: true, spooled: true, killed: true, servers: 3, run: runSpool},
		{name: "spool-citus", postgres: true, citus: true, spooled: true, servers: 3, run: runSpool},
		{name: "receivers", servers: 1, run: runReceivers},
		{name: "abuse", servers: 1, run: runAbuse},
	}
}

// trials returns the trials that the flags select.
func (o options) trials() ([]trial, error) {
	all := allTrials()
	switch {
	case o.Soak > 0:
		return []trial{{name: "soak", postgres: o.SoakDatabase == "postgres", servers: 1, run: runSoak}}, nil
	case len(o.Only) == 0 && o.Postgres == "":
		return all, nil
	}
	var selected []trial
	for _, name := range o.Only {
		i := slices.IndexFunc(all, func(t trial) bool { return t.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no trial %q", name)
		}
		selected = append(selected, all[i])
	}
	if o.Postgres != "" && (len(selected) != 1 || selected[0].name != "postgres" && selected[0].name != "three-servers") {
		return nil, errors.New("--postgres needs --only postgres or --only three-servers")
	}
	return selected, nil
}

// shutdownWithin is how long an idle server may take to exit.
const shutdownWithin = 10 * time.Second

// perform makes the site of a trial, runs the trial, prints its report, and returns the problems.
func (t trial) perform(ctx context.Context, o options, out io.Writer) (problems []string, err error) {
	s, err := newSite(ctx, t, o)
	defer s.close()
	if errors.Is(err, pgserver.ErrNoCitus) && len(o.Only) == 0 {
		fmt.Fprintf(out, "%s: left out: %v\n", t.name, err)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	report, err := t.run(ctx, s, o)
	if err != nil {
		return s.problems, fmt.Errorf("%s: %w", t.name, err)
	}
	for i, server := range s.servers {
		if took, err := server.Stop(syscall.SIGTERM); err != nil || took > shutdownWithin+s.slack {
			s.problem("server %d exited %v after SIGTERM: %v", i+1, took, err)
		}
	}
	fmt.Fprintf(out, "%s: %s\n", t.name, report)
	return s.problems, nil
}
