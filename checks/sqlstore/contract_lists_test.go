package sqlstore_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// testLists changes checks at random and passes the clock. After each step, counts and lists are those that the whole checks
// have at the instant, whether or not a watcher has settled them.
func testLists(t *testing.T, f fixture) {
	random := rand.New(rand.NewPCG(3, 4))
	ops := f.addChannel(t, "ops", noon)
	other := f.addProject(t, newProject("other"))
	var ids []uuid.UUID
	for i := range 24 {
		spec := checks.Spec{
			Name: new([]string{"Übung", "backup", "", "a'b%_\\ \u202e", "Zeta"}[i%5]), Slug: new(fmt.Sprintf("job-%d", i%7)), Tags: []string{"prod", fmt.Sprintf("T%d", i%3), fmt.Sprintf("two-%d", i/2)},
			Timeout: new(time.Duration(i%4+1) * 20 * time.Minute), Grace: new(time.Duration(i%3+1) * 10 * time.Minute),
		}
		if i%6 == 0 {
			spec.Schedule, spec.Timeout, spec.TZ = new("*/15 * * * *"), nil, new("Europe/Riga")
		}
		c, err := checks.New(f.project.ID, spec, noon.Add(time.Duration(i)*time.Second))
		must(t, err)
		if i%5 == 1 {
			c.Channels = []uuid.UUID{ops.ID}
		}
		if i == 23 {
			c.ProjectID, c.Channels = other.ID, nil
		}
		f.update(t, func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, c) })
		ids = append(ids, c.ID)
	}
	now := noon.Add(time.Minute)
	for step := range 25 {
		now = now.Add(time.Duration(random.IntN(15*60)) * time.Second)
		what := f.randomly(t, random, ids, now)
		for _, project := range []uuid.UUID{f.project.ID, other.ID, uuid.New()} {
			if project != f.project.ID && step%8 > 0 { // it has one check, or none
				continue
			}
			if !f.sameLists(t, project, ops.ID, now, step) {
				t.Fatalf("step %d, %s", step, what)
			}
		}
	}
}

// randomly changes some checks.
func (f fixture) randomly(t *testing.T, random *rand.Rand, ids []uuid.UUID, now time.Time) (what string) {
	t.Helper()
	if random.IntN(4) == 0 {
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			due, err := tx.LockDue(ctx, now, 5)
			for _, l := range due {
				l.Apply(l.Settle(now))
			}
			if err != nil {
				return err
			}
			return tx.SaveChecks(ctx, due)
		})
		what = "sweep, "
	}
	for range 1 + random.IntN(5) {
		must(t, f.edit(t.Context(), ids[random.IntN(len(ids))], func(l *store.Locked) error {
			kinds := []pings.Kind{pings.Success, pings.Success, pings.Success, pings.Start, pings.Failure, pings.Log}
			switch n := random.IntN(12); {
			case n < 9:
				receive(l, pings.Signal{Kind: kinds[random.IntN(len(kinds))]}, now)
			case n == 9 && l.Stored == checks.StatusPaused:
				c, err := l.Resume(now)
				l.Check = c
				return err
			case n == 9:
				l.Pause(now)
			default:
				c, effects, err := l.Update(checks.Spec{Name: new(fmt.Sprint("Name ", random.IntN(9))), Grace: new(time.Duration(random.IntN(40)+1) * time.Minute)}, now)
				l.Apply(c, effects)
				l.SettingsChanged = true
				return err
			}
			return nil
		}))
	}
	return what + now.Format(time.TimeOnly)
}

