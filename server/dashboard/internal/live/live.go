// Package live follows the changes of projects for open pages: which version of a project is current, and a stream that says
// what has changed.
package live

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/internal/limit"
)

const (
	// liveIdle is how long the changes of a project are followed after the last viewer has left.
	liveIdle = time.Minute
	// liveTick is how often a followed project looks whether the clock has changed a status. It reads no database.
	liveTick = 250 * time.Millisecond
	// liveRest is the pause between two readings of a project's checks, as a multiple of the time that one takes, so that
	// constant pings cost a bounded share of the machine. It is at least liveLeast and at most liveMost.
	liveRest  = 20
	liveLeast = time.Second
	liveMost  = 10 * time.Second
	// heartbeat is how often a stream without news shows that it is alive, below the timeouts of proxies.
	heartbeat = 20 * time.Second
	// streamTimeout bounds how long a stream waits for a slow viewer.
	streamTimeout = 30 * time.Second
	// maxKnown is how many checks of a project are kept for its open pages. Of more, only the counts are, and the clock changes
	// them when they are read again, after liveMost.
	maxKnown = 10_000
	// maxNamed bounds the checks that an event names. Above it, the event is about all checks.
	maxNamed = 200
)

// Followers follow projects for those who look at them: one subscription a project, however many the viewers.
type Followers struct {
	mon    *monitor.Monitor
	log    *slog.Logger
	most   int         // maxKnown
	boot   string      // part of each version, so that one from before a restart is never current
	unread limit.Lines // checks that could not be read
	mu     sync.Mutex
	closed bool
	made   int // followers so far
	all    map[uuid.UUID]*Follower
	group  sync.WaitGroup
}

// New returns followers of the projects of a monitor.
func New(mon *monitor.Monitor, log *slog.Logger) *Followers {
	return &Followers{mon: mon, log: log, most: maxKnown, boot: newBoot(), all: map[uuid.UUID]*Follower{}}
}

// Follower follows one project. Its version changes with everything that pages of the project show.
type Follower struct {
	// Shared are the answers to open pages of the project.
	Shared Pages

	project uuid.UUID
	lives   *Followers
	end     context.CancelFunc
	epoch   int // tells the followers of a project apart, one after the other

	mu      sync.Mutex
	ended   bool
	number  int
	viewers map[*viewer]bool
	left    time.Time    // when the last viewer left, or the project was last touched
	known   *knownChecks // nil until they are read
}

// knownChecks are the checks of a project as they were read last.
type knownChecks struct {
	list   []checks.Check
	status map[uuid.UUID]checks.Status
	counts counts
	// next is when the clock changes a status, or the zero time.
	next time.Time
	// many has the counts of all statuses if the checks are too many to be kept, and stale says that they must be read again.
	many  checks.Counts
	stale bool
}

// counts says how many checks are down and late.
type counts struct{ down, late int }

// viewer is an open stream. Its news wait to be sent, merged.
type viewer struct {
	ready chan struct{} // has an item while there are news
	news  news
}

// news says what has changed since a viewer last heard.
type news struct {
	kinds  checks.ChangeKind
	clock  bool // the clock has changed a status
	all    bool // any check may have changed
	checks map[uuid.UUID]bool
}

func (n *news) add(other news) {
	n.kinds |= other.kinds
	n.clock = n.clock || other.clock
	n.all = n.all || other.all
	if n.checks == nil {
		n.checks = map[uuid.UUID]bool{}
	}
	maps.Copy(n.checks, other.checks)
	if n.all = n.all || len(n.checks) > maxNamed; n.all {
		n.checks = nil
	}
}

// newBoot returns the part of a version that differs from start to start.
func newBoot() string {
	id := uuid.New()
	return hex.EncodeToString(id[:6])
}

// Follow returns the follower of a project. It subscribes before it returns, so that no change after it is missed.
func (l *Followers) Follow(project uuid.UUID) *Follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	if found := l.all[project]; found != nil {
		found.touch()
		return found
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.made++
	made := &Follower{project: project, lives: l, end: cancel, epoch: l.made, ended: l.closed, viewers: map[*viewer]bool{}, left: time.Now()}
	if l.closed {
		cancel()
		return made
	}
	l.all[project] = made
	changes := l.mon.Project(project).Changes(ctx)
	l.group.Go(func() { made.run(ctx, changes) })
	return made
}

// Close ends all streams and all followers.
func (l *Followers) Close() {
	l.mu.Lock()
	l.closed = true
	for _, each := range l.all {
		each.end()
	}
	l.mu.Unlock()
	l.group.Wait()
}

func (v *Follower) touch() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.left = time.Now()
}

// Version returns the current version.
func (v *Follower) Version() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return fmt.Sprintf("%s-%d-%d", v.lives.boot, v.epoch, v.number)
}

// Checks returns the checks as they were read last, if they were.
func (v *Follower) Checks() ([]checks.Check, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || v.known.many != nil || len(v.viewers) == 0 {
		return nil, false
	}
	return v.known.list, true
}

// join adds a stream.
func (v *Follower) join() *viewer {
	one := &viewer{ready: make(chan struct{}, 1)}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.ended {
		close(one.ready)
		return one
	}
	v.viewers[one] = true
	return one
}

// leave removes a stream. What was read is dropped with the last one, because nobody keeps it current.
func (v *Follower) leave(one *viewer) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.viewers, one)
	if v.left = time.Now(); len(v.viewers) == 0 {
		v.known = nil
	}
}

// take returns what a viewer has not heard yet, and how many checks are down and late.
func (v *Follower) take(one *viewer) (news, counts) {
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := one.news
	one.news = news{}
	if v.known == nil {
		return taken, counts{}
	}
	return taken, v.known.counts
}

