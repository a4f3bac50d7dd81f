package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// faults are what an administrator or a broken disk does to a database on PostgreSQL, and how it is mended. APP is the role of
// the program, and DBNAME the database. The statements run in another database.
var faults = []struct{ name, do, undo string }{
	{"revoked", "REVOKE INSERT ON rollcall_pings FROM APP", "GRANT INSERT ON rollcall_pings TO APP"},
	{"no login", "ALTER ROLE APP NOLOGIN; KILL", "ALTER ROLE APP LOGIN"},
	{"renamed log", "ALTER TABLE rollcall_pings RENAME TO lost", "ALTER TABLE lost RENAME TO rollcall_pings"},
	{"renamed states", "ALTER TABLE rollcall_states RENAME TO lost", "ALTER TABLE lost RENAME TO rollcall_states"},
	{"renamed column", "ALTER TABLE rollcall_pings RENAME COLUMN ua TO lost", "ALTER TABLE rollcall_pings RENAME COLUMN lost TO ua"},
	{"no database", "KILL; ALTER DATABASE DBNAME RENAME TO DBNAME_lost", "ALTER DATABASE DBNAME_lost RENAME TO DBNAME"},
	{"corrupt page", "TRIGGER XX001", "DROP TRIGGER broken ON rollcall_pings"},
	{"lost worker", "TRIGGER XX000", "DROP TRIGGER broken ON rollcall_pings"},
	{"unknown", "TRIGGER P0001", "DROP TRIGGER broken ON rollcall_pings"},
	{"all refused", "TRIGGER 23514", "DROP TRIGGER broken ON rollcall_pings"},
	{"new column", "ALTER TABLE rollcall_pings ADD lost int NOT NULL DEFAULT 0; ALTER TABLE rollcall_pings ALTER lost DROP DEFAULT",
		"ALTER TABLE rollcall_pings DROP lost"},
}

// faulty is a database on PostgreSQL, with a store of a role that may not do everything.
type faulty struct {
	setup
	store        database
	admin, other *bun.DB // in the database, and in another
	app, name    string
}

func newBroken(t *testing.T) *faulty {
	db := dbtest.PostgreSQL(t).Plain(t)
	u, err := url.Parse(db.URL)
	must(t, err)
	b := &faulty{name: strings.TrimPrefix(u.Path, "/")}
	other := *u
	other.Path = "/postgres"
	b.other = dbtest.DB{URL: other.String()}.Bun(t)
	b.app = b.name + "_app"
	b.admin = db.Bun(t)
	b.admin.SetMaxIdleConns(0)
	db.Open(t).Close()
	b.exec(t, b.admin, "CREATE ROLE APP LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO APP; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO APP")
	u.User = url.User(b.app)
	app, err := postgres.Open(t.Context(), u.String())
	must(t, err)
	t.Cleanup(func() { app.Close() })
	b.store = database{app.Contract().(store.Store)}
	b.setup = newSetup(t, b.store, checks.ProjectSpec{Name: "p"})
	return b
}

