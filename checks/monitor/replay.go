package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// replayEvery is how often the monitor tries to empty its spool, and saveEvery how often it saves its state.
	replayEvery, saveEvery = 200 * time.Millisecond, time.Second
	// replayFactor is how many times more pings a batch of the replay has than one that is added, so that the spool shrinks.
	replayFactor = 2
	// keepSpools is how long the state of a monitor is kept that has not come back, and keepClosed that of one that has
	// stopped. The spool of one that comes back later may hold a batch that the database has.
	keepSpools, keepClosed = 400 * 24 * time.Hour, time.Hour
)

// tellOthers saves once a second how far this monitor has come.
func (m *Monitor) tellOthers(ctx context.Context) error {
	now, upTo := m.writer.settled()
	s := m.writer.spooling
	if since := now.Sub(s.saved); since >= 0 && since < saveEvery {
		return nil
	}
	err := m.saveSpool(ctx, now, upTo)
	if err == nil {
		s.saved = now
	}
	return err
}

// saveSpool saves how far this monitor has come. The first time, it removes old states: each start adds one.
func (m *Monitor) saveSpool(ctx context.Context, now, settled time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, m.writer.timeout)
	defer cancel()
	s := m.writer.spooling
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		err := tx.SaveSpool(ctx, store.SpoolState{ID: s.run, SpoolID: s.queue.ID(), SettledAt: settled, SeenAt: now})
		if err != nil || !s.saved.IsZero() {
			return err
		}
		return tx.PruneSpools(ctx, now.Add(-keepSpools), now.Add(-keepClosed))
	})
}

// replayAll replays the spool until ctx ends. It logs the beginning and the end of an outage.
func (m *Monitor) replayAll(ctx context.Context) {
	defer m.leave(ctx)
	ticker := time.NewTicker(replayEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		taken, err := m.Replay(ctx)
		log := m.logger("spool")
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			log.ErrorContext(ctx, "the spool cannot be emptied; the server tries again", "error", err)
		case err == nil && (failing || taken > 0):
			waiting, _ := m.writer.spooling.queue.Size()
			log.InfoContext(ctx, "pings were taken out of the spool", "taken", taken, "waiting", waiting)
		}
		failing = err != nil
	}
}

// leave tells the other monitors not to wait for this one, unless its spool holds pings.
func (m *Monitor) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spoolAfter)
	defer cancel()
	if s := m.writer.spooling; s.isActive() {
		left, _ := s.queue.Size()
		m.logger("spool").WarnContext(ctx, "pings are left in the spool; the next start records them", "pings", left)
		return
	}
	if err := m.saveSpool(ctx, m.Now(), store.SpoolClosed); err != nil {
		m.logger("spool").WarnContext(ctx, "other servers hold deadlines back for a while, because this one could not say that its spool is empty", "error", err)
	}
}

// Replay records the pings in the spool until it is empty, or until the next ping must wait for those of other monitors. It
// returns how many pings it has taken out. Once a second, it also says in the database how far this monitor has come.
// [Monitor.Run] calls Replay five times a second; call it only in a program that does not call Run, and then from one
// goroutine. Error: [ErrUnavailable]; the pings stay in the spool then.
func (m *Monitor) Replay(ctx context.Context) (taken int, err error) {
	s := m.writer.spooling
	if s == nil {
		return 0, nil
	}
	defer s.replaying.Store(false)
	if err := s.find(); err != nil {
		return 0, err
	}
	for s.isActive() && ctx.Err() == nil {
		n, err := m.replayBatch(ctx, replayFactor*m.writer.maxBatch)
		taken += n
		if err != nil {
			return taken, err
		}
		if n == 0 {
			break
		}
		s.replaying.Store(true)
		s.advance()
		if err := m.tellOthers(ctx); err != nil {
			return taken, err
		}
	}
	if err := m.tellOthers(ctx); err != nil {
		return taken, err
	}
	if s.isActive() && s.held(m.Now(), m.writer.hold.Wait) {
		waiting, _ := s.queue.Size()
		m.logger("spool").WarnContext(ctx, "the first ping in the spool must wait for the pings of other servers; look whether they are well and their clocks agree",
			"waiting", waiting, "since", s.head.since)
		m.observer.SpoolHeld()
	}
	return taken, nil
}

// replayed is an entry of the spool.
type replayed struct {
	*queuedPing
	key uint64
	run uuid.UUID
	bad error // why the ping cannot be recorded
}

