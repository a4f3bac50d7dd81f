package sqlstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestFailedTransactions runs random steps in a transaction that then fails or panics. Nobody sees a difference.
func TestFailedTransactions(t *testing.T) {
	dbtest.Draws(t, 10)
	rapid.Check(t, func(t *rapid.T) {
		db, err := sqlite.Open(context.Background(), sqlite.Memory)
		must(t, err)
		defer db.Close()
		w := newWorld(t, db.Database())
		before := text(t, w.dump(t))
		order := rapid.Permutation(w.steps()).Draw(t, "steps")
		steps := order[:rapid.IntRange(0, len(order)).Draw(t, "number")]
		failure := errors.New("no")
		panics := rapid.Bool().Draw(t, "panic")
		err = w.attempt(func(ctx context.Context, tx store.Tx) error {
			for _, s := range steps {
				// A step may find that an earlier one has deleted what it needs.
				if err := s.run(ctx, tx); err != nil && !errors.Is(err, checks.ErrNotFound) && !strings.Contains(err.Error(), "FOREIGN KEY") {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
			if panics {
				panic(failure)
			}
			return failure
		})
		if err != failure {
			t.Fatalf("Update returned %v, want the error of its function", err)
		}
		unchanged(t, "a failed transaction", before, w.dump(t))
		w.worksOn(t)
	})
}

// worksOn finds traces of a failed transaction that no reader sees.
func (w *world) worksOn(t tb) {
	t.Helper()
	ctx := context.Background()
	must(t, w.attempt(func(ctx context.Context, tx store.Tx) error {
		list, err := w.queued(ctx, tx)
		results := resultsOf(list...)
		for i := range results {
			results[i].Copies = []uuid.UUID{w.ops.ID, w.group.ID, w.pager}
		}
		return errors.Join(err, tx.RecordResults(ctx, noon, results))
	}))
	list, err := w.Deliveries(ctx, w.project, checks.DeliveryQuery{Limit: 100})
	must(t, err)
	uploads, err := w.ClaimBodies(ctx, store.UploadTask, noon.Add(time.Hour), noon.Add(2*time.Hour), 100)
	must(t, err)
	must(t, w.attempt(w.ping(w.second, pings.Signal{Kind: pings.Failure})))
	alerts, err := w.Deliveries(ctx, w.project, checks.DeliveryQuery{Check: w.second, Limit: 100})
	must(t, err)
	removed, err := w.PrunePings(ctx, nil)
	must(t, err)
	logs, err := w.Pings(ctx, store.PingQuery{Checks: []uuid.UUID{w.second}, Limit: 10})
	must(t, err)
	log := logs[w.second]
	if len(list) != 3*3 || len(alerts) != 2 || len(uploads) != 2 || removed != 0 || len(log) != 2 {
		t.Fatal(fmt.Sprintf("%d deliveries of 3 alerts to 3 channels, %d of 1 to 2, %d uploads of 2 bodies, %d of 0 pings removed, log %v",
			len(list), len(alerts), len(uploads), removed, log))
	}
}

// TestCancelledMeanwhile ends the context inside a transaction: Update returns its error, and nothing has changed.
func TestCancelledMeanwhile(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t).Database())
	before := text(t, w.dump(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := w.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		cancel()
		return w.steps()[0].run(ctx, tx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	unchanged(t, "a transaction whose context has ended", before, w.dump(t))
}

// TestCancelledBeforeNext ends the context inside a transaction on a file: the next one finds the connection that writes free.
func TestCancelledBeforeNext(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rollcall.db"))
	must(t, err)
	defer db.Close()
	w := newWorld(t, db.Database())
	for range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		err := w.Update(ctx, func(ctx context.Context, tx store.Tx) error {
			go cancel() // during a statement
			for ctx.Err() == nil {
				_, _ = tx.LockChecks(ctx, []uuid.UUID{w.first})
			}
			return ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want context.Canceled", err)
		}
		must(t, w.attempt(func(context.Context, store.Tx) error { return nil }))
	}
}

// TestReaders renames two checks in each transaction, and some transactions fail in between. Readers find equal names.
func TestReaders(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t).Database())
	failure := errors.New("no")
	rename := func(i int) error {
		return w.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			for _, id := range []uuid.UUID{w.first, w.second} {
				l, err := tx.LockCheck(ctx, id)
				if err != nil {
					return err
				}
				l.Name, l.SettingsChanged = fmt.Sprint(i), true
				if err := tx.SaveChecks(ctx, []*store.Locked{l}); err != nil {
					return err
				}
				if i%3 == 0 {
					return failure
				}
			}
			return nil
		})
	}
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 200 {
				if err := rename(n*200 + i); err != nil && err != failure {
					t.Error(err)
				}
				list, err := w.Checks(t.Context(), store.CheckFilter{ProjectID: &w.project})
				if err != nil || len(list) != 2 || list[0].Name != list[1].Name {
					t.Errorf("read %d checks, error %v, half of a transaction", len(list), err)
				}
			}
		})
	}
	wg.Wait()
}

