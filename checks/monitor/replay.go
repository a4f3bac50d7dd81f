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
	"github.com/rollcall-dev/rollcall/pings"
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

// tellOthers saves how far this monitor has come: once a second, or each time while the spool is active.
func (m *Monitor) tellOthers(ctx context.Context) error {
	now, upTo := m.writer.settled()
	s := m.writer.spooling
	if since := now.Sub(s.saved); since >= 0 && since < saveEvery && !s.isActive() {
		return nil
	}
	err := m.saveSpool(ctx, now, upTo)
	if err == nil {
		s.saved = now
	}
	return err
}

// saveSpool saves how far this monitor has come, and reads whether pings wait in the database. The first time, it removes old
// states: each start adds one.
func (m *Monitor) saveSpool(ctx context.Context, now, settled time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, m.writer.timeout)
	defer cancel()
	s := m.writer.spooling
	return m.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		_, oldest, err := tx.Spools(ctx)
		if err != nil {
			return err
		}
		s.noteWaiting(oldest)
		err = tx.SaveSpool(ctx, store.SpoolState{ID: s.run, SpoolID: s.queue.ID(), SettledAt: settled, SeenAt: now})
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
	if left, _ := m.writer.spooling.queue.Size(); left > 0 {
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
	taken, err = m.replay(ctx)
	if err == nil {
		err = m.tellOthers(ctx)
	}
	switch {
	case errors.Is(err, ErrUnavailable):
		s.lost(m.Now())
	case err == nil && s.held(m.Now(), m.writer.hold.Wait):
		m.logger("spool").WarnContext(ctx, "spooled pings wait for the pings of other servers; check that those are well and that all clocks agree",
			"received_at", instantOf(s.head.at), "since", s.head.since)
		m.observer.SpoolHeld()
	}
	return taken, err
}

// replay takes pings from the spool to the database, and from there to their checks. The first step lets the pings of all
// spools come together, so that the second one can take them in the order of their times.
func (m *Monitor) replay(ctx context.Context) (taken int, err error) {
	s, limit := m.writer.spooling, replayFactor*m.writer.maxBatch
	for ctx.Err() == nil && (s.isActive() || s.waiting.Load() != 0) {
		moved, err := m.moveSpooled(ctx, limit)
		taken += moved
		if err != nil {
			return taken, err
		}
		merged, complete, err := m.mergeBatch(ctx, limit)
		if err != nil {
			return taken, err
		}
		if moved+merged == 0 {
			if complete {
				s.leave()
			}
			break
		}
		s.replaying.Store(true)
		s.advance()
		if err := m.tellOthers(ctx); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// unspooled is an entry of the spool.
type unspooled struct {
	spooledPing
	key uint64
	at  time.Time
	bad error // why the ping cannot be recorded
}

// moveSpooled moves the oldest pings in the spool to the database, each once, and returns how many. While other monitors
// are missing, it leaves those in the spool that must wait for them.
func (m *Monitor) moveSpooled(ctx context.Context, limit int) (moved int, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.replayTimeout)
	defer cancel()
	batch, err := m.readSpool(ctx, limit)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	err = m.writer.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		merge, _, err := m.mergeUpTo(ctx, tx)
		if err != nil {
			return err
		}
		moved = len(batch)
		if i := slices.IndexFunc(batch, func(p unspooled) bool { return p.at.After(merge.UpTo) }); i >= 0 && !merge.Present {
			moved = i
		}
		return addSpooled(ctx, tx, batch[:moved], m.Now())
	})
	if err != nil || moved == 0 {
		return 0, unavailable(ctx, err)
	}
	for _, p := range batch[:moved] {
		if p.bad != nil {
			m.dropSpooled(ctx, p.Check, p.at, p.bad)
		}
	}
	return moved, m.writer.spooling.remove(batch[moved-1].key)
}

// unavailable returns the error of a transaction, as ErrUnavailable if it took too long.
func unavailable(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// addSpooled adds those pings to the database whose number it does not have.
func addSpooled(ctx context.Context, tx store.Tx, batch []unspooled, now time.Time) error {
	numbers := make(map[uuid.UUID]int64)
	var list []store.SpooledPing
	for _, p := range batch {
		_, known := numbers[p.Run]
		if !known {
			var err error
			if numbers[p.Run], err = tx.LockRecorded(ctx, p.Run); err != nil {
				return err
			}
		}
		if p.bad == nil && p.Number > numbers[p.Run] {
			data, err := p.encode()
			if err != nil {
				return err
			}
			list = append(list, store.SpooledPing{At: p.at, Data: data})
		}
		numbers[p.Run] = max(numbers[p.Run], p.Number)
	}
	for run, number := range numbers {
		if number == 0 {
			continue // of entries that cannot be read
		}
		if err := tx.SetRecorded(ctx, run, number, now); err != nil {
			return err
		}
	}
	return tx.AddSpooled(ctx, list)
}

// readSpool returns the oldest pings in the spool, with their checks.
func (m *Monitor) readSpool(ctx context.Context, limit int) ([]unspooled, error) {
	entries, err := m.writer.spooling.queue.Oldest(limit, MaxBody)
	if err != nil {
		return nil, m.writer.spooling.failed(err)
	}
	batch := make([]unspooled, len(entries))
	slugs := make(map[slugTarget]uuid.UUID)
	for i, e := range entries {
		p, err := decodeSpooled(e.Data)
		batch[i] = unspooled{p, e.Key, time.UnixMicro(p.AtMicros).UTC(), err}
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
				return nil, unavailable(ctx, err)
			case err == nil:
				slugs[slug] = id
			}
		}
		batch[i].Check, batch[i].Slug, batch[i].bad = id, slugTarget{}, err
	}
	correctTimes(batch, m.Now())
	return batch, nil
}

