package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// spoolAfter is how long an Ingest with a spool waits for the database before it spools a ping.
const spoolAfter = 2 * time.Second

// paceTime bounds how long pings wait for the replay, so that the spool shrinks under any load.
const paceTime = 100 * time.Millisecond

// spool is the way of pings through the spool. While it is active, all pings take it, which keeps their order.
type spool struct {
	queue store.Spool
	run   uuid.UUID // identifies this monitor

	events Events
	number int64 // of the last ping that was received

	mu     sync.Mutex // held while entries are added or removed
	active atomic.Bool
	// oldest is a time before which no ping in the spool was received, and waiting is the time of the oldest ping that
	// waits in the database for those of other spools. Both are in microseconds, and 0 if there is none.
	oldest, waiting atomic.Int64
	// inherited is set while the first ping comes from an earlier run, whose clock may have been set back. It is unknown
	// then how old the oldest one is.
	inherited atomic.Bool
	// latest is the latest time of a ping in the spool. Where the clock was set back, low is the earliest time after that,
	// and lowEnd the number of the last ping that is older than one before it.
	latest, low, lowEnd int64
	// lostAt is when the database was last out of reach, in microseconds.
	lostAt atomic.Int64
	// replaying is set while the replay succeeds, and progress receives a value after each of its batches.
	replaying atomic.Bool
	progress  chan struct{}
	dropped   atomic.Int64
	// stuck counts the pings that wait in the database because they cannot be recorded, by check; see merge.
	stuck atomic.Pointer[map[uuid.UUID]int]
	// failing counts failures to write. The lock guards it.
	failing Failure
	now     func() time.Time

	saved time.Time // when Replay last saved the state
	// head is the time of the ping that all others wait for, as Replay last saw it, since when, and whether that was
	// reported.
	head struct {
		at       int64
		since    time.Time
		reported bool
	}
}

// newSpool returns the way through a queue. If an earlier process has left pings there, it is active at once.
func newSpool(c Config, now func() time.Time) (*spool, error) {
	s := &spool{queue: c.Spool, run: c.Run, events: c.Events, progress: make(chan struct{}, 1), now: now}
	s.stuck.Store(new(map[uuid.UUID]int))
	if err := s.look(); err != nil {
		return nil, fmt.Errorf("monitor: cannot read the spool: %w", err)
	}
	return s, nil
}

// look sets oldest from the first entry, and active if there is one. The caller holds the lock or is alone.
func (s *spool) look() error {
	first, err := s.queue.Oldest(1, 0)
	if err != nil {
		return s.failed(err)
	}
	if len(first) == 0 {
		s.latest, s.lowEnd = 0, 0
		s.inherited.Store(false)
		s.oldest.Store(0)
		return nil
	}
	// Of an entry that cannot be read, no deadline may pass until the replay has dropped it.
	p, _ := decode(first[0].Data)
	s.inherited.Store(p.Run != s.run)
	if p.Run == s.run && p.Number <= s.lowEnd {
		p.AtMicros = min(p.AtMicros, s.low)
	}
	s.oldest.Store(max(p.AtMicros, 1))
	s.active.Store(true)
	return nil
}

// failed returns an error of the queue. If the queue is damaged, pings no longer take the way through it.
func (s *spool) failed(err error) error {
	if errors.Is(err, store.ErrSpoolDamaged) {
		s.active.Store(false)
		s.inherited.Store(false)
		s.oldest.Store(0)
	}
	return err
}

// noteTimes updates latest, low and oldest for pings that are added. The caller holds the lock.
func (s *spool) noteTimes(batch []*queued) {
	for _, p := range batch {
		at := p.at.UnixMicro()
		if at < s.latest {
			if s.lowEnd == 0 || at < s.low {
				s.low = at
			}
			s.lowEnd = p.number
		}
		s.latest = max(s.latest, at)
		if oldest := s.oldest.Load(); oldest == 0 || at < oldest {
			s.oldest.Store(at)
		}
	}
}

// lost activates the spool because the database is out of reach. It stays active until all other monitors have been heard
// of again: their pings may come first.
func (s *spool) lost(now time.Time) {
	s.lostAt.Store(now.UnixMicro())
	s.active.Store(true)
}

// deactivate sends pings to the database again, unless the spool holds one.
func (s *spool) deactivate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if entries, _ := s.queue.Size(); entries == 0 {
		s.active.Store(false)
	}
}

// find activates the spool if another monitor of this process has added pings to it.
func (s *spool) find() error {
	if entries, _ := s.queue.Size(); entries == 0 || s.oldest.Load() != 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look()
}

// settled returns the earlier of an instant and the time of the oldest ping in the spool, as far as it is known.
func (s *spool) settled(upTo time.Time) time.Time {
	if s.inherited.Load() {
		return time.UnixMicro(0).UTC()
	}
	if oldest := instantOf(s.oldest.Load()); !oldest.IsZero() && oldest.Before(upTo) {
		return oldest
	}
	return upTo
}

