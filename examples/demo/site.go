package main

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server"
	"github.com/rollcall-dev/rollcall/server/dashboard"
	"github.com/rollcall-dev/rollcall/server/dashboard/accounts"
	"github.com/rollcall-dev/rollcall/server/people"
)

// site is the company with its monitor and its dashboard.
type site struct {
	*world
	handler http.Handler
	link    string // signs in with a key
	people  *people.People
	close   func()
}

// newSite makes the history of the company. Its clock stands where the history ends.
func newSite(ctx context.Context, o options, url string) (*site, error) {
	end := o.now.UTC().Truncate(time.Second)
	begin := end.Add(-time.Duration(o.days) * day)
	w := &world{clock: &clock{at: begin}, seed: o.seed, end: end}
	store, closeStore, err := open(ctx, o.database)
	if err != nil {
		return nil, err
	}
	s := &site{world: w, close: closeStore}
	inbox := &inbox{tried: map[string]bool{}, end: end}
	types := standard.Kinds()
	for i := range types {
		if k := types[i].Kind; k == channels.Email || k == channels.SMS || k == channels.Webhook {
			types[i].Notifier = inbox
		}
	}
	w.mon, err = monitor.New(store, &monitor.Config{
		Now: w.clock.now, Channels: types, Logger: slog.New(slog.DiscardHandler), // some alerts fail on purpose
		AuditRetention: 365 * day,
		AlertLink:      func(c checks.Check, _ string) string { return dashboard.CheckURL(url, c) },
	})
	if err != nil {
		return nil, err
	}
	ctx = audit.WithActor(ctx, audit.Actor{Kind: audit.CommandLine, Name: "deploy"})
	project, _, err := w.mon.Projects().Create(ctx, checks.ProjectSpec{Name: "harbor"})
	if err != nil {
		return nil, err
	}
	key, _, err := w.mon.Project(project.ID).CreateKey(ctx, checks.Admin)
	if err != nil {
		return nil, err
	}
	for _, c := range integrations {
		if _, err := w.mon.Project(project.ID).CreateChannel(ctx, channels.Channel{Kind: c.Kind, Name: c.Name, Settings: c.Settings}); err != nil {
			return nil, err
		}
	}
	for _, j := range company() {
		if err := w.start(j, project.ID, begin); err != nil {
			return nil, err
		}
	}
	w.edit(project.ID, begin)
	if err := w.past(ctx, end); err != nil {
		return nil, err
	}
	if err := w.mon.Tick(ctx); err != nil {
		return nil, err
	}
	if err := w.maintain(ctx, project.ID); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, project.ID); err != nil {
		return nil, err
	}
	return s, s.serve(ctx, url, key)
}

// The account that signs in, an administrator's.
const email, password = "ann@example.org", "seven herrings a week"