// sameLists compares the answers of a store with those of a model that has read all checks. Each step asks a third of the questions.
func (f fixture) sameLists(t *testing.T, project, channel uuid.UUID, now time.Time, step int) bool {
	t.Helper()
	all, err := f.Checks(t.Context(), store.CheckFilter{ProjectID: &project})
	must(t, err)
	queries := []checks.ListQuery{
		{}, {Reverse: true}, {Order: checks.ListByName}, {Order: checks.ListByLast}, {Order: checks.ListByNext}, {Order: checks.ListByNext, Reverse: true},
		{Order: checks.ListByLast, Reverse: true, Limit: 3, Offset: 4}, {Order: checks.ListByAge}, {Order: checks.ListBySince, Limit: 2},
		{Limit: 5, Offset: 3}, {Limit: 5, Offset: 300}, {Words: []string{"übung"}}, {Words: []string{"job-3", "prod"}}, {Words: []string{"t1"}, Limit: 2},
		{Words: []string{"a'b%_\\"}}, {Words: []string{"\x00"}}, {Tag: "T1"}, {Tag: "t1"}, {Tag: "two-4"}, {Tag: "two-4", Order: checks.ListByAge}, {Tag: "\xff"}, {Slug: "job-3"}, {Key: all0(all).UniqueKey()},
		{Without: []uuid.UUID{}}, {Without: []uuid.UUID{channel}}, {Pinged: true}, {FlippedSince: now.Add(-time.Hour)}, {SlowSince: now.Add(-3 * time.Hour), Order: checks.ListBySlow},
		{Status: []checks.Status{checks.StatusUp, checks.StatusNew}, Order: checks.ListByNext, Limit: 4},
	}
	for _, s := range []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusUp, checks.StatusNew, checks.StatusPaused} {
		queries = append(queries, checks.ListQuery{Status: []checks.Status{s}})
	}
	var ids, wasDown []uuid.UUID
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	events, err := f.Events(t.Context(), store.EventQuery{Checks: ids, From: now.Add(-time.Hour)})
	must(t, err)
	for _, c := range all {
		if slices.ContainsFunc(events[c.ID], func(e checks.Event) bool { return e.To != checks.StatusPaused }) {
			wasDown = append(wasDown, c.ID)
		}
	}
	good := true
	for i, q := range queries {
		if i%3 != step%3 {
			continue
		}
		q.Now = now
		want := model(all, wasDown, q)
		counts := checks.Counts{}
		for _, c := range want {
			counts[c.Status(now)]++
		}
		if got, err := f.CountChecks(t.Context(), project, q); err != nil || !gocmp.Equal(got, counts) {
			t.Errorf("%+v\ncounts %+v, want %+v, error %v", q, got, counts, err)
			good = false
		}
		if sets, err := f.TagSets(t.Context(), store.CheckFilter{ProjectID: &project, Tags: []string{q.Tag}}, now); q.Tag != "" && (err != nil || !gocmp.Equal(checks.CountAll(sets), counts)) {
			t.Errorf("%q\nsets %+v, want %+v, error %v", q.Tag, sets, counts, err)
			good = false
		}
		from := min(q.Offset, len(want))
		want = want[from:]
		if q.Limit > 0 {
			want = want[:min(q.Limit, len(want))]
		}
		got, err := f.ListChecks(t.Context(), project, q)
		if diff := gocmp.Diff(summaries(want, now), summaries(got, now)); diff != "" || err != nil {
			t.Errorf("%+v\nerror %v, list (-want +got):\n%s", q, err, diff)
			good = false
		}
	}
	return good
}

func all0(all []checks.Check) (c checks.Check) {
	if len(all) > 0 {
		c = all[len(all)/2]
	}
	return c
}

func summaries(list []checks.Check, now time.Time) (texts []string) {
	for _, c := range list {
		texts = append(texts, fmt.Sprintf("%s %s %s since %s last %s next %s %d", c.SortName(), c.ID, c.Status(now), c.Since(now), c.LastPing, c.NextPing(now), len(c.Channels)))
	}
	return texts
}

