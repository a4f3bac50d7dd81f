package ingest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// maxQueueBytes bounds the bodies of all queued pings, and so the memory while the database is unavailable.
const maxQueueBytes = 64 << 20

const (
	minCallers = 16                    // a smaller batch is not worth a wait
	maxWait    = 10 * time.Millisecond // however slow the database is
	maxSkipped = 32                    // large batches to commit without a wait after one that did not pay off
)

// queue is a group commit. Pings that arrive during one commit go into the next, and every caller waits for the commit of
// its ping. While the queue is empty, no goroutine runs.
type queue struct {
	commit   commit      // unless it passes pings on to queues of nodes
	nodes    *nodeQueues // nil if the database cannot have several nodes
	maxBatch int
	maxQueue int
	now      func() time.Time
	stamp    func() (at, waitedSince time.Time) // of a ping that is received now
	clock    func() time.Time                   // with its monotonic reading
	events   Events

	mu      sync.Mutex
	pings   []*queued
	bytes   int       // the bodies in the queue
	batch   []*queued // that is being committed
	turned  time.Time // when the batch was taken, or its last transaction ended
	failing Failure   // of transactions
	running bool

	callers int           // callers of the last batch, and those that queued during its commit; 0 if they were few
	took    time.Duration // time of the last commit
	skip    int           // large batches to commit without a wait
	wanted  int           // the length of the queue that take waits for, or 0
	enough  chan struct{} // receives a value when the queue has that length
}

// submit queues a signal and waits until it is durable. If ctx ends first, the signal may or may not be recorded.
func (q *queue) submit(ctx context.Context, p *queued) (pings.Ping, error) {
	p.done = make(chan struct{})
	if _, err := q.add(p); err != nil {
		q.events.PingRefused()
		return pings.Ping{}, err
	}
	select {
	case <-p.done:
		return p.ping, p.err
	case <-ctx.Done():
		return pings.Ping{}, ctx.Err()
	}
}

// add puts pings into the queue in one piece, so that one batch has them if there is room, and starts the committing goroutine if it does
// not run. It returns those that the queue is too full for, each with its error, and the last of those errors.
func (q *queue) add(list ...*queued) (refused []*queued, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, p := range list {
		if len(q.pings) >= q.maxQueue || q.bytes+len(p.signal.Body) > maxQueueBytes {
			err = fmt.Errorf("%w: %d pings with %d bytes of bodies are queued", store.ErrUnavailable, len(q.pings), q.bytes)
			p.err, refused = err, append(refused, p)
			continue
		}
		if p.at.IsZero() {
			p.at, p.signal.WaitedSince = q.stamp() // under the lock, so that oldest sees every ping that has a time
		}
		q.pings = append(q.pings, p)
		q.bytes += len(p.signal.Body)
		if len(q.pings) == q.wanted {
			q.enough <- struct{}{}
		}
	}
	if !q.running && len(q.pings) > 0 {
		q.running = true
		go q.drain()
	}
	return refused, err
}

// drain commits batches, or passes them on to those of nodes, until the queue is empty.
func (q *queue) drain() {
	growStack()
	for batch := q.take(); batch != nil; batch = q.take() {
		if q.nodes != nil {
			step := q.nodes.pass(batch, q)
			q.mu.Lock()
			q.batch = nil // after the pings are in the queues of nodes, so that oldest always sees them
			q.mu.Unlock()
			q.stepped(len(batch), step)
			continue
		}
		begin := time.Now()
		q.commit(batch, q.fail)
		q.mu.Lock()
		q.batch = nil // before callers continue: a sweep must not wait for pings that they know to be committed
		q.committed(len(batch), len(q.pings), time.Since(begin))
		q.mu.Unlock()
		for _, p := range batch {
			close(p.done)
		}
	}
}

// stepped waits for the queues of nodes, and then for the callers of the batch as after a commit. Those whose pings were committed
// early are in the queue already.
func (q *queue) stepped(size int, step map[int][]*queued) {
	begin := time.Now()
	early, all := q.nodes.await(step)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.callers = 0; all {
		q.committed(size, len(q.pings)-min(early, len(q.pings)), time.Since(begin))
	}
}

// growStack makes room for a transaction at once. A lone ping, which starts a goroutine, would otherwise spend a fifth of its
// time on copying the stack again and again as calls get deeper.
//
//go:noinline
func growStack() {
	var frame [16 << 10]byte
	runtime.KeepAlive(&frame)
}