// settle adds the people of the company: an owner, an editor, and a viewer who has not signed in yet.
func (s *site) settle(ctx context.Context, project uuid.UUID) (err error) {
	if s.people, err = people.New(s.mon, nil); err != nil {
		return err
	}
	for _, p := range []people.Spec{
		{Email: email, Name: "Ann", Admin: true, Roles: map[uuid.UUID]people.Role{project: people.Owner}},
		{Email: "bob@example.org", Name: "Bob", Roles: map[uuid.UUID]people.Role{project: people.Editor}},
		{Email: "carol@example.org", Roles: map[uuid.UUID]people.Role{project: people.Viewer}},
	} {
		_, link, err := s.people.Create(ctx, p)
		if err == nil && p.Name != "" {
			_, err = s.people.UseLink(ctx, link.Token, "", "", password)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maintain adds maintenance that is running and to come, a snooze, and an escalation policy.
func (w *world) maintain(ctx context.Context, project uuid.UUID) error {
	p := w.mon.Project(project)
	backup, err := p.CheckBySlug(ctx, "nightly-backup")
	if err != nil {
		return err
	}
	now := w.clock.now()
	for _, window := range []gate.Window{
		{Kind: gate.Maintenance, Tags: []string{"db"}, Duration: 2 * time.Hour, Note: "New disks for the database"},
		{Kind: gate.Maintenance, Start: now.Add(2 * day), Duration: 4 * time.Hour, Note: "Move to the new data center"},
		{Kind: gate.Maintenance, Tags: []string{"web"}, Schedule: "0 3 * * SUN", Duration: time.Hour, TZ: "Europe/Riga"},
		{Kind: gate.Snooze, Checks: []uuid.UUID{backup.ID}, Duration: 90 * time.Minute},
	} {
		if _, err := p.AddWindow(ctx, window); err != nil {
			return err
		}
	}
	available, err := p.Channels(ctx)
	if err != nil {
		return err
	}
	steps, err := checks.FindSteps([]checks.NamedStep{
		{Channels: []string{"chat"}}, {After: 15 * time.Minute, Channels: []string{"pager"}}, {After: time.Hour, Channels: []string{"ops"}},
	}, available)
	if err != nil {
		return err
	}
	return p.SetEscalation(ctx, steps)
}

// serve makes the pages and the endpoints.
func (s *site) serve(ctx context.Context, url, key string) error {
	web, err := server.New(s.mon, &server.Config{BaseURL: url, Dashboard: &dashboard.Config{Accounts: accounts.New(s.people, &accounts.Config{KeySignIn: true})}})
	if err != nil {
		return err
	}
	s.handler = web
	s.link, err = web.Pages().(*dashboard.Dashboard).SignInLink(ctx, key)
	return err
}

// open makes the database. A history that is lost in a crash can be made again, so the disk need not keep up.
func open(ctx context.Context, path string) (*sqlstore.Store, func(), error) {
	db, err := sqlite.OpenDB(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1) // the setting below belongs to a connection
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous=OFF"); err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	store, err := sqlstore.Open(ctx, bun.NewDB(db, sqlitedialect.New()))
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return store, func() { db.Close() }, nil
}

// edit plans changes that people make, if the history is long enough.
func (w *world) edit(project uuid.UUID, begin time.Time) {
	ann := audit.Actor{Kind: audit.Person, Name: email, Address: "198.51.100.4"}
	bob := audit.Actor{Kind: audit.Person, Name: "bob@example.org", Address: "198.51.100.19"}
	for _, e := range []struct {
		before time.Duration // before the end of the history
		by     audit.Actor
		spec   checks.Spec
	}{
		{9 * day, bob, checks.Spec{Desc: new("Copies the volumes of db-1 and db-2 to the second site.")}},
		{26 * time.Hour, ann, checks.Spec{Channels: new("*"), Tags: []string{"prod", "db", "tier1"}}},
	} {
		at := w.end.Add(-e.before)
		if at.Before(begin) {
			continue
		}
		w.at(at, func(ctx context.Context) error {
			c, err := w.mon.Project(project).CheckBySlug(ctx, "nightly-backup")
			if err == nil {
				_, err = w.mon.Project(project).Update(audit.WithActor(ctx, e.by), c.ID, e.spec)
			}
			return err
		})
	}
}

// integrations of the company. Nothing leaves the program: inbox takes the alerts.
var integrations = []channels.Channel{
	{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}},
	{Kind: channels.SMS, Name: "pager", Settings: map[string]string{"to": "+37120000000", "notify": "down"}},
	{Kind: channels.Webhook, Name: "chat", Settings: map[string]string{"url_down": "https://chat.example.org/hooks/down", "url_up": "https://chat.example.org/hooks/up"}},
	{Kind: channels.Webhook, Name: "old-wiki", Settings: map[string]string{"url_down": "https://wiki.example.org/rollcall"}},
}

// inbox takes alerts in place of the services. Some attempts fail.
type inbox struct {
	end   time.Time
	mu    sync.Mutex
	tried map[string]bool
}

// Notify implements [channels.Notifier].
func (i *inbox) Notify(_ context.Context, c channels.Channel, n channels.Notification) error {
	if c.Name == "old-wiki" && n.At.After(i.end.Add(-9*day)) {
		return channels.Permanent(errors.New("the webhook answered 410 Gone"))
	}
	hash := fnv.New32a()
	hash.Write([]byte(n.Check.Name + n.At.String()))
	i.mu.Lock()
	defer i.mu.Unlock()
	again := i.tried[n.ID]
	i.tried[n.ID] = true
	if c.Name == "pager" && hash.Sum32()%3 == 0 && !again {
		return errors.New("the gateway answered 503 Service Unavailable")
	}
	return nil
}
