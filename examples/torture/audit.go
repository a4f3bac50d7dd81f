package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/pings"
)

// record is all that the database has about one check.
type record struct {
	check checks.Check
	log   []pings.Ping // oldest first
	flips []flipRecord // in the order in which they were written
}

// flipRecord is a flip, with how many deliveries of it there are in the outbox.
type flipRecord struct {
	checks.Transition
	Deliveries int
}

// whole is more than a log ever has here.
const whole = 1_000_000

// readRecord reads what there is about a check.
func readRecord(ctx context.Context, db *bun.DB, id uuid.UUID) (record, error) {
	store, err := sqlstore.New(db)
	if err != nil {
		return record{}, err
	}
	var r record
	found, err := store.Checks(ctx, monitor.CheckFilter{ID: &id})
	if err != nil || len(found) == 0 {
		return record{}, errors.Join(err, fmt.Errorf("%d checks %s", len(found), id))
	}
	r.check = found[0]
	if r.log, err = store.Pings(ctx, id, whole); err != nil {
		return record{}, err
	}
	slices.Reverse(r.log)
	r.flips, err = readFlips(ctx, db, id)
	return r, err
}

func readFlips(ctx context.Context, db *bun.DB, id uuid.UUID) ([]flipRecord, error) {
	var rows []struct {
		At         int64
		Up         bool
		FromStatus int
		Reason     string
		Deliveries int
	}
	err := db.NewRaw(`SELECT f.at, f.up, f.from_status, f.reason,
		(SELECT count(*) FROM rollcall_deliveries d WHERE d.flip_id = f.id) AS deliveries
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
			From: stored[row.FromStatus], To: to, At: time.UnixMicro(row.At).UTC(), Reason: checks.Reason(row.Reason),
		}}
	}
	return list, nil
}

// digest sums up the flips as the model does.
func (r record) digest() uint64 {
	d := digest(0, nil)
	for _, f := range r.flips {
		d = digest(d, &f.Transition)
	}
	return d
}

// faults tells what of a record cannot be, whatever the clients have done.
func (r record) faults(channels int) (faults []string) {
	for i, p := range r.log {
		if p.N != int64(i+1) {
			faults = append(faults, fmt.Sprintf("the entry %d of the log has the number %d", i+1, p.N))
			break
		}
	}
	if r.check.NPings != int64(len(r.log)) {
		faults = append(faults, fmt.Sprintf("n_pings is %d with %d entries in the log", r.check.NPings, len(r.log)))
	}
	names := make(map[string]int64)
	for _, p := range r.log {
		if earlier := names[p.UserAgent]; earlier > 0 {
			faults = append(faults, fmt.Sprintf("%q is recorded twice, as %d and %d", p.UserAgent, earlier, p.N))
		}
		names[p.UserAgent] = p.N
	}
	for i, f := range r.flips {
		if i > 0 && f.To == r.flips[i-1].To && f.From != checks.StatusPaused && f.From != checks.StatusNew {
			faults = append(faults, fmt.Sprintf("two flips in a row to %s, at %v and %v", f.To, r.flips[i-1].At, f.At))
		}
		want := 0
		if f.To == checks.StatusDown || f.From == checks.StatusDown {
			want = channels // always when it went down, and when it came up from down
		}
		if f.Deliveries != want {
			faults = append(faults, fmt.Sprintf("the flip from %s to %s at %v has %d deliveries, want %d",
				f.From, f.To, f.At, f.Deliveries, want))
		}
	}
	return faults
}

// replay gives the log to the pure state machine, and tells where what it makes of that differs from the database. It
// is for checks that were only pinged. The check is asked for what has become of it until now.
func (r record) replay(initial checks.Check, now time.Time) string {
	c := initial
	var transitions []checks.Transition
	for _, entry := range r.log {
		changed, made, effects := c.Ping(signalOf(entry), entry.At)
		if !sameEntry(made, entry) {
			return fmt.Sprintf("the entry %d of the log is a %s, want %s", entry.N, entry.Kind, made.Kind)
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
	if diff := cmp.Diff(c.State, r.check.State, cmpopts.EquateEmpty()); diff != "" {
		diffs = append(diffs, "state (-model +database):\n"+diff)
	}
	return strings.Join(diffs, "\n")
}

// signalOf returns the signal of an entry of the log. The checks here filter nothing, so that the kind of an entry is
// that of its signal.
func signalOf(p pings.Ping) pings.Signal {
	return pings.Signal{Kind: p.Kind, RunID: p.RunID, ExitStatus: p.ExitStatus, Scheme: p.Scheme, Method: p.Method,
		RemoteAddr: p.RemoteAddr, UserAgent: p.UserAgent, Body: make([]byte, p.BodySize)}
}

// sameEntry compares what the state machine says of a ping with the entry of the log.
func sameEntry(made, logged pings.Ping) bool {
	made.Body, logged.Body = nil, nil
	return cmp.Equal(made, logged)
}

// backwards returns the longest step back in time from one entry of the log to the next.
func (r record) backwards() (most time.Duration) {
	for i := range r.log {
		if i > 0 {
			most = max(most, r.log[i-1].At.Sub(r.log[i].At))
		}
	}
	return most
}
