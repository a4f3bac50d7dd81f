package monitor_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// server is one of several monitors on a database.
type server struct {
	verbs
	store *sqlstore.Store
}

func newServer(t testing.TB, s *sqlstore.Store) server {
	t.Helper()
	mon, err := monitor.New(s, &monitor.Config{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	return server{on(mon), s}
}

// listens subscribes, and waits until the server hears of others.
func (s server) listens(t testing.TB) <-chan checks.Change {
	t.Helper()
	changes := s.Changes(t.Context())
	hears(t, changes, "at first", checks.Change{All: true})
	return changes
}

// soon is much longer than a change of another server takes.
const soon = 2 * time.Minute

// hears skips changes until one that is wanted, or is All.
func hears(t testing.TB, changes <-chan checks.Change, what string, wanted ...checks.Change) {
	t.Helper()
	timeout := time.After(soon)
	var got checks.Change
	equal := func(want checks.Change) bool { return cmp.Equal(got, want) }
	for !got.All && !slices.ContainsFunc(wanted, equal) {
		select {
		case got = <-changes:
		case <-timeout:
			t.Fatalf("%s: not heard within %v, the last change is %+v", what, soon, got)
		}
	}
	if !slices.ContainsFunc(wanted, equal) {
		t.Errorf("%s (-want +got):\n%s", what, cmp.Diff(wanted[0], got))
	}
}

// TestChangesOfOthers has two servers on a database. On PostgreSQL one hears what the other has changed; on SQLite, that
// something has changed.
func TestChangesOfOthers(t *testing.T) {
	t.Parallel() // it waits
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		here, there := newServer(t, db.Open(t)), newServer(t, db.Open(t))
		changes := here.listens(t)
		want := func(c checks.Change) checks.Change {
			if db.Path() != "" {
				return checks.Change{All: true}
			}
			return c
		}
		project, err := there.OpenProject(t.Context(), "p")
		must(t, err)
		hears(t, changes, "new project", want(ofProject(project.ID, checks.ChangedProject)))
		c, err := there.Create(t.Context(), project.ID, everyMinute())
		must(t, err)
		hears(t, changes, "new check", want(ofChecks(project.ID, checks.ChangedSettings, c.ID)))
		for range 3 { // the last one goes with the next announcement
			_, err = there.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log})
			must(t, err)
		}
		hears(t, changes, "pings", want(ofChecks(project.ID, checks.ChangedLog, c.ID)))
		_, err = there.Pause(t.Context(), c.ID)
		must(t, err)
		hears(t, changes, "pause", want(ofChecks(project.ID, checks.ChangedStatus, c.ID)),
			want(ofChecks(project.ID, checks.ChangedStatus|checks.ChangedLog, c.ID))) // merged with a ping
	})
}

// TestOwnChangesDoNotEcho changes much on a server. Its subscriber hears precisely what, and never that anything may have
// changed.
func TestOwnChangesDoNotEcho(t *testing.T) {
	t.Parallel() // it waits
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		here := newServer(t, db.Open(t))
		changes := here.listens(t)
		project, err := here.OpenProject(t.Context(), "p")
		must(t, err)
		c, err := here.Create(t.Context(), project.ID, everyMinute())
		must(t, err)
		body := make([]byte, 1<<20) // some checkpoints
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
			_, err := here.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log, Body: body})
			must(t, err)
			_, err = here.Update(t.Context(), c.ID, checks.Spec{Channels: new("nobody")})
			if err == nil {
				t.Fatal("an unknown channel was found")
			}
			_, err = here.Prune(t.Context())
			must(t, err)
			select {
			case change := <-changes:
				if change.All || len(change.Projects) != 1 {
					t.Fatalf("change %+v", change)
				}
			default:
			}
		}
	})
}

// TestChangesOfProcess changes a key in a process that ends at once.
func TestChangesOfProcess(t *testing.T) {
	if url := os.Getenv(shortLivedVar); url != "" {
		shortLived(t, url)
		return
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		here := newServer(t, db.Open(t))
		project, err := here.OpenProject(t.Context(), "p")
		must(t, err)
		changes := here.listens(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChangesOfProcess$")
		cmd.Env = append(os.Environ(), shortLivedVar+"="+db.URL)
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		want := ofProject(project.ID, checks.ChangedProject)
		if db.Path() != "" {
			want = checks.Change{All: true}
		}
		hears(t, changes, "new key", want)
	})
}