// take takes the next batch off the queue. If the queue is empty, it returns nil and drain must end.
func (q *queue) take() []*queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	// Let callers that are about to submit join the batch. With a single caller this ends at once.
	for before := 0; len(q.pings) > before && len(q.pings) < q.maxBatch; {
		before = len(q.pings)
		q.mu.Unlock()
		runtime.Gosched()
		q.mu.Lock()
	}
	q.wait()
	if len(q.pings) == 0 {
		q.running, q.pings = false, nil
		return nil
	}
	n, bytes := 0, 0
	for n < len(q.pings) && n < q.maxBatch && (n == 0 || bytes+len(q.pings[n].signal.Body) <= MaxBody) {
		bytes += len(q.pings[n].signal.Body)
		n++
	}
	q.batch, q.turned = q.pings[:n:n], q.clock()
	q.pings = q.pings[n:]
	q.bytes -= bytes
	return q.batch
}

// committed records a commit for wait: the size of its batch, how many pings are queued after it, and how long it took.
func (q *queue) committed(size, left int, took time.Duration) {
	q.callers, q.took = 0, took
	if size >= minCallers {
		q.callers = size + left
	}
}

// wait waits until the callers of the last batch are back, if that is likely to pay off. Clients that send their next ping
// as soon as the last one is answered otherwise split into two halves that take turns, each with its own commit. When pings
// arrive at their own pace, a wait only delays answers: it does not pay off, and the next maxSkipped batches go without.
// The caller holds the lock.
func (q *queue) wait() {
	wanted := min(q.callers, q.maxBatch)
	if len(q.pings) == 0 || len(q.pings) >= wanted {
		return
	}
	if q.skip > 0 {
		q.skip--
		return
	}
	q.wanted, q.enough = wanted, make(chan struct{}, 1)
	q.mu.Unlock()
	timer := time.NewTimer(min(q.took, maxWait))
	defer timer.Stop()
	select {
	case <-q.enough:
	case <-timer.C:
	}
	q.mu.Lock()
	q.wanted = 0
	if len(q.pings) < wanted-wanted/8 {
		q.skip = maxSkipped
	}
}

// lastTook returns the time of the last commit.
func (q *queue) lastTook() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.took
}

// fail sets the error of pings that could not be committed.
func (q *queue) fail(batch []*queued, err error) {
	for _, p := range batch {
		p.ping, p.err = pings.Ping{}, err
	}
	q.events.PingsFailed(len(batch))
}

// progressed records the end of a transaction: whether it recorded a ping, or its error.
func (q *queue) progressed(recorded bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turned = q.clock()
	switch {
	case recorded:
		q.failing = Failure{}
	case errors.Is(err, store.ErrUnavailable):
		q.failing.add(q.turned, err)
	}
}

// unknown records that the check of a ping could not be looked up, unless the caller has given up.
func (q *queue) unknown(ctx context.Context, err error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failing.add(q.clock(), err)
}

// Failure describes failures since the last success. The zero value is none.
type Failure struct {
	Since, Last time.Time
	Err         error
}

func (f *Failure) add(now time.Time, err error) {
	if f.Err == nil {
		f.Since = now
	}
	f.Last, f.Err = now, err
}

// silence returns how long a current batch has made no progress, or 0 if no batch is being committed.
func (q *queue) silence() (longest time.Duration) {
	for _, q := range q.nodes.all() {
		longest = max(longest, q.silence())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.batch == nil {
		return longest
	}
	return max(longest, q.clock().Sub(q.turned))
}

// oldest returns the time, and that of the oldest ping that waits, which is now if there is none.
func (q *queue) oldest() (now, oldest time.Time) {
	q.mu.Lock()
	now = q.now()
	q.mu.Unlock()
	oldest = now
	for _, p := range q.waiting() {
		if p.at.Before(oldest) {
			oldest = p.at
		}
	}
	return now, oldest
}

// waiting returns the pings that are not committed yet: those of nodes last, because pings move there.
func (q *queue) waiting() []*queued {
	q.mu.Lock()
	waiting := slices.Concat(q.batch, q.pings)
	q.mu.Unlock()
	return append(waiting, q.nodes.waiting()...)
}

// length returns the number of pings that wait for the next batch.
func (q *queue) length() int {
	q.mu.Lock()
	n := len(q.pings)
	q.mu.Unlock()
	for _, q := range q.nodes.all() {
		n += q.length()
	}
	return n
}