// TestCopies overwrites what readers returned and what was passed, but for checks, which the store shares with its
// cache. The store keeps its own.
func TestCopies(t *testing.T) {
	w := newWorld(t, dbtest.Memory(t).Database())
	want := w.dump(t)
	keep := text(t, want)
	for _, passed := range []any{w.ops, w.group, w.signal} {
		scramble(reflect.ValueOf(passed))
	}
	unchanged(t, "what was passed", keep, w.dump(t))
	want.Due = nil
	scramble(reflect.ValueOf(want))
	unchanged(t, "what was returned", keep, w.dump(t))
	must(t, w.attempt(func(ctx context.Context, tx store.Tx) error {
		found, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &w.project})
		scramble(reflect.ValueOf(found))
		return err
	}))
	unchanged(t, "what a transaction returned", keep, w.dump(t))
}

// scramble zeroes the items of all slices and maps in a value, and what its pointers point to.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
			if v.Elem().CanSet() {
				v.Elem().SetZero()
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			scramble(v.MapIndex(key))
			v.SetMapIndex(key, reflect.Value{})
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	}
}

// tb is what *testing.T and *rapid.T share.
type tb interface {
	Helper()
	Fatal(...any)
}

// unchanged compares a store with what it was before something.
func unchanged(t tb, what, before string, after dump) {
	t.Helper()
	if diff := cmp.Diff(before, text(t, after)); diff != "" {
		t.Fatal(what + " changed the store (-before +after):\n" + diff)
	}
}

// text returns a dump as a text that shares nothing with it.
func text(t tb, d dump) string {
	t.Helper()
	text, err := json.MarshalIndent(d, "", " ")
	must(t, err)
	return string(text)
}

// world is a store with something of everything in it, and what was passed to it.
type world struct {
	*sqlstore.Database
	project, other, first, second, pager uuid.UUID
	key                                  checks.Key
	ops, group                           channels.Channel
	signal                               *pings.Signal
	uploads                              []store.BodyJob
}

