package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// Errors of pings that have not reached the server and that a [Pinger] sends later.
var (
	// ErrQueued means that the ping is in the files of PingerConfig.Queue: it outlives the process.
	ErrQueued = errors.New("the ping waits in the queue")
	// ErrPending means that the ping is in memory, until the Pinger gives up or the process ends: see [Pinger.Close].
	ErrPending = job.ErrPending
)

// errOlder is why a ping waits that was not tried.
var errOlder = errors.New("older pings are sent first")

// worker does the background work of a [Pinger], one piece at a time.
type worker struct {
	mu     sync.Mutex
	again  bool               // there is new work
	done   chan struct{}      // closed when the goroutine ends; nil if there is none
	stop   context.CancelFunc // of the goroutine
	closed bool
	closes chan struct{} // closed by close; nil before the first piece
}

// kick runs work, once more if it is running. It returns false after close.
func (w *worker) kick(work func(ctx context.Context)) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.again = true
	if w.closes == nil {
		w.closes = make(chan struct{})
	}
	if w.done != nil {
		return true
	}
	w.done = make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	go func() {
		defer stop()
		for w.next() {
			work(ctx)
		}
	}()
	return true
}

// next reports whether there is new work. The goroutine ends if there is none.
func (w *worker) next() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.again {
		close(w.done)
		w.done = nil
	}
	again := w.again
	w.again = false
	return again
}

// close waits for the work, and stops it when ctx ends. It reports whether the work has ended by itself.
func (w *worker) close(ctx context.Context) bool {
	w.mu.Lock()
	done, stop, ended := w.done, w.stop, ctx.Err() != nil
	if done != nil && ended {
		stop() // before the work hears of the end, and gives up
	}
	if w.closes != nil && !w.closed {
		close(w.closes)
	}
	w.closed = true
	w.mu.Unlock()
	if done == nil {
		return true
	}
	select {
	case <-done:
		return !ended
	case <-ctx.Done():
	}
	stop()
	<-done
	return false
}

// ending reports whether close was called.
func (w *worker) ending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// pause waits, but not beyond the call of close. Its error is that of ctx.
func (w *worker) pause(ctx context.Context, d time.Duration) error {
	if w.ending() {
		return sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-w.closes:
	}
	return ctx.Err()
}

// memory keeps the pings of a [Pinger] without a queue that wait for another try, oldest first.
type memory struct {
	mu      sync.Mutex
	waiting []*pending
	bytes   int
}

type pending struct {
	signal pings.Signal
	tries  int
}

// pingByMemory tries to send a ping, unless others wait. It adds the ping to those that wait if another try can help.
func (s *sender) pingByMemory(ctx context.Context, signal pings.Signal) error {
	if s.add(ctx, signal, 0) {
		return fmt.Errorf("client: %s ping: %w; %w", signal.Kind, errOlder, ErrPending)
	}
	err := s.once(ctx, signal, time.Time{})
	refused, _ := errors.AsType[*Error](err)
	if err == nil || !mayRetry(err, true) || s.caller.tries == 1 || refused != nil && refused.RetryAfter > s.caller.maxWait {
		return err
	}
	s.failed.Store(&err)
	if !s.add(ctx, signal, 1) {
		return err
	}
	return fmt.Errorf("%w; %w", err, ErrPending)
}

// add adds a ping to those that wait. It does not, and returns false, if there is none for one that was not tried to wait
// behind, or after Close.
func (s *sender) add(ctx context.Context, signal pings.Signal, tries int) bool {
	m := &s.memory
	m.mu.Lock()
	if tries == 0 && len(m.waiting) == 0 || !s.background.kick(s.work) {
		m.mu.Unlock()
		return false
	}
	signal.Body = bytes.Clone(signal.Body)
	m.waiting = append(m.waiting, &pending{signal, tries})
	m.bytes += len(signal.Body)
	dropped := 0
	for len(m.waiting) > maxQueuedPings || m.bytes > maxQueuedBytes && len(m.waiting) > 1 {
		m.pop()
		dropped++
	}
	m.mu.Unlock()
	if dropped > 0 {
		s.report(ctx, fmt.Errorf("client: too many pings wait, oldest dropped: %d", dropped))
	}
	return true
}

// pop removes the oldest ping.
func (m *memory) pop() {
	m.bytes -= len(m.waiting[0].signal.Body)
	m.waiting = m.waiting[1:]
}

// clear removes all pings and returns their number.
func (m *memory) clear() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := len(m.waiting)
	m.waiting, m.bytes = nil, 0
	return n
}

// oldest returns the oldest ping, or nil.
func (m *memory) oldest() *pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.waiting) == 0 {
		return nil
	}
	return m.waiting[0]
}

// settle notes the result of a try and removes the ping that was sent or refused. Any other failure counts as a try of all
// pings, so that none waits much longer than its tries take: settle removes those that have had theirs and returns their
// number.
func (m *memory) settle(tried *pending, err error, tries int) (given int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil || !mayRetry(err, true) {
		if len(m.waiting) > 0 && m.waiting[0] == tried {
			m.pop()
		}
		return 0
	}
	for _, p := range m.waiting {
		p.tries++
	}
	for len(m.waiting) > 0 && m.waiting[0].tries >= tries {
		m.pop()
		given++
	}
	return given
}

// begin returns the pause before the first try in the background, and the tries that there were.
func (s *sender) begin() (pauses pauser, wait time.Duration, tries int) {
	if err := s.failed.Swap(nil); err != nil {
		wait, tries = pauses.after(*err), 1
	}
	return pauses, wait, tries
}

// resend sends the pings that wait in memory. ctx ends when nobody waits for them any more.
func (s *sender) resend(ctx context.Context) {
	pauses, wait, _ := s.begin()
	for p := s.memory.oldest(); p != nil; p = s.memory.oldest() {
		if wait > 0 && sleep(ctx, wait) != nil {
			return
		}
		err := s.once(ctx, p.signal, time.Time{})
		if err != nil && ctx.Err() != nil {
			return
		}
		tries := s.caller.tries
		if wait = 0; err == nil {
			pauses = pauser{}
		} else if mayRetry(err, true) {
			if wait = pauses.after(err); wait > s.caller.maxWait {
				tries, wait = 0, 0 // of all pings
			}
		} else {
			s.report(ctx, err)
		}
		if given := s.memory.settle(p, err, tries); given > 0 {
			s.report(ctx, fmt.Errorf("%w; pings that were given up: %d", err, given))
		}
	}
}
