package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/ingest"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// passSize bounds the pings that one pass submits.
	passSize = 100
	// firstWait is the pause after the first pass that fails. It doubles up to mostWait, and to firstWait at most while the
	// monitor stops.
	firstWait, mostWait = 250 * time.Millisecond, 5 * time.Second
)

// Why a ping waits that was not tried.
var (
	errEarlier      = errors.New("earlier pings are recorded first")
	errUnregistered = errors.New("the check is not registered yet")
)

// target is the check of a job.
type target struct {
	id       uuid.UUID // the zero value until it is registered; the lock of the keeper guards it
	register func(ctx context.Context) (uuid.UUID, error)
}

// none is the submission of a ping that is not on its way to the database.
var none ingest.Submission

// kept is a ping that waits in memory.
type kept struct {
	to     *target
	signal pings.Signal
	at     time.Time
	sent   ingest.Submission // none if it must be submitted
	alone  bool              // the database takes others
}

func (p *kept) Size() int { return len(p.signal.Body) }

// keeper keeps the pings of jobs that the database does not take at once, in their order, and tries again until it does. One
// goroutine does that while there are any.
type keeper struct {
	*jobs

	mu      sync.Mutex
	waiting job.Backlog[*kept]
	failing bool                     // the last pass, or try, has found the database unavailable
	pending map[registration]*target // that are not registered yet
	idle    chan struct{}            // closed when the goroutine ends; nil if there is none
	hurry   chan struct{}            // receives a value to end a pause
	closing bool
	closed  bool // nothing is kept
}

// registration names a check whose registration is pending.
type registration struct {
	project uuid.UUID
	slug    string
}

// ping records a signal, or keeps it if the database does not take it in time. The error is then a job.ErrPending.
func (k *keeper) ping(ctx context.Context, to *target, signal pings.Signal) error {
	k.mu.Lock()
	if why := k.behind(to); why != nil {
		return k.keep(&kept{to: to, signal: signal, at: k.now()}, why)
	}
	id := to.id
	sent, err := k.ingest.Submit(id, signal, time.Time{})
	k.mu.Unlock()
	p := &kept{to: to, signal: signal, at: k.now()}
	if err == nil {
		select {
		case <-sent.Done():
			err, p.at = sent.Err(), sent.At()
		case <-ctx.Done():
			err, p.at, p.sent = ctx.Err(), sent.At(), sent
		}
	}
	if err == nil {
		return nil
	}
	if p.sent == none && !errors.Is(err, store.ErrUnavailable) {
		return about("check", id, err)
	}
	k.mu.Lock()
	p.alone = errors.Is(err, store.ErrPartly)
	k.failing = k.failing || !p.alone
	return k.keep(p, about("check", id, err))
}

// behind returns why a ping must wait, or nil. The caller holds the lock.
func (k *keeper) behind(to *target) error {
	switch {
	case to.id == uuid.Nil:
		return errUnregistered
	case len(k.waiting.All()) == 0 || k.closed:
		return nil
	case k.failing || slices.ContainsFunc(k.waiting.All(), func(p *kept) bool { return p.to.id == to.id }):
		return errEarlier
	}
	return nil
}

// keep adds a ping to those that wait, and returns the error of its method. The caller holds the lock, which keep gives back.
func (k *keeper) keep(p *kept, why error) error {
	if k.closed {
		k.mu.Unlock()
		return why
	}
	dropped := k.waiting.Add(p)
	k.kick()
	k.mu.Unlock()
	if dropped != nil {
		k.report(dropped)
	}
	return fmt.Errorf("%w; %w", why, job.ErrPending)
}

// kick starts the goroutine if it does not run. The caller holds the lock.
func (k *keeper) kick() {
	if k.idle != nil {
		return
	}
	k.idle = make(chan struct{})
	go k.run(k.idle)
}

// run records what waits. It ends when nothing does.
func (k *keeper) run(idle chan struct{}) {
	defer close(idle)
	for failures := 0; ; {
		if failures > 0 {
			k.pause(failures)
		}
		k.mu.Lock()
		if len(k.waiting.All())+len(k.pending) == 0 || k.closed {
			k.idle = nil
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		if failures++; k.pass() {
			failures = 0
		}
	}
}

// pause waits before a further pass, after some that failed.
func (k *keeper) pause(failures int) {
	k.mu.Lock()
	most := mostWait
	if k.closing {
		most = firstWait
	}
	k.mu.Unlock()
	timer := time.NewTimer(background.Backoff(firstWait, most, failures))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.hurry:
	}
}

// wake ends a pause.
func (k *keeper) wake() {
	select {
	case k.hurry <- struct{}{}:
	default:
	}
}

