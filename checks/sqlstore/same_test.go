package sqlstore_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestSameOnBoth does the same random things on SQLite and on PostgreSQL. The monitors answer alike.
func TestSameOnBoth(t *testing.T) {
	p := &pair{random: rand.New(rand.NewPCG(1, 2)), clock: dbtest.NewClock(noon)}
	email := channels.Type{Kind: channels.Email, Settings: []channels.Setting{{Name: "to"}}, Notifier: nowhere{}}
	for i, s := range []*sqlstore.Database{dbtest.Memory(t).Database(), dbtest.PostgreSQL(t).Open(t).Database()} {
		var err error
		p.mons[i], err = monitor.New(s, &monitor.Config{Now: p.clock.Now, WriteTimeout: patience, Logger: slog.New(slog.DiscardHandler),
			Channels: append(standard.Kinds(), email), DeliveredElsewhere: true})
		must(t, err)
		project, _, err := p.mons[i].Projects().Create(t.Context(), checks.ProjectSpec{Name: "p", Plan: "free"})
		must(t, err)
		p.projects[i] = project.ID
	}
	steps := 400
	if testing.Short() { // as under the race detector
		steps = 100
	}
	for n := range steps {
		what := p.step(t)
		if n%5 > 0 {
			continue
		}
		if diff := gocmp.Diff(p.read(t, 1), p.read(t, 0), cmpopts.IgnoreUnexported(checks.Check{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("step %d, %s (-postgres +sqlite):\n%s", n, what, diff)
		}
	}
}

// nowhere accepts all alerts.
type nowhere struct{}

func (nowhere) Notify(context.Context, channels.Channel, channels.Notification) error { return nil }

// pair is a monitor on each database, each with a project.
type pair struct {
	random   *rand.Rand
	clock    *dbtest.Clock
	mons     [2]*monitor.Monitor
	projects [2]uuid.UUID
	checks   []uuid.UUID
	channels int // how many were added
}

// step does something on both, compares the errors, and returns its name.
func (p *pair) step(t *testing.T) string {
	t.Helper()
	if p.random.IntN(3) == 0 {
		p.clock.Advance(time.Duration(p.random.IntN(180)) * time.Minute)
	}
	name := "create"
	if len(p.checks) > 0 {
		steps := []string{"ping", "ping", "ping", "ping", "ping", "ping", "ping", "ping", "ping", "sweep", "sweep", "update", "update", "pause", "resume", "create",
			"delete", "add channel", "delete channel", "deliver", "deliver", "prune"}
		name = steps[p.random.IntN(len(steps))]
	}
	do := p.prepare(name)
	lite, postgres := do(t.Context(), 0), do(t.Context(), 1)
	for _, target := range []error{nil, checks.ErrExists, checks.ErrNotPaused} {
		if errors.Is(lite, target) != errors.Is(postgres, target) {
			t.Fatalf("%s: error %v on SQLite, %v on PostgreSQL", name, lite, postgres)
		}
	}
	return name
}

// prepare makes the random choices of a step and returns what to do on each monitor.
func (p *pair) prepare(name string) func(ctx context.Context, i int) error {
	spec := p.spec()
	id := spec.ID
	if len(p.checks) > 0 && name != "create" {
		id = p.checks[p.random.IntN(len(p.checks))]
	}
	channel := fmt.Sprint(p.random.IntN(p.channels + 1))
	signal := pings.Signal{
		Kind: []pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Failure, pings.Log}[p.random.IntN(5)],
		Body: make([]byte, p.random.IntN(3)), RunID: uuid.NullUUID{UUID: uuid.UUID{15: byte(p.random.IntN(2))}, Valid: p.random.IntN(2) == 0},
	}
	switch name {
	case "create":
		p.checks = append(p.checks, id)
	case "delete":
		p.checks = slices.DeleteFunc(p.checks, func(other uuid.UUID) bool { return other == id })
	case "add channel":
		channel = fmt.Sprint(p.channels)
		p.channels++
	}
	return func(ctx context.Context, i int) (err error) {
		mon := p.mons[i]
		switch name {
		case "ping":
			_, err = mon.Ping(ctx, id, signal)
		case "sweep":
			err = mon.Tick(ctx)
		case "update":
			_, err = mon.Project(p.projects[i]).Update(ctx, id, spec)
		case "pause":
			_, err = mon.Project(p.projects[i]).Pause(ctx, id)
		case "resume":
			_, err = mon.Project(p.projects[i]).Resume(ctx, id)
		case "create":
			_, err = mon.Project(p.projects[i]).Create(ctx, spec)
		case "delete":
			_, err = mon.Project(p.projects[i]).Delete(ctx, id)
		case "add channel":
			_, err = mon.Project(p.projects[i]).CreateChannel(ctx, channels.Channel{Kind: channels.Email, Name: channel, Settings: map[string]string{"to": "a@example.org"}})
		case "delete channel":
			var list []channels.Channel
			list, err = mon.Project(p.projects[i]).Channels(ctx)
			for _, c := range list {
				if c.Name == channel {
					err = mon.Project(p.projects[i]).DeleteChannel(ctx, c.ID)
				}
			}
		case "deliver":
			err = mon.Tick(ctx)
		case "prune":
			for range 3 { // a call may do a part
				err = errors.Join(err, mon.Tick(ctx))
			}
		}
		return err
	}
}

// spec returns random settings.
func (p *pair) spec() checks.Spec {
	id := uuid.UUID{15: byte(p.random.IntN(250))} // seldom in use
	spec := checks.Spec{
		ID: id, Slug: new(fmt.Sprint("s", p.random.IntN(3))), Tags: []string{fmt.Sprint("t", p.random.IntN(3))},
		Timeout: new(time.Hour), Grace: new(time.Duration(1+p.random.IntN(60)) * time.Minute), AlertAfter: new(p.random.IntN(3)),
		RepeatEvery: new(time.Duration(p.random.IntN(2)) * time.Hour), QuietHours: new([]string{"", "22:00-06:00"}[p.random.IntN(2)]),
		Channels: new([]string{"", "*"}[p.random.IntN(2)]),
	}
	if p.random.IntN(3) == 0 {
		spec.Schedule, spec.TZ = new("*/30 * * * *"), new("Europe/Riga")
	}
	return spec
}

// view is what a monitor answers, without the identifiers that differ.
type view struct {
	Checks     []checks.Check
	Channels   [][]string
	Slug, Tag  []uuid.UUID
	Pings      []pings.Ping
	Flips      []flips.Flip
	Deliveries []checks.Delivery
	Backlog    monitor.Backlog
}

// read returns what a monitor answers.
func (p *pair) read(t *testing.T, i int) (v view) {
	t.Helper()
	ctx, mon, project := t.Context(), p.mons[i], p.projects[i]
	var err error
	v.Checks, err = checks.Stored(mon.Project(project).Checks(ctx, checks.Query{}))
	must(t, err)
	list, err := mon.Project(project).Channels(ctx)
	must(t, err)
	names := make(map[uuid.UUID]string)
	for _, c := range list {
		names[c.ID] = c.Name
	}
	ids := func(q checks.Query) (ids []uuid.UUID) {
		list, err := checks.Stored(mon.Project(project).Checks(ctx, q))
		must(t, err)
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	v.Slug, v.Tag = ids(checks.Query{Slug: "s1"}), ids(checks.Query{Tags: []string{"t1"}})
	for n, c := range v.Checks {
		log, err := checks.Collect(mon.Project(c.ProjectID).Pings(ctx, c.ID, checks.PingQuery{}))
		must(t, err)
		changes, err := checks.Collect(mon.Project(c.ProjectID).Flips(ctx, c.ID, flips.Range{}))
		must(t, err)
		v.Pings, v.Flips = append(v.Pings, log...), append(v.Flips, changes...)
		var assigned []string
		for _, id := range c.Channels {
			assigned = append(assigned, names[id])
		}
		slices.Sort(assigned) // channels of one instant have no order
		v.Channels = append(v.Channels, assigned)
		v.Checks[n].ProjectID, v.Checks[n].BadgeKey, v.Checks[n].Channels = uuid.Nil, uuid.Nil, nil
	}
	for d, err := range mon.Project(project).Deliveries(ctx, checks.DeliveryQuery{}) {
		must(t, err)
		v.Deliveries = append(v.Deliveries, d)
	}
	for n := range v.Deliveries {
		v.Deliveries[n].ID, v.Deliveries[n].ChannelID = 0, uuid.Nil
	}
	slices.SortStableFunc(v.Deliveries, func(a, b checks.Delivery) int { // those of one alert have no order
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.CheckID.String()+a.ChannelName, b.CheckID.String()+b.ChannelName))
	})
	v.Backlog, err = mon.Backlog(ctx)
	must(t, err)
	return v
}
