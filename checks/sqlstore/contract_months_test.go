package sqlstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

func date(month time.Month, day int) time.Time {
	return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC)
}

func (f fixture) months(t *testing.T, id uuid.UUID, from, to time.Time) []store.Month {
	t.Helper()
	list, err := f.Months(t.Context(), id, from, to)
	must(t, err)
	return list
}

// saveDays adds totals and folds to a check.
func (f fixture) saveDays(t *testing.T, id uuid.UUID, days []checks.Day, folds ...store.Fold) {
	t.Helper()
	must(t, f.edit(t.Context(), id, func(l *store.Locked) error {
		l.Days, l.Folds = days, folds
		return nil
	}))
}

// testMonths: the totals of days are added to those that are stored, exactly once, and go with their check.
func testMonths(t *testing.T, f fixture) {
	c, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	one := checks.Totals{Runs: 1, Failures: 1, Timed: 1, Sum: time.Minute, Min: time.Minute, Max: time.Minute}
	few := checks.Totals{Runs: 300, Failures: 2, Timed: 299, Sum: 40 * time.Hour, Min: 10 * time.Millisecond, Max: 2 * time.Hour}
	f.saveDays(t, c.ID, []checks.Day{{Date: date(4, 30), Totals: one}, {Date: date(2, 28), Totals: few}, {Date: date(4, 30), Totals: few}})
	f.saveDays(t, c.ID, []checks.Day{{Date: date(4, 1), Totals: checks.Totals{Runs: 1}}})
	f.saveDays(t, other.ID, []checks.Day{{Date: date(4, 1), Totals: few}})
	day := func(at time.Time, totals checks.Totals) checks.DayStats {
		return checks.DayStats{Day: checks.Day{Date: at, Totals: totals}}
	}
	february := store.Month{Start: date(2, 1), Days: []checks.DayStats{day(date(2, 28), few)}}
	april := store.Month{Start: date(4, 1), Days: []checks.DayStats{day(date(4, 1), checks.Totals{Runs: 1}), day(date(4, 30), one.Add(few))}}
	same(t, "all months", f.months(t, c.ID, time.Time{}, date(12, 31)), []store.Month{february, april})
	same(t, "some months", f.months(t, c.ID, date(3, 31), date(4, 1)), []store.Month{april})
	same(t, "months of no check", f.months(t, uuid.New(), date(1, 1), date(12, 1)), []store.Month(nil))

	failed := context.DeadlineExceeded
	if err := f.edit(t.Context(), c.ID, func(l *store.Locked) error {
		l.Days = []checks.Day{{Date: date(4, 1), Totals: few}}
		return failed
	}); err == nil {
		t.Error("no error")
	}
	same(t, "after a transaction that failed", f.months(t, c.ID, date(4, 1), date(4, 1)), []store.Month{april})
	f.saveDays(t, c.ID, nil)
	must(t, f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, []uuid.UUID{c.ID})
		if err == nil {
			locked[0].Days = []checks.Day{{Date: date(4, 30), Totals: one}}
			err = tx.SaveChecks(ctx, locked)
		}
		if err == nil {
			err = tx.SaveChecks(ctx, locked) // adds nothing more
		}
		return err
	}))
	april.Days[1].Totals = april.Days[1].Totals.Add(one)
	same(t, "after saving twice", f.months(t, c.ID, date(4, 1), date(4, 1)), []store.Month{april})
	f.deleteCheck(t, c.ID)
	same(t, "months of a deleted check", f.months(t, c.ID, time.Time{}, date(12, 1)), []store.Month(nil))
	if n := len(f.months(t, other.ID, time.Time{}, date(12, 1))); n != 1 {
		t.Errorf("another check has %d months", n)
	}
}

