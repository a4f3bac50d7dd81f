package sqlstore_test

import (
	"context"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// How many pings of a check the plans keep (server/API.md section 4.8).
const freePings, paidPings = 100, 1000

// recordWith runs fn on locked checks and saves them, in one transaction. It leaves out checks that do not exist. This is how
// a monitor writes a batch of pings; tests and benchmarks of a store do the same without one.
func recordWith(ctx context.Context, s store.Store, ids []uuid.UUID, fn func(locked []*store.Locked) error) error {
	return s.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, ids)
		if err == nil {
			err = fn(locked)
		}
		if err != nil {
			return err
		}
		return tx.SaveChecks(ctx, locked)
	})
}

// receive applies a signal that was received at an instant to a locked check and returns its log entry.
func receive(l *store.Locked, s pings.Signal, at time.Time) pings.Ping {
	c, ping, effects, _ := l.Check.Ping(s, at)
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
	return ping
}

// noon is the time at which tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// fixture is a store with one project.
type fixture struct {
	*sqlstore.Database
	project checks.Project
}

func newFixture(t *testing.T, s *sqlstore.Database) fixture {
	t.Helper()
	f := fixture{Database: s}
	f.project = f.addProject(t, newProject("first"))
	return f
}

func newProject(name string) checks.Project {
	return checks.Project{
		ID: uuid.New(), Name: name, Account: "default", Plan: "paid",
		BadgeKey: "badge-" + name, PingKey: "ping-" + name, CreatedAt: noon,
	}
}

func (f fixture) addProject(t *testing.T, p checks.Project) checks.Project {
	t.Helper()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveProject(ctx, p) })
	return p
}

func (f fixture) update(t *testing.T, fn func(ctx context.Context, tx store.Tx) error) {
	t.Helper()
	must(t, f.Update(t.Context(), fn))
}

// create adds a check to the fixture's project.
func (f fixture) create(t *testing.T, spec checks.Spec) checks.Check {
	t.Helper()
	c, err := checks.New(f.project.ID, spec, noon)
	must(t, err)
	f.update(t, func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, c) })
	return c
}

func (f fixture) createMany(t *testing.T, n int) (ids []uuid.UUID) {
	t.Helper()
	for range n {
		ids = append(ids, f.create(t, checks.Spec{}).ID)
	}
	return ids
}

func insertCheck(ctx context.Context, tx store.Tx, c checks.Check) error {
	return tx.SaveChecks(ctx, []*store.Locked{{Check: c}})
}

// edit locks a check, runs fn on it and saves it.
func (f fixture) edit(ctx context.Context, id uuid.UUID, fn func(l *store.Locked) error) error {
	return f.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err == nil {
			err = fn(l)
		}
		if err != nil {
			return err
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

func (f fixture) ping(t *testing.T, id uuid.UUID, s pings.Signal, at time.Time) (ping pings.Ping) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		ping = receive(l, s, at)
		return nil
	}))
	return ping
}

// pingMany records success pings in one transaction.
func (f fixture) pingMany(t *testing.T, id uuid.UUID, n int) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		for range n {
			receive(l, pings.Signal{}, noon)
		}
		return nil
	}))
}

func (f fixture) pause(t *testing.T, id uuid.UUID, at time.Time) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		l.Pause(at)
		return nil
	}))
}

func (f fixture) assign(t *testing.T, id uuid.UUID, channelIDs ...uuid.UUID) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		l.Channels, l.SettingsChanged = channelIDs, true
		return nil
	}))
}

func (f fixture) check(t *testing.T, id uuid.UUID) checks.Check {
	t.Helper()
	list, err := f.Checks(t.Context(), store.CheckFilter{ID: &id})
	if err != nil || len(list) != 1 {
		t.Fatalf("found %d checks, want 1; error %v", len(list), err)
	}
	return list[0]
}

// gone fails the test if the check exists.
func (f fixture) gone(t *testing.T, id uuid.UUID) {
	t.Helper()
	if list, err := f.Checks(t.Context(), store.CheckFilter{ID: &id}); err != nil || len(list) != 0 {
		t.Errorf("found %d checks, want none; error %v", len(list), err)
	}
}

// list returns the checks of the fixture's project.
func (f fixture) list(t *testing.T) []checks.Check {
	t.Helper()
	list, err := f.Checks(t.Context(), store.CheckFilter{ProjectID: &f.project.ID})
	must(t, err)
	return list
}

// log returns the newest 1,000 pings of a check, newest first.
func (f fixture) log(t *testing.T, id uuid.UUID) []pings.Ping {
	t.Helper()
	return f.pings(t, store.PingQuery{Checks: []uuid.UUID{id}, Limit: 1000})[id]
}

func (f fixture) pings(t *testing.T, q store.PingQuery) map[uuid.UUID][]pings.Ping {
	t.Helper()
	logs, err := f.Pings(t.Context(), q)
	must(t, err)
	return logs
}

// transitions returns the transitions and pauses of checks from an instant on.
func (f fixture) transitions(t *testing.T, since time.Time, ids ...uuid.UUID) map[uuid.UUID][]checks.Transition {
	t.Helper()
	all, err := f.Events(t.Context(), store.EventQuery{Checks: ids, From: since})
	must(t, err)
	return transitionsOf(all)
}

func transitionsOf(all map[uuid.UUID][]checks.Event) map[uuid.UUID][]checks.Transition {
	lists := make(map[uuid.UUID][]checks.Transition)
	for id, events := range all {
		for _, e := range events {
			lists[id] = append(lists[id], e.Transition)
		}
	}
	return lists
}

// flips returns the flips of a check in a window, in the reverse order of their commits.
func (f fixture) flips(t *testing.T, id uuid.UUID, from, until time.Time) (list []flips.Flip) {
	t.Helper()
	all, err := f.Events(t.Context(), store.EventQuery{Checks: []uuid.UUID{id}, From: from, Until: until})
	must(t, err)
	events := all[id]
	slices.SortFunc(events, func(a, b checks.Event) int { return int(b.ID - a.ID) })
	for _, e := range events {
		if e.ID != 0 {
			list = append(list, e.Flip())
		}
	}
	return list
}

func (f fixture) addChannel(t *testing.T, name string, at time.Time) channels.Channel {
	t.Helper()
	c := channels.Channel{
		ID: uuid.New(), ProjectID: f.project.ID, Kind: "email", Name: name,
		Settings: map[string]string{"to": "ops@example.org"}, CreatedAt: at,
	}
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, c) })
	return c
}

// same compares values. It ignores what a check only keeps for speed, and whether an empty slice is nil.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func hashOf(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// writer returns what makes changes in a transaction, of which the audit log has no entry.
func writer(ctx context.Context, tx store.AdminTx) store.Writer {
	w, err := tx.Change(ctx)
	if err != nil {
		panic(err)
	}
	return w
}
