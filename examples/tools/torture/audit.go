package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// record is everything that the database holds about one check.
type record struct {
	check checks.Check
	log   []pings.Ping // oldest first
	flips []flipRecord // in the order of writing
}

// flipRecord is a flip with the number of its deliveries in the outbox.
type flipRecord struct {
	checks.Transition
	Deliveries int
}

// read reads the record of a check.
func (s *site) read(ctx context.Context, id uuid.UUID) (r record, err error) {
	if r.check, err = s.mon.Check(ctx, id); err != nil {
		return r, err
	}
	if r.log, err = checks.Collect(s.mon.Project(r.check.ProjectID).Pings(ctx, id, checks.PingQuery{})); err != nil {
		return r, err
	}
	slices.Reverse(r.log)
	r.flips, err = s.readFlips(ctx, id)
	return r, err
}

// examine reads the record of a check and reports what is wrong with it, whatever the clients did.
func (s *site) examine(ctx context.Context, subject *subject) (record, error) {
	rec, err := s.read(ctx, subject.id)
	if err == nil {
		for _, fault := range rec.faults() {
			s.problem("check %s: %s", subject.slug, fault)
		}
	}
	return rec, err
}

func (s *site) readFlips(ctx context.Context, id uuid.UUID) ([]flipRecord, error) {
	var rows []struct {
		At         int64
		Up         bool
		FromStatus int
		Reason     string
		Deliveries int
	}
	err := s.db.NewRaw(`SELECT f.at, f.up, f.from_status, f.reason,
		(SELECT count(*) FROM rollcall_deliveries d WHERE d.flip_id = f.id AND d.reminder = 0) AS deliveries
		FROM rollcall_flips f JOIN rollcall_checks c ON c.id = f.check_id WHERE c.uuid = ? ORDER BY f.id`, id).Scan(ctx, &rows)
	if err != nil {
		return nil, err
	}
	stored := [...]checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusDown, checks.StatusPaused}
	list := make([]flipRecord, len(rows))
	for i, row := range rows {
		to := checks.StatusDown
		if row.Up {
			to = checks.StatusUp
		}
		list[i] = flipRecord{Deliveries: row.Deliveries, Transition: checks.Transition{
			From: stored[row.FromStatus], To: to, At: time.UnixMicro(row.At).UTC(), Reason: flips.Reason(row.Reason),
		}}
	}
	return list, nil
}

// digest hashes the flips as the model does.
func (r record) digest() uint64 {
	d := digest(0, nil)
	for _, f := range r.flips {
		d = digest(d, &f.Transition)
	}
	return d
}

// faults returns what is wrong with a record, whatever the clients did.
func (r record) faults() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if r.check.NPings != int64(len(r.log)) {
		fault("n_pings is %d with %d entries in the log", r.check.NPings, len(r.log))
	}
	names, last := make(map[string]int64), int64(0)
	for _, p := range r.log {
		if p.N != last+1 {
			fault("entry %d of the log follows entry %d", p.N, last)
		}
		last = p.N
		if earlier := names[p.UserAgent]; earlier > 0 {
			fault("%q is recorded twice, as %d and %d", p.UserAgent, earlier, p.N)
		}
		names[p.UserAgent] = p.N
	}
	for i, f := range r.flips {
		if i > 0 && f.To == r.flips[i-1].To && f.From != checks.StatusPaused && f.From != checks.StatusNew {
			fault("two flips in a row to %s, at %v and %v", f.To, r.flips[i-1].At, f.At)
		}
		want := 0
		if f.To == checks.StatusDown || f.From == checks.StatusDown {
			want = len(channelNames) // alerts go out for every flip to down, and for flips to up from down
		}
		paused := f.To == checks.StatusUp && f.From != checks.StatusDown && f.Deliveries == len(channelNames) // after an alert
		if f.Deliveries != want && !paused {
			fault("the flip from %s to %s at %v has %d deliveries, want %d", f.From, f.To, f.At, f.Deliveries, want)
		}
	}
	return faults
}

// replay feeds the log to the state machine, up to now, and returns how the result differs from the database. It suits
// checks that were only pinged.
func (r record) replay(initial checks.Check, now time.Time) string {
	c := initial
	var transitions []checks.Transition
	for _, entry := range r.log {
		changed, made, effects, _ := c.Ping(signalOf(entry), entry.At)
		if !sameEntry(made, entry) {
			return fmt.Sprintf("entry %d of the log is a %s, want %s", entry.N, entry.Kind, made.Kind)
		}
		c = changed
		transitions = append(transitions, effects.Transitions...)
	}
	c, effects := c.Settle(now)
	transitions = append(transitions, effects.Transitions...)
	var diffs []string
	var got []checks.Transition
	for _, f := range r.flips {
		got = append(got, f.Transition)
	}
	if diff := cmp.Diff(transitions, got, cmpopts.EquateEmpty()); diff != "" {
		diffs = append(diffs, "flips (-model +database):\n"+diff)
	}
	stored, _ := r.check.Settle(now) // a check that is down gives up a run that takes too long only with its next event
	if diff := cmp.Diff(c.State, stored.State, cmpopts.EquateEmpty()); diff != "" {
		diffs = append(diffs, "state (-model +database):\n"+diff)
	}
	return strings.Join(diffs, "\n")
}

// signalOf returns the signal of a log entry. Its kind is that of the entry because the checks have no keyword filters.
func signalOf(p pings.Ping) pings.Signal {
	return pings.Signal{Kind: p.Kind, RunID: p.RunID, ExitStatus: p.ExitStatus, Scheme: p.Scheme, Method: p.Method,
		RemoteAddr: p.RemoteAddr, UserAgent: p.UserAgent, Body: make([]byte, p.BodySize)}
}

// sameEntry compares the entry that the state machine makes with the logged one.
func sameEntry(made, logged pings.Ping) bool {
	made.Body, made.WrongMethod, logged.Body = nil, false, nil // the log has neither
	return cmp.Equal(made, logged)
}
