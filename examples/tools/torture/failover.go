package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// commitModes are the values of synchronous_commit with which the standby has whatever was acknowledged.
var commitModes = []string{"on", "remote_apply", "remote_write"}

// failover is the takeover of a standby. Times count from the start of the trial.
type failover struct{ killed, promoted time.Duration }

// failovers makes PostgreSQL fail over while beacons ping each server.
type failovers struct {
	*site
	most    int
	list    []failover
	copies  int         // servers that rejoined by a base backup, because pg_rewind could not
	beacons []*subject  // one for each server, which is pinged there all the time
	over    atomic.Bool // no failover follows
}

// runFailover is runHistories while PostgreSQL fails over.
func runFailover(ctx context.Context, s *site, o options) (report string, err error) {
	f := &failovers{site: s, most: int(o.Failovers)}
	if f.beacons, err = s.create(ctx, "beacon", len(s.servers), checks.MinPeriod); err != nil {
		return "", err
	}
	shining, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	pause := func() time.Duration {
		if f.over.Load() {
			return time.Second
		}
		return 5 * time.Millisecond
	}
	for i, b := range f.beacons {
		group.Go(func() { s.pingAll(shining, []*subject{b}, pinger{number: i, server: i, pause: pause}) })
	}
	s.ordeal = f.ordeal
	o.Kills = o.Failovers
	_, err = runHistories(ctx, s, o)
	stop()
	group.Wait()
	if err != nil {
		return "", err
	}
	for _, b := range f.beacons {
		if err := f.audit(ctx, b); err != nil {
			return "", err
		}
	}
	return f.report(), nil
}

// ordeal is the ordeal of the site: failovers, until there were enough.
func (f *failovers) ordeal(_ *site, ctx context.Context, seed uint64, calm time.Duration) {
	defer f.over.Store(true)
	rng := rand.New(rand.NewPCG(seed, 1<<63))
	for len(f.list) < f.most && sleep(ctx, calm/2+time.Duration(rng.Int64N(int64(calm)+1))) {
		if err := f.failOver(context.WithoutCancel(ctx)); err != nil {
			f.problem("%v", err)
			return
		}
	}
}

// failOver kills the primary, promotes the standby, and makes the killed server the next standby. Until then commits
// wait for no standby, and nothing is killed.
func (f *failovers) failOver(ctx context.Context) error {
	killed := time.Since(f.began)
	f.pg.Kill()
	f.pg, f.standby = f.standby, f.pg
	if err := f.pg.Promote(ctx); err != nil {
		return err
	}
	f.list = append(f.list, failover{killed, time.Since(f.began)})
	f.count.failovers.Add(1)
	unwound, err := f.standby.Rejoin(ctx, f.pg)
	if err != nil {
		return err
	}
	if unwound != nil {
		f.copies++
	}
	if err := f.pg.Set(ctx, "synchronous_commit", commitModes[len(f.list)%len(commitModes)]); err != nil {
		return err
	}
	return f.pg.Synchronize(ctx)
}

// report says how long the servers refused pings, and finds those that did for too long.
func (f *failovers) report() string {
	var since, recovered []time.Duration
	for i, o := range f.list {
		next := time.Since(f.began)
		if i+1 < len(f.list) {
			next = f.list[i+1].killed
		}
		var back time.Duration
		for _, b := range f.beacons {
			back = max(back, f.back(b, o.promoted, next))
		}
		since, recovered = append(since, back-o.killed), append(recovered, back-o.promoted)
		if took := back - o.promoted; took > recoverWithin+f.slack {
			f.problem("after failover %d, a ping was refused until %v after the promotion", i+1, took)
		}
	}
	median := func(list []time.Duration) time.Duration {
		slices.Sort(list)
		return list[len(list)/2].Round(time.Millisecond)
	}
	worst := func(list []time.Duration) time.Duration { return slices.Max(list).Round(time.Millisecond) }
	return fmt.Sprintf("%s, %d with a new base backup; all servers took pings again %v after the promotion, %v at worst; "+
		"%v after the death of the primary, %v at worst", &f.count, f.copies, median(recovered), worst(recovered), median(since), worst(since))
}

// back returns when the server took pings again after a promotion and refused none until the next failover: the first
// acknowledgement after the last refusal. Without one it returns the instant of the next failover.
func (f *failovers) back(beacon *subject, promoted, next time.Duration) time.Duration {
	back := time.Duration(0)
	for _, r := range f.results {
		switch {
		case r.subject != beacon || r.ret < promoted || r.ret >= next:
		case r.status != http.StatusOK:
			back = 0
		case back == 0:
			back = r.ret
		}
	}
	if back == 0 {
		return next
	}
	return back
}

// audit checks that the check has every acknowledged ping, and that it never went down. Its log has only the newest.
func (f *failovers) audit(ctx context.Context, beacon *subject) error {
	rec, err := f.read(ctx, beacon.id)
	if err != nil {
		return err
	}
	sent, acknowledged := 0, 0
	for _, r := range f.results {
		if r.subject == beacon {
			sent++
			if r.status == http.StatusOK {
				acknowledged++
			}
		}
	}
	if n := int(rec.check.NPings); n < acknowledged || n > sent {
		f.problem("check %s: it has %d pings, of %d acknowledged and %d sent", beacon.slug, n, acknowledged, sent)
	}
	f.auditUp(beacon, rec)
	return nil
}
