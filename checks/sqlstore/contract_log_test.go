package sqlstore_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// testPingLog: Pings returns all fields but the body, newest first.
func testPingLog(t *testing.T, f fixture) {
	c, other := f.create(t, checks.Spec{}), f.create(t, checks.Spec{})
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	var want []pings.Ping
	for i, s := range []pings.Signal{
		{Kind: pings.Start, RunID: run, Scheme: "http", Method: "GET", RemoteAddr: "192.0.2.1", UserAgent: "curl/8"},
		{Kind: pings.Log, Body: []byte("hello")},
		{Kind: pings.Success, RunID: run, ExitStatus: new(0)},
		{Kind: pings.Failure, ExitStatus: new(255), UserAgent: "ünï 😀"},
	} {
		p := f.ping(t, c.ID, s, noon.Add(time.Duration(i)*time.Second))
		f.ping(t, other.ID, s, noon) // entries of another check lie between
		p.Body = nil
		want = append([]pings.Ping{p}, want...)
	}
	got := f.log(t, c.ID)
	same(t, "log, newest first", got, want)
	if got[1].Duration == nil || *got[1].Duration != 2*time.Second {
		t.Errorf("duration %v, want 2s", got[1].Duration)
	}
	got = f.pings(t, store.PingQuery{Checks: []uuid.UUID{c.ID}, Limit: 2})[c.ID]
	same(t, "newest two", got, want[:2])
	same(t, "log of an unknown check", f.log(t, uuid.New()), []pings.Ping(nil))
}

// testPingBodies: a body comes back byte for byte. A ping that is not among the newest of the check, as many as the
// limit, is not found.
func testPingBodies(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	random := make([]byte, 100_000)
	for i := range random {
		random[i] = byte(rand.Uint32())
	}
	bodies := [][]byte{[]byte("text"), nil, {0}, {0xff, 0xfe, 0, '\'', '"', '\\', '{', '\n', '\r'}, random}
	var received []pings.Ping
	must(t, f.edit(t.Context(), c.ID, func(l *store.Locked) error {
		for _, body := range bodies {
			receive(l, pings.Signal{Body: slices.Concat(body)}, noon)
		}
		received = l.Pings
		return nil
	}))
	for _, p := range received { // the caller uses the memory again
		clear(p.Body)
	}
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure, Body: []byte("cut"), BodyCut: 1 << 40, BodyCharset: "utf-16le"}, noon)
	failed := f.pings(t, store.PingQuery{Checks: []uuid.UUID{c.ID}, Failed: true, Limit: 10})[c.ID]
	for i, p := range append(failed, f.body(t, c.ID, 6)) {
		if string(p.Body) != "cut" || p.BodyCut != 1<<40 || p.BodyCharset != "utf-16le" {
			t.Errorf("%d: of a cut body %+v", i, p)
		}
	}
	for i, body := range bodies {
		n := int64(i + 1)
		if p := f.body(t, c.ID, n); p.N != n || !bytes.Equal(p.Body, body) || p.BodySize != int64(len(body)) {
			t.Errorf("ping %d is number %d with %d bytes, size %d, or differs from the %d bytes sent", n, p.N, len(p.Body), p.BodySize, len(body))
		}
	}
	for _, test := range []struct {
		n           int64
		limit, want int
	}{
		{0, 10, 0}, {-1, 10, 0}, {7, 10, 0}, {1 << 60, 10, 0},
		{4, 2, 0}, {5, 2, 1}, // the newest two of six
	} {
		if n := len(f.pings(t, store.PingQuery{Checks: []uuid.UUID{c.ID}, Number: &test.n, Limit: test.limit})[c.ID]); n != test.want {
			t.Errorf("ping %d among the newest %d: found %d, want %d", test.n, test.limit, n, test.want)
		}
	}
}