func newWorld(t tb, db *sqlstore.Database) *world {
	t.Helper()
	w := &world{Database: db, project: uuid.New(), other: uuid.New(), first: uuid.New(), second: uuid.New(), pager: uuid.New()}
	w.key = checks.Key{ID: uuid.New(), ProjectID: w.project, Hash: [32]byte{1}, CreatedAt: noon}
	w.ops = channels.Channel{ID: uuid.New(), ProjectID: w.project, Kind: channels.Email, Name: "ops",
		Settings: map[string]string{"to": "a@example.org"}, Sources: map[string]string{"to": "$OPS"}, CreatedAt: noon}
	w.group = channels.Channel{ID: uuid.New(), ProjectID: w.project, Kind: channels.Group, Name: "all",
		Settings: map[string]string{"channels": w.ops.ID.String()}, CreatedAt: noon.Add(time.Second)}
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	w.signal = &pings.Signal{Kind: pings.Failure, RunID: run, ExitStatus: new(3), Body: []byte("a body")}
	must(t, w.attempt(func(ctx context.Context, tx store.Tx) error {
		for _, p := range []checks.Project{
			{ID: w.project, Name: "p", Account: "a", Plan: "paid", MaxChecks: 10, PingKey: "p1", BadgeKey: "b1", CreatedAt: noon},
			{ID: w.other, Name: "other", Account: "a", Plan: "free", PingKey: "p2", BadgeKey: "b2", CreatedAt: noon},
		} {
			must(t, writer(ctx, tx).SaveProject(ctx, p))
		}
		must(t, writer(ctx, tx).SaveKey(ctx, w.key))
		must(t, writer(ctx, tx).SaveChannel(ctx, w.ops))
		must(t, writer(ctx, tx).SaveChannel(ctx, w.group))
		must(t, writer(ctx, tx).SaveChannel(ctx, channels.Channel{ID: w.pager, ProjectID: w.project, CreatedAt: noon.Add(time.Hour)}))
		for id, slug := range map[uuid.UUID]string{w.first: "s", w.second: "u"} {
			c, err := checks.New(w.project, checks.Spec{ID: id, Slug: &slug, Tags: []string{"a", "b"}, QuietHours: new("0:00-1:00")}, noon)
			must(t, err)
			c.Channels = []uuid.UUID{w.ops.ID, w.group.ID}
			must(t, tx.SaveChecks(ctx, []*store.Locked{{Check: c}}))
		}
		return nil
	}))
	another := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	for i, s := range []pings.Signal{{Kind: pings.Start, RunID: run}, {Kind: pings.Start, RunID: another}, *w.signal, {}, *w.signal} {
		must(t, w.attempt(w.pingAt(noon.Add(time.Duration(i-4)*time.Second), w.first, s)))
	}
	must(t, w.attempt(w.ping(w.second, pings.Signal{})))
	var err error
	w.uploads, err = w.ClaimBodies(context.Background(), store.UploadTask, noon, noon.Add(time.Minute), 1)
	must(t, err)
	_, err = w.Setting(context.Background(), noon, store.Setting{Name: "name", Value: "value"})
	must(t, err)
	return w
}

// attempt runs a transaction, and returns the error that it panics with.
func (w *world) attempt(fn func(ctx context.Context, tx store.Tx) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if err, ok = r.(error); !ok {
				panic(r)
			}
		}
	}()
	return w.Update(context.Background(), fn)
}

// ping records a signal at noon. A body is to move to object storage.
func (w *world) ping(id uuid.UUID, s pings.Signal) func(ctx context.Context, tx store.Tx) error {
	return w.pingAt(noon, id, s)
}

func (w *world) pingAt(at time.Time, id uuid.UUID, s pings.Signal) func(ctx context.Context, tx store.Tx) error {
	return func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		if p := receive(l, s, at); p.BodySize > 0 {
			l.Uploads = append(l.Uploads, p.N)
		}
		return tx.SaveChecks(ctx, []*store.Locked{l})
	}
}

type act struct {
	name string
	run  func(ctx context.Context, tx store.Tx) error
}

