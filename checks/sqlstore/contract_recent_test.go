package sqlstore_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// testRecentPings: it returns the newest pings of several checks, each list as long as the limit, the instant and
// pruning leave it. Pings that waited in a queue hide no newer ones.
func testRecentPings(t *testing.T, f fixture) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	busy, rare, never, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	f.ping(t, rare.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(3), Body: []byte("disk full"), UserAgent: "curl"}, minute(1))
	for i := range 15 {
		f.ping(t, busy.ID, pings.Signal{Kind: pings.Start, RunID: run}, minute(4*i))
		f.ping(t, other.ID, pings.Signal{}, minute(4*i+1)) // entries of another check lie between
		f.ping(t, busy.ID, pings.Signal{RunID: run}, minute(4*i+2))
	}
	// It waited in a queue and stands where it arrived.
	f.ping(t, busy.ID, pings.Signal{At: minute(5)}, minute(58))
	f.ping(t, busy.ID, pings.Signal{Kind: pings.Log}, minute(59))
	all := func(id uuid.UUID) []pings.Ping {
		list := f.log(t, id)
		for i, p := range list {
			list[i] = pings.Ping{N: p.N, Kind: p.Kind, At: p.At, RunID: p.RunID, ExitStatus: p.ExitStatus, Duration: p.Duration, BodySize: p.BodySize}
		}
		return list
	}
	ids := []uuid.UUID{busy.ID, never.ID, uuid.New(), rare.ID, busy.ID}
	for _, test := range []struct {
		name       string
		since      time.Time
		limit      int
		busy, rare int
	}{
		{"all", time.Time{}, 1000, 32, 1},
		{"a limit", time.Time{}, 3, 3, 1},
		{"since an instant, exactly", minute(40), 1000, 2 + 10 + 10, 1},
		{"since a microsecond later", minute(40).Add(time.Microsecond), 1000, 2 + 9 + 10, 1},
		{"nothing since", minute(60), 1000, 10, 1},
		{"before 1970", time.Unix(-5, 0), 1000, 32, 1},
		{"no limit left", time.Time{}, 0, 0, 0},
	} {
		got := f.pings(t, store.PingQuery{Checks: ids, Since: test.since, Limit: test.limit, Brief: true})
		same(t, test.name+": busy", got[busy.ID], all(busy.ID)[:test.busy])
		same(t, test.name+": rare", got[rare.ID], all(rare.ID)[:test.rare])
		if len(got) > 2 {
			t.Errorf("%s: %d checks have pings, want 2", test.name, len(got))
		}
	}

	f.pingMany(t, rare.ID, 2*paidPings)
	for range 4 {
		_, err := f.PrunePings(t.Context(), nil)
		must(t, err)
	}
	if log := f.pings(t, store.PingQuery{Checks: []uuid.UUID{rare.ID}, Limit: 10 * paidPings})[rare.ID]; len(log) < paidPings || len(log) > 2*paidPings || log[0].N != 2*paidPings+1 {
		t.Errorf("after pruning %d pings are left", len(log))
	}
	f.deleteCheck(t, rare.ID)
	if got := f.pings(t, store.PingQuery{Checks: []uuid.UUID{rare.ID}, Limit: 10}); len(got) > 0 {
		t.Errorf("of a deleted check: %v", got)
	}
	if got := f.pings(t, store.PingQuery{Limit: 10}); len(got) > 0 {
		t.Errorf("of no checks: %v", got)
	}
}

// testLastFailures: it returns the newest failure of each check that has one among as many pings as the limit, with the end of
// its body.
func testLastFailures(t *testing.T, f fixture) {
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	never, failed, mended := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	body := bytes.Repeat([]byte("\x00line\n"), 2*store.FailedBody/6)
	f.ping(t, never.ID, pings.Signal{Body: []byte("well")}, noon)
	f.ping(t, failed.ID, pings.Signal{Kind: pings.Failure, Body: []byte("before")}, noon)
	f.ping(t, failed.ID, pings.Signal{Kind: pings.Failure, ExitStatus: new(3), Body: body, Scheme: "https", Method: "POST"}, minute(1))
	f.ping(t, failed.ID, pings.Signal{Kind: pings.Start}, minute(2))
	f.ping(t, mended.ID, pings.Signal{Kind: pings.Failure, Body: []byte("short")}, minute(1))
	for i := range 3 {
		f.ping(t, mended.ID, pings.Signal{Body: []byte("well")}, minute(2+i))
	}
	ids := []uuid.UUID{failed.ID, never.ID, mended.ID, uuid.New()}
	got := f.pings(t, store.PingQuery{Checks: ids, Limit: 4, Failed: true})
	want := map[uuid.UUID][]pings.Ping{failed.ID: {f.log(t, failed.ID)[1]}, mended.ID: {f.log(t, mended.ID)[3]}}
	want[failed.ID][0].Body, want[mended.ID][0].Body = body[len(body)-store.FailedBody:], []byte("short")
	same(t, "failures", got, want)
	if size := got[failed.ID][0].BodySize; size != int64(len(body)) {
		t.Errorf("the size of the body is %d, want %d", size, len(body))
	}
	delete(want, mended.ID)
	same(t, "failures among three pings", f.pings(t, store.PingQuery{Checks: ids, Limit: 3, Failed: true}), want)
}

// testRecentTransitions: Events returns those from an instant on, for several checks at once.
func testRecentTransitions(t *testing.T, f fixture) {
	second := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }
	a, b, quiet := f.create(t, checks.Spec{}), f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	for i, c := range []checks.Check{a, b} {
		f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, second(i))
		f.pause(t, c.ID, second(i))
		f.ping(t, c.ID, pings.Signal{}, second(i+1))
	}
	all := func(id uuid.UUID, since time.Time) []checks.Transition {
		list := f.transitions(t, time.Time{}, id)[id]
		return slices.DeleteFunc(list, func(t checks.Transition) bool { return t.At.Before(since) })
	}
	ids := []uuid.UUID{b.ID, quiet.ID, a.ID, uuid.New()}
	for _, since := range []time.Time{{}, time.Unix(-5, 0), noon, second(1), second(1).Add(time.Microsecond), second(3)} {
		got := f.transitions(t, since, ids...)
		want := make(map[uuid.UUID][]checks.Transition)
		for _, id := range []uuid.UUID{a.ID, b.ID} {
			if list := all(id, since); len(list) > 0 {
				want[id] = list
			}
		}
		same(t, "since "+since.String(), got, want)
	}
	if got := f.transitions(t, noon); len(got) > 0 {
		t.Errorf("of no checks: %v", got)
	}
}
