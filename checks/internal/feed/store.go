package feed

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
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
	raised   bool // new alerts
	complete bool // all that is left is the commit
	watched  bool // by the feed
	notes    []Note
}

// SaveChecks notes how checks have changed.
func (t *transaction) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		t.raised = t.raised || len(l.Alerts) > 0
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

func (t *transaction) Save(ctx context.Context, s store.Setup) error {
	switch {
	case s.Project != nil:
		t.note(Note{Project: s.Project.ID, Kinds: checks.ChangedProject})
	case s.Key != nil:
		t.note(Note{Project: s.Key.ProjectID, Kinds: checks.ChangedProject})
	case s.Channel != nil:
		t.note(Note{Project: s.Channel.ProjectID, Kinds: checks.ChangedChannels})
	case s.StatusPage != nil:
		t.note(Note{Project: s.StatusPage.ProjectID, Kinds: checks.ChangedStatusPages})
	}
	return t.Tx.Save(ctx, s)
}

func (t *transaction) Delete(ctx context.Context, s store.Setup) error {
	switch {
	case s.Project != nil:
		t.note(Note{Project: s.Project.ID, Kinds: checks.ChangedAnything, AllChecks: true})
	case s.Key != nil:
		t.note(Note{Project: s.Key.ProjectID, Kinds: checks.ChangedProject})
	case s.Channel != nil:
		t.note(Note{Project: s.Channel.ProjectID, Kinds: checks.ChangedChannels | checks.ChangedSettings | checks.ChangedDeliveries, AllChecks: true})
	case s.StatusPage != nil:
		t.note(Note{Project: s.StatusPage.ProjectID, Kinds: checks.ChangedStatusPages})
	case s.Check != nil:
		t.note(Note{Project: s.Check.ProjectID, Check: s.Check.ID, Kinds: checks.ChangedChecks})
	}
	return t.Tx.Delete(ctx, s)
}

func (t *transaction) note(n Note) {
	if t.watched {
		t.notes = append(t.notes, n)
	}
}