const shortLivedVar = "ROLLCALL_TEST_SHORT_LIVED"

// shortLived creates a key and exits.
func shortLived(t *testing.T, url string) {
	db := dbtest.DB{URL: url}
	mon := newServer(t, db.Open(t))
	project, err := mon.Projects().ByName(t.Context(), "p")
	must(t, err)
	_, _, err = mon.CreateKey(t.Context(), project.ID, checks.ReadOnly)
	must(t, err)
	os.Exit(0)
}

// TestListenerIsTerminated ends the connections of a listening server, as a restart of PostgreSQL does. The server hears
// that it may have missed something, and then hears again.
func TestListenerIsTerminated(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	here, there := newServer(t, db.Open(t)), newServer(t, db.Open(t))
	changes := here.listens(t)
	admin := db.Bun(t)
	_, err := admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
		WHERE datname = current_database() AND query LIKE 'LISTEN %'`)
	must(t, err)
	hears(t, changes, "after the end of the connection", checks.Change{All: true})
	project, err := there.OpenProject(t.Context(), "p")
	must(t, err)
	hears(t, changes, "new project", ofProject(project.ID, checks.ChangedProject))
}

// TestListensWhileSubscribed counts the connections that listen.
func TestListensWhileSubscribed(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	here := newServer(t, db.Open(t))
	admin := db.Bun(t)
	listening := func(want int) {
		t.Helper()
		for n := -1; n != want; { // the server notices the end of a connection in its own time
			must(t, admin.NewRaw(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`).Scan(t.Context(), &n))
			if n > 1 {
				t.Fatalf("%d connections listen", n)
			}
		}
	}
	listening(0)
	ctx, stop := context.WithCancel(t.Context())
	for range 100 {
		here.Changes(ctx)
	}
	hears(t, here.Changes(ctx), "at first", checks.Change{All: true})
	listening(1)
	stop()
	listening(0)
	here.listens(t)
	must(t, here.store.Close())
	listening(0)
}

// TestManyChangesOfOthers announces more checks than a message can name.
func TestManyChangesOfOthers(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	here, there := newServer(t, db.Open(t)), newServer(t, db.Open(t))
	project, err := there.OpenProject(t.Context(), "p")
	must(t, err)
	ids, added := make([]uuid.UUID, 5000), make([]*store.Locked, 5000)
	for i := range ids {
		c, err := checks.New(project.ID, everyMinute(), there.Now())
		must(t, err)
		ids[i], added[i] = c.ID, &store.Locked{Check: c}
	}
	must(t, there.store.Contract().(store.Store).Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.SaveChecks(ctx, added) }))
	changes := here.listens(t)
	together(len(ids), func(i int) {
		if _, err := there.Ping(t.Context(), ids[i], pings.Signal{Kind: pings.Log}); err != nil {
			t.Error(err)
		}
	})
	hears(t, changes, "5,000 pings", ofProject(project.ID, checks.ChangedLog))
}

// TestSchemas has two stores in schemas of one database. They do not hear each other.
func TestSchemas(t *testing.T) {
	db := dbtest.PostgreSQL(t).Plain(t)
	admin := db.Bun(t)
	var servers []server
	for _, name := range []string{"one", `"Two; x"`} {
		_, err := admin.ExecContext(t.Context(), "CREATE SCHEMA "+name)
		must(t, err)
		path := strings.NewReplacer(`"`, "%22", " ", "%20", ";", "%3B").Replace(name)
		servers = append(servers, newServer(t, dbtest.DB{Name: "postgres", URL: db.URL + "?search_path=" + path}.Open(t)))
	}
	changes := servers[0].listens(t)
	_, err := servers[1].OpenProject(t.Context(), "other schema")
	must(t, err)
	project, err := servers[0].OpenProject(t.Context(), "p")
	must(t, err)
	hears(t, changes, "own project", ofProject(project.ID, checks.ChangedProject))
	another := newServer(t, servers[0].store)
	_, _, err = another.CreateKey(t.Context(), project.ID, checks.ReadOnly)
	must(t, err)
	hears(t, changes, "a key, by another monitor on the store", ofProject(project.ID, checks.ChangedProject))
}

