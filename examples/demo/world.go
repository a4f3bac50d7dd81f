package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// world is what happens around the monitor: events, each at an instant of the clock.
type world struct {
	mon   *monitor.Monitor
	clock *clock
	seed  uint64
	end   time.Time // of the history
	queue []event   // the next one first
	live  bool      // the clock runs, and so does the monitor
}

// event is something that happens at an instant.
type event struct {
	at time.Time
	do func(context.Context) error
}

// at adds an event. Events of one instant happen in the order in which they were added.
func (w *world) at(t time.Time, do func(context.Context) error) {
	i := sort.Search(len(w.queue), func(i int) bool { return w.queue[i].at.After(t) })
	w.queue = slices.Insert(w.queue, i, event{t, do})
}

// take removes the next event.
func (w *world) take() event {
	next := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	return next
}

// past lets everything happen up to an instant, as fast as it can.
func (w *world) past(ctx context.Context, until time.Time) error {
	for len(w.queue) > 0 && !w.queue[0].at.After(until) {
		e := w.take()
		w.clock.set(e.at)
		if err := e.do(ctx); err != nil {
			return err
		}
	}
	w.clock.set(until)
	return nil
}

// future lets everything else happen at its time, until ctx ends.
func (w *world) future(ctx context.Context) error {
	w.live = true
	for len(w.queue) > 0 {
		e := w.take()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(e.at.Sub(w.clock.now())):
		}
		if err := e.do(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// watch does at an instant what the monitor does by itself when it runs, and again while alerts wait for a retry.
func (w *world) watch(at time.Time, retry time.Duration) {
	w.at(at, func(ctx context.Context) error {
		if w.live {
			return nil
		}
		if err := w.mon.Tick(ctx); err != nil {
			return err
		}
		backlog, err := w.mon.Backlog(ctx)
		if err == nil && backlog.Pending > 0 && retry < day {
			w.watch(w.clock.now().Add(retry), 2*retry)
		}
		return err
	})
}

// random returns the random numbers of a part of the world. They do not depend on those of other parts.
func (w *world) random(part string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(part))
	return rand.New(rand.NewPCG(w.seed, hash.Sum64()))
}

// clock is the monitor's clock: it stands where it was set, or runs on from there.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	since time.Time // when it started to run, or the zero time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return c.at
	}
	return c.at.Add(time.Since(c.since))
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// run starts the clock.
func (c *clock) run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
}