// testFolds: a month that is folded has the times of all its days, also if it is saved twice or totals are added later.
// Pruning keeps them.
func testFolds(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	f.saveDays(t, c.ID, []checks.Day{{Date: date(2, 28), Totals: checks.Totals{Runs: 7}}})
	fold := store.Fold{Start: date(2, 1)}
	for i := range 28 {
		times := flips.Times{Down: time.Duration(i) * time.Microsecond, Unwatched: time.Duration(i%2) * time.Hour}
		times.Up = 24*time.Hour - times.Down - times.Unwatched
		fold.Days = append(fold.Days, times)
	}
	for range 2 {
		f.saveDays(t, c.ID, nil, fold)
	}
	f.saveDays(t, c.ID, []checks.Day{{Date: date(2, 27), Totals: checks.Totals{Runs: 1, Failures: 1}}})
	if _, err := f.PruneFlips(t.Context(), date(12, 1), nil); err != nil {
		t.Error(err)
	}
	list := f.months(t, c.ID, date(2, 1), date(2, 28))
	if len(list) != 1 || !list[0].Folded || len(list[0].Days) != 28 {
		t.Fatalf("months: %+v", list)
	}
	for i, d := range list[0].Days {
		want := checks.DayStats{Day: checks.Day{Date: date(2, i+1)}, Times: fold.Days[i]}
		switch i {
		case 26:
			want.Totals = checks.Totals{Runs: 1, Failures: 1}
		case 27:
			want.Totals = checks.Totals{Runs: 7}
		}
		same(t, "day", d, want)
	}
}

// testUnfolded: the checks that existed in a month and have no fold of it come page by page, in the order of their IDs.
func testUnfolded(t *testing.T, f fixture) {
	want := make(map[uuid.UUID]bool)
	var folded uuid.UUID
	for range 5 {
		c := f.create(t, checks.Spec{})
		f.saveDays(t, c.ID, []checks.Day{{Date: date(3, 5), Totals: checks.Totals{Runs: 1}}})
		want[c.ID], folded = true, c.ID
	}
	f.saveDays(t, folded, nil, store.Fold{Start: date(3, 1), Days: make([]flips.Times, 31)})
	f.ping(t, folded, pings.Signal{}, noon)
	delete(want, folded)
	var after uuid.UUID
	for range len(want) {
		ids, err := f.Unfolded(t.Context(), date(3, 1), after, 1)
		if err != nil || len(ids) != 1 || !want[ids[0]] || ids[0].String() <= after.String() {
			t.Fatalf("after %v come %v, error %v", after, ids, err)
		}
		after = ids[0]
		delete(want, after)
	}
	for what, month := range map[string]time.Time{"more": date(3, 1), "checks that were created later": date(2, 1)} {
		if ids, err := f.Unfolded(t.Context(), month, after, 9); err != nil || len(ids) != 0 {
			t.Errorf("%s: %v, error %v", what, ids, err)
		}
	}
	if ids, err := f.Unfolded(t.Context(), date(4, 1), uuid.Nil, 9); err != nil || len(ids) != 5 {
		t.Errorf("of another month: %v, error %v", ids, err)
	}
}

// testZoned: checks with another zone than UTC come page by page, in the order of their IDs, with the next times that are stored.
func testZoned(t *testing.T, f fixture) {
	want := make(map[uuid.UUID]time.Time)
	for range 3 {
		c := f.create(t, checks.Spec{Schedule: new("0 0 * * *"), TZ: new("Europe/Riga")})
		f.ping(t, c.ID, pings.Signal{}, noon)
		want[c.ID] = c.ExpectedAfter(noon)
	}
	want[f.create(t, checks.Spec{Schedule: new("0 0 * * *"), TZ: new("Asia/Tokyo")}).ID] = time.Time{}
	f.create(t, checks.Spec{Schedule: new("0 0 * * *")})
	f.create(t, checks.Spec{})
	f.Recompile()
	got := make(map[uuid.UUID]time.Time)
	var after uuid.UUID
	for range 3 {
		list, err := f.Zoned(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.ID.String() <= after.String() {
				t.Errorf("%v comes after %v", c.ID, after)
			}
			got[c.ID], after = c.NextAt, c.ID
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