// model is what a list is: checks are given oldest first.
func model(all []checks.Check, flipped []uuid.UUID, q checks.ListQuery) (list []checks.Check) {
	age := map[uuid.UUID]int{}
	for i, c := range all {
		age[c.ID] = i
		run, _, slow := c.History.Slow()
		switch {
		case len(q.Status) > 0 && !slices.Contains(q.Status, c.Status(q.Now)),
			slices.ContainsFunc(q.Words, func(w string) bool { return !strings.Contains(c.SearchText(), w) }),
			q.Tag != "" && !slices.Contains(c.TagList(), q.Tag), q.Slug != "" && c.Slug != q.Slug, q.Key != "" && c.UniqueKey() != q.Key,
			slices.ContainsFunc(q.Without, func(id uuid.UUID) bool { return slices.Contains(c.Channels, id) }),
			q.Pinged && c.NPings == 0, !q.FlippedSince.IsZero() && !slices.Contains(flipped, c.ID),
			!q.SlowSince.IsZero() && (!slow || run.At.Before(q.SlowSince)):
			continue
		}
		list = append(list, c)
	}
	urgency := []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusUp, checks.StatusNew, checks.StatusPaused}
	slices.SortStableFunc(list, func(a, b checks.Check) int {
		first := 0
		status := func(c checks.Check) int { return slices.Index(urgency, c.Status(q.Now)) }
		next, last := a.NextPing(q.Now), b.NextPing(q.Now)
		switch q.Order {
		case checks.ListUrgent:
			if first = cmp.Compare(status(a), status(b)); first == 0 && status(a) < 2 {
				first = b.Since(q.Now).Compare(a.Since(q.Now))
			}
		case checks.ListByLast:
			first = b.LastPing.Compare(a.LastPing)
		case checks.ListByNext:
			if first = next.Compare(last); first != 0 && (next.IsZero() || last.IsZero()) {
				first = -first
			}
		case checks.ListBySince:
			first = b.StoredSince.Compare(a.StoredSince)
		case checks.ListByAge:
			first = cmp.Compare(age[a.ID], age[b.ID])
		}
		first = cmp.Or(first, strings.Compare(a.SortName(), b.SortName()), cmp.Compare(age[a.ID], age[b.ID]))
		if q.Reverse {
			return -first
		}
		return first
	})
	return list
}

// testCountFailures counts checks by why they went down last, and finds the last.
func testCountFailures(t *testing.T, f fixture) {
	ops := f.addChannel(t, "ops", noon)
	var list []checks.Check
	for i := range 4 {
		list = append(list, f.create(t, checks.Spec{Name: new(fmt.Sprint(i)), Timeout: new(time.Hour), Grace: new(time.Hour)}))
	}
	if id, at, err := f.LastDown(t.Context(), f.project.ID); err != nil || id != uuid.Nil || !at.IsZero() {
		t.Errorf("last down %s at %s, error %v", id, at, err)
	}
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	for i, minute := range []int{1, 5, 9} {
		f.ping(t, list[i].ID, pings.Signal{Kind: pings.Failure}, at(minute))
	}
	f.ping(t, list[0].ID, pings.Signal{}, at(20))
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		locked, err := tx.LockChecks(ctx, []uuid.UUID{list[0].ID, list[2].ID})
		must(t, err)
		for _, l := range locked {
			if l.ID == list[2].ID {
				l.Pause(at(30))
				l.SettingsChanged, l.Channels = true, []uuid.UUID{ops.ID}
			} else {
				l.Apply(l.Settle(at(300)))
			}
		}
		return tx.SaveChecks(ctx, locked)
	})
	for since, want := range map[int]map[flips.Reason]int{
		0: {flips.Failure: 1, flips.Overdue: 1}, 6: {flips.Overdue: 1}, 200: {},
	} {
		got, err := f.CountFailed(t.Context(), f.project.ID, at(since))
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("since minute %d: error %v (-want +got):\n%s", since, err, diff)
		}
	}
	if id, when, err := f.LastDown(t.Context(), f.project.ID); err != nil || id != list[0].ID || !when.Equal(at(140)) {
		t.Errorf("last down %s at %s, error %v", id, when, err)
	}
	if all, paused, err := f.CountReached(t.Context(), f.project.ID, []uuid.UUID{ops.ID}); all != 1 || paused != 1 || err != nil {
		t.Errorf("%d, %d paused, error %v", all, paused, err)
	}
}
