package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// roundChecks is how many checks a round works on. Half of them are paused, resumed and updated, too.
	roundChecks = 24
	// roundOperations keeps the log of each check well below the 1000 pings that are kept.
	roundOperations = roundChecks * 700
	// fewOperations is the least that a round does.
	fewOperations = 200
	// clients is how many clients work at once.
	clients = 12
)

// tally is what a run has done so far.
type tally struct {
	operations   atomic.Int64 // that had an answer, or may have had an effect
	unanswered   atomic.Int64
	acknowledged atomic.Int64 // pings
	flips        atomic.Int64
	deliveries   atomic.Int64
	received     atomic.Int64 // deliveries that have arrived
	repeats      atomic.Int64 // and that have arrived again
	kills        atomic.Int64 // of servers
	freezes      atomic.Int64 // of servers, too
	restarts     atomic.Int64 // of PostgreSQL
	backwards    atomic.Int64 // the longest step back in time within a log, in nanoseconds
	took         time.Duration
}

// deaths counts what has died, servers and PostgreSQL.
func (t *tally) deaths() int64 { return t.kills.Load() + t.restarts.Load() }

func (t *tally) String() string {
	return fmt.Sprintf("%d operations in %v, %d of them without an answer, %d pings acknowledged; %d flips, %d deliveries, "+
		"%d of all have arrived, %d more than once; %d kills, %d freezes, %d restarts of PostgreSQL; "+
		"a log went back in time by %v at most", t.operations.Load(), t.took.Round(time.Second), t.unanswered.Load(),
		t.acknowledged.Load(), t.flips.Load(), t.deliveries.Load(), t.received.Load(), t.repeats.Load(),
		t.kills.Load(), t.freezes.Load(), t.restarts.Load(),
		time.Duration(t.backwards.Load()).Round(time.Millisecond))
}

// round is a history of some checks that nothing else works on.
type round struct {
	*site
	tally    *tally
	seed     uint64
	number   int
	subjects []*subject
	began    time.Time // of the program
	limit    int64     // of operations

	done      atomic.Int64
	histories [clients][]*operation
}

// create makes the checks of the round.
func (r *round) create(ctx context.Context) error {
	rng := rand.New(rand.NewPCG(r.seed, uint64(r.number)<<32))
	for i := range roundChecks {
		s := &subject{slug: fmt.Sprintf("round-%d-%d", r.number, i), steered: i%2 == 0}
		for range 3 {
			s.runs = append(s.runs, uuid.NullUUID{UUID: uuid.UUID{byte(rng.Uint32()), 15: byte(len(s.runs))}, Valid: true})
		}
		spec := checks.Spec{Slug: &s.slug, Timeout: new(timeouts()[0]), Grace: new(100 * time.Hour)}
		if err := r.site.create(ctx, s, spec); err != nil {
			return err
		}
		r.subjects = append(r.subjects, s)
	}
	return nil
}

// create makes a check with all channels through the API.
func (s *site) create(ctx context.Context, made *subject, spec checks.Spec) error {
	body := fmt.Sprintf(`{"slug": %q, "timeout": %d, "grace": %d, "channels": "*"}`,
		*spec.Slug, int64(spec.Timeout.Seconds()), int64(spec.Grace.Seconds()))
	a, err := s.send(ctx, request{method: http.MethodPost, path: "/api/v3/checks/", body: body})
	if err != nil || a.status != http.StatusCreated {
		return fmt.Errorf("cannot create a check: status %d, %w", a.status, errors.Join(err, errors.New(string(a.body))))
	}
	var document wire.Check
	if err := json.Unmarshal(a.body, &document); err != nil {
		return err
	}
	if made.id, err = uuid.Parse(document.UUID); err != nil {
		return err
	}
	spec.ID = made.id
	made.initial, err = checks.New(uuid.Nil, spec, time.Now())
	return err
}

// createMany makes checks whose deadlines are out of reach.
func (s *site) createMany(ctx context.Context, prefix string, n int) ([]*subject, error) {
	list := make([]*subject, n)
	for i := range list {
		list[i] = &subject{slug: fmt.Sprintf("%s-%d", prefix, i)}
		spec := checks.Spec{Slug: &list[i].slug, Timeout: new(timeouts()[0]), Grace: new(timeouts()[0])}
		if err := s.create(ctx, list[i], spec); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// work lets the clients work until they have done enough.
func (r *round) work(ctx context.Context) {
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(r.seed, uint64(r.number)<<32|uint64(c+1)))
			for n := 0; ctx.Err() == nil && r.done.Load() < r.limit; n++ {
				name := fmt.Sprintf("torture round %d client %d operation %d", r.number, c, n)
				o := choose(rng, r.subjects[rng.IntN(len(r.subjects))], name)
				o.client = c
				r.perform(ctx, rng, o)
			}
		})
	}
	wg.Wait()
}

