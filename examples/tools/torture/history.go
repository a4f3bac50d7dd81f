package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// roundChecks is the number of checks in a round. Half of them are also paused, resumed and updated.
	roundChecks = 24
	// roundOperations keeps the log of each check well below the 1,000 pings that are kept.
	roundOperations = roundChecks * 700
	// fewOperations is the least that a round does.
	fewOperations = 200
)

// tally counts what happened in a trial.
type tally struct {
	took         time.Duration
	operations   atomic.Int64 // answered, or possibly effective
	unanswered   atomic.Int64
	acknowledged atomic.Int64 // pings
	kills        atomic.Int64 // of servers
	freezes      atomic.Int64 // of servers
	restarts     atomic.Int64 // of PostgreSQL
	failovers    atomic.Int64 // to the standby of PostgreSQL
	moves        atomic.Int64 // of shards of Citus

	flips, deliveries int
	received, repeats int // deliveries that arrived, and that arrived again
	skipped           int // deliveries that the gate dropped
}

// deaths counts kills of servers, restarts of PostgreSQL and failovers.
func (t *tally) deaths() int64 { return t.kills.Load() + t.restarts.Load() + t.failovers.Load() }

func (t *tally) String() string {
	return fmt.Sprintf("%d operations in %v, %d of them without an answer, %d pings acknowledged; %d flips with %d deliveries, "+
		"of all deliveries %d arrived, %d repeatedly, %d were dropped; %d kills, %d freezes, %d restarts of PostgreSQL, %d failovers, %d moves of shards",
		t.operations.Load(), t.took.Round(time.Second), t.unanswered.Load(), t.acknowledged.Load(), t.flips, t.deliveries,
		t.received, t.repeats, t.skipped, t.kills.Load(), t.freezes.Load(), t.restarts.Load(), t.failovers.Load(), t.moves.Load())
}

// runHistories lets clients work in rounds while servers die, until there were enough operations and kills and the
// deadlines of the silent checks have passed, and audits everything.
func runHistories(ctx context.Context, s *site, o options) (report string, err error) {
	t := &s.count
	quiet, err := s.silentChecks(ctx)
	if err != nil {
		return "", err
	}
	for number := 1; number == 1 || t.operations.Load() < o.Operations || t.deaths() < o.Kills; number++ {
		// Even if only kills are missing, they should hit clients at work.
		limit := min(roundOperations, max(fewOperations, o.Operations-t.operations.Load()))
		r := &round{site: s, seed: o.Seed, number: number, limit: limit}
		if err := r.create(ctx); err != nil {
			return "", err
		}
		before := t.deaths()
		s.under(ctx, o.Seed+uint64(number), o.Calm, func(ctx context.Context) {
			open, end := context.WithCancel(ctx)
			var policies sync.WaitGroup
			policies.Go(func() { r.maintain(open) })
			policies.Go(func() { r.onCall(open) })
			defer policies.Wait()
			defer end()
			r.work(ctx)
			// A fast machine is done before anything has died.
			for end := time.Now().Add(10 * o.Calm); before < o.Kills && t.deaths() == before && time.Now().Before(end); {
				sleep(ctx, 10*time.Millisecond)
			}
		})
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if err := r.audit(ctx); err != nil {
			return "", err
		}
	}
	if err := s.auditSilent(ctx, o, quiet); err != nil {
		return "", err
	}
	err = s.auditDeliveries(ctx)
	t.took = time.Since(s.began)
	return t.String(), err
}