// run follows the project until nobody looks at it any more.
func (v *Follower) run(ctx context.Context, changes <-chan checks.Change) {
	defer v.stop()
	tick := time.NewTicker(liveTick)
	defer tick.Stop()
	var pending news
	var rested time.Time // when the checks may be read again
	for {
		select {
		case <-ctx.Done():
			return
		case change, ok := <-changes:
			if !ok {
				return
			}
			pending.add(newsOf(change, v.project))
		case <-tick.C:
			if v.idle() {
				return
			}
			if v.clockChanged(&pending); pending.kinds == 0 && !pending.clock && !v.unread() {
				continue
			}
		}
		urgent := pending.clock || pending.kinds&^(checks.ChangedLog|checks.ChangedDeliveries) != 0
		if now := time.Now(); !urgent && now.Before(rested) {
			continue
		}
		begin := time.Now()
		if !v.read(ctx, &pending) {
			rested = begin.Add(liveLeast)
			continue
		}
		rested = time.Now().Add(min(max(liveRest*time.Since(begin), liveLeast), liveMost))
		v.publish(pending)
		pending = news{}
	}
}

func newsOf(change checks.Change, project uuid.UUID) news {
	p := change.Project(project)
	n := news{kinds: p.Kinds, all: p.AllChecks, checks: map[uuid.UUID]bool{}}
	for id := range p.Checks {
		n.checks[id] = true
	}
	return n
}

// idle reports whether nobody has looked at the project for a while.
func (v *Follower) idle() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.viewers) == 0 && time.Since(v.left) > liveIdle
}

// unread reports whether there are viewers and the checks were not read for them yet.
func (v *Follower) unread() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.viewers) > 0 && (v.known == nil || v.known.stale)
}

// clockChanged adds the checks whose status the clock has changed.
func (v *Follower) clockChanged(pending *news) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.lives.mon.Now()
	if v.known == nil || v.known.next.IsZero() || now.Before(v.known.next) {
		return
	}
	if v.known.many != nil {
		v.known.stale = true
		return
	}
	fresh := know(v.known.list, now)
	for id, status := range fresh.status {
		if v.known.status[id] != status {
			pending.add(news{clock: true, checks: map[uuid.UUID]bool{id: true}})
		}
	}
	v.known = fresh
}

// know finds out the statuses of checks, and when the clock changes one.
func know(list []checks.Check, now time.Time) *knownChecks {
	k := &knownChecks{list: list, status: make(map[uuid.UUID]checks.Status, len(list))}
	for _, c := range list {
		status := c.Status(now)
		k.status[c.ID] = status
		switch status {
		case checks.StatusDown:
			k.counts.down++
		case checks.StatusGrace:
			k.counts.late++
		}
		for _, at := range []time.Time{c.NextPing(now), c.Deadline()} {
			if at.After(now) && (k.next.IsZero() || at.Before(k.next)) {
				k.next = at
			}
		}
	}
	return k
}

// read reads the checks if a viewer looks at them and they have changed. It reports whether that worked. If the checks are too
// many to be kept, it adds what the clock has changed to the news.
func (v *Follower) read(ctx context.Context, pending *news) bool {
	v.mu.Lock()
	before := v.known
	need := len(v.viewers) > 0 && (before == nil || before.stale || pending.kinds&(checks.ChangedLog|checks.ChangedStatus|checks.ChangedSettings) != 0)
	v.mu.Unlock()
	if !need {
		return true
	}
	fresh, err := v.readChecks(ctx, before != nil && before.many != nil)
	if err != nil {
		if ctx.Err() == nil {
			if unlogged, ok := v.lives.unread.Pass(v.lives.mon.Now()); ok {
				v.lives.log.WarnContext(ctx, "cannot read the checks for open pages", "error", err, "unlogged", unlogged)
			}
		}
		return false
	}
	if before != nil && before.many != nil && !maps.Equal(before.many, fresh.many) {
		pending.add(news{clock: true, all: true})
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known = fresh
	for one := range v.viewers {
		one.wake() // to count
	}
	return true
}

// readChecks reads the checks, or counts them if they are too many, as they were before.
func (v *Follower) readChecks(ctx context.Context, many bool) (*knownChecks, error) {
	project := v.lives.mon.Project(v.project)
	if many {
		all, err := project.Count(ctx, checks.ListQuery{})
		if err != nil || all.Total() > v.lives.most {
			known := &knownChecks{many: all, counts: counts{all[checks.StatusDown], all[checks.StatusGrace]}}
			known.next = v.lives.mon.Now().Add(liveMost)
			return known, err
		}
	}
	var list []checks.Check
	for c, err := range project.EachCheck(ctx, checks.Query{}) {
		if err != nil {
			return nil, err
		}
		if list = append(list, *c.Check); len(list) > v.lives.most {
			return v.readChecks(ctx, true)
		}
	}
	return know(list, v.lives.mon.Now()), nil
}

// publish tells all viewers.
func (v *Follower) publish(n news) {
	if n.kinds == 0 && !n.clock {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.number++
	for one := range v.viewers {
		one.news.add(n)
		one.wake()
	}
}

// wake makes the stream look for news.
func (one *viewer) wake() {
	select {
	case one.ready <- struct{}{}:
	default:
	}
}

// stop removes the follower and ends its streams.
func (v *Follower) stop() {
	v.end()
	v.lives.mu.Lock()
	delete(v.lives.all, v.project)
	v.lives.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	for one := range v.viewers {
		close(one.ready)
	}
	v.viewers = map[*viewer]bool{}
}
