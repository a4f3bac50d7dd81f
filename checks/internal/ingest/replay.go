package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/background"
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

// replay takes pings out of the spool once the database is back. Only one goroutine uses it.
type replay struct {
	*merge
	received func() (now, upTo time.Time)
	lookUp   func(context.Context, slugTarget) (uuid.UUID, error)
}

// tellOthers saves this monitor's progress: once a second, or each time while the spool is active.
func (r *replay) tellOthers(ctx context.Context) error {
	now, upTo := r.received()
	s := r.spool
	if since := now.Sub(s.saved); since >= 0 && since < saveEvery && !s.active.Load() {
		return nil
	}
	err := r.saveSpool(ctx, now, upTo)
	if err == nil {
		s.saved = now
	}
	return err
}

// saveSpool saves this monitor's progress, and reads whether pings wait in the database. The first time, it removes old
// states: each start adds one.
func (r *replay) saveSpool(ctx context.Context, now, settled time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, spoolAfter)
	defer cancel()
	s := r.spool
	return r.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		_, oldest, err := tx.Spools(ctx)
		if err != nil {
			return err
		}
		s.noteWaiting(oldest)
		state := store.SpoolState{ID: s.run, SpoolID: s.queue.ID(), SettledAt: settled, SeenAt: now}
		if s.saved.IsZero() {
			state.Forget, state.ForgetClosed = now.Add(-keepSpools), now.Add(-keepClosed)
		}
		return tx.SaveSpool(ctx, state)
	})
}

// run replays the spool until ctx ends, and then once more. It logs the beginning and the end of an outage.
func (r *replay) run(ctx context.Context, end background.End) {
	defer r.leave(end)
	ticker := time.NewTicker(replayEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		taken, err := r.once(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && !failing:
			r.log.ErrorContext(ctx, "the spool cannot be emptied; the server tries again", "error", err)
		case err == nil && (failing || taken > 0):
			waiting, _ := r.spool.queue.Size()
			r.log.InfoContext(ctx, "pings were taken out of the spool", "taken", taken, "waiting", waiting)
		}
		failing = err != nil
	}
}

// leave empties the spool, and tells the other monitors not to wait for this one, unless its spool holds pings.
func (r *replay) leave(end background.End) {
	ctx, cancel := context.WithTimeout(end.Save, spoolAfter)
	defer cancel()
	if _, err := r.once(end.Due); err != nil {
		r.log.ErrorContext(ctx, "the spool cannot be emptied", "error", err)
	}
	if left, _ := r.spool.queue.Size(); left > 0 {
		r.log.WarnContext(ctx, "pings are left in the spool; the next start records them", "pings", left)
		return
	}
	if err := r.saveSpool(ctx, r.now(), store.SpoolClosed); err != nil {
		r.log.WarnContext(ctx, "other servers hold deadlines back for a while, because this one could not say that its spool is empty", "error", err)
	}
}

// once replays the spool until it is empty, or until the next ping must wait for those of other servers, and returns how
// many pings it has taken out.
func (r *replay) once(ctx context.Context) (taken int, err error) {
	s := r.spool
	defer s.replaying.Store(false)
	if err := s.find(); err != nil {
		return 0, err
	}
	taken, err = r.empty(ctx)
	if !store.Away(err) { // although pings cannot be recorded, all must know of those that wait in the database
		err = cmp.Or(err, r.tellOthers(ctx))
	}
	switch {
	case errors.Is(err, store.ErrUnavailable):
		s.lost(r.now())
		r.ended(false, err)
	case err == nil && s.held(r.now(), r.hold.Wait):
		r.log.WarnContext(ctx, "spooled pings wait for the pings of other servers; check that those are well and that all clocks agree",
			"received_at", instantOf(s.head.at), "since", s.head.since)
		r.events.SpoolHeld()
	}
	return taken, err
}

// empty takes pings from the spool to the database, and from there to their checks. The first step lets the pings of all
// spools come together, so that the second one can take them in the order of their times.
func (r *replay) empty(ctx context.Context) (taken int, err error) {
	s := r.spool
	for ctx.Err() == nil && (s.active.Load() || s.waiting.Load() != 0 || r.due()) {
		moved, err := r.move(ctx)
		taken += moved
		if err != nil {
			return taken, err
		}
		merged, complete, err := r.next(ctx)
		if err != nil {
			return taken, err
		}
		if moved+merged == 0 {
			if complete {
				s.deactivate()
			}
			break
		}
		s.replaying.Store(true)
		s.advance()
		if err := r.tellOthers(ctx); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// unspooled is an entry of the spool.
type unspooled struct {
	entry
	key uint64
	at  time.Time
	bad error // why the ping cannot be recorded
}

// move moves the oldest pings in the spool to the database, each once, and returns how many. While other monitors
// are missing, it leaves those in the spool that must wait for them.
func (r *replay) move(ctx context.Context) (moved int, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	batch, err := r.read(ctx)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	err = r.store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		upTo, _, err := r.horizon(ctx, tx)
		if err != nil {
			return err
		}
		moved = len(batch)
		if i := slices.IndexFunc(batch, func(p unspooled) bool { return p.at.After(upTo.UpTo) }); i >= 0 && !upTo.Present {
			moved = i
		}
		list, err := spooledPings(batch[:moved])
		if err != nil {
			return err
		}
		return tx.AddSpooled(ctx, r.now(), list)
	})
	if err != nil || moved == 0 {
		return 0, outage(ctx, err)
	}
	for _, p := range batch[:moved] {
		if p.bad != nil {
			r.drop(ctx, p.Check, p.at, p.bad)
		}
	}
	return moved, r.spool.remove(batch[moved-1].key)
}

// spooledPings returns pings as the database keeps them.
func spooledPings(batch []unspooled) (list []store.SpooledPing, err error) {
	list = make([]store.SpooledPing, len(batch))
	for i, p := range batch {
		list[i] = store.SpooledPing{At: p.at, Run: p.Run, Number: p.Number}
		if p.bad != nil {
			continue
		}
		p.AtMicros = p.at.UnixMicro()
		if list[i].Data, err = p.encode(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// read returns the oldest pings in the spool, with their checks.
func (r *replay) read(ctx context.Context) ([]unspooled, error) {
	entries, err := r.spool.queue.Oldest(r.limit, MaxBody)
	if err != nil {
		return nil, r.spool.failed(err)
	}
	batch := make([]unspooled, len(entries))
	slugs := make(map[slugTarget]uuid.UUID)
	for i, e := range entries {
		p, err := decode(e.Data)
		batch[i] = unspooled{p, e.Key, time.UnixMicro(p.AtMicros).UTC(), err}
		slug := p.Slug
		if err != nil || slug == (slugTarget{}) {
			continue
		}
		id, known := slugs[slug]
		if !known {
			id, err = r.lookUp(ctx, slug)
			switch {
			case errors.Is(err, store.ErrUnavailable):
				return nil, outage(ctx, err)
			case err == nil:
				slugs[slug] = id
			}
		}
		batch[i].Check, batch[i].Slug, batch[i].bad = id, slugTarget{}, err
	}
	correctTimes(batch, r.now())
	return batch, nil
}

// correctTimes gives a ping from the future, which was received while the clock was ahead, the time of the ping after it, or
// now. Otherwise it would wait until that time.
func correctTimes(batch []unspooled, now time.Time) {
	next := now
	for i := range slices.Backward(batch) {
		if batch[i].at.After(now) {
			batch[i].at = next
		}
		next = batch[i].at
	}
}
