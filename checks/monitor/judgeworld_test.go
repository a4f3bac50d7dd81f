package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// stage is two servers on one database with one clock, on which worlds stand side by side: no history touches another.
type stage struct {
	t       *testing.T
	ctx     context.Context
	clock   *dbtest.Clock
	db      store.Store
	servers [2]*mortal
	worlds  []*world

	mu    sync.Mutex
	desks map[uuid.UUID]*target
}

// mortal is a server that can be killed: its store then takes no further transaction.
type mortal struct {
	*monitor.Monitor
	*mortalStore
}

type mortalStore struct {
	store.Store
	left atomic.Int64 // transactions until it dies
}

func (m *mortalStore) Contract() any { return m }

func (m *mortalStore) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if m.left.Add(-1) < 0 {
		return errKilled
	}
	return m.Store.Update(ctx, fn)
}

// world is the part of a stage in which one history happens.
type world struct {
	*stage
	seed        uint64
	random      *rand.Rand
	deeds       []deed
	projects    []uuid.UUID
	jobs        []*chore
	desks       []*target // the first is a group
	windows     []gate.Window
	steps       map[*target]time.Duration
	stormChecks int
	edited      time.Time // when other people were wanted last
	retried     time.Time // when somebody has asked for old news last

	persons map[personKey]*person
	ids     map[string]string // what each idempotency key stands for
	log     []string
	list    string // of its deliveries
	wrong   []string
}

// target is an integration, and its receivers.
type target struct {
	name, kind string
	id         uuid.UUID
	project    uuid.UUID
	members    []*target // of a group
	only       string

	mu sync.Mutex
	to []*recipient
}

type recipient struct {
	*target
	name  string
	mode  string // ok, away, lost, refuse or hang
	ready int    // ticks in a row in which it worked
	got   []letter
	open  map[uuid.UUID]bool
}

// letter is an attempt to tell a recipient something.
type letter struct {
	channels.Notification
	key               string
	arrived, answered bool
	refused           bool
}

// take lets a recipient take an attempt.
func (r *recipient) take(n channels.Notification, key string) error {
	l := letter{Notification: n, key: key, arrived: r.mode == "ok" || r.mode == "lost", answered: r.mode == "ok", refused: r.mode == "refuse"}
	r.got = append(r.got, l)
	switch {
	case l.refused:
		return channels.Permanent(errors.New("refused"))
	case r.mode == "hang": // until the time of the attempt is used up
		return context.DeadlineExceeded
	case !l.answered:
		return errors.New(r.mode)
	}
	return nil
}

// Notify lets the recipients of an integration take an alert.
func (s *stage) Notify(_ context.Context, c channels.Channel, n channels.Notification) error {
	s.mu.Lock()
	d := s.desks[c.ID]
	s.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	about := []channels.Notification{n}
	if n.Combined != nil {
		about = n.Combined
	}
	return channels.Each(n, d.names(), func(name string) (err error) {
		to := d.to[slices.Index(d.names(), name)]
		for _, one := range about {
			err = to.take(one, one.ID)
		}
		return err
	})
}

func (d *target) names() (list []string) {
	for _, r := range d.to {
		list = append(list, r.name)
	}
	return list
}

// incidentDesk keeps incidents open.
type incidentDesk struct{ *stage }

func (incidentDesk) Refresh() time.Duration { return 0 }

func (i incidentDesk) NotifyIncident(_ context.Context, c channels.Channel, n channels.Notification, open string) (string, error) {
	i.mu.Lock()
	d := i.desks[c.ID]
	i.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.to[0]
	err := r.take(n, n.ID)
	if r.mode != "ok" && r.mode != "lost" {
		return open, err
	}
	if r.open[n.Check.ID] = n.Status == channels.Down; r.mode == "lost" {
		return open, err
	}
	if n.Status == channels.Down {
		return "open", err
	}
	return "", err
}

func newStage(t *testing.T, db store.Store) *stage {
	s := &stage{t: t, ctx: t.Context(), clock: dbtest.NewClock(noon), db: db, desks: make(map[uuid.UUID]*target)}
	for i := range s.servers {
		s.servers[i] = s.server()
	}
	return s
}

func (s *stage) server() *mortal {
	db := &mortalStore{Store: s.db}
	db.left.Store(1 << 60)
	mon, err := monitor.New(db, &monitor.Config{
		Now: s.clock.Now, Logger: slog.New(slog.DiscardHandler), WriteTimeout: patience,
		Delivery: monitor.DeliveryConfig{RetryMost: time.Minute},
		Channels: []channels.Type{
			{Kind: "pager", Notifier: s}, {Kind: "digest", Notifier: s, Combines: true}, {Kind: "incident", Notifier: incidentDesk{s}},
		},
	})
	must(s.t, err)
	return &mortal{mon, db}
}

