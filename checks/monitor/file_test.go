package monitor_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// copyFile replaces a file by a copy of it.
func copyFile(t *testing.T, path string) {
	t.Helper()
	from, err := os.Open(path)
	must(t, err)
	defer from.Close()
	to, err := os.Create(path + ".copy")
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, errors.Join(err, to.Close()))
	must(t, os.Rename(path+".copy", path))
}

// TestReplacedFile replaces and removes the files of an open SQLite database and of a spool. Within a second no ping is
// acknowledged any more that would be gone at the next start, and the monitor is not ready and says what to do. Once the files
// are back, all works again.
func TestReplacedFile(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm", "spool.db"} {
		for _, copied := range []bool{false, true} {
			t.Run(suffix+map[bool]string{false: " removed", true: " replaced"}[copied], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testReplaced(t, suffix, copied) })
			})
		}
	}
}

func testReplaced(t *testing.T, suffix string, copied bool) {
	db, dir := dbtest.SQLite(t), t.TempDir()
	path, part := db.Path()+suffix, "database"
	config := monitor.Config{Logger: slog.New(slog.DiscardHandler)}
	away := &outage{Store: db.Open(t).Contract().(store.Store)}
	if suffix == "spool.db" {
		path, part = dir+"/"+suffix, "spool"
		queue, err := spool.Open(dir, nil)
		must(t, err)
		defer queue.Close()
		config.Spool = queue
	}
	mon, err := monitor.New(database{away}, &config)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mon.Run(ctx) }()
	defer func() { cancel(); <-done }()
	p, _, err := mon.Projects().Create(ctx, checks.ProjectSpec{Name: "p"})
	must(t, err)
	c, err := mon.Project(p.ID).Create(ctx, checks.Spec{})
	must(t, err)
	ping := func() error {
		_, err := mon.Ping(ctx, c.ID, pings.Signal{Kind: pings.Success})
		return err
	}
	time.Sleep(3 * time.Second)
	away.away.Store(part == "spool")
	must(t, ping())
	must(t, os.Link(path, path+".kept"))
	if copied {
		copyFile(t, path)
	} else {
		must(t, os.Remove(path))
	}
	time.Sleep(1500 * time.Millisecond)
	if err := ping(); !errors.Is(err, checks.ErrUnavailable) || !errors.Is(err, store.ErrReplaced) {
		t.Errorf("a ping: %v", err)
	}
	if got := problems(mon.Ready(ctx))[part]; !strings.Contains(got, "replaced or removed") || !strings.Contains(got, "stop the server") {
		t.Errorf("readiness of the %s: %q", part, got)
	}
	if got := problems(mon.Health(ctx))[part]; got == "" {
		t.Errorf("the %s is healthy", part)
	}
	must(t, os.Rename(path+".kept", path))
	time.Sleep(8 * time.Second)
	must(t, ping())
	if got := problems(mon.Ready(ctx)); len(got) > 0 {
		t.Errorf("afterwards: %v", got)
	}
}

// TestReadyAsPings has pings fail, to the database and to the spool, while probes succeed. The monitor says so after two
// seconds, and until a ping succeeds or, without traffic, a probe that writes.
func TestReadyAsPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dbtest.SQLite(t).Open(t)
		sick := &sick{Store: db.Contract().(store.Store)}
		pinged := &readable{sick, db.Contract().(store.Store)}
		queue := &fullSpool{memorySpool: memorySpool{}}
		plain, err := monitor.New(database{pinged}, &monitor.Config{})
		must(t, err)
		spooling, err := monitor.New(database{pinged}, &monitor.Config{Spool: queue})
		must(t, err)
		p, _, err := plain.Projects().Create(t.Context(), checks.ProjectSpec{Name: "p"})
		must(t, err)
		c, err := plain.Project(p.ID).Create(t.Context(), checks.Spec{})
		must(t, err)
		ping := func() (failed bool) {
			for _, mon := range []*monitor.Monitor{plain, spooling} {
				_, err := mon.Ping(t.Context(), c.ID, pings.Signal{})
				failed = failed || err != nil
			}
			return failed
		}
		is := func(when, database, spool string) {
			t.Helper()
			if got := problems(plain.Ready(t.Context()))["database"]; got != database {
				t.Errorf("%s: the database %q, want %q", when, got, database)
			}
			if got := problems(spooling.Ready(t.Context()))["spool"]; got != spool {
				t.Errorf("%s: the spool %q, want %q", when, got, spool)
			}
		}
		is("at first", "", "")
		sick.set(errors.New("disk full"), false, nil)
		queue.err = errors.New("disk full")
		ping()
		time.Sleep(2 * time.Second)
		ping()
		is("after two seconds", "does not record pings", "cannot be written")
		time.Sleep(6 * time.Second)
		is("without traffic, while a probe writes", "", "cannot be written")
		queue.err = nil
		is("when the spool can be written", "", "")
		ping()
		time.Sleep(3 * time.Second)
		ping()
		is("with traffic again", "does not record pings", "")
		sick.set(nil, false, nil)
		ping()
		is("once a ping has succeeded", "", "")
	})
}

// readable is a store whose transactions fail while its probes succeed.
type readable struct {
	*sick
	well store.Store
}

func (r *readable) Probe(ctx context.Context, write bool) error { return r.well.Probe(ctx, write) }

// fullSpool is a spool that cannot be written.
type fullSpool struct {
	memorySpool
	err error
}

func (f *fullSpool) Append(list [][]byte) error {
	if f.err != nil {
		return f.err
	}
	return f.memorySpool.Append(list)
}

func (f *fullSpool) Probe(write bool) error {
	if write {
		return f.err
	}
	return nil
}

func (f *fullSpool) Contract() any { return f }
