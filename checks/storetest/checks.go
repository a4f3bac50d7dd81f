package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

func fullSpec() checks.Spec {
	return checks.Spec{
		Name: new("nightly"), Slug: new("nightly-1"), Tags: new("db  prod"), Desc: new("line\nline"),
		Timeout: new(90 * time.Second), Grace: new(120 * time.Second),
		ManualResume: new(true), Methods: new("POST"),
		StartKW: new("begin"), SuccessKW: new("ok,fine"), FailureKW: new("bad"),
		FilterSubject: new(true), FilterBody: new(true), FilterHTTPBody: new(true), FilterDefaultFail: new(true),
	}
}

func testCheckRoundTrip(t *testing.T, f fixture) {
	simple := f.create(t, fullSpec())
	same(t, "a Simple check", f.check(t, simple.ID), simple)
	cron := f.create(t, checks.Spec{Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	got := f.check(t, cron.ID)
	same(t, "a Cron check", got, cron)

	// What is read back can evaluate its schedule.
	up, _, _ := got.Ping(pings.Signal{}, noon)
	if want := time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC); !up.NextPing(noon).Equal(want) {
		t.Errorf("next ping of a check that was read: %v, want %v", up.NextPing(noon), want)
	}
	f.gone(t, uuid.New())
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error { return addCheck(ctx, tx, simple) })
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("a second check with the same identifier: %v, want ErrExists", err)
	}
}

func testSettingsAndState(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	f.ping(t, c.ID, pings.Signal{}, noon)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		if l.Check, _, err = l.Check.Update(fullSpec(), noon.Add(time.Second)); err != nil {
			return err
		}
		l.SettingsChanged = true
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	got := f.check(t, c.ID)
	if got.Name != "nightly" || got.Timeout != 90*time.Second || !got.TimingSince.Equal(noon.Add(time.Second)) {
		t.Errorf("settings were not saved: %+v", got)
	}
	if got.NPings != 1 || got.Stored != checks.StatusUp || !got.LastPing.Equal(noon) {
		t.Errorf("saving settings changed the state: %+v", got.State)
	}
}

func testStateRoundTrip(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{Grace: new(time.Hour)})
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start, RunID: run}, noon.Add(time.Second))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, noon.Add(2*time.Second))
	want := checks.State{
		Stored: checks.StatusUp, Since: noon, NPings: 3, LastPing: noon, LastStart: noon.Add(2 * time.Second),
		Runs: pings.Runs{{ID: run, StartedAt: noon.Add(time.Second)}, {StartedAt: noon.Add(2 * time.Second)}},
	}
	same(t, "state", f.check(t, c.ID).State, want)

	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		same(t, "state under the lock", l.State, want)
		l.Check, _ = l.Check.Pause(noon.Add(3 * time.Second))
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
	want.Stored, want.Since, want.LastStart = checks.StatusPaused, noon.Add(3*time.Second), time.Time{}
	same(t, "state of a paused check", f.check(t, c.ID).State, want)
}

