package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// jobPause is how long a job waits between two pings, or longer in a long trial: a log keeps 1,000 pings.
	jobPause, maxLog = 90 * time.Millisecond, 900
	// spoolRuns is how many runs start just before the outage and end in it.
	spoolRuns = 30
	// spoolPairs is how many checks fail at one server and succeed at the next one after pairPause, during the outage.
	spoolPairs, pairPause = 30, 3 * time.Second
	// replayWithin is how long servers may take to record their spools, for each minute of the outage.
	replayWithin = 30 * time.Second
)

// spooled is an outage of PostgreSQL that jobs must not notice, because each server has a spool.
type spooled struct {
	*site
	began   time.Time
	outage  time.Duration
	jobs    []*subject
	runs    []*subject
	pairs   []*subject // checks that fail at one server and succeed at the next one, both during the outage
	results [][]result // of each job, each run and each pair

	gone, back time.Duration
	replayed   time.Duration // when all spools were empty
	unanswered int
	// interrupted counts the replays during which a server was killed.
	interrupted int
}

func runSpool(ctx context.Context, s *site, o options) (report string, err error) {
	if s.proxied {
		return s.spool(ctx, o, s.proxy.hold, s.proxy.release, nil)
	}
	return s.spool(ctx, o, func() error { s.pg.Stop(); return nil }, func() error { return s.pg.Start(ctx) }, nil)
}

// runSpoolKill kills servers during the outage and during the replay.
func runSpoolKill(ctx context.Context, s *site, o options) (report string, err error) {
	restart := func(i int) {
		s.servers[i].Kill()
		if err := s.servers[i].Start(ctx); err != nil {
			s.problem("server %d did not start again: %v", i+1, err)
		}
	}
	return s.spool(ctx, o, func() error { s.pg.Stop(); return nil }, func() error { return s.pg.Start(ctx) }, restart)
}

// spool takes the database away while jobs report in, and gives it back. restart kills and starts a server, if it is not
// nil.
func (s *site) spool(ctx context.Context, o options, take, giveBack func() error, restart func(int)) (report string, err error) {
	t := &spooled{site: s, outage: o.Outage, results: make([][]result, o.Jobs+spoolRuns+1+spoolPairs)}
	if t.jobs, err = s.create(ctx, "job", o.Jobs, checks.MinPeriod); err != nil {
		return "", err
	}
	if t.runs, err = s.create(ctx, "run", spoolRuns+1, checks.MinPeriod); err != nil {
		return "", err
	}
	if t.pairs, err = s.create(ctx, "pair", spoolPairs, checks.MinPeriod); err != nil {
		return "", err
	}
	t.began = time.Now()
	working, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i := range t.jobs {
		group.Go(func() { t.report(working, i) })
	}
	for i, run := range t.runs {
		t.ping(ctx, o.Jobs+i, run, i%len(s.servers), "/start", fmt.Sprint("start ", i))
	}
	for i := range t.pairs {
		t.pair(ctx, i, 0, "")
	}
	t.gone = time.Since(t.began)
	if err := take(); err != nil {
		return "", err
	}
	for i := range spoolRuns { // all but the last run end in time, at another server
		group.Go(func() {
			sleep(ctx, time.Until(t.began.Add(t.gone+t.outage-5*time.Second)))
			t.ping(ctx, o.Jobs+i, t.runs[i], (i+1)%len(s.servers), "", fmt.Sprint("end ", i))
		})
	}
	for i := range t.pairs {
		group.Go(func() {
			sleep(ctx, min(t.outage/2, checks.MinPeriod/2))
			t.pair(ctx, i, 0, "/fail")
			sleep(ctx, pairPause)
			t.pair(ctx, i, 1, "")
		})
	}
	if restart != nil {
		sleep(ctx, t.outage/3)
		restart(0)
		restart(1)
	}
	sleep(ctx, time.Until(t.began.Add(t.gone+t.outage)))
	if err := giveBack(); err != nil {
		return "", err
	}
	t.back = time.Since(t.began)
	if restart != nil {
		for _, i := range []int{1, 2} {
			left := t.waiting(ctx, i)
			for ; left > 0 && t.waiting(ctx, i) >= left; sleep(ctx, time.Millisecond) {
			}
			if t.waiting(ctx, i) > 0 {
				t.interrupted++
			}
			restart(i)
		}
	}
	t.awaitReplay(ctx)
	sleep(ctx, 5*time.Second)
	stop()
	group.Wait()
	t.awaitReplay(ctx)
	if err := t.audit(ctx); err != nil {
		return "", err
	}
	return t.String(), nil
}

