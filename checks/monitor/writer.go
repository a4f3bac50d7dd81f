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
	"github.com/rollcall-dev/rollcall/checks/internal/bodies"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// MaxBody is the maximum size of a ping's body in bytes. It also bounds the bodies of one batch, which keeps its
// transaction short.
const MaxBody = 8 << 20

// maxQueueBytes bounds the bodies of all queued pings, and so the memory while the database is unavailable.
const maxQueueBytes = 64 << 20

// writer is a group commit for pings. Pings that arrive during one transaction go into the next, and every caller waits
// for the commit of its ping. While the queue is empty, no goroutine runs.
type writer struct {
	store    store.Store
	sharder  store.Sharder // nil if the store is none
	bodies   *bodies.Bodies
	maxBatch int
	maxQueue int
	timeout  time.Duration
	now      func() time.Time
	clock    func() time.Time // Config.Now
	observer Observer
	spooling *spooling // nil without a spool
	hold     hold.Rule
	number   int64 // of the last ping, while there is a spool

	mu      sync.Mutex
	queue   []*queuedPing
	bytes   int           // the bodies in the queue
	writing []*queuedPing // the batch that is being committed
	turned  time.Time     // when the batch was taken off the queue, or its last transaction ended
	running bool
	wanted  int           // the length of the queue that await waits for, or 0
	enough  chan struct{} // receives a value when the queue has that length
	delay   commitDelay
}

// queuedPing is a signal that waits for its commit.
type queuedPing struct {
	check  uuid.UUID
	slug   slugTarget // instead of check, if only the replay can look it up
	signal pings.Signal
	at     time.Time
	number int64 // ascends in the order of the commits, while there is a spool

	done chan struct{} // closed once ping and err are set
	ping pings.Ping
	err  error
}

// submit queues a signal and waits until it is durable. If ctx ends first, the signal may or may not be recorded.
func (w *writer) submit(ctx context.Context, p *queuedPing) (pings.Ping, error) {
	p.done = make(chan struct{})
	if err := w.enqueue(p); err != nil {
		w.observer.PingRefused()
		return pings.Ping{}, err
	}
	select {
	case <-p.done:
		return p.ping, p.err
	case <-ctx.Done():
		return pings.Ping{}, ctx.Err()
	}
}

// enqueue adds a ping to the queue and starts the writing goroutine if it does not run.
func (w *writer) enqueue(p *queuedPing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) >= w.maxQueue || w.bytes+len(p.signal.Body) > maxQueueBytes {
		return fmt.Errorf("%w: %d pings with %d bytes of bodies are queued", ErrUnavailable, len(w.queue), w.bytes)
	}
	p.at = w.now() // under the lock, so that settled sees every ping that has a time
	w.queue = append(w.queue, p)
	w.bytes += len(p.signal.Body)
	if len(w.queue) == w.wanted {
		w.enough <- struct{}{}
	}
	if !w.running {
		w.running = true
		go w.drain()
	}
	return nil
}

// drain writes batches until the queue is empty.
func (w *writer) drain() {
	for batch := w.next(); batch != nil; batch = w.next() {
		begin := time.Now()
		w.writeByShard(batch)
		w.mu.Lock()
		w.writing = nil // before callers continue: Sweep must not wait for pings that they know to be committed
		w.delay.committed(len(batch), len(w.queue), time.Since(begin))
		w.mu.Unlock()
		for _, p := range batch {
			close(p.done)
		}
	}
}

// next takes the next batch off the queue. If the queue is empty, it returns nil and drain must end.
func (w *writer) next() []*queuedPing {
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
	for n < len(w.queue) && n < w.maxBatch && (n == 0 || bytes+len(w.queue[n].signal.Body) <= MaxBody) {
		bytes += len(w.queue[n].signal.Body)
		n++
	}
	w.writing, w.turned = w.queue[:n:n], w.clock()
	w.queue = w.queue[n:]
	w.bytes -= bytes
	return w.writing
}

// gather lets callers that are about to submit join the batch. It yields the processor instead of sleeping, so with a
// single caller it returns at once.
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

// await waits for more pings if that is likely to pay off.
func (w *writer) await() {
	w.mu.Lock()
	wanted, atMost := w.delay.next(len(w.queue), w.maxBatch)
	if wanted == 0 {
		w.mu.Unlock()
		return
	}
	w.wanted, w.enough = wanted, make(chan struct{}, 1)
	w.mu.Unlock()
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-w.enough:
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wanted = 0
	w.delay.waited(wanted, len(w.queue))
}

// turn records the end of a transaction, whether or not it succeeded.
func (w *writer) turn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turned = w.clock()
}

// silence returns how long the current batch has made no progress, or 0 if no batch is being written, and the timeout of
// a batch.
func (w *writer) silence() (silence, timeout time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing == nil {
		return 0, w.timeout
	}
	return w.clock().Sub(w.turned), w.timeout
}

// settled returns the time, and the instant up to which all received pings are in the database: now, or the time of the
// oldest ping that waits or is in the spool.
func (w *writer) settled() (now, upTo time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now = w.now()
	upTo = now
	for _, list := range [][]*queuedPing{w.writing, w.queue} {
		for _, p := range list {
			if p.at.Before(upTo) {
				upTo = p.at
			}
		}
	}
	return now, w.spooling.settled(upTo)
}

