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
	outage time.Duration
	jobs   []*subject
	runs   []*subject
	pairs  []*subject // checks that fail at one server and succeed at the next one, both during the outage

	gone, back time.Duration
	replayed   time.Duration // when all spools were empty
	// interrupted counts the replays during which a server was killed.
	interrupted int
}

// runSpool takes the database away while jobs report in, and gives it back.
func runSpool(ctx context.Context, s *site, o options) (report string, err error) {
	t := &spooled{site: s, outage: o.Outage}
	if s.citus { // about as long as the kills take
		t.outage = time.Duration(o.NodeKills) * time.Duration(len(s.nodes)) * (2*o.Calm + time.Second)
	}
	if t.jobs, err = s.create(ctx, "job", o.Jobs, checks.MinPeriod); err != nil {
		return "", err
	}
	if t.runs, err = s.create(ctx, "run", spoolRuns+1, checks.MinPeriod); err != nil {
		return "", err
	}
	if t.pairs, err = s.create(ctx, "pair", spoolPairs, time.Hour); err != nil {
		return "", err
	}
	working, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	for i := range t.jobs {
		group.Go(func() { t.report(working, i) })
	}
	for i, run := range t.runs {
		t.pingAny(ctx, run, i, "/start", fmt.Sprint("start ", i))
	}
	for i := range t.pairs {
		t.pingAny(ctx, t.pairs[i], i, "", fmt.Sprint("pair ", i))
	}
	t.gone = time.Since(t.began)
	for i := range spoolRuns { // all but the last run end in time, at another server; the first one began seconds ago
		group.Go(func() {
			sleep(ctx, time.Until(t.began.Add(t.gone+min(t.outage-5*time.Second, checks.MinPeriod*3/4))))
			t.pingAny(ctx, t.runs[i], i+1, "", fmt.Sprint("end ", i))
		})
	}
	for i := range t.pairs {
		group.Go(func() {
			sleep(ctx, min(t.outage/2, checks.MinPeriod/2))
			t.pingAny(ctx, t.pairs[i], i, "/fail", fmt.Sprint("failed pair ", i))
			sleep(ctx, pairPause)
			t.pingAny(ctx, t.pairs[i], i+1, "", fmt.Sprint("mended pair ", i))
		})
	}
	if s.citus {
		newNodeKills(s, o, nil).ordeal(s, ctx, o.Seed, o.Calm)
		t.back = time.Since(t.began)
	} else if err := t.lose(ctx); err != nil {
		return "", err
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

// lose takes the database away and gives it back. Servers die during the outage and the replay, if the trial says so.
func (t *spooled) lose(ctx context.Context) error {
	t.takeDatabase()
	if t.killed {
		sleep(ctx, t.outage/3)
		t.restart(ctx, 0, t.servers[0])
		t.restart(ctx, 0, t.servers[1])
	}
	sleep(ctx, time.Until(t.began.Add(t.gone+t.outage)))
	if err := t.giveDatabaseBack(ctx); err != nil {
		return err
	}
	t.back = time.Since(t.began)
	if !t.killed {
		return nil
	}
	for _, i := range []int{1, 2} {
		left := t.waiting(ctx, i)
		for ; left > 0 && t.waiting(ctx, i) >= left; sleep(ctx, time.Millisecond) {
		}
		if t.waiting(ctx, i) > 0 {
			t.interrupted++
		}
		t.restart(ctx, 0, t.servers[i])
	}
	return nil
}

// report pings the check of a job until ctx ends, each time at the next server, by UUID and by slug.
func (t *spooled) report(ctx context.Context, job int) {
	pause := max(jobPause, (t.outage+time.Minute)/maxLog)
	for n := 0; sleep(ctx, pause); n++ {
		path := ""
		if n%4 > 1 {
			path = [...]string{"/start", ""}[n%2]
		}
		t.pingAny(ctx, t.jobs[job], job+n, path, fmt.Sprintf("job %d ping %d", job, n))
	}
}

// pingAny pings a check at a server and, while a server does not answer, pings it at the next one under another name.
func (t *spooled) pingAny(ctx context.Context, subject *subject, server int, path, name string) {
	for attempt := 0; ; attempt++ {
		r := request{server: (server + attempt) % len(t.servers), path: path, userAgent: fmt.Sprint(name, " attempt ", attempt), fresh: true}
		a, err := t.ping(ctx, subject, server%2 == 0, r)
		switch {
		case err == nil && a.status == http.StatusOK:
			return
		case err == nil:
			t.problem("%s was answered with %d: %s", r.userAgent, a.status, a.body)
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
	abandoned := t.runs[spoolRuns]
	err := t.auditPings(ctx, slices.Concat(t.jobs, t.runs, t.pairs), func(subject *subject, rec record) {
		if slices.Contains(t.pairs, subject) {
			t.auditPair(subject, rec)
		} else if subject != abandoned {
			t.auditUp(subject, rec)
		}
	})
	if err != nil {
		return err
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
	var rec record
	flipped, err := await(ctx, patience, func() (_ bool, err error) {
		rec, err = t.read(ctx, id)
		return len(rec.flips) > 0, err
	})
	if err != nil {
		return err
	}
	if !flipped {
		t.problem("the abandoned run never went down")
	} else if due := rec.log[0].At.Add(checks.MinPeriod); !rec.flips[0].At.Equal(due) || rec.flips[0].To != checks.StatusDown {
		t.problem("the abandoned run flipped to %s at %v, want down at %v", rec.flips[0].To, rec.flips[0].At, due)
	}
	return nil
}

// String says how long pings took during the outage, and how long the replay took.
func (t *spooled) String() string {
	var took []time.Duration
	unanswered := 0
	for _, r := range t.results {
		if r.status == 0 {
			unanswered++
		}
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
		"%d replays were interrupted; the spools were empty %v after the outage", len(t.results), len(took), (t.back - t.gone).Round(time.Second), tenths(took[len(took)/2]),
		tenths(took[len(took)*99/100]), tenths(took[len(took)-1]), unanswered, t.interrupted, (t.replayed - t.back).Round(time.Millisecond))
}

// tenths rounds to tenths of a millisecond.
func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