// instantOf returns the instant of microseconds, or the zero time for 0.
func instantOf(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// first returns the time of the oldest ping in the spool and in the database that waits, in microseconds, or 0.
func (s *spool) first() int64 {
	oldest, waiting := s.oldest.Load(), s.waiting.Load()
	if oldest == 0 || waiting != 0 && waiting < oldest {
		return waiting
	}
	return oldest
}

// add appends pings to the spool.
func (s *spool) add(batch []*queued) error {
	entries := make([][]byte, len(batch))
	for i, p := range batch {
		var err error
		if entries[i], err = entryOf(s.run, p).encode(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.queue.Append(entries); err != nil {
		err = fmt.Errorf("%w, and a ping cannot be spooled: %w", store.ErrUnavailable, s.failed(err))
		s.failing.add(s.now(), err)
		return err
	}
	s.failing = Failure{}
	s.noteTimes(batch)
	if !s.active.Load() {
		s.lost(batch[len(batch)-1].at)
	}
	return nil
}

// remove removes entries that the database has.
func (s *spool) remove(upTo uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.queue.Remove(upTo); err != nil {
		return s.failed(err)
	}
	return s.look()
}

// held reports, once for each, that the same ping has been first for longer than wait while the database was available.
// Replay calls it when it has taken out what it can.
func (s *spool) held(now time.Time, wait time.Duration) bool {
	if at := s.first(); at != s.head.at || now.Before(s.head.since) {
		s.head.at, s.head.since, s.head.reported = at, now, false
	}
	if s.head.at == 0 || s.head.reported || now.Sub(s.head.since) <= wait {
		return false
	}
	s.head.reported = true
	return true
}

// noteWaiting sets the time of the oldest ping that waits in the database. A time in the future is when to retry it.
func (s *spool) noteWaiting(oldest time.Time) {
	if oldest.IsZero() || oldest.After(s.now()) {
		s.waiting.Store(0)
	} else {
		s.waiting.Store(oldest.UnixMicro())
	}
}

// pace waits for the replay to take a batch, which is at least as large as the one that was just added.
func (s *spool) pace() {
	if !s.replaying.Load() {
		return
	}
	timer := time.NewTimer(paceTime)
	defer timer.Stop()
	select {
	case <-s.progress:
	case <-timer.C:
	}
}

// advance reports a replayed batch to pace.
func (s *spool) advance() {
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

// around returns a commit that spools pings while the database is unavailable, and those that must wait for the pings of
// other servers.
func (s *spool) around(next commit) commit {
	return func(batch []*queued, fail func([]*queued, error)) {
		s.assign(batch)
		if s.active.Load() {
			s.accept(batch, fail)
			return
		}
		next(s.unstuck(batch), func(part []*queued, err error) {
			switch {
			case errors.Is(err, store.ErrPartly):
				for _, p := range part {
					p.err = hold.ErrHeld
				}
			case errors.Is(err, store.ErrUnavailable):
				s.accept(part, fail) // with their numbers: the commit may have been done
			default:
				fail(part, err)
			}
		})
		var held []*queued
		for _, p := range batch {
			if errors.Is(p.err, hold.ErrHeld) {
				held = append(held, p)
			}
		}
		s.assign(held) // the numbers that they had may count as recorded
		s.accept(held, fail)
	}
}

// unstuck returns the pings of a batch that need not wait for earlier ones of their checks, and marks the others.
func (s *spool) unstuck(batch []*queued) []*queued {
	stuck := *s.stuck.Load()
	if len(stuck) == 0 {
		return batch
	}
	var free []*queued
	for _, p := range batch {
		if _, waits := stuck[p.check]; waits {
			p.err = hold.ErrHeld
		} else {
			free = append(free, p)
		}
	}
	return free
}

// assign gives pings the next numbers.
func (s *spool) assign(batch []*queued) {
	for _, p := range batch {
		s.number++
		p.number = s.number
	}
}

// accept appends pings to the spool and acknowledges them.
func (s *spool) accept(batch []*queued, fail func([]*queued, error)) {
	if len(batch) == 0 {
		return
	}
	if err := s.add(batch); err != nil {
		fail(batch, err)
		return
	}
	for _, p := range batch {
		p.ping, p.err = pings.Ping{At: p.at}, nil
	}
	s.events.PingsSpooled(len(batch))
	s.pace()
}

// lookUp returns a function that looks up the check of a ping, or returns hold.ErrHeld if the ping must go to the spool
// without.
func (s *spool) lookUp(next func(context.Context, slugTarget) (uuid.UUID, bool, error)) func(context.Context, slugTarget) (uuid.UUID, bool, error) {
	return func(ctx context.Context, target slugTarget) (id uuid.UUID, created bool, err error) {
		switch {
		case !checks.ValidPingKey(target.PingKey) || target.Slug == "" || !checks.ValidSlug(target.Slug):
			return uuid.Nil, false, checks.ErrNotFound
		case s.active.Load():
			return uuid.Nil, false, hold.ErrHeld
		}
		within, cancel := context.WithTimeout(ctx, spoolAfter)
		defer cancel()
		id, created, err = next(within, target)
		if errors.Is(err, store.ErrUnavailable) || err != nil && within.Err() != nil && ctx.Err() == nil {
			return uuid.Nil, false, hold.ErrHeld
		}
		return id, created, err
	}
}

// SpoolStats describes the pings in the spool; see the type of package monitor.
type SpoolStats struct {
	Pings   int
	Bytes   int64
	Oldest  time.Time
	Stuck   int
	Dropped int64
}

// stats describes the pings that wait.
func (s *spool) stats() (stats SpoolStats) {
	stats.Pings, stats.Bytes = s.queue.Size()
	stats.Dropped, stats.Oldest = s.dropped.Load(), instantOf(s.first())
	for _, n := range *s.stuck.Load() {
		stats.Stuck += n
	}
	return stats
}