// testFlipWindows: the window of Flips contains its start and not its end, and counts microseconds.
func testFlipWindows(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	for i, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Success} {
		f.ping(t, c.ID, pings.Signal{Kind: kind}, at(i))
	}
	all := []flips.Flip{{At: at(2), Up: true, Reason: flips.Success}, {At: at(1), Reason: flips.Failure}, {At: at(0), Up: true, Reason: flips.Success}}
	for _, test := range []struct {
		name        string
		from, until time.Time
		want        []flips.Flip
	}{
		{"no bounds", time.Time{}, time.Time{}, all},
		{"from is inclusive", at(1), time.Time{}, all[:2]},
		{"from, a microsecond later", at(1).Add(time.Microsecond), time.Time{}, all[:1]},
		{"until is exclusive", time.Time{}, at(1), all[2:]},
		{"both", at(0), at(2), all[1:]},
		{"before 1970", time.Time{}, time.Unix(-5, 0), nil},
	} {
		same(t, test.name, f.flips(t, c.ID, test.from, test.until), test.want)
	}
}

// testTransitions: they have their reasons and the status before them, and come with the pauses in the order of their
// times. PruneFlips removes old ones of both, and DeleteCheck all.
func testTransitions(t *testing.T, f fixture) {
	c := f.create(t, checks.Spec{})
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	want := []checks.Transition{
		{From: checks.StatusNew, To: checks.StatusDown, At: at(0), Reason: flips.Failure},
		{From: checks.StatusDown, To: checks.StatusPaused, At: at(0)},
		{From: checks.StatusPaused, To: checks.StatusUp, At: at(1), Reason: flips.Success},
		{From: checks.StatusUp, To: checks.StatusPaused, At: at(2)},
	}
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, at(0))
	f.pause(t, c.ID, at(0))
	f.ping(t, c.ID, pings.Signal{}, at(1))
	f.pause(t, c.ID, at(2))
	list := func(id uuid.UUID) []checks.Transition {
		return f.transitions(t, time.Time{}, id)[id]
	}
	same(t, "transitions", list(c.ID), want)
	same(t, "transitions of another check", list(f.create(t, checks.Spec{}).ID), []checks.Transition(nil))
	tied := f.create(t, checks.Spec{})
	f.ping(t, tied.ID, pings.Signal{Kind: pings.Failure}, at(3))
	f.pause(t, tied.ID, at(3))
	f.ping(t, tied.ID, pings.Signal{}, at(3))
	f.ping(t, tied.ID, pings.Signal{Kind: pings.Failure}, at(3))
	same(t, "transitions of one instant", list(tied.ID), []checks.Transition{
		{From: checks.StatusNew, To: checks.StatusDown, At: at(3), Reason: flips.Failure},
		{From: checks.StatusDown, To: checks.StatusPaused, At: at(3)},
		{From: checks.StatusPaused, To: checks.StatusUp, At: at(3), Reason: flips.Success},
		{From: checks.StatusUp, To: checks.StatusDown, At: at(3), Reason: flips.Failure},
	})
	again := f.create(t, checks.Spec{})
	f.ping(t, again.ID, pings.Signal{}, at(1))
	f.pause(t, again.ID, at(2))
	f.ping(t, again.ID, pings.Signal{}, at(3))
	f.pause(t, again.ID, at(3))
	same(t, "a pause at the instant at which another ended", list(again.ID), []checks.Transition{
		{From: checks.StatusNew, To: checks.StatusUp, At: at(1), Reason: flips.Success},
		{From: checks.StatusUp, To: checks.StatusPaused, At: at(2)},
		{From: checks.StatusPaused, To: checks.StatusUp, At: at(3), Reason: flips.Success},
		{From: checks.StatusUp, To: checks.StatusPaused, At: at(3)},
	})
	page, err := f.Events(t.Context(), store.EventQuery{Checks: []uuid.UUID{tied.ID}, Limit: 1})
	must(t, err)
	same(t, "a page of one instant", transitionsOf(page)[tied.ID], list(tied.ID))
	if _, err := f.PruneFlips(t.Context(), at(1), nil); err != nil {
		t.Error(err)
	}
	same(t, "transitions left", list(c.ID), want[2:])
	f.deleteCheck(t, c.ID)
	same(t, "transitions of a deleted check", list(c.ID), []checks.Transition(nil))
}
