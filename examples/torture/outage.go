package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// answerWithin is how long a ping may be waited for while there is no database, and recoverWithin how long after
	// its return the last ping may fail.
	answerWithin, recoverWithin = 5 * time.Second, 2 * time.Second
	// maxOutageMemory bounds what the server may need.
	maxOutageMemory = 512 << 20
)

// outage is how a database can be gone.
type outage struct {
	name      string
	gone, fix func(context.Context) error
}

// refusedConnections is the outage of a PostgreSQL that does not run.
func (s *site) refusedConnections() outage {
	return outage{"refused", func(context.Context) error { s.pg.Stop(); return nil }, s.pg.Start}
}

// silence is the outage of a network that loses everything.
func (s *site) silence() outage {
	hold := func(context.Context) error { s.proxy.hold(); return nil }
	release := func(context.Context) error { s.proxy.release(); return nil }
	return outage{"silent", hold, release}
}

// result is a ping and what has become of it. Times count from the start of the outage run.
type result struct {
	call, ret time.Duration
	status    int
	name      string
	subject   *subject
}

// outageReport is what was seen of an outage.
type outageReport struct {
	Name           string
	Answered       int           // pings answered while the database was gone
	Slowest        time.Duration // of them
	Recovered      time.Duration // after the database was back, until the last failure
	FailedAfter    int           // pings that failed after it was back
	Memory, Before uint64        // most memory during the outage, and before
}

func (r outageReport) String() string {
	return fmt.Sprintf("%d pings answered during the outage, the slowest after %v; after it %d failed, the last after %v; "+
		"memory %d MB, %d MB before", r.Answered, r.Slowest.Round(time.Millisecond),
		r.FailedAfter, r.Recovered.Round(time.Millisecond), r.Memory>>20, r.Before>>20)
}

// outage takes the database away under load for a while, and gives it back.
func (s *site) outage(ctx context.Context, o outage, lasts time.Duration) (report outageReport, err error) {
	const pingers, jobs = 24, 48
	list, err := s.createMany(ctx, "outage", jobs)
	if err != nil {
		return report, err
	}
	began := time.Now()
	working, stop := context.WithCancel(ctx)
	defer stop()
	results := make([][]result, pingers)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = s.pingAll(working, list, fmt.Sprintf("%s %d", o.name, i), i, began) })
	}
	meter := newMeter(s.servers[0].pid)
	sleep(ctx, time.Second)
	report = outageReport{Name: o.name, Before: meter.most()}
	gone := time.Since(began)
	if err := o.gone(ctx); err != nil {
		return report, err
	}
	went := time.Since(began) // until then some are still acknowledged
	sleep(ctx, lasts/2)
	a, err := s.send(ctx, request{method: http.MethodGet, path: "/api/v3/status/"})
	if err != nil || a.status != http.StatusInternalServerError {
		s.problem("outage (%s): the status endpoint answers %d, %v", o.name, a.status, err)
	}
	sleep(ctx, time.Until(began.Add(gone+lasts)))
	report.Memory = meter.most()
	restoring := time.Since(began)
	if err := o.fix(ctx); err != nil {
		return report, err
	}
	back := time.Since(began)
	sleep(ctx, 2*recoverWithin)
	stop()
	wg.Wait()
	meter.stop()
	all := slices.Concat(results...)
	report.judge(s, all, gone, went, restoring, back)
	return report, s.auditPings(ctx, list, all)
}

// pingAll pings checks one after the other until ctx ends, half of them by slug.
func (s *site) pingAll(ctx context.Context, list []*subject, name string, first int, began time.Time) (all []result) {
	body := strings.Repeat("x", 10_000)
	for n := 0; ctx.Err() == nil; n++ {
		r := result{name: fmt.Sprintf("%s %d", name, n), subject: list[(first+n)%len(list)], call: time.Since(began)}
		path := "/ping/" + r.subject.id.String()
		if first%2 == 0 {
			path = "/ping/" + s.pingKey + "/" + r.subject.slug
		}
		a, err := s.send(context.WithoutCancel(ctx),
			request{method: http.MethodPost, path: path, body: body, userAgent: r.name})
		r.ret, r.status = time.Since(began), a.status
		switch {
		case err != nil:
			s.problem("a ping got no answer: %v", err)
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
			sleep(ctx, 20*time.Millisecond)
		case a.status != http.StatusOK:
			s.problem("a ping was answered with %d: %s", a.status, a.body)
		default:
			sleep(ctx, 5*time.Millisecond)
		}
		all = append(all, r)
	}
	return all
}

// judge compares the answers with what they must be. The database began to go at gone and had gone at went; its return
// was asked for at restoring and complete at back.
func (r *outageReport) judge(s *site, all []result, gone, went, restoring, back time.Duration) {
	for _, p := range all {
		if p.ret > gone && p.call < restoring {
			r.Answered++
			r.Slowest = max(r.Slowest, p.ret-p.call)
			if p.call > went && p.status == http.StatusOK && p.ret < restoring {
				s.problem("outage (%s): a ping was acknowledged while there was no database", r.Name)
			}
		}
		if p.call > back && p.status != http.StatusOK {
			r.FailedAfter++
			r.Recovered = max(r.Recovered, p.ret-back)
		}
	}
	if r.Slowest > answerWithin+s.slack {
		s.problem("outage (%s): a ping was answered only after %v", r.Name, r.Slowest)
	}
	if r.Recovered > recoverWithin+s.slack {
		s.problem("outage (%s): a ping failed %v after the database was back", r.Name, r.Recovered)
	}
	if r.Memory > maxOutageMemory {
		s.problem("outage (%s): the server needed %d MB", r.Name, r.Memory>>20)
	}
	if r.Answered == 0 {
		s.problem("outage (%s): no ping was answered", r.Name)
	}
}

// auditPings checks that the log has all pings that were acknowledged, and none twice.
func (s *site) auditPings(ctx context.Context, list []*subject, all []result) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	logged := make(map[string]bool)
	for _, subject := range list {
		rec, err := readRecord(ctx, db, subject.id)
		if err != nil {
			return err
		}
		for _, fault := range rec.faults(s.channels) {
			s.problem("check %s: %s", subject.slug, fault)
		}
		for _, p := range rec.log {
			logged[p.UserAgent] = true
		}
	}
	for _, p := range all {
		if p.status == http.StatusOK && !logged[p.name] {
			s.problem("check %s: lost: %s", p.subject.slug, p.name)
		}
	}
	return nil
}

// percentile returns the latency that a share of the results, from 0 to 1, stays within.
func percentile(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(math.Ceil(share*float64(len(sorted))))-1]
}
