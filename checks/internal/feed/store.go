package feed

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Store is a store whose transactions publish what they change.
type Store struct {
	store.Store
	feed   *Feed
	raised func()
	atOnce bool
}

// Wrap returns a store that publishes changes. It calls raised after a commit that has queued alerts. AtOnce is for
// changes that a process may end after; see [New].
func (f *Feed) Wrap(s store.Store, raised func(), atOnce bool) *Store {
	return &Store{Store: s, feed: f, raised: raised, atOnce: atOnce}
}

// Update runs fn in a transaction.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	var tx *transaction
	watched := s.feed.watched()
	err := s.Store.Update(ctx, func(ctx context.Context, inner store.Tx) error {
		tx = &transaction{Tx: inner, watched: watched}
		err := fn(ctx, tx)
		tx.complete = err == nil
		return err
	})
	if err == nil && tx.raised {
		s.raised()
	}
	if tx == nil || !tx.complete {
		return err
	}
	if tx.edited {
		s.feed.edits.Add(1)
	}
	// With an error too: the answer to the commit may be lost.
	if watched {
		s.feed.publish(tx.notes)
	} else if s.feed.watched() {
		s.feed.PublishAll() // somebody subscribed during the transaction, and may have read before its commit
	}
	if s.atOnce && s.feed.ending() {
		s.feed.Announce(ctx)
	}
	return err
}

// transaction is a transaction that notes what it changes. Deliveries do not say which check they are about, so the
// callers that save them publish their changes.
type transaction struct {
	store.Tx
	raised   bool // alerts that are due
	edited   bool // more than the time of a ping has changed
	complete bool // all that is left is the commit
	watched  bool // by the feed
	notes    []Note
}

// SaveChecks notes how checks have changed.
func (t *transaction) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		t.raised = t.raised || len(l.Alerts) > 0
		changed := l.SettingsChanged || len(l.Transitions)+len(l.Pauses) > 0 || len(l.Pings) == 0 && !l.Due
		t.edited = t.edited || l.Row == nil || changed
		if !t.watched {
			continue
		}
		if l.MovedFrom != uuid.Nil {
			t.notes = append(t.notes, Note{Project: l.MovedFrom, Check: l.ID, Kinds: checks.ChangedSettings | checks.ChangedDeliveries})
		}
		var kinds checks.ChangeKind
		if l.Row == nil || l.SettingsChanged {
			kinds |= checks.ChangedSettings
		}
		if len(l.Pings) > 0 {
			kinds |= checks.ChangedLog
		}
		if len(l.Transitions)+len(l.Pauses) > 0 {
			kinds |= checks.ChangedStatus
		}
		if len(l.Alerts) > 0 {
			kinds |= checks.ChangedDeliveries
		}
		if kinds == 0 && !l.Due && len(l.Folds) == 0 {
			kinds = checks.ChangedStatus // resumed
		}
		if kinds != 0 { // 0 if the watcher came too early
			t.notes = append(t.notes, Note{Project: l.ProjectID, Check: l.ID, Kinds: kinds})
		}
	}
	return t.Tx.SaveChecks(ctx, locked)
}

func (t *transaction) SaveProject(ctx context.Context, p checks.Project) error {
	t.note(Note{Project: p.ID, Kinds: checks.ChangedProject})
	return t.Tx.SaveProject(ctx, p)
}

func (t *transaction) SaveFirstProject(ctx context.Context, p checks.Project) error {
	t.note(Note{Project: p.ID, Kinds: checks.ChangedProject})
	return t.Tx.SaveFirstProject(ctx, p)
}

func (t *transaction) DeleteProject(ctx context.Context, id uuid.UUID) error {
	t.note(Note{Project: id, Kinds: checks.ChangedAnything, AllChecks: true})
	return t.Tx.DeleteProject(ctx, id)
}

func (t *transaction) SaveKey(ctx context.Context, k checks.Key) error {
	t.note(Note{Project: k.ProjectID, Kinds: checks.ChangedProject})
	return t.Tx.SaveKey(ctx, k)
}

func (t *transaction) DeleteKey(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(Note{Project: projectID, Kinds: checks.ChangedProject})
	return t.Tx.DeleteKey(ctx, projectID, id)
}

func (t *transaction) SaveChannel(ctx context.Context, c channels.Channel) error {
	t.note(Note{Project: c.ProjectID, Kinds: checks.ChangedChannels})
	return t.Tx.SaveChannel(ctx, c)
}

func (t *transaction) DeleteChannel(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(Note{Project: projectID, Kinds: checks.ChangedChannels | checks.ChangedSettings | checks.ChangedDeliveries, AllChecks: true})
	return t.Tx.DeleteChannel(ctx, projectID, id)
}

func (t *transaction) SaveStatusPage(ctx context.Context, p checks.StatusPage) error {
	t.note(Note{Project: p.ProjectID, Kinds: checks.ChangedStatusPages})
	return t.Tx.SaveStatusPage(ctx, p)
}

func (t *transaction) DeleteStatusPage(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(Note{Project: projectID, Kinds: checks.ChangedStatusPages})
	return t.Tx.DeleteStatusPage(ctx, projectID, id)
}

func (t *transaction) SaveWindow(ctx context.Context, w store.Window, ends time.Time) error {
	t.note(Note{Project: w.ProjectID, Kinds: checks.ChangedProject, AllChecks: true})
	return t.Tx.SaveWindow(ctx, w, ends)
}

func (t *transaction) DeleteWindow(ctx context.Context, projectID, id uuid.UUID) error {
	t.note(Note{Project: projectID, Kinds: checks.ChangedProject, AllChecks: true})
	return t.Tx.DeleteWindow(ctx, projectID, id)
}

func (t *transaction) SaveEscalation(ctx context.Context, projectID uuid.UUID, steps []gate.Step, now time.Time) error {
	t.note(Note{Project: projectID, Kinds: checks.ChangedProject | checks.ChangedDeliveries, AllChecks: true})
	return t.Tx.SaveEscalation(ctx, projectID, steps, now)
}

func (t *transaction) ReleaseHeld(ctx context.Context, projectID uuid.UUID, now time.Time) error {
	t.raised = true
	return t.Tx.ReleaseHeld(ctx, projectID, now)
}

func (t *transaction) DeleteChecks(ctx context.Context, locked ...*store.Locked) error {
	for _, l := range locked {
		t.note(Note{Project: l.ProjectID, Check: l.ID, Kinds: checks.ChangedChecks})
	}
	return t.Tx.DeleteChecks(ctx, locked...)
}

func (t *transaction) note(n Note) {
	t.edited = true
	if t.watched {
		t.notes = append(t.notes, n)
	}
}