// pass registers what is pending, and submits the oldest pings. It reports whether all has worked.
func (k *keeper) pass() (ok bool) {
	ok = k.registerAll()
	k.mu.Lock()
	var list []*kept
	blocked := make(map[*target]bool)
	for _, p := range k.waiting.All()[:min(len(k.waiting.All()), passSize)] {
		if p.to.id == uuid.Nil || blocked[p.to] {
			continue
		}
		if p.sent == none {
			if k.closed {
				break
			}
			sent, err := k.ingest.Submit(p.to.id, p.signal, p.at)
			if err != nil {
				blocked[p.to], ok = true, false
				continue
			}
			p.sent = sent
		} else {
			blocked[p.to] = true // those behind it wait for its outcome
		}
		list = append(list, p)
	}
	k.mu.Unlock()
	for _, p := range list {
		<-p.sent.Done()
	}
	k.mu.Lock()
	recorded := false
	var refused []error
	for _, p := range list {
		err := p.sent.Err()
		if !k.closed { // or left compares it
			p.sent = none
		}
		switch {
		case err == nil:
			recorded = true
			k.waiting.Sent(p)
		case errors.Is(err, store.ErrUnavailable):
			p.alone, ok = errors.Is(err, store.ErrPartly), false
		default:
			k.waiting.Drop(p)
			refused = append(refused, fmt.Errorf("%s ping: %w", p.signal.Kind, about("check", p.to.id, err)))
		}
	}
	k.failing = !recorded && !ok
	k.mu.Unlock()
	for _, err := range refused { // without the lock, because a program may ping then
		k.report(err)
	}
	return ok
}

// registerAll registers the targets that are pending. The pings of one that is refused are dropped.
func (k *keeper) registerAll() (ok bool) {
	k.mu.Lock()
	list := make(map[registration]func(context.Context) (uuid.UUID, error), len(k.pending))
	for name, t := range k.pending {
		list[name] = t.register
	}
	k.mu.Unlock()
	for name, register := range list {
		ctx, cancel := context.WithTimeout(context.Background(), registerTimeout)
		id, err := register(ctx)
		unavailable := isOutage(ctx, err)
		cancel()
		if unavailable {
			return false // of the others, too
		}
		if err != nil {
			k.refuse(name, err)
			continue
		}
		k.registered(name, id)
	}
	return true
}

// later returns the target of a check that is registered as soon as the database is there.
func (k *keeper) later(name registration, register func(context.Context) (uuid.UUID, error)) *target {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.pending[name]
	if t == nil {
		t = &target{}
		k.pending[name] = t
	}
	t.register = register
	if !k.closed {
		k.kick()
	}
	return t
}

// registered sets the check of a target that was pending.
func (k *keeper) registered(name registration, id uuid.UUID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t := k.pending[name]; t != nil {
		t.id = id
		delete(k.pending, name)
	}
}

// refuse drops the pings of a target that cannot be registered.
func (k *keeper) refuse(name registration, why error) {
	k.mu.Lock()
	t := k.pending[name]
	delete(k.pending, name)
	dropped := 0
	for _, p := range slices.Clone(k.waiting.All()) {
		if p.to == t {
			k.waiting.Drop(p)
			dropped++
		}
	}
	k.mu.Unlock()
	k.report(fmt.Errorf("register %q: %w; pings that were dropped: %d", name.slug, why, dropped))
}

// oldest returns the earlier of an instant and the time of the oldest ping that waits for the database.
func (k *keeper) oldest(upTo time.Time) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.waiting.All() {
		if !p.alone && p.to.id != uuid.Nil && p.at.Before(upTo) {
			upTo = p.at
		}
	}
	return upTo
}

// drain records what waits until ctx ends, and keeps nothing from then on until open.
func (k *keeper) drain(ctx context.Context) {
	k.mu.Lock()
	k.closing = true
	for len(k.waiting.All()) > 0 && ctx.Err() == nil {
		k.kick()
		idle := k.idle
		k.mu.Unlock()
		k.wake()
		select {
		case <-idle:
		case <-ctx.Done():
		case <-time.After(firstWait):
		}
		k.mu.Lock()
	}
	defer k.mu.Unlock()
	k.closing, k.closed = false, true
	k.wake() // so that the goroutine ends
}

// left returns how many pings are not recorded after drain: those that wait, those that the database has not answered, and those
// that were dropped since the last call.
func (k *keeper) left(unanswered []ingest.Submission) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.waiting.TakeLost() + len(unanswered)
	for _, p := range k.waiting.All() {
		recorded := p.sent != none && closed(p.sent.Done()) && p.sent.Err() == nil
		if !recorded && !slices.Contains(unanswered, p.sent) {
			n++
		}
	}
	return n
}

// open keeps pings again, and goes on with those that are left.
func (k *keeper) open() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = false
	if len(k.waiting.All())+len(k.pending) > 0 {
		k.kick()
	}
}
