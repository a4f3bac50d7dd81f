package monitor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// maxBatchBytes bounds the bodies of one batch, so that large ones do not make a transaction long, and maxQueueBytes
// those of all pings that wait, so that an outage of the database does not take all memory.
const maxBatchBytes, maxQueueBytes = 8 << 20, 64 << 20

// writer commits pings in groups: whatever has queued up while one transaction runs goes into the next, and all
// callers wait for its commit. It needs no goroutine while idle: the first ping starts one, which ends when the
// queue is empty.
type writer struct {
	store    Store
	bodies   bodies
	maxBatch int
	maxQueue int
	timeout  time.Duration
	observer Observer

	byID map[uuid.UUID]*Locked // of the batch that is being written
	idle sync.Pool             // of *pending

	mu      sync.Mutex
	queue   []*pending
	bytes   int        // of the bodies in the queue
	writing []*pending // the batch that was taken off the queue
	running bool
	last    lastBatch
	worth   bool          // the last wait for callers has brought them
	skipped int           // waits since then that were left out because it has not
	wanted  int           // drain waits for so many pings in the queue, or 0
	enough  chan struct{} // is told that they are there
}

// lastBatch is what the next batch goes by.
type lastBatch struct {
	size  int // pings
	left  int // that waited when it was committed
	took  time.Duration
	ended time.Time
}

// largeBatch is from how many pings on callers count as many, for whom a commit is worth waiting for.
const largeBatch = 16

// maxAwait is the longest that drain waits for them, however slow the database has become.
const maxAwait = 10 * time.Millisecond

// awaitAgain is after how many large batches a wait is tried again that was in vain.
const awaitAgain = 32

// pending is a signal that waits for its commit.
type pending struct {
	check  uuid.UUID
	signal pings.Signal
	at     time.Time

	done chan struct{} // is told when ping and err are set
	ping pings.Ping
	err  error
}

// pend returns a signal that is to wait, in the place of one that has its answer if there is such. Each monitor has
// places of its own: a channel that one test of a program has made in a synctest bubble is of no use in the next.
func (w *writer) pend(check uuid.UUID, signal pings.Signal, at time.Time) *pending {
	p, ok := w.idle.Get().(*pending)
	if !ok {
		p = &pending{done: make(chan struct{}, 1)}
	}
	p.check, p.signal, p.at = check, signal, at
	return p
}

// answer returns what has become of a ping, and makes its place free: nothing else refers to it.
func (w *writer) answer(p *pending) (pings.Ping, error) {
	ping, err := p.ping, p.err
	*p = pending{done: p.done}
	w.idle.Put(p)
	return ping, err
}

// submit queues a signal and waits until it is durable. When ctx ends before that, the signal may or may not be
// recorded.
func (w *writer) submit(ctx context.Context, check uuid.UUID, signal pings.Signal, at time.Time) (pings.Ping, error) {
	p := w.pend(check, signal, at)
	w.mu.Lock()
	if waiting := len(w.queue); waiting >= w.maxQueue || waiting > 0 && w.bytes+len(signal.Body) > maxQueueBytes {
		w.mu.Unlock()
		w.observer.PingRefused()
		return pings.Ping{}, fmt.Errorf("%w: %d pings wait to be written", ErrUnavailable, waiting)
	}
	w.queue = append(w.queue, p)
	if w.wanted > 0 && len(w.queue) >= w.wanted {
		w.wanted = 0
		w.enough <- struct{}{}
	}
	w.bytes += len(signal.Body)
	if !w.running {
		w.running = true
		go w.drain()
	}
	w.mu.Unlock()
	select {
	case <-p.done:
		return w.answer(p)
	case <-ctx.Done():
		return pings.Ping{}, ctx.Err() // the writer still has it
	}
}

// drain writes batches until the queue is empty.
func (w *writer) drain() {
	for {
		batch := w.next()
		if batch == nil {
			return
		}
		// Not a caller's context: one who gives up must not take the others' pings along.
		ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
		begin := time.Now()
		w.write(ctx, batch)
		cancel()
		w.note(len(batch), begin)
		for _, p := range batch {
			p.done <- struct{}{}
		}
	}
}

// gather lets callers queue up that are about to, so that they share a commit. It yields to them instead of waiting:
// where nobody else is ready to run, as with a single caller, it returns at once.
func (w *writer) gather() {
	for before := 0; ; {
		w.mu.Lock()
		queued := len(w.queue)
		w.mu.Unlock()
		if queued <= before || queued >= w.maxBatch {
			return
		}
		before = queued
		runtime.Gosched()
	}
}

// note remembers how the last batch went.
func (w *writer) note(size int, begin time.Time) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing = nil
	w.last = lastBatch{size: size, left: len(w.queue), took: now.Sub(begin), ended: now}
}