// report pings the check of a job until ctx ends, each time at the next server, by UUID and by slug.
func (t *spooled) report(ctx context.Context, job int) {
	pause := max(jobPause, (t.outage+time.Minute)/maxLog)
	for n := 0; sleep(ctx, pause); n++ {
		path := ""
		if n%4 > 1 {
			path = [...]string{"/start", ""}[n%2]
		}
		t.ping(ctx, job, t.jobs[job], (job+n)%len(t.servers), path, fmt.Sprintf("job %d ping %d", job, n))
	}
}

// pair sends a ping of a pair. turn selects the server.
func (t *spooled) pair(ctx context.Context, i, turn int, path string) {
	name := fmt.Sprint("pair", path, " ", len(t.results[len(t.jobs)+len(t.runs)+i]))
	t.ping(ctx, len(t.jobs)+len(t.runs)+i, t.pairs[i], (i+turn)%len(t.servers), path, name)
}

// ping sends a ping and, while a server does not answer, sends it to the next one under another name.
func (t *spooled) ping(ctx context.Context, worker int, subject *subject, server int, path, name string) {
	base := "/ping/" + subject.id.String()
	if worker%2 == 0 {
		base = "/ping/" + t.keys.PingKey + "/" + subject.slug
	}
	for attempt := 0; ; attempt++ {
		r := result{name: fmt.Sprint(name, " attempt ", attempt), subject: subject, call: time.Since(t.began)}
		a, err := t.send(context.WithoutCancel(ctx), request{
			server: (server + attempt) % len(t.servers), method: http.MethodPost, path: base + path, userAgent: r.name, fresh: true,
		})
		r.ret, r.status = time.Since(t.began), a.status
		if a.sent {
			t.results[worker] = append(t.results[worker], r)
		}
		switch {
		case err == nil && a.status == http.StatusOK:
			return
		case err == nil:
			t.problem("%s was answered with %d: %s", r.name, a.status, a.body)
			return
		case ctx.Err() != nil:
			return
		}
		sleep(ctx, 20*time.Millisecond)
	}
}

// awaitReplay waits until all spools are empty.
func (t *spooled) awaitReplay(ctx context.Context) {
	deadline := time.Now().Add(replayWithin*max(1, t.outage/time.Minute) + t.slack)
	for i := range t.servers {
		for !t.spoolIsEmpty(ctx, i) {
			if time.Now().After(deadline) {
				t.problem("server %d still has pings in its spool", i+1)
				return
			}
			sleep(ctx, 50*time.Millisecond)
		}
	}
	if t.replayed == 0 {
		t.replayed = time.Since(t.began)
	}
}

func (t *spooled) spoolIsEmpty(ctx context.Context, server int) bool {
	text := t.readiness(ctx, server)
	return strings.Contains(text, "database: ok\n") && strings.Contains(text, "spool: ok, is empty")
}

// waiting returns how many pings the spool of a server holds.
func (t *spooled) waiting(ctx context.Context, server int) (n int) {
	_, after, _ := strings.Cut(t.readiness(ctx, server), "spool: ok, holds ")
	_, _ = fmt.Sscan(after, &n)
	return n
}

// readiness returns the answer of a server to /readyz?verbose, or "".
func (t *spooled) readiness(ctx context.Context, server int) string {
	a, err := t.send(ctx, request{server: server, method: http.MethodGet, path: "/readyz?verbose"})
	if err != nil {
		return ""
	}
	return string(a.body)
}

