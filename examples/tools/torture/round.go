package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/pings"
)

// clients is the number of clients that work at once.
const clients = 12

// round is a history of checks that nothing else works on.
type round struct {
	*site
	seed     uint64
	number   int
	limit    int64 // of operations
	subjects []*subject

	done atomic.Int64
}

// random returns the source of random choices of one client. Number 0 is for the round itself.
func (r *round) random(client int) *rand.Rand {
	return rand.New(rand.NewPCG(r.seed, uint64(r.number)<<32|uint64(client)))
}

// create makes the checks of the round.
func (r *round) create(ctx context.Context) (err error) {
	r.subjects, err = r.site.create(ctx, fmt.Sprint("round-", r.number), roundChecks, timeouts()[0])
	rng := r.random(0)
	for i, s := range r.subjects {
		s.steered = i%2 == 0
		for n := range 3 {
			s.runs = append(s.runs, uuid.NullUUID{UUID: uuid.UUID{byte(rng.Uint32()), 15: byte(n)}, Valid: true})
		}
	}
	return err
}

// work lets the clients work until they have done enough.
func (r *round) work(ctx context.Context) {
	var group sync.WaitGroup
	for c := range clients {
		group.Go(func() {
			rng := r.random(c + 1)
			for n := 0; ctx.Err() == nil && r.done.Load() < r.limit; n++ {
				name := fmt.Sprintf("torture round %d client %d operation %d", r.number, c, n)
				o := choose(rng, r.subjects[rng.IntN(len(r.subjects))], name)
				o.client = c
				r.perform(ctx, rng, o)
			}
		})
	}
	group.Wait()
}

// perform makes the request of an operation, and notes the operation if it can matter.
func (r *round) perform(ctx context.Context, rng *rand.Rand, o *operation) {
	req := o.request(rng, r.site)
	o.call, o.called = time.Since(r.began), time.Now().UTC().Truncate(time.Microsecond)
	a, err := r.send(ctx, req)
	o.ret = time.Since(r.began)
	if err != nil && !a.sent {
		sleep(ctx, 10*time.Millisecond) // until a server is back
		return
	}
	if err == nil {
		if err := o.note(a); err != nil {
			r.problem("%v", err)
		}
	}
	switch {
	case o.answered() && o.action == doPing:
		r.count.acknowledged.Add(1)
	case o.action >= doRead && (r.citus || !o.answered()):
		return // it says nothing
	case o.answered():
	default:
		r.count.unanswered.Add(1)
		if !r.citus {
			o.ret += doubt
			sleep(ctx, 50*time.Millisecond) // until a server or the database is back
			break
		}
		o.ret += doubtOnCitus
		pause := 500 * time.Millisecond // or there are more orders than patience lasts for
		if o.optional() {
			pause = 4 * time.Second // each doubles the states that a check can be in
		}
		sleep(ctx, pause)
	}
	o.returned = o.called.Add(o.ret - o.call)
	r.done.Add(1)
	r.count.operations.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	o.subject.history = append(o.subject.history, o)
}

// audit compares what the clients saw with what the database holds. The servers must be running and idle.
func (r *round) audit(ctx context.Context) error {
	for _, s := range r.subjects {
		rec, err := r.examine(ctx, s)
		if err != nil {
			return err
		}
		if !s.steered {
			if diff := rec.replay(s.initial, time.Now()); diff != "" {
				r.problem("check %s: %s", s.slug, diff)
			}
		}
		r.judge(s, rec)
		r.count.flips += len(rec.flips)
		for _, f := range rec.flips {
			r.count.deliveries += f.Deliveries
		}
	}
	return nil
}

// judge compares the history of a check with its log, and asks whether the state machine allows the history.
func (r *round) judge(s *subject, rec record) {
	logged := make(map[string]*pings.Ping, len(rec.log))
	for i := range rec.log {
		logged[rec.log[i].UserAgent] = &rec.log[i]
	}
	var list []porcupine.Operation
	add := func(o *operation) {
		list = append(list, porcupine.Operation{ClientId: o.client, Input: o, Call: int64(o.call), Return: int64(o.ret)})
	}
	for _, o := range s.history {
		if o.action == doPing {
			if o.logged = logged[o.signal.UserAgent]; o.logged == nil {
				if o.answered() {
					r.problem("check %s: lost: %s", s.slug, o)
				}
				continue
			}
			delete(logged, o.signal.UserAgent)
		}
		add(o)
	}
	for name, p := range logged {
		r.problem("check %s: the log has a ping that nobody sent: %d, %q", s.slug, p.N, name)
	}
	end := time.Since(r.began)
	add(&operation{action: doAudit, status: http.StatusOK, subject: s, client: clients, call: end, ret: end + 1,
		audit: &modelState{Check: rec.check, flips: len(rec.flips), digest: rec.digest()}})
	r.linearize(s, list)
}

func (r *round) linearize(s *subject, list []porcupine.Operation) {
	m := model(s.initial)
	result, info := porcupine.CheckOperationsVerbose(m, list, patience)
	if result == porcupine.Ok {
		return
	}
	verdict := "cannot be put in order"
	if result == porcupine.Unknown {
		verdict = fmt.Sprintf("was not put in order within %v, on a busy machine try again", patience)
	}
	path := filepath.Join(r.dir, s.slug+".html")
	err := porcupine.VisualizePath(m, info, path)
	r.problem("check %s: its history %s: %s; see %s %v", s.slug, verdict, stuck(m, list, info), path, err)
}

// stuck describes how much of a history can be put in order, and which operation comes next and does not fit.
func stuck(m porcupine.Model, list []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	state, done := m.Init(), make(map[any]bool)
	for _, o := range longest {
		_, state = m.Step(state, o.Input, nil)
		done[o.Input] = true
	}
	var next *operation
	for _, o := range list {
		if candidate := o.Input.(*operation); !done[candidate] && (next == nil || candidate.ret < next.ret) {
			next = candidate
		}
	}
	return fmt.Sprintf("%d of %d operations can be put in order, to %s; then not: %v",
		len(longest), len(list), m.DescribeState(state), next)
}