func testCheckQueries(t *testing.T, f fixture) {
	a := f.create(t, checks.Spec{Slug: new("x"), Tags: new("db prod")})
	b := f.create(t, checks.Spec{Slug: new("x"), Tags: new("db")})
	c := f.create(t, checks.Spec{Slug: new("y"), Tags: new("database")})
	for _, test := range []struct {
		name string
		q    monitor.CheckQuery
		want []uuid.UUID
	}{
		{"all, oldest first", monitor.CheckQuery{}, []uuid.UUID{a.ID, b.ID, c.ID}},
		{"by slug", monitor.CheckQuery{Slug: new("x")}, []uuid.UUID{a.ID, b.ID}},
		{"by an unknown slug", monitor.CheckQuery{Slug: new("z")}, nil},
		{"by tag, whole tags only", monitor.CheckQuery{Tags: []string{"db"}}, []uuid.UUID{a.ID, b.ID}},
		{"by two tags", monitor.CheckQuery{Tags: []string{"prod", "db"}}, []uuid.UUID{a.ID}},
		{"by slug and tag", monitor.CheckQuery{Slug: new("x"), Tags: []string{"prod"}}, []uuid.UUID{a.ID}},
	} {
		list, err := f.Checks(t.Context(), monitor.CheckFilter{ProjectID: &f.project.ID, CheckQuery: test.q})
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, check := range list {
			got = append(got, check.ID)
		}
		same(t, test.name, got, test.want)
	}
	other, err := f.Checks(t.Context(), monitor.CheckFilter{ProjectID: new(uuid.New())})
	if err != nil || len(other) != 0 {
		t.Errorf("checks of another project: %v, %v", other, err)
	}

	for name, test := range map[string]struct {
		filter monitor.CheckFilter
		want   []uuid.UUID
	}{
		"by unique key":                       {monitor.CheckFilter{ProjectID: &f.project.ID, UniqueKey: new(a.UniqueKey())}, []uuid.UUID{a.ID}},
		"by unique key in another project":    {monitor.CheckFilter{ProjectID: new(uuid.New()), UniqueKey: new(a.UniqueKey())}, nil},
		"by an empty unique key":              {monitor.CheckFilter{ProjectID: &f.project.ID, UniqueKey: new("")}, nil},
		"by badge key":                        {monitor.CheckFilter{BadgeKey: &b.BadgeKey}, []uuid.UUID{b.ID}},
		"by the identifier of another check":  {monitor.CheckFilter{BadgeKey: &b.ID}, nil},
		"by the zero value, which no one has": {monitor.CheckFilter{ID: new(uuid.Nil)}, nil},
	} {
		list, err := f.Checks(t.Context(), test.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, check := range list {
			got = append(got, check.ID)
		}
		same(t, name, got, test.want)
	}
	ids, err := f.FindChecks(t.Context(), f.project.ID, monitor.Match{Slug: new("x")})
	if err != nil || len(ids) != 2 {
		t.Errorf("identifiers by slug: %v, %v", ids, err)
	}
}

func testFindChecks(t *testing.T, f fixture) {
	first := f.create(t, checks.Spec{Name: new("a"), Slug: new("s"), Tags: new("t u"), Timeout: new(time.Hour), Grace: new(time.Minute)})
	second := f.create(t, checks.Spec{Name: new("a"), Timeout: new(time.Hour)})
	third := f.create(t, checks.Spec{Name: new("cron"), Schedule: new("* * * * *")})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		for _, test := range []struct {
			name string
			m    monitor.Match
			want []uuid.UUID
		}{
			{"name, oldest first", monitor.Match{Name: new("a")}, []uuid.UUID{first.ID, second.ID}},
			{"case matters", monitor.Match{Name: new("A")}, nil},
			{"slug", monitor.Match{Slug: new("s")}, []uuid.UUID{first.ID}},
			{"tags as a whole", monitor.Match{Tags: new("t u")}, []uuid.UUID{first.ID}},
			{"not one tag of several", monitor.Match{Tags: new("t")}, nil},
			{"timeout", monitor.Match{Timeout: new(time.Hour)}, []uuid.UUID{first.ID, second.ID}},
			{"timeout of Simple checks only", monitor.Match{Timeout: new(checks.DefaultTimeout)}, nil},
			{"all but the other project's", monitor.Match{}, []uuid.UUID{first.ID, second.ID, third.ID}},
			{"name and grace", monitor.Match{Name: new("a"), Grace: new(time.Hour)}, []uuid.UUID{second.ID}},
		} {
			ids, err := tx.FindChecks(ctx, f.project.ID, test.m)
			if err != nil {
				return err
			}
			same(t, test.name, ids, test.want)
		}
		return nil
	})
}

func testDeleteCheck(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Fail, Body: []byte("x")}, noon)
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		return tx.DeleteCheck(ctx, l)
	})
	f.gone(t, c.ID)
	log, err := f.Pings(t.Context(), c.ID, 10)
	if err != nil || len(log) != 0 {
		t.Errorf("the log of a deleted check: %v, %v", log, err)
	}
	if _, err := f.Ping(t.Context(), c.ID, 1, 10); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("a ping of a deleted check: %v", err)
	}
	flips, err := f.Flips(t.Context(), c.ID, time.Time{}, time.Time{})
	if err != nil || len(flips) != 0 {
		t.Errorf("flips of a deleted check: %v, %v", flips, err)
	}
}

func (f fixture) assign(t *testing.T, id uuid.UUID, ids ...uuid.UUID) {
	t.Helper()
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		l.Channels, l.SettingsChanged = ids, true
		return tx.SaveChecks(ctx, []*monitor.Locked{l})
	})
}