// TestPollsWithoutListener has a pool of the program's own, whose driver has no Listen. The server hears that something
// has changed.
func TestPollsWithoutListener(t *testing.T) {
	t.Parallel() // it waits
	db := dbtest.PostgreSQL(t)
	there := newServer(t, db.Open(t))
	pool, err := sql.Open("pgx", db.URL)
	must(t, err)
	defer pool.Close()
	polls(t, pool, there)
}

// deafDriver is a driver behind a connection pooler: LISTEN succeeds, and nothing arrives.
type deafDriver struct{ driver.Driver }

func (deafDriver) Listen(ctx context.Context, _ string, ready func(), _ func(string)) error {
	ready()
	<-ctx.Done()
	return ctx.Err()
}

type deafConnector struct{ driver.Connector }

func (c deafConnector) Driver() driver.Driver { return deafDriver{c.Connector.Driver()} }

// TestPollsBehindPooler has a driver to which no notification arrives. It takes 5 seconds.
func TestPollsBehindPooler(t *testing.T) {
	t.Parallel() // it waits
	db := dbtest.PostgreSQL(t)
	there := newServer(t, db.Open(t))
	config, err := pgx.ParseConfig(db.URL)
	must(t, err)
	pool := sql.OpenDB(deafConnector{stdlib.GetConnector(*config)})
	defer pool.Close()
	polls(t, pool, there)
}

// polls has a server on a pool that cannot listen.
func polls(t *testing.T, pool *sql.DB, there server) {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), bun.NewDB(pool, pgdialect.New()))
	must(t, err)
	here := newServer(t, store)
	changes := here.listens(t)
	own, err := here.OpenProject(t.Context(), "own")
	must(t, err)
	hears(t, changes, "own project", ofProject(own.ID, checks.ChangedProject))
	_, err = there.OpenProject(t.Context(), "theirs")
	must(t, err)
	hears(t, changes, "project of another server", checks.Change{All: true})
	for i := range 20 {
		_, _, err := here.CreateKey(t.Context(), own.ID, checks.Scopes()[i%4])
		must(t, err)
		select {
		case change := <-changes:
			if change.All {
				t.Error("an own change comes back")
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// TestStoreCloses ends listening, so that the file can be removed.
func TestStoreCloses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		here := db.Open(t)
		listening, ended := make(chan bool), make(chan error, 1)
		heard := sync.OnceFunc(func() { close(listening) })
		go func() { ended <- here.Contract().(store.Store).Listen(t.Context(), func(string) { heard() }) }()
		<-listening
		must(t, here.Close())
		if err := <-ended; !errors.Is(err, store.ErrClosed) {
			t.Errorf("listening to a store that was closed: error %v", err)
		}
		if err := here.Contract().(store.Store).Listen(t.Context(), func(string) {}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("listening to a closed store: error %v", err)
		}
		want := store.ErrClosed
		if db.Path() != "" {
			want = errors.ErrUnsupported
		}
		if err := here.Contract().(store.Store).Announce(t.Context(), "x"); !errors.Is(err, want) {
			t.Errorf("announcing to a closed store: error %v, want %v", err, want)
		}
	})
}

// TestHostileMessages sends what no monitor has written.
func TestHostileMessages(t *testing.T) {
	db := dbtest.PostgreSQL(t)
	here, there := newServer(t, db.Open(t)), newServer(t, db.Open(t))
	changes := here.listens(t)
	for i, message := range []string{"x", "AQ", "////", strings.Repeat("A", 7900), "AQAAAAAAAAAAAAAA", "probe me", fmt.Sprint(strings.Repeat("/", 100))} {
		must(t, there.store.Contract().(store.Store).Announce(t.Context(), message))
		if message == "probe me" {
			continue
		}
		hears(t, changes, fmt.Sprint("message ", i), checks.Change{All: true})
	}
	project, err := there.OpenProject(t.Context(), "p")
	must(t, err)
	hears(t, changes, "new project", ofProject(project.ID, checks.ChangedProject))
}