// steps returns a step for each way to change the store.
func (w *world) steps() []act {
	return []act{
		{"ping", w.ping(w.first, pings.Signal{Kind: pings.Success, Body: []byte("another")})},
		{"ping both", func(ctx context.Context, tx store.Tx) error {
			return errors.Join(w.ping(w.second, pings.Signal{})(ctx, tx), w.ping(w.first, *w.signal)(ctx, tx))
		}},
		{"update", func(ctx context.Context, tx store.Tx) error {
			l, err := tx.LockCheck(ctx, w.first)
			if err != nil {
				return err
			}
			c, effects, err := l.Update(checks.Spec{Slug: new("t"), Tags: []string{"c"}, Schedule: new("* * * * *")}, noon)
			l.Apply(c, effects)
			l.Channels, l.SettingsChanged = []uuid.UUID{w.ops.ID}, true
			return errors.Join(err, tx.SaveChecks(ctx, []*store.Locked{l}))
		}},
		{"pause", func(ctx context.Context, tx store.Tx) error {
			l, err := tx.LockCheck(ctx, w.first)
			if err != nil {
				return err
			}
			l.Pause(noon)
			return tx.SaveChecks(ctx, []*store.Locked{l})
		}},
		{"create", func(ctx context.Context, tx store.Tx) error {
			c, err := checks.New(w.project, checks.Spec{Slug: new("s")}, noon)
			return errors.Join(err, tx.SaveChecks(ctx, []*store.Locked{{Check: c}}))
		}},
		{"delete", func(ctx context.Context, tx store.Tx) error {
			l, err := tx.LockCheck(ctx, w.second)
			if err != nil {
				return err
			}
			return tx.DeleteChecks(ctx, l)
		}},
		{"deliver", func(ctx context.Context, tx store.Tx) error {
			claimed, err := tx.ClaimDeliveries(ctx, store.DeliveryClaim{Now: noon, Until: noon.Add(time.Minute),
				Room: []store.ChannelRoom{{Channel: w.ops.ID, N: 5}, {Channel: w.group.ID, N: 5}}})
			results := resultsOf(claimed...)
			for i := range results {
				r := &results[i]
				if r.State, r.Error = checks.DeliverySent, "x"; i%2 == 0 {
					r.State, r.Due = checks.DeliveryPending, noon.Add(time.Hour)
				}
				r.Copies, r.Mark = []uuid.UUID{w.ops.ID, w.group.ID, w.pager}, &store.ChannelMark{FailedAt: noon, Error: "refused"}
			}
			return errors.Join(err, tx.RecordResults(ctx, noon, results))
		}},
		{"end the last", w.end(noon, func(n int) int { return n - 1 })},
		{"end one in the middle", w.end(noon, func(n int) int { return n / 2 })},
		{"end the first, with the clock set back", w.end(noon.Add(-time.Hour), func(int) int { return 0 })},
		{"retry the first", func(ctx context.Context, tx store.Tx) error {
			list, err := w.queued(ctx, tx)
			if len(list) == 0 {
				return err
			}
			list[0].State = checks.DeliveryFailed
			err = errors.Join(err, tx.RecordResults(ctx, noon, resultsOf(list[0])))
			_, retried := tx.RetryDeliveries(ctx, []int64{list[0].ID}, noon)
			return errors.Join(err, retried)
		}},
		{"alerts to a function", func(ctx context.Context, tx store.Tx) error { return tx.OnAlertUntil(ctx, noon.AddDate(1, 0, 0)) }},
		{"change channel", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).SaveChannel(ctx, channels.Channel{ID: w.ops.ID, ProjectID: w.project, Name: "renamed"})
		}},
		{"add channel", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).SaveChannel(ctx, channels.Channel{ID: uuid.New(), ProjectID: w.project, CreatedAt: noon})
		}},
		{"delete channel", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteChannel(ctx, w.project, w.ops.ID)
		}},
		{"add key", func(ctx context.Context, tx store.Tx) error {
			id := uuid.New()
			return writer(ctx, tx).SaveKey(ctx, checks.Key{ID: id, ProjectID: w.project, Hash: [32]byte(append(id[:], id[:]...))})
		}},
		{"delete key", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteKey(ctx, w.project, w.key.ID)
		}},
		{"add project", func(ctx context.Context, tx store.Tx) error {
			id := uuid.New()
			return writer(ctx, tx).SaveProject(ctx, checks.Project{ID: id, Name: id.String(), Account: "a", Plan: "paid", MaxChecks: 99,
				PingKey: id.String(), BadgeKey: id.String()})
		}},
		{"delete project", func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteProject(ctx, w.project)
		}},
	}
}

// end returns a step that ends one of the deliveries.
func (w *world) end(now time.Time, choose func(n int) int) func(ctx context.Context, tx store.Tx) error {
	return func(ctx context.Context, tx store.Tx) error {
		list, err := w.queued(ctx, tx)
		if err != nil || len(list) == 0 {
			return err
		}
		q := list[choose(len(list))]
		q.State = checks.DeliverySuperseded
		return tx.RecordResults(ctx, now, resultsOf(q))
	}
}

// queued returns all deliveries, oldest first.
func (w *world) queued(ctx context.Context, tx store.Tx) ([]store.QueuedDelivery, error) {
	return sqlstore.QueuedDeliveries(ctx, tx)
}