// write commits a batch, or spools it if the database is unavailable.
func (w *writer) write(batch []*queuedPing) {
	if w.spooling == nil {
		w.commitAll(batch, w.fail)
		return
	}
	w.assign(batch)
	if w.spooling.isActive() {
		w.spool(batch)
		return
	}
	rest := batch
	w.commitAll(batch, func(failed []*queuedPing, err error) {
		if errors.Is(err, ErrUnavailable) {
			rest = rest[:len(rest)-len(failed)]
			w.spool(failed) // with their numbers: the commit may have been done
			return
		}
		w.fail(failed, err)
	})
	var held []*queuedPing
	for _, p := range rest {
		if errors.Is(p.err, hold.ErrHeld) {
			held = append(held, p)
		}
	}
	w.assign(held) // the numbers that they had count as recorded
	w.spool(held)
}

// assign gives pings the next numbers.
func (w *writer) assign(batch []*queuedPing) {
	for _, p := range batch {
		w.number++
		p.number = w.number
	}
}

// commitAll commits a batch. If the transaction fails although the database is available, one of the pings must be the
// cause. It then commits each ping alone, so that only the bad one fails. It passes pings that are not committed to fail,
// with ErrUnavailable only once and those at the end of the batch.
func (w *writer) commitAll(batch []*queuedPing, fail func([]*queuedPing, error)) {
	err := w.commit(batch)
	if err == nil {
		return
	}
	if len(batch) == 1 || errors.Is(err, ErrUnavailable) {
		fail(batch, err)
		return
	}
	for i := range batch {
		if err := w.commit(batch[i : i+1]); errors.Is(err, ErrUnavailable) {
			fail(batch[i:], err)
			return
		} else if err != nil {
			fail(batch[i:i+1], err)
		}
	}
}

// fail sets the error of pings.
func (w *writer) fail(batch []*queuedPing, err error) {
	for _, p := range batch {
		p.ping, p.err = pings.Ping{}, err
	}
	w.observer.PingsFailed(len(batch))
}

// commit records a batch in one transaction and reports it to the observer. It uses no caller's context: a caller that
// gives up must not cancel the pings of others.
func (w *writer) commit(batch []*queuedPing) error {
	defer w.turn()
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	begin := time.Now()
	if err := w.record(ctx, batch); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: writing pings took longer than %v: %w", ErrUnavailable, w.timeout, err)
		}
		return err
	}
	kinds := make(map[pings.Kind]int)
	for _, p := range batch {
		if p.err == nil {
			kinds[p.ping.Kind]++
		}
	}
	w.observer.PingsWritten(kinds, time.Since(begin))
	return nil
}

// record applies a batch to its checks in one transaction. It turns a panic into an error, so that a bad check crashes
// neither the process nor the other pings.
func (w *writer) record(ctx context.Context, batch []*queuedPing) (err error) {
	defer recovered(&err)
	return w.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		by := hold.Free
		if w.spooling != nil {
			by = w.hold.Judge(ctx, tx, w.now)
		}
		locked, err := tx.LockChecks(ctx, checksOf(batch))
		if err != nil {
			return err
		}
		byID := indexed(locked)
		for _, p := range batch {
			if p.ping, p.err = w.receive(byID[p.check], p, checks.Check.Ping, by); errors.Is(p.err, ErrUnavailable) {
				return p.err
			}
		}
		if err := tx.SaveChecks(ctx, locked); err != nil || w.spooling == nil {
			return err
		}
		return tx.SetRecorded(ctx, w.spooling.run, batch[len(batch)-1].number, w.now())
	})
}

// recovered turns a panic into an error.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("monitor: panic while recording pings: %v", r)
	}
}

// indexed returns locked checks by their IDs.
func indexed(locked []*store.Locked) map[uuid.UUID]*store.Locked {
	byID := make(map[uuid.UUID]*store.Locked, len(locked))
	for _, l := range locked {
		byID[l.ID] = l
	}
	return byID
}

// checksOf returns the checks of a batch, each once.
func checksOf(batch []*queuedPing) []uuid.UUID {
	ids := make([]uuid.UUID, 0, len(batch))
	seen := make(map[uuid.UUID]bool, len(batch))
	for _, p := range batch {
		if !seen[p.check] {
			seen[p.check] = true
			ids = append(ids, p.check)
		}
	}
	return ids
}

// receive applies a ping to its locked check, which is nil if there is none. apply is Ping or Replay of checks.Check. The
// error is hold.ErrHeld if the check has a deadline before the ping that by does not allow to judge.
func (w *writer) receive(l *store.Locked, p *queuedPing, apply applying, by hold.Judge) (pings.Ping, error) {
	switch {
	case p.slug != slugTarget{}:
		return pings.Ping{}, hold.ErrHeld
	case l == nil:
		return pings.Ping{}, checks.ErrNotFound
	}
	if err := by(l.Wake(), p.at); err != nil {
		return pings.Ping{}, err
	}
	c, ping, effects, err := apply(l.Check, p.signal, p.at)
	if err != nil {
		return pings.Ping{}, err
	}
	l.Pings = append(l.Pings, ping)
	l.Apply(c, effects)
	if w.bodies.Offloads(ping.Body) {
		l.Uploads = append(l.Uploads, ping.N)
	}
	return ping, nil
}

// applying is checks.Check.Ping or checks.Check.Replay.
type applying func(checks.Check, pings.Signal, time.Time) (checks.Check, pings.Ping, checks.Effects, error)