// correctTimes gives a ping from the future, which was received while the clock was ahead, the time of the ping after it, or
// now. Otherwise it would wait until that time has come.
func correctTimes(batch []unspooled, now time.Time) {
	next := now
	for i := range slices.Backward(batch) {
		if batch[i].at.After(now) {
			batch[i].at = next
		}
		next = batch[i].at
	}
}

// mergeUpTo returns how far pings can be merged, and the time of the oldest one in the database.
func (m *Monitor) mergeUpTo(ctx context.Context, tx store.Tx) (merge hold.Merge, oldest time.Time, err error) {
	states, oldest, err := tx.Spools(ctx)
	if err != nil {
		return hold.Merge{}, time.Time{}, err
	}
	s := m.writer.spooling
	merge = m.writer.hold.Merge(states, instantOf(s.lostAt.Load()), m.Now())
	merge.UpTo = s.settled(merge.UpTo)
	return merge, oldest, nil
}

// mergeBatch records the oldest pings that wait in the database. If that fails although the database is available, it tries
// one ping, and drops it if it fails alone.
func (m *Monitor) mergeBatch(ctx context.Context, limit int) (taken int, complete bool, err error) {
	taken, complete, err = m.mergeSpooled(ctx, limit, checks.Check.Replay)
	for _, apply := range []applying{checks.Check.Replay, refuse(err)} {
		if err == nil || errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			break
		}
		taken, complete, err = m.mergeSpooled(ctx, 1, apply)
	}
	return taken, complete, err
}

// refuse returns an applying that fails with an error.
func refuse(err error) applying {
	return func(c checks.Check, _ pings.Signal, _ time.Time) (checks.Check, pings.Ping, checks.Effects, error) {
		return c, pings.Ping{}, checks.Effects{}, err
	}
}

// mergeSpooled records the oldest pings that wait in the database, in one transaction and in the order of their times. It
// returns how many it has taken, and whether no other monitor holds one.
func (m *Monitor) mergeSpooled(ctx context.Context, limit int, apply applying) (taken int, complete bool, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, m.replayTimeout)
	defer cancel()
	var batch []*queuedPing
	err = m.writer.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		batch = nil
		merge, oldest, err := m.mergeUpTo(ctx, tx)
		if err != nil {
			return err
		}
		complete = merge.Complete
		m.writer.spooling.noteWaiting(oldest)
		if oldest.IsZero() || oldest.After(merge.UpTo) {
			return nil
		}
		list, err := tx.TakeSpooled(ctx, merge.UpTo, limit, MaxBody)
		if err != nil {
			return err
		}
		batch = queuedOf(list)
		locked, err := tx.LockChecks(ctx, checksOf(batch))
		if err != nil {
			return err
		}
		byID, by := indexed(locked), m.writer.hold.Judge(ctx, tx, m.Now)
		for i, p := range batch {
			if p.err == nil {
				_, p.err = m.writer.receive(byID[p.check], p, apply, by)
			}
			if errors.Is(p.err, hold.ErrHeld) {
				batch = batch[:i]
				if err := tx.AddSpooled(ctx, list[i:]); err != nil {
					return err
				}
				break
			}
			if errors.Is(p.err, ErrUnavailable) {
				return p.err
			}
		}
		return tx.SaveChecks(ctx, locked)
	})
	if err != nil {
		return 0, false, unavailable(ctx, err)
	}
	recorded := 0
	for _, p := range batch {
		if p.err != nil {
			m.dropSpooled(ctx, p.check, p.at, p.err)
		} else {
			recorded++
		}
	}
	if recorded > 0 {
		m.observer.PingsReplayed(recorded, 0)
	}
	return len(batch), complete, nil
}

// queuedOf returns pings out of the database as the writer has them.
func queuedOf(list []store.SpooledPing) []*queuedPing {
	batch := make([]*queuedPing, len(list))
	for i, p := range list {
		decoded, err := decodeSpooled(p.Data)
		batch[i] = &queuedPing{check: decoded.Check, signal: decoded.Signal, at: p.At, err: err}
	}
	return batch
}

// dropSpooled counts a ping that is dropped. Pings of unknown checks are normal: during an outage, the server takes all.
func (m *Monitor) dropSpooled(ctx context.Context, check uuid.UUID, at time.Time, reason error) {
	m.writer.spooling.dropped.Add(1)
	m.observer.PingsReplayed(0, 1)
	if !errors.Is(reason, checks.ErrNotFound) {
		m.logger("spool").ErrorContext(ctx, "a ping in the spool is dropped", "check", check, "received_at", at, "error", reason)
	}
}
