package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// entry is a ping in the log of a check.
type entry struct {
	pings.Ping
	upload int64 // the ID of its upload, which may be done, or 0
}

// flip is a status change with its reason.
type flip struct {
	store.AlertFlip
	from   checks.Status
	number int64
}

func (f flip) transition() checks.Transition {
	t := checks.Transition{From: f.from, To: checks.StatusDown, At: f.At, Reason: f.Reason}
	if f.Up {
		t.To = checks.StatusUp
	}
	return t
}

// clonePing returns a ping that shares no memory with p.
func clonePing(p pings.Ping) pings.Ping {
	if p.ExitStatus != nil {
		p.ExitStatus = new(*p.ExitStatus)
	}
	if p.Duration != nil {
		p.Duration = new(*p.Duration)
	}
	p.Body = bytes.Clone(p.Body)
	return p
}

// saveLog adds the pings, flips and alerts of a locked check.
func (t *transaction) saveLog(c *check, l *store.Locked) {
	uploads := l.Uploads
	for _, p := range l.Pings {
		e := &entry{Ping: clonePing(p)}
		c.log = append(c.log, e)
		if e.Duration != nil {
			c.lastDuration = e.Duration
		}
		if len(uploads) > 0 && uploads[0] == p.N {
			uploads = uploads[1:]
			t.queueUpload(c.ID, e)
		}
	}
	added := make([]flip, len(l.Transitions))
	for i, tr := range l.Transitions {
		added[i] = flip{store.AlertFlip{At: tr.At, Up: tr.To == checks.StatusUp, Reason: tr.Reason}, tr.From, t.s.next()}
	}
	first := 0 // alerts and transitions are in the same order; several flips can have the same instant
	for _, a := range l.Alerts {
		var about int64
		for i := first; i < len(added); i++ {
			if tr := l.Transitions[i]; tr.To == a.Status && tr.At.Equal(a.At) {
				first, about = i, added[i].number
				break
			}
		}
		if about == 0 {
			about = c.newestFlip(a.Status == checks.StatusUp)
		}
		to := c.Channels
		if !a.RaisedAt.After(t.s.onAlertUntil) {
			to = append(slices.Clone(to), store.OnAlert.ID)
		}
		for _, channel := range to {
			t.addDelivery(&delivery{
				QueuedDelivery: store.QueuedDelivery{ChannelID: channel, CreatedAt: a.RaisedAt, Due: a.RaisedAt, Since: a.Since},
				check:          c, flip: about, reminder: a.Reminder,
			})
		}
	}
	c.flips = append(c.flips, added...)
	c.pauses = append(c.pauses, l.Pauses...)
}

// newestFlip returns the number of the newest flip in a direction, or 0.
func (c *check) newestFlip(up bool) int64 {
	var newest flip
	for _, f := range c.flips {
		if f.Up == up && (newest.number == 0 || !f.At.Before(newest.At)) {
			newest = f
		}
	}
	return newest.number
}

// Pings returns the newest pings of a check, newest first, without their bodies.
func (s *Store) Pings(ctx context.Context, checkID uuid.UUID, limit int) (list []pings.Ping, err error) {
	err = s.view(ctx, func() {
		c := s.checks[checkID]
		if c == nil {
			return
		}
		for _, e := range c.log[max(0, len(c.log)-limit):] {
			p := e.Ping
			p.Body, p.BodyKey = nil, ""
			list = append(list, clonePing(p))
		}
	})
	slices.Reverse(list)
	return list, err
}

// Ping returns ping number n with its body, if it is among the newest limit pings of the check.
func (s *Store) Ping(ctx context.Context, checkID uuid.UUID, n int64, limit int) (p pings.Ping, err error) {
	found := false
	err = s.view(ctx, func() {
		c := s.checks[checkID]
		if c == nil {
			return
		}
		for _, e := range c.log[max(0, len(c.log)-limit):] {
			if e.N == n {
				p, found = clonePing(e.Ping), true
			}
		}
	})
	if err == nil && !found {
		err = checks.ErrNotFound
	}
	return p, err
}

// Flips returns the flips of a check in a window, newest first.
func (s *Store) Flips(ctx context.Context, checkID uuid.UUID, after, before time.Time) (list []flips.Flip, err error) {
	err = s.view(ctx, func() {
		c := s.checks[checkID]
		if c == nil {
			return
		}
		for _, f := range slices.Backward(c.flips) {
			if (after.IsZero() || f.At.After(after)) && (before.IsZero() || f.At.Before(before)) {
				list = append(list, flips.Flip{At: f.At, Up: f.Up})
			}
		}
	})
	return list, err
}

// Transitions returns the flips and the pauses of a check, by time.
func (s *Store) Transitions(ctx context.Context, checkID uuid.UUID) (list []checks.Transition, err error) {
	err = s.view(ctx, func() {
		if c := s.checks[checkID]; c != nil {
			list = c.transitions()
		}
	})
	return list, err
}

// transitions returns the flips and the pauses of the check, by time.
func (c *check) transitions() (list []checks.Transition) {
	for _, e := range c.allEvents() {
		list = append(list, e.Transition)
	}
	return list
}

