package monitor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/store"
)

// changePause is the shortest time between two changes for a subscriber.
const changePause = 200 * time.Millisecond

// note is a change of one check or, with the zero check, of a project.
type note struct {
	project, check uuid.UUID
	kinds          ChangeKind
	allChecks      bool
}

// deliveryNote is a change of a delivery, and perhaps of the mark of its channel.
func deliveryNote(project, check uuid.UUID) note {
	return note{project: project, check: check, kinds: ChangedDeliveries | ChangedChannels}
}

// feed passes the changes of a monitor, and of others on the database, to its subscribers. While nobody subscribes and
// there is nobody to announce changes to, it costs a transaction two atomic loads.
type feed struct {
	others     *announcer
	subscribed atomic.Bool

	mu          sync.Mutex
	subscribers map[*subscriber]bool
	deafen      context.CancelFunc // ends listening to others
	pending     changeSet          // since the last flush
	flushing    bool               // a timer will call flush
	flushed     time.Time
}

type subscriber struct {
	projects map[uuid.UUID]bool // empty for all
	changes  chan Change        // holds one change, which send replaces by a merged one
	merged   changeSet          // the change in the channel, if no other subscriber shares it
}

// watched reports whether transactions must collect their changes.
func (f *feed) watched() bool { return f.subscribed.Load() || f.others.on.Load() }

// subscribe adds a subscriber until ctx ends.
func (f *feed) subscribe(ctx context.Context, projects []uuid.UUID) <-chan Change {
	s := &subscriber{projects: make(map[uuid.UUID]bool, len(projects)), changes: make(chan Change, 1)}
	for _, id := range projects {
		s.projects[id] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subscribers == nil {
		f.subscribers = make(map[*subscriber]bool)
	}
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

func (f *feed) unsubscribe(s *subscriber) {
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

// publish adds changes that this monitor has committed.
func (f *feed) publish(notes ...note) {
	add := func(s *changeSet) {
		for _, n := range notes {
			s.add(n)
		}
	}
	f.change(add)
	f.others.add(add)
}

// publishAll adds that this monitor may have changed anything.
func (f *feed) publishAll() {
	f.change((*changeSet).addAll)
	f.others.add((*changeSet).addAll)
}

// publish adds changes that [commits] does not see. Like its Update, it may wait until they are announced.
func (m *Monitor) publish(ctx context.Context, notes ...note) {
	m.feed.publish(notes...)
	if m.vitals.idle() {
		m.feed.others.announce(ctx)
	}
}

// hear adds what another monitor has changed.
func (f *feed) hear(c Change) { f.change(func(s *changeSet) { s.addChange(c) }) }

// change adds to the pending changes and sees to it that they are flushed.
func (f *feed) change(add func(*changeSet)) {
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
func (f *feed) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	change := f.pending.Change
	f.pending, f.flushing, f.flushed = changeSet{}, false, time.Now()
	for s := range f.subscribers {
		s.send(change)
	}
}

// send passes a change to the subscriber, merged with the one that it has not received yet.
func (s *subscriber) send(change Change) {
	change = change.of(s.projects)
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
		s.merged = changeSet{}
	}
	s.changes <- change // there is room: nobody else sends
}

// notes collects the changes of a transaction.
type notes struct {
	list []note
	from map[*store.Locked]uuid.UUID // the projects of checks when LockCheck returned them
}

// locked notes the project of a check that may be transferred.
func (n *notes) locked(l *store.Locked) {
	if n.from == nil {
		n.from = make(map[*store.Locked]uuid.UUID)
	}
	n.from[l] = l.ProjectID
}

// saving adds the changes of checks that are about to be saved.
func (n *notes) saving(locked []*store.Locked) {
	if n.list == nil {
		n.list = make([]note, 0, len(locked))
	}
	for _, l := range locked {
		kinds := changesOf(l)
		if kinds == 0 {
			continue // the watcher came too early
		}
		n.list = append(n.list, note{project: l.ProjectID, check: l.ID, kinds: kinds})
		if from, ok := n.from[l]; ok && from != l.ProjectID {
			n.list = append(n.list, note{project: from, check: l.ID, kinds: kinds})
		}
	}
}

// changesOf returns the changes of a check that is about to be saved.
func changesOf(l *store.Locked) (kinds ChangeKind) {
	if l.Row == nil || l.SettingsChanged {
		kinds |= ChangedSettings
	}
	if len(l.Pings) > 0 {
		kinds |= ChangedLog
	}
	if len(l.Transitions)+len(l.Pauses) > 0 {
		kinds |= ChangedStatus
	}
	if len(l.Alerts) > 0 {
		kinds |= ChangedDeliveries
	}
	if kinds == 0 && !l.Due && len(l.Folds) == 0 {
		kinds = ChangedStatus // resumed
	}
	return kinds
}