// newWorld adds a world to the stage, at noon.
func (s *stage) newWorld(seed uint64, deeds []deed) *world {
	w := &world{stage: s, seed: seed, deeds: deeds, random: rand.New(rand.NewPCG(seed, 55)), persons: make(map[personKey]*person), ids: make(map[string]string)}
	s.worlds = append(s.worlds, w)
	w.addProject()
	for i, kind := range []string{"pager", "pager", "pager", "digest", "incident"} {
		w.addDesk(w.projects[0], fmt.Sprintf("d%d", i+1), kind, i == 1)
	}
	g, err := w.mon().Project(w.projects[0]).CreateChannel(w.ctx, channels.Channel{Kind: channels.Group, Name: "group", Settings: map[string]string{"channels": "d1,d2"}})
	must(w.t, err)
	w.desks = slices.Insert(w.desks, 0, &target{name: "group", kind: "group", id: g.ID, project: w.projects[0], members: []*target{w.desks[0], w.desks[1]}})
	for i, name := range []string{"a", "b", "c"} {
		j := &chore{name: name, project: w.projects[0], alertAfter: 1, tags: []string{"x"}, status: "up", lastPing: noon, desks: []*target{w.desks[1+w.random.IntN(5)]}}
		j.timeout = []time.Duration{24 * time.Hour, 24 * time.Hour, 40 * time.Minute}[w.random.IntN(3)]
		j.grace = []time.Duration{time.Minute, 5 * time.Minute, 20 * time.Minute}[i]
		c, err := w.mon().Project(j.project).Create(w.ctx, checks.Spec{
			Name: &name, Slug: &name, Tags: j.tags, Channels: new(j.desks[0].id.String()), Timeout: &j.timeout, Grace: &j.grace,
		})
		must(w.t, err)
		j.id = c.ID
		_, err = w.mon().Ping(w.ctx, j.id, pings.Signal{Kind: pings.Success})
		must(w.t, err)
		w.jobs = append(w.jobs, j)
	}
	for len(w.deeds) > 0 && w.deeds[0].at == 0 {
		w.do(w.deeds[0])
		w.deeds = w.deeds[1:]
	}
	return w
}

func (w *world) addProject() uuid.UUID {
	p, _, err := w.mon().Projects().Create(w.ctx, checks.ProjectSpec{Name: uuid.NewString(), NoKeys: true, Storm: gate.Storm{Window: time.Minute}})
	must(w.t, err)
	w.projects = append(w.projects, p.ID)
	return p.ID
}

// other returns the other project.
func (w *world) other() uuid.UUID {
	if len(w.projects) == 1 {
		w.addDesk(w.addProject(), "other", "pager", false)
	}
	return w.projects[1]
}

func (w *world) addDesk(project uuid.UUID, name, kind string, several bool) {
	c, err := w.mon().Project(project).CreateChannel(w.ctx, channels.Channel{Kind: channels.Kind(kind), Name: name})
	must(w.t, err)
	d := &target{name: name, kind: kind, id: c.ID, project: project}
	people := []string{"anna"}
	if several {
		people = []string{"anna", "boris"}
	}
	for _, name := range people {
		d.to = append(d.to, &recipient{target: d, name: name, mode: "ok", ready: workingTicks, open: make(map[uuid.UUID]bool)})
	}
	w.desks = append(w.desks, d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stage.desks[d.id] = d
}

func (w *world) mon() *monitor.Monitor { return w.servers[w.random.IntN(2)].Monitor }
func (w *world) now() time.Time        { return w.clock.Now() }

// do does a deed and notes what it was.
func (w *world) do(d deed) {
	for _, k := range kinds {
		if k.name == d.kind {
			if text := k.do(w, d.n); text != "" {
				w.note(text)
			}
		}
	}
	w.touch()
	if slices.Contains([]string{"policy", "group", "assign", "storm", "unplug"}, d.kind) {
		w.edited = w.now()
	}
}

func (w *world) note(text string) { w.log = append(w.log, clockText(w.now())+" "+text) }

func clockText(t time.Time) string { return t.Format("15:04:05") }

func (w *world) names(v gate.Window) string {
	var list []string
	for _, j := range w.jobs {
		if slices.Contains(v.Checks, j.id) {
			list = append(list, j.name)
		}
	}
	return strings.Join(list, ",")
}

// play lets the histories of all worlds happen.
func (s *stage) play(seed uint64, kills bool) {
	r := rand.New(rand.NewPCG(seed, 56))
	for tick := 1; tick <= judgeTicks+lastTicks; tick++ {
		end := noon.Add(time.Duration(tick) * judgeTick)
		type due struct {
			*world
			deed
		}
		var list []due
		for _, w := range s.worlds {
			for ; len(w.deeds) > 0 && !noon.Add(w.deeds[0].at).After(end); w.deeds = w.deeds[1:] {
				list = append(list, due{w, w.deeds[0]})
			}
		}
		slices.SortStableFunc(list, func(a, b due) int { return int(a.at - b.at) })
		for _, d := range list {
			if at := noon.Add(d.at); at.After(s.clock.Now()) {
				s.clock.Set(at)
			} else {
				s.clock.Advance(time.Millisecond) // outages are known by their instants
			}
			d.do(d.deed)
		}
		s.clock.Set(end)
		if tick == judgeTicks {
			for _, w := range s.worlds {
				w.lift()
			}
		}
		s.serve(r, kills && tick < judgeTicks && r.IntN(40) == 0, tick%4 == 0)
		for _, w := range s.worlds {
			w.look()
		}
	}
}

// serve does what is due, on one server or on both. One of them may be killed meanwhile, and is there again then.
func (s *stage) serve(r *rand.Rand, kill, incidents bool) {
	which := s.servers[:]
	if n := r.IntN(8); n > 0 {
		which = s.servers[n%2 : n%2+1]
	}
	if kill {
		s.servers[r.IntN(2)].left.Store(r.Int64N(4))
	}
	together(len(which), func(i int) {
		m := which[i]
		_, err := m.Sweep(s.ctx)
		if err == nil {
			_, err = m.Deliver(s.ctx)
		}
		if err == nil && incidents {
			if _, err = m.KeepIncidents(s.ctx); err == nil {
				_, err = m.Deliver(s.ctx)
			}
		}
		if err != nil && m.left.Load() >= 0 {
			s.t.Error(err)
		}
	})
	for i, m := range s.servers {
		if m.left.Load() < 1<<50 {
			s.servers[i] = s.server()
			for _, w := range s.worlds {
				w.killed()
			}
		}
	}
}
