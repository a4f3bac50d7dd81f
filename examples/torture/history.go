package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
)

// goal is when the histories of a site are long enough.
type goal struct {
	operations int64
	kills      int64         // of servers, and restarts of PostgreSQL
	calm       time.Duration // between two of them, in the mean
}

// histories lets clients work in rounds while servers die, until the goal is reached and the deadlines of the silent
// checks have passed, and audits everything.
func (s *site) histories(ctx context.Context, seed uint64, g goal, began time.Time, t *tally) error {
	quiet, err := s.silentChecks(ctx)
	if err != nil {
		return err
	}
	for number := 1; ; number++ {
		// At least a few, also when only kills are missing: they are to hit clients at work.
		limit := min(roundOperations, max(fewOperations, g.operations-t.operations.Load()))
		r := &round{site: s, tally: t, seed: seed, number: number, began: began, limit: limit}
		if err := r.create(ctx); err != nil {
			return err
		}
		before := t.deaths()
		s.under(ctx, seed+uint64(number), g.calm, t, func(ctx context.Context) {
			r.work(ctx)
			// A machine that is fast enough is done before anything has died.
			for end := time.Now().Add(10 * g.calm); before < g.kills && t.deaths() == before && time.Now().Before(end); {
				sleep(ctx, 10*time.Millisecond)
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.audit(ctx); err != nil {
			return err
		}
		if t.operations.Load() >= g.operations && t.deaths() >= g.kills {
			break
		}
	}
	if err := s.auditSilent(ctx, seed, g.calm, quiet, t); err != nil {
		return err
	}
	return s.auditDeliveries(ctx, t)
}

// under runs work while servers die, and returns when the work is done and all servers run.
func (s *site) under(ctx context.Context, seed uint64, calm time.Duration, t *tally, work func(context.Context)) {
	dying, stop := context.WithCancel(ctx)
	var chaos sync.WaitGroup
	chaos.Go(func() { s.chaos(dying, seed, calm, t) })
	work(ctx)
	stop()
	chaos.Wait()
}

// silent is a check that is pinged a few times and then no more.
type silent struct {
	subject
	paths []string
	due   time.Duration // after the last ping, when it goes down by itself; 0 when it does not
}

// silentChecks makes checks with the shortest periods there are, pings them and leaves them alone.
func (s *site) silentChecks(ctx context.Context) ([]*silent, error) {
	const run = "?rid=00000000-0000-4000-8000-000000000001"
	list := []*silent{
		{paths: []string{"/start"}, due: time.Minute},
		{paths: []string{"", "/start"}, due: time.Minute},
		{paths: []string{"/fail", "/start"}},
		{paths: []string{"/fail", "", "/start" + run}, due: time.Minute},
		{paths: []string{"/start" + run, ""}},
		{paths: []string{"/start" + run, "?rid=00000000-0000-4000-8000-000000000002"}, due: time.Minute},
		{paths: []string{"/start", "/log", "/3"}},
		{paths: []string{"/log"}},
	}
	for i, q := range list {
		q.slug = fmt.Sprintf("silent-%d", i)
		spec := checks.Spec{Slug: &q.slug, Timeout: new(checks.MinPeriod), Grace: new(checks.MinPeriod)}
		if err := s.create(ctx, &q.subject, spec); err != nil {
			return nil, err
		}
		for n, path := range q.paths {
			name := fmt.Sprintf("%s %d", q.slug, n)
			a, err := s.send(ctx, request{method: http.MethodPost, path: "/ping/" + q.id.String() + path, userAgent: name})
			if err != nil || a.status != http.StatusOK {
				return nil, fmt.Errorf("cannot ping %s: status %d, %w", q.slug, a.status, err)
			}
		}
	}
	return list, nil
}

// auditSilent waits until the silent checks have gone down by themselves, with servers dying meanwhile, and compares
// the instants with those that the log makes.
func (s *site) auditSilent(ctx context.Context, seed uint64, calm time.Duration, list []*silent, t *tally) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	var last time.Time
	for _, q := range list {
		rec, err := readRecord(ctx, db, q.id)
		if err != nil {
			return err
		}
		if due := rec.log[len(rec.log)-1].At.Add(q.due); due.After(last) {
			last = due
		}
	}
	s.under(ctx, seed, calm, t, func(ctx context.Context) { sleep(ctx, time.Until(last)) })
	for deadline := time.Now().Add(patience); ; sleep(ctx, 100*time.Millisecond) {
		faults, err := s.silentFaults(ctx, db, list)
		if err != nil {
			return err
		}
		if len(faults) > 0 && time.Now().Before(deadline) {
			continue // until a watcher has come by
		}
		for _, fault := range faults {
			s.problem("%s", fault)
		}
		return nil
	}
}

func (s *site) silentFaults(ctx context.Context, db *bun.DB, list []*silent) (faults []string, err error) {
	for _, q := range list {
		now := time.Now()
		rec, err := readRecord(ctx, db, q.id)
		if err != nil {
			return nil, err
		}
		found := rec.faults(s.channels)
		if diff := rec.replay(q.initial, now); diff != "" {
			found = append(found, diff)
		}
		if q.due > 0 && (len(rec.flips) == 0 || rec.flips[len(rec.flips)-1].Reason != checks.ReasonOverrun) {
			found = append(found, "it did not go down by itself")
		}
		for _, fault := range found {
			faults = append(faults, fmt.Sprintf("check %s: %s", q.slug, fault))
		}
	}
	return faults, nil
}
