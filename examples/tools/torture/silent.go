package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// silent is a check that gets a few pings and then no more.
type silent struct {
	*subject
	paths []string
	due   time.Duration // from the last ping until the check goes down by itself, or 0 if it does not
}

// silentChecks makes checks with the shortest periods, pings them and leaves them alone.
func (s *site) silentChecks(ctx context.Context) ([]silent, error) {
	const run = "?rid=00000000-0000-4000-8000-000000000001"
	list := []silent{
		{paths: []string{"/start"}, due: time.Minute},
		{paths: []string{"", "/start"}, due: time.Minute},
		{paths: []string{"/fail", "/start"}},
		{paths: []string{"/fail", "", "/start" + run}, due: time.Minute},
		{paths: []string{"/start" + run, ""}},
		{paths: []string{"/start" + run, "?rid=00000000-0000-4000-8000-000000000002"}, due: time.Minute},
		{paths: []string{"/start", "/log", "/3"}},
		{paths: []string{"/log"}},
	}
	made, err := s.create(ctx, "silent", len(list), checks.MinPeriod)
	if err == nil {
		err = s.escalate(ctx, made[0].id)
	}
	if err != nil {
		return nil, err
	}
	for i, q := range list {
		list[i].subject = made[i]
		for n, path := range q.paths {
			name := fmt.Sprintf("%s %d", made[i].slug, n)
			a, err := s.ping(ctx, made[i], false, request{path: path, userAgent: name})
			if err != nil || a.status != http.StatusOK {
				return nil, fmt.Errorf("ping %s: status %d, %w", made[i].slug, a.status, err)
			}
		}
	}
	return list, nil
}

// auditSilent waits, while servers die, until the silent checks have gone down by themselves. They must have gone down
// at the instants that follow from the log.
func (s *site) auditSilent(ctx context.Context, o options, list []silent) error {
	var last time.Time
	for _, q := range list {
		rec, err := s.read(ctx, q.id)
		if err != nil {
			return err
		}
		if due := rec.log[len(rec.log)-1].At.Add(q.due); due.After(last) {
			last = due
		}
	}
	s.under(ctx, o.Seed, o.Calm, func(ctx context.Context) { sleep(ctx, time.Until(last)) })
	var faults []string
	_, err := await(ctx, patience, func() (_ bool, err error) { // a watcher may still be on its way
		faults, err = s.silentFaults(ctx, list)
		return len(faults) == 0, err
	})
	for _, fault := range faults {
		s.problem("%s", fault)
	}
	return err
}

func (s *site) silentFaults(ctx context.Context, list []silent) (faults []string, err error) {
	for _, q := range list {
		now := time.Now()
		rec, err := s.read(ctx, q.id)
		if err != nil {
			return nil, err
		}
		found := rec.faults()
		if diff := rec.replay(q.initial, now); diff != "" {
			found = append(found, diff)
		}
		if q.due > 0 && (len(rec.flips) == 0 || rec.flips[len(rec.flips)-1].Reason != flips.Overrun) {
			found = append(found, "it did not go down by itself")
		}
		for _, fault := range found {
			faults = append(faults, fmt.Sprintf("check %s: %s", q.slug, fault))
		}
	}
	return faults, nil
}
