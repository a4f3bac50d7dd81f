package sqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// fullSpec sets every setting of a Simple check to something other than the default.
func fullSpec() (spec checks.Spec) {
	for _, s := range checks.AllSettings() {
		s.Set(&spec, s.Example)
	}
	spec.Schedule, spec.Channels, spec.Tags = nil, nil, []string{"db", "", "prod"}
	return spec
}

// testCheckRoundTrip: settings come back as they were saved, and a schedule that was read can be evaluated. An ID that
// is in use is [checks.ErrExists].
func testCheckRoundTrip(t *testing.T, f fixture) {
	simple := f.create(t, fullSpec())
	same(t, "Simple check", f.check(t, simple.ID), simple)
	cron := f.create(t, checks.Spec{Schedule: new("0 3 * * *"), TZ: new("Europe/Riga")})
	got := f.check(t, cron.ID)
	same(t, "Cron check", got, cron)
	up, _, _, _ := got.Ping(pings.Signal{}, noon)
	if want := time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC); !up.NextPing(noon).Equal(want) {
		t.Errorf("the Cron check that was read expects its next ping at %v, want %v", up.NextPing(noon), want)
	}

	f.gone(t, uuid.New())
	err := f.Update(t.Context(), func(ctx context.Context, tx store.Tx) error { return insertCheck(ctx, tx, simple) })
	if !errors.Is(err, checks.ErrExists) {
		t.Errorf("second check with the same ID: error %v, want ErrExists", err)
	}
}

// testStateRoundTrip: the state comes back as it was saved, with its open runs and its history, from Checks and from
// LockCheck.
func testStateRoundTrip(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{Grace: new(time.Hour)})
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	f.ping(t, c.ID, pings.Signal{Kind: pings.Success}, noon)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start, RunID: run}, noon.Add(time.Second))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, noon.Add(2*time.Second))
	date := time.Date(noon.Year(), noon.Month(), noon.Day(), 0, 0, 0, 0, time.UTC)
	want := checks.State{
		Stored: checks.StatusUp, StoredSince: noon, NPings: 3, LastPing: noon,
		Runs: checks.OpenRuns{{ID: run, StartedAt: noon.Add(time.Second), Open: true}, {StartedAt: noon.Add(2 * time.Second), Open: true}},
		History: checks.History{
			Recent:      checks.RecentRuns(checks.Run{At: noon, Result: checks.RunSuccess}),
			LastSuccess: noon, Today: checks.Day{Date: date, Totals: checks.Totals{Runs: 1}},
		},
	}
	same(t, "state", f.check(t, c.ID).State, want)
	must(t, f.edit(t.Context(), c.ID, func(l *store.Locked) error {
		same(t, "state under the lock", l.State, want)
		l.Pause(noon.Add(3 * time.Second))
		return nil
	}))
	want.Stored, want.StoredSince, want.Runs = checks.StatusPaused, noon.Add(3*time.Second), want.Runs.Only()
	same(t, "state of a paused check", f.check(t, c.ID).State, want)

	ends := []checks.Run{{At: noon, Result: checks.RunSuccess}}
	for i := range checks.MaxRecent {
		end := noon.Add(time.Duration(i+1) * 25 * time.Hour)
		took := time.Duration(i) * time.Minute
		f.ping(t, c.ID, pings.Signal{Kind: pings.Start}, end.Add(-took))
		f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, end)
		ends = append(ends, checks.Run{At: end, Duration: took, Result: checks.RunFailure})
		got := f.check(t, c.ID).History
		same(t, "runs", got.Recent.Runs(), ends[max(0, len(ends)-checks.MaxRecent):])
		same(t, "totals", got.Today.Totals, checks.Totals{Runs: 1, Failures: 1, Timed: 1, Sum: took, Min: took, Max: took})
	}
}

// testSettingsAndState: writing settings leaves the state alone.
func testSettingsAndState(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	f.ping(t, c.ID, pings.Signal{}, noon)
	f.change(t, c.ID, fullSpec(), noon.Add(time.Second))
	got := f.check(t, c.ID)
	if full := fullSpec(); got.Name != *full.Name || got.Timeout != *full.Timeout || !got.TimingSince.Equal(noon.Add(time.Second)) {
		t.Errorf("the settings were not saved: %+v", got)
	}
	if got.NPings != 1 || got.Stored != checks.StatusUp || !got.LastPing.Equal(noon) {
		t.Errorf("saving settings changed the state: %+v", got.State)
	}
}

// testAnyText saves what people write and what attackers send.
func testAnyText(t *testing.T, f fixture) {
	for _, text := range []string{
		"ünï — 日本語 — العربية — 👩‍👩‍👧", `'; DROP TABLE rollcall_checks; --`, `\' \\ " ? $1 {} % _`, "a\tb\r\nc", "\u202e\u0085\ufeff\uffff",
		strings.Repeat("😀", checks.MaxName),
	} {
		c := f.create(t, checks.Spec{Name: &text, Tags: strings.Split(text, " "), Desc: &text, SuccessKW: &text})
		same(t, text, f.check(t, c.ID), c)
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			ids, err := tx.FindChecks(ctx, f.project.ID, store.Match{Name: &text, Tags: strings.Split(text, " ")})
			same(t, "found by "+text, ids, []uuid.UUID{c.ID})
			return err
		})
	}
}

