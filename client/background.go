package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/pings"
)

// closePatience is how long a Close without a deadline waits while no ping can be sent.
const closePatience = 30 * time.Second

// errPatience is why such a Close gives up.
var errPatience = fmt.Errorf("no ping could be sent for %v", closePatience)

// Errors of pings that have not reached the server and that a [Pinger] sends later.
var (
	// ErrQueued means that the ping is in the files of PingerConfig.Queue: it outlives the process.
	ErrQueued = errors.New("the ping waits in the queue")
	// ErrPending means that the ping is in memory, until the server takes it or the process ends: see [Pinger.Close].
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

// memory keeps the pings of a [Pinger] without a queue that wait for another try.
type memory struct {
	mu       sync.Mutex
	list     job.Backlog[*pending]
	patience *time.Timer // of a Close without a deadline
}

type pending struct {
	signal pings.Signal
	at     time.Time
	tries  int
	faults int // the last tries, as far as they may have failed by this ping itself
}

func (p *pending) Size() int { return len(p.signal.Body) }

// pingByMemory tries to send a ping, unless others wait. It adds the ping to those that wait if another try can help.
func (s *sender) pingByMemory(ctx context.Context, signal pings.Signal) error {
	p := &pending{signal: signal, at: time.Now()}
	if s.add(ctx, p) {
		return fmt.Errorf("client: %s ping: %w; %w", signal.Kind, errOlder, ErrPending)
	}
	err := s.once(ctx, signal, time.Time{})
	refused, _ := errors.AsType[*Error](err)
	if err == nil || !mayRetry(err, true) || s.tries == 1 || refused != nil && refused.RetryAfter > s.caller.maxWait {
		return err
	}
	s.failed.Store(&err)
	p.tries = 1
	if !s.add(ctx, p) {
		return err
	}
	return fmt.Errorf("%w; %w", err, ErrPending)
}

// add adds a ping to those that wait. It does not, and returns false, if there is none for one that was not tried to wait
// behind, or after Close.
func (s *sender) add(ctx context.Context, p *pending) bool {
	m := &s.memory
	m.mu.Lock()
	if p.tries == 0 && len(m.list.All()) == 0 || !s.background.kick(s.work) {
		m.mu.Unlock()
		return false
	}
	p.signal.Body = bytes.Clone(p.signal.Body)
	err := m.list.Add(p)
	m.mu.Unlock()
	if err != nil {
		s.report(ctx, fmt.Errorf("client: %w", err))
	}
	return true
}

// next returns the oldest ping that is not passed over, or nil.
func (m *memory) next(passed []*pending) *pending {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.list.All() {
		if !slices.Contains(passed, p) {
			return p
		}
	}
	return nil
}

// sent removes a ping that the server has taken.
func (m *memory) sent(p *pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list.Sent(p)
	if m.patience != nil {
		m.patience.Reset(closePatience)
	}
}

// drop gives pings up.
func (m *memory) drop(list ...*pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range list {
		m.list.Drop(p)
	}
}

// clear gives up all pings that wait, and returns how many.
func (m *memory) clear() int {
	m.mu.Lock()
	all := slices.Clone(m.list.All())
	m.mu.Unlock()
	m.drop(all...)
	return len(all)
}

// lost gives up the pings that wait, and returns how many were given up since the last call.
func (m *memory) lost() int {
	m.clear()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.list.TakeLost()
}

// patient returns a context for Close: ctx if that has a deadline, or one that ends when no ping was sent for a time.
func (m *memory) patient(ctx context.Context) (context.Context, func()) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(closePatience, func() { cancel(errPatience) })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.patience = timer
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// begin returns the pause before the first try in the background, and the tries that there were.
func (s *sender) begin() (pauses pauser, wait time.Duration, tries int) {
	if err := s.failed.Swap(nil); err != nil {
		wait, tries = pauses.after(*err), 1
	}
	return pauses, wait, tries
}

// resend sends the pings that wait in memory, until none does. ctx ends when nobody waits for them any more.
func (s *sender) resend(ctx context.Context) {
	pauses, wait, _ := s.begin()
	for wait == 0 || s.background.pause(ctx, wait) == nil {
		moved, err := s.round(ctx)
		if err == nil {
			return
		}
		if moved {
			pauses = pauser{}
		}
		wait = s.pauseAfter(&pauses, err)
	}
}

// pauseAfter returns the pause after a try that failed in the background. It is short if Close waits.
func (s *sender) pauseAfter(pauses *pauser, err error) time.Duration {
	if s.background.ending() {
		pauses.bound = min(pauses.bound, firstPause)
	}
	return min(pauses.after(err), s.caller.maxWait)
}

// round sends the pings that wait, oldest first, until none does or one fails, whose error it returns. moved reports whether it
// has removed any. It passes over pings that the server has failed to record several times, as only theirs may; if the server
// then takes a later one, they are given up.
func (s *sender) round(ctx context.Context) (moved bool, err error) {
	var passed []*pending
	var why error // of the first one
	for {
		p := s.memory.next(passed)
		if p == nil {
			return moved, why
		}
		err := s.late(ctx, p.signal, p.at)
		switch {
		case err == nil:
			s.memory.sent(p)
			moved = true
			if len(passed) > 0 {
				s.giveUp(ctx, why, passed...)
				passed, why = nil, nil
			}
			continue
		case ctx.Err() != nil:
			return moved, err
		case !isUndelivered(err):
			s.giveUp(ctx, err, p)
			moved = true
			continue
		}
		p.tries++
		if p.faults++; !mayBeItsFault(err) {
			p.faults = 0
		}
		switch {
		case s.tries > 0 && p.tries >= s.tries:
			s.giveUp(ctx, fmt.Errorf("%w (after %d tries)", err, p.tries), p)
			return true, err
		case p.faults < defaultTries || len(passed) == maxSuspects:
			return moved, err
		}
		passed, why = append(passed, p), cmp.Or(why, err)
	}
}

// giveUp drops pings and reports why.
func (s *sender) giveUp(ctx context.Context, why error, list ...*pending) {
	s.memory.drop(list...)
	s.report(ctx, fmt.Errorf("%w; pings that were given up: %d", why, len(list)))
}
