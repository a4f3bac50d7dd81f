package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest/pgserver"
	"github.com/rollcall-dev/rollcall/pings"
)

// patience bounds every wait. It is only reached when something is broken.
const patience = 2 * time.Minute

// eventually waits for a condition.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came to pass that %s", what)
		}
	}
}

// TestDemotedPrimary turns a primary read-only under open connections once its standby is promoted. No ping fails: the
// pool discards its connections to the former primary, although they work. With two read-only servers, pings are refused.
func TestDemotedPrimary(t *testing.T) {
	t.Parallel() // it waits
	primary, standby, db := dbtest.Replicated(t)
	pool := db.Bun(t)
	mon := monitorOn(t, dbtest.OpenOn(t, pool).Database())
	c := addCheck(t, mon)
	fill(t, pool)
	catchUp(t, primary)
	must(t, standby.Promote(t.Context()))
	must(t, primary.Set(t.Context(), "default_transaction_read_only", "on"))
	promoted := dbtest.DB{Name: "postgres", URL: standby.URL("test")}.Bun(t)
	eventually(t, "the promoted server gets a ping", func() bool {
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{})
		must(t, err)
		return count(t, promoted, "rollcall_pings") > 0
	})
	fill(t, pool)
	for range 3 * pool.DB.Stats().OpenConnections {
		_, err := pool.ExecContext(t.Context(), "UPDATE rollcall_settings SET value = value")
		must(t, err)
	}

	must(t, standby.Set(t.Context(), "default_transaction_read_only", "on"))
	var err error
	eventually(t, "no connection is left", func() bool {
		_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
		return err != nil && strings.Contains(err.Error(), ";")
	})
	want := fmt.Sprintf("127.0.0.1:%d: the server takes no writes; 127.0.0.1:%d: the server takes no writes", primary.Port(), standby.Port())
	if !errors.Is(err, checks.ErrUnavailable) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("with two read-only servers: error %v, want %s", err, want)
	}
}