// perform makes the request of an operation and notes it, if it can matter.
func (r *round) perform(ctx context.Context, rng *rand.Rand, o *operation) {
	req := o.request(rng, len(r.servers), r.pingKey)
	o.call, o.called = time.Since(r.began), checks.Instant(time.Now())
	a, err := r.send(ctx, req)
	returned := time.Since(r.began)
	if err != nil && !a.sent {
		sleep(ctx, 10*time.Millisecond) // until a server is back
		return
	}
	if err == nil {
		if err := o.note(a); err != nil {
			r.problem("%v", err)
		}
	}
	o.ret = returned
	switch {
	case o.answered():
	case o.action >= doRead:
		return // without an answer, a read says nothing
	default:
		o.ret += doubt
		r.tally.unanswered.Add(1)
		sleep(ctx, 50*time.Millisecond) // until a server or the database is back
	}
	if o.answered() && o.action == doPing {
		r.tally.acknowledged.Add(1)
	}
	o.returned = o.called.Add(o.ret - o.call)
	r.done.Add(1)
	r.tally.operations.Add(1)
	r.histories[o.client] = append(r.histories[o.client], o)
}

// audit compares what the clients have seen with what the database has. The servers must be running and idle.
func (r *round) audit(ctx context.Context) error {
	db, err := r.open()
	if err != nil {
		return err
	}
	defer db.Close()
	bySubject := make(map[*subject][]*operation)
	for _, history := range r.histories {
		for _, o := range history {
			bySubject[o.subject] = append(bySubject[o.subject], o)
		}
	}
	for _, s := range r.subjects {
		rec, err := readRecord(ctx, db, s.id)
		if err != nil {
			return err
		}
		for _, fault := range rec.faults(r.site.channels) {
			r.problem("check %s: %s", s.slug, fault)
		}
		if !s.steered {
			if diff := rec.replay(s.initial, time.Now()); diff != "" {
				r.problem("check %s: %s", s.slug, diff)
			}
		}
		r.judge(s, bySubject[s], rec)
		r.count(rec)
	}
	return nil
}

func (r *round) count(rec record) {
	r.tally.flips.Add(int64(len(rec.flips)))
	for _, f := range rec.flips {
		r.tally.deliveries.Add(int64(f.Deliveries))
	}
	if back := int64(rec.backwards()); back > r.tally.backwards.Load() {
		r.tally.backwards.Store(back)
	}
}

// judge asks whether the history of a check is one that the state machine could have had.
func (r *round) judge(s *subject, history []*operation, rec record) {
	logged := make(map[string]*pings.Ping, len(rec.log))
	for i := range rec.log {
		logged[rec.log[i].UserAgent] = &rec.log[i]
	}
	var list []porcupine.Operation
	add := func(o *operation) {
		list = append(list, porcupine.Operation{ClientId: o.client, Input: o, Call: int64(o.call), Return: int64(o.ret)})
	}
	for _, o := range history {
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
		r.problem("check %s: the log has a ping that nobody has sent: %d, %q", s.slug, p.N, name)
	}
	end := time.Since(r.began)
	add(&operation{action: doAudit, status: http.StatusOK, subject: s, client: clients, call: end, ret: end + 1,
		audit: &finalRecord{Check: rec.check, flips: len(rec.flips), digest: rec.digest()}})
	r.linearize(s, list)
}

func (r *round) linearize(s *subject, list []porcupine.Operation) {
	m := model(s.initial)
	result, info := porcupine.CheckOperationsVerbose(m, list, patience)
	if result == porcupine.Ok {
		return
	}
	path := filepath.Join(r.dir, s.slug+".html")
	err := porcupine.VisualizePath(m, info, path)
	r.problem("check %s: its history is %s: %s; see %s %v", s.slug, result, stuck(m, list, info), path, err)
}

// stuck tells how far a history makes sense, and which of its operations comes next and cannot.
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
