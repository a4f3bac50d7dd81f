package monitor

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/store"
)

// commits is the store of a monitor. After each commit it wakes the courier if there are new alerts, and passes the
// changes to the feed. It also asks for alerts to OnAlert.
type commits struct {
	store.Store
	delivery *delivery
	clock    func() time.Time
	feed     *feed
	// flush reports whether Update also waits until the changes are announced, for a process that may end soon.
	flush func() bool
}

// Update runs fn in a transaction.
func (s *commits) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	var tx *watchedTx
	now := checks.Instant(s.clock())
	until, ask := s.delivery.ask(now)
	watched := s.feed.watched()
	err := s.Store.Update(ctx, func(ctx context.Context, inner store.Tx) error {
		tx = &watchedTx{Tx: inner, watched: watched}
		if ask {
			if err := tx.OnAlertUntil(ctx, until); err != nil {
				return err
			}
		}
		err := fn(ctx, tx)
		tx.complete = err == nil
		return err
	})
	if err == nil && ask {
		s.delivery.mu.Lock()
		s.delivery.asked = now
		s.delivery.mu.Unlock()
	}
	if err == nil && tx.raised {
		s.delivery.wake()
	}
	if tx != nil && tx.complete { // with an error too: the answer to the commit may be lost
		s.report(ctx, tx)
	}
	return err
}

// report passes the changes of a transaction to the feed.
func (s *commits) report(ctx context.Context, tx *watchedTx) {
	if tx.watched {
		s.feed.publish(tx.notes.list...)
	} else if s.feed.watched() {
		s.feed.publishAll() // somebody subscribed during the transaction, and may have read before its commit
	}
	if s.flush() {
		s.feed.others.announce(ctx)
	}
}

// watchedTx is a transaction that notes what it changes. Deliveries do not say which check they are about, so
// the callers that save them pass their changes to the feed.
type watchedTx struct {
	store.Tx
	raised   bool // new alerts
	complete bool // all that is left is the commit
	watched  bool // by the feed
	notes    notes
}

func (t *watchedTx) LockCheck(ctx context.Context, id uuid.UUID) (*store.Locked, error) {
	l, err := t.Tx.LockCheck(ctx, id)
	if err == nil && t.watched {
		t.notes.locked(l)
	}
	return l, err
}

func (t *watchedTx) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		t.raised = t.raised || len(l.Alerts) > 0
	}
	if t.watched {
		t.notes.saving(locked)
	}
	return t.Tx.SaveChecks(ctx, locked)
}

func (t *watchedTx) DeleteDeliveries(ctx context.Context, l *store.Locked) error {
	t.note(note{project: l.ProjectID, check: l.ID, kinds: ChangedDeliveries})
	return t.Tx.DeleteDeliveries(ctx, l)
}

func (t *watchedTx) DeleteCheck(ctx context.Context, l *store.Locked) error {
	t.note(note{project: l.ProjectID, check: l.ID, kinds: ChangedChecks})
	return t.Tx.DeleteCheck(ctx, l)
}

func (t *watchedTx) SaveChannel(ctx context.Context, c channels.Channel) error {
	t.note(note{project: c.ProjectID, kinds: ChangedChannels})
	return t.Tx.SaveChannel(ctx, c)
}

func (t *watchedTx) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(note{project: projectID, kinds: ChangedChannels | ChangedSettings | ChangedDeliveries, allChecks: true})
	return t.Tx.DeleteChannel(ctx, projectID, id)
}

func (t *watchedTx) InsertProject(ctx context.Context, p checks.Project) error {
	t.note(note{project: p.ID, kinds: ChangedProject})
	return t.Tx.InsertProject(ctx, p)
}

func (t *watchedTx) DeleteProject(ctx context.Context, id uuid.UUID) error {
	t.note(note{project: id, kinds: ChangedAnything, allChecks: true})
	return t.Tx.DeleteProject(ctx, id)
}

func (t *watchedTx) InsertKey(ctx context.Context, k checks.Key) error {
	t.note(note{project: k.ProjectID, kinds: ChangedProject})
	return t.Tx.InsertKey(ctx, k)
}

func (t *watchedTx) DeleteKey(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(note{project: projectID, kinds: ChangedProject})
	return t.Tx.DeleteKey(ctx, projectID, id)
}

func (t *watchedTx) SaveStatusPage(ctx context.Context, p checks.StatusPage) error {
	t.note(note{project: p.ProjectID, kinds: ChangedStatusPages})
	return t.Tx.SaveStatusPage(ctx, p)
}

func (t *watchedTx) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(note{project: projectID, kinds: ChangedStatusPages})
	return t.Tx.DeleteStatusPage(ctx, projectID, id)
}

func (t *watchedTx) note(n note) {
	if t.watched {
		t.notes.list = append(t.notes.list, n)
	}
}