// testCheckQueries: Checks looks at all fields of its filter, compares tags as whole words, and returns the oldest
// first. A zero ID or an empty key matches nothing.
func testCheckQueries(t *testing.T, f fixture) {
	a := f.create(t, checks.Spec{Slug: new("x"), Tags: []string{"db", "prod"}})
	b := f.create(t, checks.Spec{Slug: new("x"), Tags: []string{"db"}})
	c := f.create(t, checks.Spec{Slug: new("y"), Tags: []string{"database"}})
	own := &f.project.ID
	for _, test := range []struct {
		name   string
		filter store.CheckFilter
		want   []uuid.UUID
	}{
		{"all, oldest first", store.CheckFilter{ProjectID: own}, []uuid.UUID{a.ID, b.ID, c.ID}},
		{"slug", store.CheckFilter{ProjectID: own, Slug: new("x")}, []uuid.UUID{a.ID, b.ID}},
		{"unknown slug", store.CheckFilter{ProjectID: own, Slug: new("z")}, nil},
		{"tag, as a whole", store.CheckFilter{ProjectID: own, Tags: []string{"db"}}, []uuid.UUID{a.ID, b.ID}},
		{"two tags", store.CheckFilter{ProjectID: own, Tags: []string{"prod", "db"}}, []uuid.UUID{a.ID}},
		{"slug and tag", store.CheckFilter{ProjectID: own, Slug: new("x"), Tags: []string{"prod"}}, []uuid.UUID{a.ID}},
		{"another project", store.CheckFilter{ProjectID: new(uuid.New())}, nil},
		{"unique key", store.CheckFilter{ProjectID: own, UniqueKey: new(a.UniqueKey())}, []uuid.UUID{a.ID}},
		{"unique key in another project", store.CheckFilter{ProjectID: new(uuid.New()), UniqueKey: new(a.UniqueKey())}, nil},
		{"empty unique key", store.CheckFilter{ProjectID: own, UniqueKey: new("")}, nil},
		{"badge key", store.CheckFilter{BadgeKey: &b.BadgeKey}, []uuid.UUID{b.ID}},
		{"check ID as badge key", store.CheckFilter{BadgeKey: &b.ID}, nil},
		{"zero ID", store.CheckFilter{ID: new(uuid.Nil)}, nil},
	} {
		list, err := f.Checks(t.Context(), test.filter)
		must(t, err)
		var got []uuid.UUID
		for _, check := range list {
			got = append(got, check.ID)
		}
		same(t, test.name, got, test.want)
	}
}

// testFindChecks: a match compares whole values, with their case, and a timeout only of Simple checks. Oldest first.
func testFindChecks(t *testing.T, f fixture) {
	first := f.create(t, checks.Spec{Name: new("a"), Slug: new("s"), Tags: []string{"t", "u"}, Timeout: new(time.Hour), Grace: new(time.Minute)})
	second := f.create(t, checks.Spec{Name: new("a"), Timeout: new(time.Hour)})
	f.create(t, checks.Spec{Name: new("cron"), Schedule: new("* * * * *")})
	for _, test := range []struct {
		name  string
		match store.Match
		want  []uuid.UUID
	}{
		{"name, oldest first", store.Match{Name: new("a")}, []uuid.UUID{first.ID, second.ID}},
		{"name in another case", store.Match{Name: new("A")}, nil},
		{"slug", store.Match{Slug: new("s")}, []uuid.UUID{first.ID}},
		{"tags as a whole", store.Match{Tags: []string{"t", "u"}}, []uuid.UUID{first.ID}},
		{"one of two tags", store.Match{Tags: []string{"t"}}, nil},
		{"timeout", store.Match{Timeout: new(time.Hour)}, []uuid.UUID{first.ID, second.ID}},
		{"timeout of a Cron check", store.Match{Timeout: new(checks.Defaults().Timeout)}, nil},
		{"name and grace", store.Match{Name: new("a"), Grace: new(time.Hour)}, []uuid.UUID{second.ID}},
	} {
		ids, err := f.FindChecks(t.Context(), f.project.ID, test.match)
		must(t, err)
		same(t, test.name, ids, test.want)
		f.update(t, func(ctx context.Context, tx store.Tx) error {
			ids, err := tx.FindChecks(ctx, f.project.ID, test.match)
			same(t, test.name+", in a transaction", ids, test.want)
			return err
		})
	}
}

// testDeleteCheck: pings and flips go with their check.
func testDeleteCheck(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, channel.ID)
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure, Body: []byte("x")}, noon)
	f.deleteCheck(t, c.ID)
	f.gone(t, c.ID)
	same(t, "log of a deleted check", f.log(t, c.ID), []pings.Ping(nil))
	if list := f.pings(t, store.PingQuery{Checks: []uuid.UUID{c.ID}, Number: new(int64(1)), Limit: 10}); len(list) != 0 {
		t.Errorf("ping of a deleted check: %v, want none", list)
	}
	if list := f.flips(t, c.ID, time.Time{}, time.Time{}); len(list) != 0 {
		t.Errorf("flips of a deleted check: %v", list)
	}
}