func (b *faulty) exec(t *testing.T, db *bun.DB, text string) {
	t.Helper()
	text = strings.NewReplacer("APP", b.app, "DBNAME", b.name, "KILL",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+b.name+"' AND pid <> pg_backend_pid()").Replace(text)
	for statement := range strings.SplitSeq(text, ";") {
		if code, ok := strings.CutPrefix(statement, "TRIGGER "); ok {
			statement = fmt.Sprintf(`CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				RAISE EXCEPTION 'server closed the connection unexpectedly' USING ERRCODE = '%s'%s END $$`, code, ";")
			_, err := db.DB.ExecContext(t.Context(), statement)
			must(t, err)
			statement = "CREATE TRIGGER broken BEFORE INSERT ON rollcall_pings FOR EACH ROW EXECUTE FUNCTION broken()"
		}
		_, err := db.DB.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// in returns where the statements of a fault run.
func (b *faulty) in(statements string) *bun.DB {
	if strings.Contains(statements, "ROLE") || strings.Contains(statements, "DATABASE") {
		return b.other
	}
	return b.admin
}

// TestFaultsOfTheDatabase breaks a database in many ways. Without a spool every ping gets ErrUnavailable, by its check and by its
// slug, and the database is not ready. With one, pings are taken, and recorded when the fault is mended: none is dropped.
func TestFaultsOfTheDatabase(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			b := newBroken(t)
			spec := everyMinute()
			spec.Slug = new("job")
			list := []checks.Check{b.create(t, spec), b.create(t, everyMinute()), b.create(t, everyMinute()), b.create(t, everyMinute())}
			for _, c := range list {
				b.ping(t, c.ID, pings.Success)
			}
			queue, err := spool.Open(t.TempDir(), nil)
			must(t, err)
			defer queue.Close()
			spooling := b.with(t, b.store, monitor.Config{Spool: queue})
			b.exec(t, b.in(fault.do), fault.do)
			failed := func() {
				t.Helper()
				_, err := b.Ping(t.Context(), list[0].ID, pings.Signal{})
				_, _, bySlug := b.PingSlug(t.Context(), b.project.PingKey, "job", true, pings.Signal{})
				if !errors.Is(err, checks.ErrUnavailable) || !errors.Is(bySlug, checks.ErrUnavailable) {
					t.Errorf("without a spool: errors %v and, by slug, %v", err, bySlug)
				}
			}
			failed()
			b.clock.Advance(2 * time.Second)
			failed()
			if got := problems(b.Ready(t.Context())); got["database"] == "" {
				t.Errorf("ready after pings have failed for two seconds: %v", got)
			}
			for range 5 {
				for _, c := range list {
					_, err := spooling.Ping(t.Context(), c.ID, pings.Signal{})
					must(t, err)
				}
				_, _, err := spooling.PingSlug(t.Context(), b.project.PingKey, "job", false, pings.Signal{})
				must(t, err)
			}
			down := 0
			turn := func(times int, each time.Duration) (err error) {
				for range times {
					b.clock.Advance(each)
					_, err = spooling.Replay(t.Context())
					n, _ := spooling.Sweep(t.Context())
					down += n
				}
				return err
			}
			for range 3 {
				if err := turn(6, 10*time.Second); !errors.Is(err, checks.ErrUnavailable) {
					t.Fatalf("replay: %v", err)
				}
				for _, c := range list {
					_, err := spooling.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
					must(t, err)
				}
			}
			ready := spooling.Ready(t.Context())
			if got := problems(ready); len(got) > 0 || !strings.HasSuffix(ready[0].Detail, "; pings go to the spool") || ready[0].Err == nil {
				t.Errorf("ready with a spool: %+v", ready)
			}
			b.exec(t, b.in(fault.undo), fault.undo)
			must(t, turn(10, time.Second))
			for i, c := range list {
				if n := b.nPings(t, c.ID); n != int64(9+5*max(0, 1-i)) {
					t.Errorf("check %d counts %d pings", i, n)
				}
			}
			if down > 0 {
				t.Errorf("%d checks went down, although their jobs reported in time", down)
			}
			if stats, _ := spooling.Spooled(); stats != (monitor.SpoolStats{}) {
				t.Errorf("the spool: %+v", stats)
			}
			if got := problems(append(spooling.Ready(t.Context()), b.Ready(t.Context())...)); len(got) > 0 {
				b.clock.Advance(time.Minute) // without traffic, a probe decides
				if got := problems(b.Ready(t.Context())); len(got) > 0 {
					t.Errorf("ready afterwards: %v", got)
				}
			}
		})
	}
}

// TestRefusedData lets the database refuse the data of pings but not those of a probe: somebody has added a constraint, or made a
// column narrower. Without a spool every ping gets ErrUnavailable. With one, pings wait until the constraint is gone: none is lost.
func TestRefusedData(t *testing.T) {
	const others = "; DROP TRIGGER broken ON rollcall_pings; CREATE TRIGGER broken BEFORE INSERT ON rollcall_pings FOR EACH ROW " +
		"WHEN (NEW.check_id <> 0) EXECUTE FUNCTION broken()"
	const undo = "DROP TRIGGER broken ON rollcall_pings"
	for do, undo := range map[string]string{
		"TRIGGER 22003" + others: undo, "TRIGGER 23514" + others: undo, "TRIGGER 23505" + others: undo,
		"ALTER TABLE rollcall_pings ADD CONSTRAINT short CHECK (length(ua) < 5)": "ALTER TABLE rollcall_pings DROP CONSTRAINT short",
		"ALTER TABLE rollcall_pings ALTER ua TYPE varchar(5)":                    "ALTER TABLE rollcall_pings ALTER ua TYPE text",
	} {
		t.Run(do, func(t *testing.T) {
			b := newBroken(t)
			c := b.create(t, checks.Spec{})
			queue, err := spool.Open(t.TempDir(), nil)
			must(t, err)
			defer queue.Close()
			mon := b.with(t, b.store, monitor.Config{Spool: queue})
			b.exec(t, b.admin, do)
			for i := range 3 {
				signal := pings.Signal{UserAgent: fmt.Sprint("curl/8.14 ", i)}
				if _, err := b.Ping(t.Context(), c.ID, signal); !errors.Is(err, checks.ErrUnavailable) || errors.Is(err, checks.ErrExists) {
					t.Errorf("without a spool: error %v", err)
				}
				_, err := mon.Ping(t.Context(), c.ID, signal)
				must(t, err)
				for range 5 {
					_, _ = mon.Replay(t.Context())
				}
				b.clock.Advance(time.Minute)
			}
			if stats, _ := mon.Spooled(); stats.Dropped > 0 {
				t.Errorf("out of the spool: %+v", stats)
			}
			b.exec(t, b.admin, undo)
			for range 20 {
				_, _ = mon.Replay(t.Context())
				b.clock.Advance(time.Second)
			}
			if stats, _ := mon.Spooled(); stats != (monitor.SpoolStats{}) || b.nPings(t, c.ID) != 3 {
				t.Errorf("afterwards the spool has %+v, and the check counts %d pings", stats, b.nPings(t, c.ID))
			}
			_, err = b.Ping(t.Context(), c.ID, pings.Signal{UserAgent: "curl/8.14"})
			must(t, err)
		})
	}
}