// RecentPings returns the newest pings of checks, until ten in a row are older than an instant.
func (s *Store) RecentPings(ctx context.Context, checkIDs []uuid.UUID, since time.Time, limit int) (map[uuid.UUID][]pings.Ping, error) {
	recent := make(map[uuid.UUID][]pings.Ping)
	err := s.view(ctx, func() {
		for _, id := range checkIDs {
			c := s.checks[id]
			if c == nil || recent[id] != nil {
				continue
			}
			older := 0
			for _, e := range slices.Backward(c.log[max(0, len(c.log)-limit):]) {
				recent[id] = append(recent[id], clonePing(pings.Ping{N: e.N, Kind: e.Kind, At: e.At, RunID: e.RunID,
					ExitStatus: e.ExitStatus, Duration: e.Duration, BodySize: e.BodySize}))
				if older++; !e.At.Before(since) {
					older = 0
				}
				if older == store.OlderPings {
					break
				}
			}
		}
	})
	return recent, err
}

// RecentTransitions returns the flips and the pauses of checks since an instant, by time.
func (s *Store) RecentTransitions(ctx context.Context, checkIDs []uuid.UUID, since time.Time) (map[uuid.UUID][]checks.Transition, error) {
	recent := make(map[uuid.UUID][]checks.Transition)
	err := s.view(ctx, func() {
		for _, id := range checkIDs {
			c := s.checks[id]
			if c == nil {
				continue
			}
			list := slices.DeleteFunc(c.transitions(), func(t checks.Transition) bool { return t.At.Before(since) })
			if len(list) > 0 {
				recent[id] = list
			}
		}
	})
	return recent, err
}

// LastDurations returns the duration of the last finished run of each check of a project.
func (s *Store) LastDurations(ctx context.Context, projectID uuid.UUID) (map[uuid.UUID]time.Duration, error) {
	durations := make(map[uuid.UUID]time.Duration)
	err := s.view(ctx, func() {
		p := s.projects[projectID]
		if p == nil {
			return
		}
		for id, c := range p.checks {
			if c.lastDuration != nil {
				durations[id] = *c.lastDuration
			}
		}
	})
	return durations, err
}

// pruneStep bounds the pings or deliveries that are removed while everybody else waits.
const pruneStep = 500

// orNothing returns pause, or a function that does nothing.
func orNothing(pause func()) func() {
	if pause == nil {
		return func() {}
	}
	return pause
}

// excess returns how many of the oldest pings of the check may be removed.
func (c *check) excess() int {
	if c.deleted {
		return len(c.log)
	}
	return max(0, len(c.log)-c.project.PingLimit())
}

// PrunePings removes the pings that were expired when it was called.
func (s *Store) PrunePings(ctx context.Context, pause func()) (removed int, err error) {
	type part struct {
		*check
		left int
	}
	var parts []part
	err = s.view(ctx, func() {
		for _, c := range s.deleted {
			parts = append(parts, part{c, c.excess()})
		}
		for _, c := range s.checks {
			if n := c.excess(); n > 0 {
				parts = append(parts, part{c, n})
			}
		}
	})
	for len(parts) > 0 && err == nil {
		orNothing(pause)()
		err = s.change(ctx, func() {
			for room := pruneStep; room > 0 && len(parts) > 0; {
				p := &parts[0]
				n := min(p.left, p.excess(), room)
				s.removePings(p.check, n)
				removed += n
				room -= n
				if p.left -= n; p.left == 0 || p.excess() == 0 {
					parts = parts[1:]
				}
			}
			s.deleted = slices.DeleteFunc(s.deleted, func(c *check) bool { return len(c.log) == 0 })
		})
	}
	return removed, err
}

// removePings removes the oldest pings of a check.
func (s *Store) removePings(c *check, n int) {
	for _, e := range c.log[:n] {
		s.disown(e)
	}
	clear(c.log[:n])
	c.log = c.log[n:]
}

// PruneFlips removes flips and pauses older than an instant, and finished deliveries that were created before it.
func (s *Store) PruneFlips(ctx context.Context, before time.Time, pause func()) (removed int, err error) {
	expired := func(d *delivery) bool { return d.State != store.DeliveryPending && d.CreatedAt.Before(before) }
	old := func(f flip) bool { return f.At.Before(before) }
	oldPause := func(p checks.Transition) bool { return p.At.Before(before) }
	var deliveries []*delivery
	var list []*check
	err = s.view(ctx, func() {
		for _, d := range s.deliveries {
			if expired(d) {
				deliveries = append(deliveries, d)
			}
		}
		for _, c := range s.checks {
			if slices.ContainsFunc(c.flips, old) || slices.ContainsFunc(c.pauses, oldPause) {
				list = append(list, c)
			}
		}
	})
	for part := range slices.Chunk(deliveries, pruneStep) {
		if err != nil {
			return removed, err
		}
		orNothing(pause)()
		err = s.change(ctx, func() {
			for _, d := range part {
				if expired(d) {
					(&transaction{s: s}).removeDelivery(d)
				}
			}
		})
	}
	for _, c := range list {
		if err != nil {
			return removed, err
		}
		orNothing(pause)()
		err = s.change(ctx, func() {
			before := len(c.flips)
			c.flips = slices.DeleteFunc(c.flips, old)
			removed += before - len(c.flips)
			c.pauses = slices.DeleteFunc(c.pauses, oldPause)
		})
	}
	return removed, err
}
