package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// result is a ping and what became of it. Times count from the start of the trial.
type result struct {
	call, ret time.Duration
	status    int    // 0 without an answer
	name      string // the user agent, which no other ping of the trial has
	subject   *subject
}

// ping pings a check by a POST request, even if ctx ends meanwhile. It keeps the result if the ping may have had an effect.
// The path of the request is what follows the address of the check.
func (s *site) ping(ctx context.Context, subject *subject, bySlug bool, r request) (answer, error) {
	r.method, r.path = http.MethodPost, s.address(subject, bySlug)+r.path
	p := result{name: r.userAgent, subject: subject, call: time.Since(s.began)}
	a, err := s.send(context.WithoutCancel(ctx), r)
	p.ret, p.status = time.Since(s.began), a.status
	if a.sent {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.results = append(s.results, p)
	}
	return a, err
}

// pinger pings checks of a server, one after another. The server may refuse its pings, but must answer.
type pinger struct {
	number, server int
	body           string
	afterRefusal   time.Duration        // the pause after a ping that was refused, unless it is shorter than the usual one
	pause          func() time.Duration // nil for 5 ms
}

// largeBody is the body of pings that fill the memory of a server which keeps too many.
var largeBody = strings.Repeat("x", 10_000)

// pingAll pings until ctx ends. Pingers with even numbers ping by slug.
func (s *site) pingAll(ctx context.Context, list []*subject, by pinger) {
	for n := 0; ctx.Err() == nil; n++ {
		a, err := s.ping(ctx, list[(by.number+n)%len(list)], by.number%2 == 0,
			request{server: by.server, body: by.body, userAgent: fmt.Sprintf("pinger %d ping %d", by.number, n)})
		pause := 5 * time.Millisecond
		if by.pause != nil {
			pause = by.pause()
		}
		switch {
		case err != nil:
			s.problem("a ping got no answer: %v", err)
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
			pause = max(pause, by.afterRefusal)
		case a.status != http.StatusOK:
			s.problem("a ping was answered with %d: %s", a.status, a.body)
		}
		sleep(ctx, pause)
	}
}

// auditUp checks that a check with the shortest periods did not go down while it was pinged.
func (s *site) auditUp(subject *subject, rec record) {
	if len(rec.log) == 0 {
		return
	}
	due := rec.log[len(rec.log)-1].At.Add(2 * checks.MinPeriod)
	for _, f := range rec.flips {
		if f.To == checks.StatusDown && f.At.Before(due) {
			s.problem("check %s: it went down at %v although it was pinged in time", subject.slug, f.At.Sub(s.began))
		}
	}
}

// auditPings checks that the log has every acknowledged ping, none twice, and each at the time when it was sent. Then look
// gets the record of each check, if it is not nil.
func (s *site) auditPings(ctx context.Context, list []*subject, look func(*subject, record)) error {
	sent := make(map[string]result, len(s.results))
	for _, r := range s.results {
		if slices.Contains(list, r.subject) {
			sent[r.name] = r
		}
	}
	for _, subject := range list {
		rec, err := s.examine(ctx, subject)
		if err != nil {
			return err
		}
		for _, p := range rec.log {
			r, at := sent[p.UserAgent], p.At.Sub(s.began)
			delete(sent, p.UserAgent)
			if r.subject != subject || at < r.call-s.slack || at > r.ret+s.slack {
				s.problem("check %s: %q is recorded at %v, and was sent from %v to %v", subject.slug, p.UserAgent, at, r.call, r.ret)
			}
		}
		if look != nil {
			look(subject, rec)
		}
	}
	for _, r := range sent {
		if r.status == http.StatusOK {
			s.problem("check %s: lost: %s", r.subject.slug, r.name)
		}
	}
	return nil
}
