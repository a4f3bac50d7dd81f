package feed

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// changePause is the shortest time between two changes for a subscriber.
const changePause = 200 * time.Millisecond

// Feed passes the changes of a monitor, and of others on the database, to its subscribers. While nobody subscribes and
// there is nobody to announce changes to, it costs a transaction two atomic loads.
type Feed struct {
	others     *announcer
	ending     func() bool
	subscribed atomic.Bool
	edits      atomic.Int64

	mu          sync.Mutex
	subscribers map[*subscriber]bool
	deafen      context.CancelFunc // ends listening to others
	pending     set                // since the last flush
	flushing    bool               // a timer will call flush
	flushed     time.Time
}

type subscriber struct {
	project *uuid.UUID         // nil for all
	changes chan checks.Change // holds one change, which send replaces by a merged one
	merged  set                // the change in the channel, if no other subscriber shares it
}

// New returns a feed that exchanges changes with other monitors through the notifier, unless it is nil. While ending reports
// that the process may end at any time, changes other than pings are announced before their method returns.
func New(notifier store.Notifier, ending func() bool, log *slog.Logger) *Feed {
	return &Feed{others: newAnnouncer(notifier, log), ending: ending, subscribers: make(map[*subscriber]bool)}
}

// Edits counts the commits of this monitor that have changed more than the time of a ping: settings, channels or a status.
func (f *Feed) Edits() int64 { return f.edits.Load() }

// watched reports whether transactions must collect their changes.
func (f *Feed) watched() bool { return f.subscribed.Load() || f.others.on.Load() }

// Subscribe adds a subscriber to the changes of a project, or of all if it is nil, until ctx ends.
func (f *Feed) Subscribe(ctx context.Context, project *uuid.UUID) <-chan checks.Change {
	s := &subscriber{project: project, changes: make(chan checks.Change, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[s] = true
	f.subscribed.Store(true)
	if len(f.subscribers) == 1 && f.others.notifier != nil {
		var listening context.Context
		listening, f.deafen = context.WithCancel(context.WithoutCancel(ctx))
		go f.others.listen(listening, f.hear)
	}
	context.AfterFunc(ctx, func() { f.unsubscribe(s) })
	return s.changes
}

func (f *Feed) unsubscribe(s *subscriber) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.subscribers, s)
	close(s.changes)
	if len(f.subscribers) > 0 {
		return
	}
	f.subscribed.Store(false)
	if f.deafen != nil {
		f.deafen()
		f.deafen = nil
	}
}

// PublishAll adds that this monitor may have changed anything.
func (f *Feed) PublishAll() {
	f.change((*set).addAll)
	f.others.add((*set).addAll)
}

// Announce passes what others do not know yet to them at once, if the process may end.
func (f *Feed) Announce(ctx context.Context) {
	if f.ending() {
		f.others.announce(ctx)
	}
}

// Publish adds changes that this monitor has committed.
func (f *Feed) Publish(notes ...Note) {
	if len(notes) == 0 || !f.watched() {
		return
	}
	add := func(s *set) {
		for _, n := range notes {
			s.add(n)
		}
	}
	f.change(add)
	f.others.add(add)
}

// hear adds what another monitor has changed.
func (f *Feed) hear(c checks.Change) { f.change(func(s *set) { s.addChange(c) }) }

// change adds to the pending changes and sees to it that they are flushed.
func (f *Feed) change(add func(*set)) {
	if !f.subscribed.Load() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	add(&f.pending)
	if f.pending.empty() || f.flushing {
		return
	}
	f.flushing = true
	time.AfterFunc(changePause-time.Since(f.flushed), f.flush) // not here: the caller may be the writer
}

// flush sends the pending changes to all subscribers.
func (f *Feed) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	change := f.pending.Change
	f.pending, f.flushing, f.flushed = set{}, false, time.Now()
	for s := range f.subscribers {
		s.send(change)
	}
}

// send passes a change to the subscriber, merged with the one that it has not received yet.
func (s *subscriber) send(change checks.Change) {
	change = part(change, s.project)
	if !change.All && len(change.Projects) == 0 {
		return
	}
	select {
	case waiting := <-s.changes:
		if s.merged.empty() {
			s.merged.addChange(waiting)
		}
		s.merged.addChange(change)
		change = s.merged.Change
	default:
		s.merged = set{}
	}
	s.changes <- change // there is room: nobody else sends
}