// TestCommitWithoutStandby loses the answer to a commit that waits for a dead standby. The ping is on the
// primary alone, so it must not be acknowledged.
func TestCommitWithoutStandby(t *testing.T) {
	t.Parallel() // it waits
	primary, standby, db := dbtest.Replicated(t)
	admin := db.Bun(t)
	mon, err := monitor.New(db.Open(t).Database(), &monitor.Config{WriteTimeout: 2 * time.Second})
	must(t, err)
	c := addCheck(t, mon)
	standby.Stop()
	must(t, primary.Set(t.Context(), "synchronous_standby_names", "*"))
	// Until the checkpointer has read the setting, commits do not wait.
	eventually(t, "a commit waits and is broken off", func() bool {
		pinged := make(chan error, 1)
		go func() {
			_, err := mon.Ping(context.WithoutCancel(t.Context()), c.ID, pings.Signal{})
			pinged <- err
		}()
		broken := 0
		eventually(t, "the ping is answered or waits", func() bool {
			must(t, admin.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
				WHERE wait_event = 'SyncRep'`).Scan(&broken))
			return broken > 0 || len(pinged) > 0
		})
		err := <-pinged
		if broken > 0 && !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("error %v, want ErrUnavailable", err)
		}
		return broken > 0
	})
	must(t, primary.Set(t.Context(), "synchronous_standby_names", ""))
	eventually(t, "a ping is recorded again", func() bool {
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{})
		return err == nil
	})
}

// TestLaggingStandby promotes a standby that lacks the last commits. A store that has cached what is lost goes on with
// what the standby has, without a restart, although new checks get the keys of lost ones. It listens there too.
func TestLaggingStandby(t *testing.T) {
	t.Parallel() // it waits
	primary, standby, db := dbtest.Replicated(t)
	mon := monitorOn(t, db.Open(t).Database())
	survivor := addCheck(t, mon)
	_, err := mon.Ping(t.Context(), survivor.ID, pings.Signal{UserAgent: "kept"})
	must(t, err)
	heard := listen(t, db)
	eventually(t, "the store listens", func() bool { return heard("") })
	catchUp(t, primary)
	detach(t, primary, standby)

	_, err = mon.Ping(t.Context(), survivor.ID, pings.Signal{Kind: pings.Failure, UserAgent: "lost"})
	must(t, err)
	var lost []checks.Check
	for range 40 { // a sequence is logged 32 values ahead
		c := addCheck(t, mon)
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{})
		must(t, err)
		lost = append(lost, c)
	}
	primary.Kill()
	must(t, standby.Promote(t.Context()))
	eventually(t, "pings are taken again", func() bool {
		_, err := mon.Ping(t.Context(), lost[0].ID, pings.Signal{})
		if !errors.Is(err, checks.ErrNotFound) && !errors.Is(err, checks.ErrUnavailable) {
			t.Fatalf("ping of a lost check: error %v", err)
		}
		return errors.Is(err, checks.ErrNotFound)
	})

	for range len(lost) {
		_, err := mon.Ping(t.Context(), addCheck(t, mon).ID, pings.Signal{})
		must(t, err)
	}
	for _, c := range lost {
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("ping of a lost check: error %v", err)
		}
		if got, err := mon.Project(c.ProjectID).Update(t.Context(), c.ID, checks.Spec{Name: new("lost")}); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("update of lost check %s: check %s, error %v", c.ID, got.ID, err)
		}
	}
	p, err := mon.Ping(t.Context(), survivor.ID, pings.Signal{UserAgent: "new"})
	if err != nil || p.N != 2 {
		t.Errorf("the ping after the failover has number %d, want 2; error %v", p.N, err)
	}
	announcer := db.Open(t).Database()
	eventually(t, "announcements are heard from the new primary", func() bool {
		must(t, announcer.Announce(t.Context(), "hello"))
		return heard("hello")
	})
	after := monitorOn(t, announcer) // a store without a cache
	log, err := checks.Collect(after.Project(survivor.ProjectID).Pings(t.Context(), survivor.ID, checks.PingQuery{}))
	must(t, err)
	var agents []string
	for _, p := range log {
		agents = append(agents, p.UserAgent)
	}
	if diff := cmp.Diff([]string{"new", "kept"}, agents); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	for _, one := range []*monitor.Monitor{mon, after} {
		c, err := one.Check(t.Context(), survivor.ID)
		if err != nil || c.NPings != 2 || c.Stored != checks.StatusUp {
			t.Errorf("the check is %s with %d pings, want up with 2; error %v", c.Stored, c.NPings, err)
		}
	}
}

// listen listens again and again until the test ends, and returns whether it has heard a message.
func listen(t *testing.T, db dbtest.DB) (heard func(message string) bool) {
	t.Helper()
	var messages sync.Map
	store := db.Open(t).Database()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			_ = store.Listen(ctx, func(message string) { messages.Store(message, true) })
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return func(message string) bool {
		_, found := messages.Load(message)
		return found
	}
}

// catchUp waits until the standby of a primary has everything.
func catchUp(t *testing.T, primary *pgserver.Server) {
	t.Helper()
	admin := dbtest.DB{Name: "postgres", URL: primary.URL("postgres")}.Bun(t)
	eventually(t, "the standby has everything", func() (done bool) {
		const caughtUp = "SELECT count(*) > 0 FROM pg_stat_replication WHERE flush_lsn >= pg_current_wal_lsn()"
		must(t, admin.QueryRowContext(t.Context(), caughtUp).Scan(&done))
		return done
	})
}

// detach stops the replication to a standby.
func detach(t *testing.T, primary, standby *pgserver.Server) {
	t.Helper()
	must(t, standby.Set(t.Context(), "primary_conninfo", ""))
	admin := dbtest.DB{Name: "postgres", URL: primary.URL("postgres")}.Bun(t)
	eventually(t, "the standby is detached", func() (done bool) {
		must(t, admin.QueryRowContext(t.Context(), "SELECT count(*) = 0 FROM pg_stat_replication").Scan(&done))
		return done
	})
}