// replayBatch records the oldest pings in the spool. If that fails although the database is available, it tries one ping at
// a time, and drops one that fails alone.
func (m *Monitor) replayBatch(ctx context.Context, limit int) (taken int, err error) {
	batch, err := m.readSpool(ctx, limit)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	taken, err = m.recordSpooled(ctx, batch)
	if err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
		if taken, err = m.recordSpooled(ctx, batch[:1]); err != nil && !errors.Is(err, ErrUnavailable) && ctx.Err() == nil {
			m.dropSpooled(ctx, batch[0].queuedPing, err)
			m.observer.PingsReplayed(0, 1)
			taken, err = 1, nil
		}
	}
	if err != nil || taken == 0 {
		return 0, err
	}
	return taken, m.writer.spooling.remove(batch[taken-1].key)
}

// readSpool returns the oldest pings in the spool, with their checks.
func (m *Monitor) readSpool(ctx context.Context, limit int) ([]replayed, error) {
	ctx, cancel := context.WithTimeout(ctx, m.replayTimeout)
	defer cancel()
	entries, err := m.writer.spooling.queue.Oldest(limit, MaxBody)
	if err != nil {
		return nil, m.writer.spooling.failed(err)
	}
	batch := make([]replayed, len(entries))
	slugs := make(map[slugTarget]uuid.UUID)
	for i, e := range entries {
		p, err := decodeSpooled(e.Data)
		batch[i] = replayed{p.queued(), e.Key, p.Run, err}
		slug := p.Slug
		if err != nil || slug == (slugTarget{}) {
			continue
		}
		id, known := slugs[slug]
		if !known {
			id, _, err = m.lookUpSlug(ctx, slug, false)
			switch {
			case errors.Is(err, ErrUnavailable):
				return nil, err
			case ctx.Err() != nil:
				return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
			case err == nil:
				slugs[slug] = id
			}
		}
		batch[i].check, batch[i].slug, batch[i].bad = id, slugTarget{}, err
	}
	correctTimes(batch, m.Now())
	return batch, nil
}

// correctTimes gives a ping from the future, which was received while the clock was ahead, the time of the ping after it, or
// now. Otherwise the spool would wait until that time has come.
func correctTimes(batch []replayed, now time.Time) {
	next := now
	for _, p := range slices.Backward(batch) {
		if p.at.After(now) {
			p.at = next
		}
		next = p.at
	}
}

// recordSpooled records pings in one transaction, each once, and returns how many of the first it has settled.
func (m *Monitor) recordSpooled(ctx context.Context, batch []replayed) (taken int, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, m.replayTimeout)
	defer cancel()
	var settled []replayed
	recorded := 0
	err = m.writer.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		settled, recorded = nil, 0
		by := m.writer.hold.Judge(ctx, tx, m.Now)
		locked, err := tx.LockChecks(ctx, checksOf(pingsOf(batch)))
		if err != nil {
			return err
		}
		byID, numbers := indexed(locked), make(map[uuid.UUID]int64)
		for _, p := range batch {
			if _, known := numbers[p.run]; !known {
				if numbers[p.run], err = tx.LockRecorded(ctx, p.run); err != nil {
					return err
				}
			}
			if p.bad == nil && p.number > numbers[p.run] {
				_, p.bad = m.writer.receive(byID[p.check], p.queuedPing, checks.Check.Replay, by)
				if errors.Is(p.bad, hold.ErrHeld) {
					break
				} else if errors.Is(p.bad, ErrUnavailable) {
					return p.bad
				} else if p.bad == nil {
					recorded++
				}
			}
			numbers[p.run] = max(numbers[p.run], p.number)
			settled = append(settled, p)
		}
		return m.saveReplayed(ctx, tx, locked, numbers)
	})
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return 0, err
	}
	dropped := 0
	for _, p := range settled {
		if p.bad != nil {
			m.dropSpooled(ctx, p.queuedPing, p.bad)
			dropped++
		}
	}
	m.observer.PingsReplayed(recorded, dropped)
	return len(settled), nil
}

// saveReplayed saves checks, and the number of the last ping of each run.
func (m *Monitor) saveReplayed(ctx context.Context, tx store.Tx, locked []*store.Locked, numbers map[uuid.UUID]int64) error {
	if err := tx.SaveChecks(ctx, locked); err != nil {
		return err
	}
	for run, number := range numbers {
		if number == 0 {
			continue // of entries that cannot be read
		}
		if err := tx.SetRecorded(ctx, run, number, m.Now()); err != nil {
			return err
		}
	}
	return nil
}

func pingsOf(batch []replayed) []*queuedPing {
	list := make([]*queuedPing, len(batch))
	for i, p := range batch {
		list[i] = p.queuedPing
	}
	return list
}

// dropSpooled counts a ping that is dropped. Pings of unknown checks are normal: during an outage, the server takes all.
func (m *Monitor) dropSpooled(ctx context.Context, p *queuedPing, reason error) {
	m.writer.spooling.dropped.Add(1)
	if !errors.Is(reason, checks.ErrNotFound) {
		m.logger("spool").ErrorContext(ctx, "a ping in the spool is dropped", "check", p.check, "received_at", p.at, "error", reason)
	}
}
