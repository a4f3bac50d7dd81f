package feed

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Store is a store whose transactions publish what they change.
type Store struct {
	store.Store
	feed   *Feed
	raised func()
	now    func() time.Time
	atOnce bool
}

// Wrap returns a store that publishes changes. It calls raised after a commit that has queued or released alerts. AtOnce is for
// changes that a process may end after; see [New].
func (f *Feed) Wrap(s store.Store, raised func(), now func() time.Time, atOnce bool) *Store {
	return &Store{Store: s, feed: f, raised: raised, now: now, atOnce: atOnce}
}

// Update runs fn in a transaction.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	var tx *transaction
	watched := s.feed.watched()
	err := s.Store.Update(ctx, func(ctx context.Context, inner store.Tx) error {
		tx = &transaction{Tx: inner, watched: watched}
		err := fn(ctx, tx)
		if err == nil && tx.released != nil {
			err = tx.end(ctx, s.now())
		}
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
		s.feed.Publish(tx.notes...)
	} else if s.feed.watched() {
		s.feed.PublishAll() // somebody subscribed during the transaction, and may have read before its commit
	}
	if s.atOnce {
		s.feed.Announce(ctx)
	}
	return err
}

// transaction is a transaction that notes what it changes. Deliveries do not say which check they are about, so the
// callers that save them publish their changes.
type transaction struct {
	store.Tx
	raised   bool // alerts that are due
	released []uuid.UUID
	edited   bool // more than the time of a ping has changed
	complete bool // all that is left is the commit
	watched  bool // by the feed
	notes    []Note
}

// SaveChecks notes how checks have changed. What has changed without a ping or a deadline may keep less alerts back.
func (t *transaction) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	for _, l := range locked {
		t.raised = t.raised || len(l.Alerts) > 0
		changed := l.SettingsChanged || len(l.Transitions)+len(l.Pauses) > 0 || len(l.Pings) == 0 && !l.Due
		t.edited = t.edited || l.Row == nil || changed
		if l.Row != nil && len(l.Pings)+len(l.Folds) == 0 && !l.Due {
			t.release(l.ProjectID)
		}
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

// Change notes changes of anything else.
func (t *transaction) Change(ctx context.Context, list ...store.Change) (store.Writer, error) {
	for _, c := range list {
		if c.Kinds != 0 {
			t.note(Note{Project: c.ProjectID, Kinds: c.Kinds, AllChecks: c.AllChecks})
		}
		if c.Releases {
			t.release(c.ProjectID)
		}
	}
	return t.Tx.Change(ctx, list...)
}

// release notes that less may keep alerts of a project back at the end of the transaction.
func (t *transaction) release(project uuid.UUID) {
	if !slices.Contains(t.released, project) {
		t.released = append(t.released, project)
	}
}

// end releases what waits. Projects are locked in their order, to prevent deadlocks.
func (t *transaction) end(ctx context.Context, now time.Time) error {
	slices.SortFunc(t.released, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, project := range t.released {
		t.raised = true
		if err := t.Tx.ReleaseHeld(ctx, project, now); err != nil {
			return err
		}
	}
	return nil
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
