package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

const (
	// answerWithin is how long a ping may wait for its answer while PostgreSQL is gone, and recoverWithin how long pings
	// may fail once it is back.
	answerWithin, recoverWithin = 5 * time.Second, 2 * time.Second
	// maxOutageMemory bounds the memory of the server.
	maxOutageMemory = 512 << 20
)

func runRefused(ctx context.Context, s *site, o options) (report string, err error) {
	stop := func() error { s.pg.Stop(); return nil }
	return s.outage(ctx, o.Outage, stop, func() error { return s.pg.Start(ctx) })
}

func runSilent(ctx context.Context, s *site, o options) (report string, err error) {
	return s.outage(ctx, o.Outage, s.proxy.hold, s.proxy.release)
}

// result is a ping and what became of it. Times count from the start of the trial.
type result struct {
	call, ret time.Duration
	status    int
	name      string
	subject   *subject
}

// outageReport is what was seen of an outage.
type outageReport struct {
	gone, went      time.Duration // when the database began to go, and had gone
	restoring, back time.Duration // when it began to return, and had returned

	answered       int           // pings answered during the outage
	slowest        time.Duration // of them
	failedAfter    int           // pings that failed once the database was back
	recovered      time.Duration // the last of them, since the database was back
	memory, before uint64        // peak memory, and memory before the outage
}

func (r *outageReport) String() string {
	return fmt.Sprintf("%d pings answered during the outage, the slowest after %v; after it %d failed, the last after %v; "+
		"memory %d MB, %d MB before", r.answered, r.slowest.Round(time.Millisecond),
		r.failedAfter, r.recovered.Round(time.Millisecond), r.memory>>20, r.before>>20)
}

// outage takes the database away under load for a while, and gives it back.
func (s *site) outage(ctx context.Context, lasts time.Duration, take, giveBack func() error) (report string, err error) {
	const pingers, jobs = 24, 48
	list, err := s.create(ctx, "outage", jobs, timeouts()[0])
	if err != nil {
		return "", err
	}
	began := time.Now()
	working, stop := context.WithCancel(ctx)
	defer stop()
	results := make([][]result, pingers)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() { results[i] = s.pingAll(working, list, i, began) })
	}
	sleep(ctx, time.Second)
	r := new(outageReport)
	r.before, _ = program.Memory(s.servers[0].PID())
	r.gone = time.Since(began)
	if err := take(); err != nil {
		return "", err
	}
	r.went = time.Since(began)
	sleep(ctx, lasts/2)
	s.checkStatus(ctx)
	sleep(ctx, time.Until(began.Add(r.gone+lasts)))
	r.restoring = time.Since(began)
	if err := giveBack(); err != nil {
		return "", err
	}
	r.back = time.Since(began)
	sleep(ctx, 2*recoverWithin)
	stop()
	group.Wait()
	_, r.memory = program.Memory(s.servers[0].PID())
	all := slices.Concat(results...)
	r.judge(s, all)
	return r.String(), s.auditPings(ctx, list, all)
}

// checkStatus checks that the status endpoint reports the outage.
func (s *site) checkStatus(ctx context.Context) {
	api, err := client.New(s.servers[0].Greeting().URL, s.keys.Key, nil)
	if err == nil {
		err = api.Status(ctx)
	}
	if refused, ok := errors.AsType[*client.Error](err); !ok || refused.StatusCode != http.StatusInternalServerError {
		s.problem("the status endpoint answers during the outage: %v", err)
	}
}

// pingAll pings checks one after another until ctx ends. Pingers with even numbers ping by slug.
func (s *site) pingAll(ctx context.Context, list []*subject, pinger int, began time.Time) (all []result) {
	body := strings.Repeat("x", 10_000)
	for n := 0; ctx.Err() == nil; n++ {
		r := result{name: fmt.Sprintf("pinger %d ping %d", pinger, n), subject: list[(pinger+n)%len(list)], call: time.Since(began)}
		path := "/ping/" + r.subject.id.String()
		if pinger%2 == 0 {
			path = "/ping/" + s.keys.PingKey + "/" + r.subject.slug
		}
		a, err := s.send(context.WithoutCancel(ctx), request{method: http.MethodPost, path: path, body: body, userAgent: r.name})
		r.ret, r.status = time.Since(began), a.status
		pause := 5 * time.Millisecond
		switch {
		case err != nil:
			s.problem("a ping got no answer: %v", err)
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
			pause = 20 * time.Millisecond
		case a.status != http.StatusOK:
			s.problem("a ping was answered with %d: %s", a.status, a.body)
		}
		sleep(ctx, pause)
		all = append(all, r)
	}
	return all
}

// judge compares the answers with what they must be.
func (r *outageReport) judge(s *site, all []result) {
	for _, p := range all {
		if p.ret > r.gone && p.call < r.restoring {
			r.answered++
			r.slowest = max(r.slowest, p.ret-p.call)
			if p.call > r.went && p.status == http.StatusOK && p.ret < r.restoring {
				s.problem("a ping was acknowledged while there was no database")
			}
		}
		if p.call > r.back && p.status != http.StatusOK {
			r.failedAfter++
			r.recovered = max(r.recovered, p.ret-r.back)
		}
	}
	if r.answered == 0 {
		s.problem("no ping was answered during the outage")
	}
	if r.slowest > answerWithin+s.slack {
		s.problem("a ping was answered only after %v", r.slowest)
	}
	if r.recovered > recoverWithin+s.slack {
		s.problem("a ping failed %v after the database was back", r.recovered)
	}
	if r.memory > maxOutageMemory {
		s.problem("the server used %d MB", r.memory>>20)
	}
}

// auditPings checks that the log has every acknowledged ping, and none twice.
func (s *site) auditPings(ctx context.Context, list []*subject, all []result) error {
	logged := make(map[string]bool)
	for _, subject := range list {
		rec, err := s.read(ctx, subject.id)
		if err != nil {
			return err
		}
		for _, fault := range rec.faults() {
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