// TestStuckPings has pings of one check fail while those of others are recorded. They wait, in their order and with the later
// ones of their check, and hold back no deadline of another.
func TestStuckPings(t *testing.T) {
	eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
		m, bad, third := s.list[0], s.create(t, checks.Spec{}), s.create(t, everyMinute())
		fails := true
		m.store.Store = unsaved{m.store.Store, func(_ context.Context, locked []*store.Locked) error {
			if fails && slices.ContainsFunc(locked, func(l *store.Locked) bool { return l.ID == bad.ID }) {
				return errUnsaved
			}
			return nil
		}}
		s.cut(true)
		for i := range 3 {
			send(t, m, bad.ID, fmt.Sprint("bad ", i))
			send(t, m, s.check.ID, fmt.Sprint("good ", i))
			send(t, m, third.ID, "third")
			s.clock.Advance(time.Second)
		}
		s.cut(false)
		for range 7 {
			s.turn(t)
		}
		s.logIs(t, "good 0 0", "good 1 1", "good 2 2")
		if stats, _ := m.Spooled(); stats.Stuck != 3 || stats.Dropped != 0 || !stats.Oldest.IsZero() {
			t.Errorf("the spool: %+v", stats)
		}
		send(t, m, s.check.ID, "direct")
		send(t, m, bad.ID, "bad 3")
		if down := s.wait(t, 150); down != 2 {
			t.Errorf("%d checks went down, want 2", down)
		}
		if stats, _ := m.Spooled(); stats.Stuck != 4 {
			t.Errorf("the spool: %+v", stats)
		}
		fails = false
		send(t, m, bad.ID, "bad 4")
		s.wait(t, 12)
		send(t, m, bad.ID, "bad 5")
		s.logOf(t, bad.ID, "bad 0", "bad 1", "bad 2", "bad 3", "bad 4", "bad 5")
		if stats, _ := m.Spooled(); stats != (monitor.SpoolStats{}) {
			t.Errorf("the spool: %+v", stats)
		}
	})
}

// logOf compares the user agents of a check's pings, in the order in which they were recorded.
func (s *spoolers) logOf(t *testing.T, id uuid.UUID, want ...string) {
	t.Helper()
	list, err := s.Pings(t.Context(), id)
	must(t, err)
	var got []string
	for _, p := range slices.Backward(list) {
		got = append(got, p.UserAgent)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestPoisonedAlone has the pings of some checks fail while no other pings arrive. A probe shows that the database works, so
// their pings wait, and the deadlines of the others are judged.
func TestPoisonedAlone(t *testing.T) {
	for _, poisoned := range []int{1, 2, 5} {
		eachSpoolers(t, 1, func(t *testing.T, s *spoolers) {
			m, fails, bad := s.list[0], true, make(map[uuid.UUID]bool)
			m.store.Store = unsaved{m.store.Store, func(_ context.Context, locked []*store.Locked) error {
				if fails && slices.ContainsFunc(locked, func(l *store.Locked) bool { return bad[l.ID] }) {
					return errUnsaved
				}
				return nil
			}}
			for range poisoned {
				bad[s.create(t, checks.Spec{}).ID] = true
			}
			s.cut(true)
			for _, name := range []string{"one", "two"} {
				for id := range bad {
					send(t, m, id, name)
				}
				s.clock.Advance(time.Second)
			}
			s.cut(false)
			down := 0
			for range 153 { // each turn finds out about one of them
				down += s.wait(t, 1)
			}
			if down != 1 {
				t.Errorf("with %d poisoned: %d checks went down, want 1", poisoned, down)
			}
			if stats, _ := m.Spooled(); stats.Stuck != 2*poisoned || stats.Dropped != 0 || !stats.Oldest.IsZero() {
				t.Errorf("with %d poisoned: %+v", poisoned, stats)
			}
			fails = false
			s.wait(t, 12)
			for id := range bad {
				s.logOf(t, id, "one", "two")
			}
		})
	}
}

// TestSlugsCannotBeFound has only pings by slug, whose checks cannot be looked up: the database is not ready.
func TestSlugsCannotBeFound(t *testing.T) {
	b := newBroken(t)
	spec := everyMinute()
	spec.Slug = new("job")
	b.create(t, spec)
	ready := func() string { return problems(b.Ready(t.Context()))["database"] }
	ping := func() error {
		_, _, err := b.PingSlug(t.Context(), b.project.PingKey, "job", false, pings.Signal{})
		return err
	}
	must(t, ping())
	b.exec(t, b.admin, "REVOKE SELECT ON rollcall_checks FROM APP")
	for range 2 {
		if err := ping(); !errors.Is(err, checks.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		b.clock.Advance(2 * time.Second)
	}
	if ready() == "" {
		t.Error("ready, although no ping by slug is recorded")
	}
	b.exec(t, b.admin, "GRANT SELECT ON rollcall_checks TO APP")
	must(t, ping())
	if got := ready(); got != "" {
		t.Errorf("ready afterwards: %s", got)
	}
}