// dump is all that a store returns.
type dump struct {
	Projects   []checks.Project
	Keys       []checks.Key
	Channels   []channels.Channel
	Settings   []map[string]string // those of Channels, which JSON leaves out
	Checks     []checks.Check
	BySlug     [][]uuid.UUID
	Due        []*store.Locked
	Pings      []pings.Ping
	Bodies     []pings.Ping
	Events     []checks.Event
	Durations  map[uuid.UUID][]pings.Ping
	Deliveries []checks.Delivery
	Alerts     []store.Alert
	Lines      []map[int64][]store.WaitingDelivery
	Backlog    store.Backlog
	DueFor     []store.DueChannel
	Upload     []byte
	Setting    store.Setting
	Counts     []int
}

func (w *world) dump(t tb) (d dump) {
	t.Helper()
	ctx, later := context.Background(), noon.AddDate(1, 0, 0)
	var err, failed error
	read := func(err error) { failed = errors.Join(failed, err) }
	d.Projects, err = w.Projects(ctx, store.ProjectFilter{})
	read(err)
	d.Keys, err = w.Keys(ctx, store.KeyFilter{})
	read(err)
	d.Channels, err = w.Channels(ctx, store.ChannelFilter{ProjectID: &w.project})
	read(err)
	for _, c := range d.Channels {
		d.Settings = append(d.Settings, c.Settings)
	}
	d.Checks, err = w.Checks(ctx, store.CheckFilter{ProjectID: &w.project})
	read(err)
	for _, slug := range []string{"s", "t", "u"} {
		ids, err := w.FindChecks(ctx, w.project, store.Match{Slug: &slug})
		read(err)
		d.BySlug = append(d.BySlug, ids)
	}
	for _, c := range d.Checks {
		only := []uuid.UUID{c.ID}
		logs, err := w.Pings(ctx, store.PingQuery{Checks: only, Limit: 1000})
		read(err)
		d.Pings = append(d.Pings, logs[c.ID]...)
		for _, p := range logs[c.ID] {
			body, err := w.Pings(ctx, store.PingQuery{Checks: only, Number: &p.N, Limit: 1000})
			read(err)
			d.Bodies = append(d.Bodies, body[c.ID]...)
		}
		events, err := w.Events(ctx, store.EventQuery{Checks: only, Deliveries: true})
		read(err)
		d.Events = append(d.Events, events[c.ID]...)
	}
	d.Durations, err = w.Pings(ctx, store.PingQuery{Project: w.project, Limit: 5, Timed: true})
	read(err)
	d.Deliveries, err = w.Deliveries(ctx, w.project, checks.DeliveryQuery{Limit: 1000})
	read(err)
	for _, delivery := range d.Deliveries {
		alerts, err := w.Alerts(ctx, []store.QueuedDelivery{{ID: delivery.ID}})
		read(err)
		d.Alerts = append(d.Alerts, alerts...)
		for _, a := range alerts {
			d.Settings = append(d.Settings, a.Channel.Settings)
		}
	}
	d.Backlog, err = w.Backlog(ctx, later)
	read(err)
	d.DueFor, err = w.DueChannels(ctx, later, uuid.Nil, 100)
	read(err)
	d.Upload, err = w.UploadBody(ctx, w.uploads[0])
	read(err)
	d.Setting, err = w.Setting(ctx, noon, store.Setting{Name: "name", Value: "another"})
	read(err)
	read(w.attempt(func(ctx context.Context, tx store.Tx) error {
		for _, project := range []uuid.UUID{w.project, w.other} {
			n, err := tx.CountChecks(ctx, project)
			read(err)
			d.Counts = append(d.Counts, n)
		}
		queued, err := w.queued(ctx, tx)
		read(err)
		for _, q := range queued {
			lines, err := tx.LockLines(ctx, []int64{q.ID})
			read(err)
			d.Lines = append(d.Lines, lines)
		}
		d.Due, err = tx.LockDue(ctx, later, 100)
		for _, l := range d.Due {
			l.Row = nil
		}
		return err
	}))
	must(t, failed)
	return d
}