// audit compares the answers with the database.
func (t *spooled) audit(ctx context.Context) error {
	sent := make(map[string]result)
	for _, r := range slices.Concat(t.results...) {
		sent[r.name+r.subject.slug] = r
		if r.status == 0 {
			t.unanswered++
		}
	}
	abandoned := t.runs[spoolRuns]
	for _, subject := range slices.Concat(t.jobs, t.runs, t.pairs) {
		rec, err := t.read(ctx, subject.id)
		if err != nil {
			return err
		}
		for _, fault := range rec.faults() {
			t.problem("check %s: %s", subject.slug, fault)
		}
		for _, p := range rec.log {
			r, known := sent[p.UserAgent+subject.slug]
			delete(sent, p.UserAgent+subject.slug)
			at := p.At.Sub(t.began)
			if !known || at < r.call-t.slack || at > r.ret+t.slack {
				t.problem("check %s: %q is recorded at %v, and was sent from %v to %v", subject.slug, p.UserAgent, at, r.call, r.ret)
			}
		}
		if slices.Contains(t.pairs, subject) {
			t.auditPair(subject, rec)
		} else if subject != abandoned {
			for _, f := range rec.flips {
				if f.To == checks.StatusDown {
					t.problem("check %s: it went down at %v although it was pinged in time", subject.slug, f.At.Sub(t.began))
				}
			}
		}
	}
	for _, r := range sent {
		if r.status == http.StatusOK {
			t.problem("check %s: lost: %s", r.subject.slug, r.name)
		}
	}
	return t.auditAbandoned(ctx, abandoned.id)
}

// auditPair looks for the flips of a pair, and whether the log is in the order of its dates.
func (t *spooled) auditPair(subject *subject, rec record) {
	var flips []string
	for _, f := range rec.flips {
		flips = append(flips, string(f.To))
	}
	if got := strings.Join(flips, " "); got != "up down up" {
		t.problem("check %s: flipped to %s, want up down up", subject.slug, got)
	}
	if !slices.IsSortedFunc(rec.log, func(a, b pings.Ping) int { return a.At.Compare(b.At) }) {
		t.problem("check %s: the numbers in the log run against the dates", subject.slug)
	}
}

// auditAbandoned waits until the check whose run never ended goes down, at the instant of its deadline.
func (t *spooled) auditAbandoned(ctx context.Context, id uuid.UUID) error {
	for give := time.Now().Add(patience); ; {
		rec, err := t.read(ctx, id)
		if err != nil {
			return err
		}
		if len(rec.flips) > 0 {
			if due := rec.log[0].At.Add(checks.MinPeriod); !rec.flips[0].At.Equal(due) || rec.flips[0].To != checks.StatusDown {
				t.problem("the abandoned run flipped to %s at %v, want down at %v", rec.flips[0].To, rec.flips[0].At, due)
			}
			return nil
		}
		if time.Now().After(give) || !sleep(ctx, 200*time.Millisecond) {
			t.problem("the abandoned run never went down")
			return nil
		}
	}
}

// String says how long pings took during the outage, and how long the replay took.
func (t *spooled) String() string {
	var took []time.Duration
	all := slices.Concat(t.results...)
	for _, r := range all {
		if r.ret > t.gone && r.call < t.back && r.status == http.StatusOK {
			took = append(took, r.ret-r.call)
		}
	}
	slices.Sort(took)
	if len(took) == 0 {
		return "no ping was answered during the outage"
	}
	if worst := took[len(took)-1]; worst > answerWithin+t.slack {
		t.problem("a ping was answered only after %v", worst)
	}
	return fmt.Sprintf("%d pings, %d of them in an outage of %v, answered after %v (median), %v (99 %%), %v at worst; %d got no answer; "+
		"%d replays were interrupted; the spools were empty %v after the outage", len(all), len(took), (t.back - t.gone).Round(time.Second), tenths(took[len(took)/2]),
		tenths(took[len(took)*99/100]), tenths(took[len(took)-1]), t.unanswered, t.interrupted, (t.replayed - t.back).Round(time.Millisecond))
}

// tenths rounds to tenths of a millisecond.
func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