func testUpdateRollsBack(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	failure := errors.New("no")
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
		l, err := tx.LockCheck(ctx, c.ID)
		if err != nil {
			return err
		}
		apply(l, pings.Signal{}, noon)
		if err := tx.SaveChecks(ctx, []*monitor.Locked{l}); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("the error of the function: %v", err)
	}
	same(t, "a check after a rollback", f.check(t, c.ID), c)
	if log, err := f.Pings(t.Context(), c.ID, 10); err != nil || len(log) != 0 {
		t.Errorf("the log after a rollback: %v, %v", log, err)
	}
}

// testLostUpdates has many writers add to one check: each must see what the others did.
func testLostUpdates(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
					l, err := tx.LockCheck(ctx, c.ID)
					if err != nil {
						return err
					}
					apply(l, pings.Signal{}, noon)
					return tx.SaveChecks(ctx, []*monitor.Locked{l})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.check(t, c.ID).NPings; got != writers*each {
		t.Errorf("%d pings, want %d", got, writers*each)
	}
	log, err := f.Pings(t.Context(), c.ID, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range log {
		if want := int64(writers*each - i); p.N != want {
			t.Fatalf("entry %d of the log has the number %d, want %d", i, p.N, want)
		}
	}
}

// testLockOrder has transactions lock the same checks in opposite orders: none may wait for another for ever.
func testLockOrder(t *testing.T, f fixture) {
	var ids []uuid.UUID
	for range 20 {
		ids = append(ids, f.create(t, checks.Spec{}).ID)
	}
	var wg sync.WaitGroup
	for n := range 8 {
		order := make([]uuid.UUID, len(ids))
		for i := range ids {
			order[i] = ids[(i*[]int{1, 19, 7, 13}[n%4]+n)%20]
		}
		wg.Go(func() {
			for range 5 {
				err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
					locked, err := tx.LockChecks(ctx, order)
					if err != nil {
						return err
					}
					if len(locked) != len(ids) {
						return fmt.Errorf("%d checks locked, want %d", len(locked), len(ids))
					}
					for _, l := range locked {
						apply(l, pings.Signal{}, noon)
					}
					return tx.SaveChecks(ctx, locked)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if got := f.check(t, id).NPings; got != 40 {
			t.Errorf("%d pings, want 40", got)
		}
	}
}

func testLockCheckNotFound(t *testing.T, f fixture) {
	err := f.Update(t.Context(), func(ctx context.Context, tx monitor.Tx) error {
		locked, err := tx.LockChecks(ctx, []uuid.UUID{uuid.New()})
		if err != nil || len(locked) != 0 {
			return fmt.Errorf("checks that do not exist: %v, %v", locked, err)
		}
		_, err = tx.LockCheck(ctx, uuid.New())
		return err
	})
	if !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("a check that does not exist: %v", err)
	}
}

// testNothingSharedByChecks writes one batch over several checks, some with much and some with nothing to write.
func testNothingSharedByChecks(t *testing.T, f fixture) {
	a, b, c := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.update(t, func(ctx context.Context, tx monitor.Tx) error {
		locked, err := tx.LockChecks(ctx, []uuid.UUID{c.ID, a.ID, b.ID})
		if err != nil {
			return err
		}
		for _, l := range locked {
			switch l.ID {
			case a.ID:
				apply(l, pings.Signal{Kind: pings.Success}, noon)
				apply(l, pings.Signal{Kind: pings.Fail, Body: []byte("{\\\"1,")}, noon.Add(time.Second))
				apply(l, pings.Signal{Kind: pings.Success}, noon.Add(2*time.Second))
			case b.ID:
				apply(l, pings.Signal{Kind: pings.Log, UserAgent: `NULL "quoted" \back {,}`}, noon)
			}
		}
		return tx.SaveChecks(ctx, locked)
	})
	for _, want := range []struct {
		id     uuid.UUID
		status checks.Status
		pings  int
		flips  int
	}{{a.ID, checks.StatusUp, 3, 3}, {b.ID, checks.StatusNew, 1, 0}, {c.ID, checks.StatusNew, 0, 0}} {
		log, err := f.Pings(t.Context(), want.id, 10)
		if err != nil {
			t.Fatal(err)
		}
		flips, err := f.Flips(t.Context(), want.id, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if status := f.check(t, want.id).Stored; status != want.status || len(log) != want.pings || len(flips) != want.flips {
			t.Errorf("%v with %d pings and %d flips, want %+v", status, len(log), len(flips), want)
		}
	}
	log, _ := f.Pings(t.Context(), b.ID, 10)
	if len(log) == 1 && log[0].UserAgent != `NULL "quoted" \back {,}` {
		t.Errorf("user agent: %s", log[0].UserAgent)
	}
}