// toAwait tells for how many pings in the queue the next batch waits, and how long: for none where wanted is 0.
func (w *writer) toAwait(now time.Time) (wanted int, rest time.Duration) {
	last := w.last
	wanted = min(last.size+last.left, w.maxBatch)
	rest = min(last.took, maxAwait) - now.Sub(last.ended)
	if last.size < largeBatch || len(w.queue) == 0 || len(w.queue) >= wanted || rest <= 0 {
		return 0, 0
	}
	if !w.worth && w.skipped < awaitAgain {
		w.skipped++
		return 0, 0
	}
	w.skipped = 0
	return wanted, rest
}

// await waits until the callers of a large batch have come back with their next pings, for as long as that batch took
// at most. Otherwise two halves of the callers would take turns, each with a commit of its own. Where callers do not come
// back at once, as pings come at a pace of their own, nobody waits: it would make every answer later, and the next batch
// large enough to wait again, above all when the database has just been slow. Only a wait tells, so one is tried now and
// then.
func (w *writer) await() {
	w.mu.Lock()
	wanted, rest := w.toAwait(time.Now())
	w.wanted = wanted
	w.mu.Unlock()
	if wanted == 0 {
		return
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-w.enough:
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.enough: // it was told in the same instant
	default:
	}
	w.wanted = 0
	w.worth = len(w.queue) >= wanted-wanted/8 // without those that have left
}

// next takes the next batch off the queue, or nil, after which drain must end.
func (w *writer) next() []*pending {
	w.gather()
	w.await()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.running = false
		w.queue = nil
		return nil
	}
	n, bytes := 0, 0
	for n < len(w.queue) && n < w.maxBatch && (n == 0 || bytes+len(w.queue[n].signal.Body) <= maxBatchBytes) {
		bytes += len(w.queue[n].signal.Body)
		n++
	}
	batch := w.queue[:n:n]
	w.queue = w.queue[n:]
	w.bytes -= bytes
	w.writing = batch
	return batch
}

// settled returns the latest instant up to which all pings that were received are written: now, or when the oldest that
// is not was received.
func (w *writer) settled(now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range [][]*pending{w.writing, w.queue} {
		for _, p := range list {
			if p.at.Before(now) {
				now = p.at
			}
		}
	}
	return now
}

// write records a batch. When the transaction fails although the database is there, one ping of it must be the
// cause: then each is tried by itself, so that only that one fails.
func (w *writer) write(ctx context.Context, batch []*pending) {
	err := w.observe(ctx, batch)
	if err != nil && ctx.Err() != nil { // the writer's own time limit
		err = fmt.Errorf("%w: no answer for %v", ErrUnavailable, w.timeout)
	}
	switch {
	case err == nil:
		return
	case len(batch) == 1 || errors.Is(err, ErrUnavailable):
		for _, p := range batch {
			p.ping, p.err = pings.Ping{}, err
		}
		w.observer.PingsFailed(len(batch))
		return
	}
	for _, p := range batch {
		if err := w.observe(ctx, []*pending{p}); err != nil {
			p.ping, p.err = pings.Ping{}, err
			w.observer.PingsFailed(1)
		}
	}
}

// observe commits a batch and tells the observer of it when that has succeeded.
func (w *writer) observe(ctx context.Context, batch []*pending) error {
	begin := time.Now()
	if err := w.commit(ctx, batch); err != nil {
		return err
	}
	took := time.Since(begin)
	kinds := make(map[pings.Kind]int)
	for _, p := range batch {
		if p.err == nil {
			kinds[p.ping.Kind]++
		}
	}
	w.observer.PingsWritten(kinds, took)
	return nil
}

// commit records a batch in one transaction. A panic while a ping is applied becomes an error, so that one check
// that cannot be evaluated takes neither the process nor the other pings along.
func (w *writer) commit(ctx context.Context, batch []*pending) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("monitor: panic while pings were recorded: %v", r)
		}
	}()
	byID := w.byID
	defer clear(byID)
	ids := make([]uuid.UUID, 0, len(batch))
	for _, p := range batch {
		if _, ok := byID[p.check]; !ok {
			byID[p.check] = nil
			ids = append(ids, p.check)
		}
	}
	return record(ctx, w.store, ids, func(locked []*Locked) error {
		clear(byID) // of an earlier run
		for _, l := range locked {
			byID[l.ID] = l
		}
		for _, p := range batch {
			l := byID[p.check]
			if l == nil {
				p.ping, p.err = pings.Ping{}, checks.ErrNotFound
				continue
			}
			p.ping, p.err = l.receive(p.signal, p.at), nil
			if w.bodies.offloads(p.ping.Body) {
				l.Uploads = append(l.Uploads, p.ping.N)
			}
		}
		return nil
	})
}

// receive applies a signal to a locked check.
func (l *Locked) receive(signal pings.Signal, at time.Time) pings.Ping {
	c, ping, effects := l.Check.Ping(signal, at)
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
	return ping
}
