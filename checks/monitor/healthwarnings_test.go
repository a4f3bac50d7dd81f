package monitor_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/spool"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/postgres"
	"github.com/rollcall-dev/rollcall/pings"
)

// logsTo makes the outbox's monitor log to a buffer, and deliver everything itself.
func logsTo(log *bytes.Buffer) func(*monitor.Config) {
	return func(c *monitor.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }
}

// warns compares the warning of a part of the health: a text that it contains, or "" for none.
func warns(t *testing.T, mon *monitor.Monitor, part, want string) {
	t.Helper()
	got := ""
	for _, c := range mon.Health(t.Context()) {
		if c.Part == part {
			if got = c.Problem; got != "" && !c.Warning {
				t.Errorf("%s: %q is no warning", part, got)
			}
		}
	}
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("health says %q about %s, want %q", got, part, want)
	}
}

// TestChecksWithoutChannels creates checks before the first channel. The log names each once, and health counts them, until the
// channel comes, which they get.
func TestChecksWithoutChannels(t *testing.T) {
	var log bytes.Buffer
	eachOutbox(t, logsTo(&log), func(t *testing.T, o outbox) {
		log.Reset()
		project := o.Project(o.project.ID)
		tick := func() { must(t, o.Tick(t.Context())) }
		_, err := project.Register(t.Context(), checks.Spec{Slug: new("registered"), Timeout: new(time.Hour)})
		must(t, err)
		created, err := project.Create(t.Context(), checks.Spec{Slug: new("created"), Name: new("created")})
		must(t, err)
		upserted, _, err := project.Upsert(t.Context(), checks.Spec{Slug: new("upserted")}, checks.UniqueSlug)
		must(t, err)
		bare, _, err := project.UpsertBare(t.Context(), checks.Spec{Slug: new("bare")})
		must(t, err)
		none, err := project.Create(t.Context(), checks.Spec{Slug: new("none"), Channels: new("")})
		must(t, err)
		_, err = project.Create(t.Context(), checks.Spec{Slug: new("silent"), RecordOnly: new(true)})
		must(t, err)
		paused, err := project.Create(t.Context(), checks.Spec{Slug: new("paused")})
		must(t, err)
		_, err = project.Pause(t.Context(), paused.ID)
		must(t, err)
		for range 3 {
			o.ping(t, created.ID, pings.Failure)
			tick()
		}
		warns(t, o.Monitor, "checks", "5 checks: no channel gets the alerts")
		for _, slug := range []string{"registered", "created", "upserted", "bare", "none"} {
			if n := strings.Count(log.String(), "name="+slug); n != 1 {
				t.Errorf("the log names %s %d times:\n%s", slug, n, log.String())
			}
		}
		for _, c := range o.Ready(t.Context()) {
			if !c.OK() {
				t.Errorf("not ready: %+v", c)
			}
		}
		// A setting that changes meanwhile, as at each start of a program, does not lose the first channel.
		_, err = project.Register(t.Context(), checks.Spec{Slug: new("registered"), Timeout: new(2 * time.Hour)})
		must(t, err)

		ops, _, err := project.UpsertChannel(t.Context(), channels.Channel{Kind: "pager", Name: "ops"})
		must(t, err)
		for slug, want := range map[string]int{"registered": 1, "created": 1, "upserted": 1, "paused": 1, "bare": 0, "none": 0} {
			c, err := project.CheckBySlug(t.Context(), slug)
			must(t, err)
			if len(c.Channels) != want {
				t.Errorf("%s has the channels %v, want %d", slug, c.Channels, want)
			}
		}
		warns(t, o.Monitor, "checks", "2 checks: no channel gets the alerts")
		o.deliver(t, "ops: created down")
		o.ping(t, created.ID, pings.Success)
		o.deliver(t, "ops: created up")
		later, err := project.Create(t.Context(), checks.Spec{Slug: new("later")})
		if err != nil || len(later.Channels) != 1 || later.Channels[0] != ops.ID {
			t.Errorf("a later check has the channels %v, error %v", later.Channels, err)
		}
		_, err = project.CreateChannel(t.Context(), channels.Channel{Kind: "pager", Name: "second"})
		must(t, err)
		if c, err := project.Check(t.Context(), upserted.ID); err != nil || len(c.Channels) != 1 {
			t.Errorf("after the second channel the check has %v, error %v", c.Channels, err)
		}
		for _, id := range []uuid.UUID{bare.ID, none.ID} {
			_, err = project.Update(t.Context(), id, checks.Spec{Channels: new("*")})
			must(t, err)
		}
		warns(t, o.Monitor, "checks", "")
	})
}

// TestChannelsThatAlertNobody has checks whose channels get no alert that they are down.
func TestChannelsThatAlertNobody(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		project := o.Project(o.project.ID)
		up := o.channel(t, "pager", "recoveries", map[string]string{channels.NotifySetting: "up"})
		o.create(t, checks.Spec{Name: new("a"), Channels: new("recoveries")})
		warns(t, o.Monitor, "checks", "1 check: no channel")
		ops := o.channel(t, "pager", "ops", nil)
		must(t, project.SetEscalation(t.Context(), []gate.Step{{Channels: []uuid.UUID{up.ID}}}))
		warns(t, o.Monitor, "checks", "1 check: no channel")
		must(t, project.SetEscalation(t.Context(), []gate.Step{{Channels: []uuid.UUID{ops.ID}}}))
		warns(t, o.Monitor, "checks", "")
		must(t, project.DeleteChannel(t.Context(), ops.ID))
		warns(t, o.Monitor, "checks", "1 check: no channel")
		config := o.config
		config.OnAlert = func(context.Context, channels.Notification) error { return nil }
		function, err := monitor.New(o.store, &config)
		must(t, err)
		warns(t, function, "checks", "")
		_, err = project.UpdateChannel(t.Context(), up.ID, func(c channels.Channel) (channels.Channel, error) {
			delete(c.Settings, channels.NotifySetting)
			return c, nil
		})
		must(t, err)
		warns(t, o.Monitor, "checks", "")
	})
}

// TestKeysThatExpire: a week before a key ends, and for a week after, health and the log say so, also for keys of the installation.
func TestKeysThatExpire(t *testing.T) {
	var log bytes.Buffer
	eachOutbox(t, logsTo(&log), func(t *testing.T, o outbox) {
		log.Reset()
		tick := func() { must(t, o.Tick(t.Context())) }
		const age = 30 * 24 * time.Hour
		_, key, err := o.Project(o.project.ID).CreateKeyUntil(t.Context(), checks.ReadWrite, o.clock.Now().Add(age))
		must(t, err)
		_, own, err := o.Installation().CreateKeyUntil(t.Context(), o.clock.Now().Add(age+24*time.Hour))
		must(t, err)
		_, _, err = o.Project(o.project.ID).CreateKey(t.Context(), checks.ReadOnly)
		must(t, err)
		tick()
		warns(t, o.Monitor, "keys", "")
		o.clock.Advance(age - checks.KeyNotice)
		warns(t, o.Monitor, "keys", "1 API key will expire within 7 days")
		for range 3 {
			tick()
		}
		if n := strings.Count(log.String(), "will expire"); n != 1 || !strings.Contains(log.String(), key.Hint) {
			t.Errorf("%d lines about the key, want 1 that names it:\n%s", n, log.String())
		}
		o.clock.Advance(24 * time.Hour)
		warns(t, o.Monitor, "keys", "2 API keys will expire within 7 days")
		o.clock.Advance(checks.KeyNotice - 24*time.Hour)
		warns(t, o.Monitor, "keys", "1 API key will expire within 7 days; 1 API key expired in the last 7 days")
		must(t, o.Project(o.project.ID).DeleteKey(t.Context(), key.ID))
		warns(t, o.Monitor, "keys", "1 API key will expire within 7 days")
		o.clock.Advance(24 * time.Hour)
		warns(t, o.Monitor, "keys", "1 API key expired in the last 7 days")
		o.clock.Advance(checks.KeyNotice)
		warns(t, o.Monitor, "keys", "")
		must(t, o.Installation().DeleteKey(t.Context(), own.ID))
	})
}

// TestNewForTooLong warns of a check that has not been pinged since it was created, once its period and its grace have passed.
func TestNewForTooLong(t *testing.T) {
	var log bytes.Buffer
	eachOutbox(t, logsTo(&log), func(t *testing.T, o outbox) {
		log.Reset()
		o.channel(t, "pager", "ops", nil)
		hourly := o.create(t, checks.Spec{Name: new("hourly"), Timeout: new(time.Hour), Grace: new(10 * time.Minute)})
		daily := o.create(t, checks.Spec{Name: new("daily"), Schedule: new("0 3 * * *"), Grace: new(time.Hour)})
		o.create(t, checks.Spec{Name: new("yearly"), Timeout: new(365 * 24 * time.Hour)})
		started := o.create(t, checks.Spec{Name: new("started"), Timeout: new(time.Hour), MaxRuntime: new(300 * time.Hour)})
		o.ping(t, started.ID, pings.Start) // its run is watched
		look := func(after time.Duration, want string) {
			t.Helper()
			o.clock.Set(noon.Add(after))
			must(t, o.Tick(t.Context()))
			warns(t, o.Monitor, "checks", want)
		}
		named := func(name string) { // a look that was slow rests for a time
			t.Helper()
			for n := 0; n < 1000 && !strings.Contains(log.String(), "name="+name); n++ {
				o.clock.Advance(time.Second)
				must(t, o.Tick(t.Context()))
			}
		}
		look(70*time.Minute, "")
		look(71*time.Minute, "1 check: no ping has started the watch")
		named("hourly")
		look(16*time.Hour, "1 check: no ping")
		look(16*time.Hour+time.Minute, "2 checks: no ping")
		named("daily")
		o.ping(t, hourly.ID, pings.Success)
		look(16*time.Hour+2*time.Minute, "1 check: no ping")
		_, err := o.Project(o.project.ID).Pause(t.Context(), daily.ID)
		must(t, err)
		warns(t, o.Monitor, "checks", "")
		for _, name := range []string{"hourly", "daily"} {
			if strings.Count(log.String(), "name="+name) != 1 {
				t.Errorf("the log does not name %s once:\n%s", name, log.String())
			}
		}
	})
}

// TestDurability warns of databases that acknowledge what a crash of the machine can lose.
func TestDurability(t *testing.T) {
	for _, test := range []struct{ pragma, want string }{
		{"synchronous(FULL)", ""}, {"synchronous(EXTRA)", ""}, {"synchronous(OFF)", "synchronous=OFF"}, {"synchronous(NORMAL)", "synchronous=NORMAL"},
	} {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "jobs.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_pragma="+test.pragma)
		must(t, err)
		s, err := sqlstore.Open(t.Context(), bun.NewDB(db, sqlitedialect.New()))
		must(t, err)
		var log bytes.Buffer
		mon, err := monitor.New(s, &monitor.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		for range 2 {
			must(t, mon.Tick(t.Context()))
		}
		warns(t, mon, "durability", test.want)
		wanted := 0
		if test.want != "" {
			wanted = 1
		}
		if n := strings.Count(log.String(), "can lose acknowledged pings"); n != wanted {
			t.Errorf("%s: %d warnings in the log:\n%s", test.pragma, n, log.String())
		}
		must(t, s.Close())
		must(t, db.Close())
	}
	mon, err := monitor.New(dbtest.Memory(t), nil)
	must(t, err)
	warns(t, mon, "durability", "")
}

// TestDurabilityOfPostgreSQL is on a server without fsync, as those of tests are, which say that they accept that.
func TestDurabilityOfPostgreSQL(t *testing.T) {
	for _, test := range []struct{ set, want string }{
		{"synchronous_commit = local", ""}, {"synchronous_commit = off", "synchronous_commit=off"}, {"rollcall.accepts = ''", "fsync=off"},
		{"rollcall.accepts = 'fsync, synchronous_commit'", ""},
	} {
		db := dbtest.PostgreSQL(t).Plain(t)
		pool, err := postgres.OpenDB(db.URL)
		must(t, err)
		_, err = pool.ExecContext(t.Context(), "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "+strings.ReplaceAll(test.set, "'", "''")+"', current_database()); END $$")
		must(t, err)
		must(t, pool.Close())
		mon, err := monitor.New(db.Open(t), nil)
		must(t, err)
		warns(t, mon, "durability", test.want)
	}
}

// TestAlertGivenUp reports an alert that nobody will send, until another one is sent.
func TestAlertGivenUp(t *testing.T) {
	eachFunctions(t, func(t *testing.T, f functions) {
		deliveries := func(mon *monitor.Monitor) monitor.Condition {
			list := mon.Health(t.Context())
			return list[slices.IndexFunc(list, func(c monitor.Condition) bool { return c.Part == "deliveries" })]
		}
		mon := f.monitor(t, "func", true)
		c := f.create(t, checks.Spec{Name: new("a"), Channels: new("")})
		f.set(answer(channels.Permanent(errors.New("never"))))
		pingAs(t, mon, c, pings.Failure)
		f.sends(t, mon)
		if got := deliveries(mon); got.Warning || !strings.Contains(got.Problem, "were given up: the last alert to OnAlert") || !strings.Contains(fmt.Sprint(got.Err), "never") {
			t.Errorf("OnAlert: %+v", got)
		}
		f.set(nil)
		f.clock.Advance(time.Minute)
		pingAs(t, mon, c, pings.Success)
		f.sends(t, mon, "func: a up")
		if got := deliveries(mon); !got.OK() {
			t.Errorf("after one was sent: %+v", got)
		}
		f.channel(t, "pager", "ops", nil)
		b := f.watched(t, "b")
		f.set(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name == "ops" {
				return channels.Permanent(errors.New("never"))
			}
			return nil
		})
		f.clock.Advance(time.Minute)
		pingAs(t, mon, b, pings.Failure)
		f.sends(t, mon, "func: b down")
		f.clock.Advance(time.Minute)
		pingAs(t, mon, c, pings.Failure)
		f.sends(t, mon, "func: a down")
		if got := deliveries(mon); !got.Warning || !strings.Contains(got.Problem, "to 1 integration") {
			t.Errorf("a channel, while other alerts are sent: %+v", got)
		}
	})
}

// TestGoexit ends the goroutine of each callback, as FailNow of a test does. The work goes on, and the log and the alert say why.
func TestGoexit(t *testing.T) {
	var mu sync.Mutex
	exits := true
	exit := func() {
		mu.Lock()
		defer mu.Unlock()
		if exits {
			runtime.Goexit()
		}
	}
	exiting := monitor.Observer{
		PingsWritten: func(map[pings.Kind]int, time.Duration) { exit() }, Swept: func(time.Time, []time.Duration) { exit() },
		Attempted: func(channels.Kind, checks.DeliveryState, time.Duration) { panic("a bug") },
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		alerts := make(chan channels.Notification, 10)
		mon, err := monitor.New(dbtest.SQLite(t).Open(t), &monitor.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Observer: exiting,
			Channels: []channels.Type{{Kind: "pager", Notifier: channels.NotifierFunc(
				func(context.Context, channels.Channel, channels.Notification) error { exit(); return nil })}},
			OnAlert: func(_ context.Context, n channels.Notification) error { exit(); alerts <- n; return nil },
		})
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "jobs")
		must(t, err)
		_, _, err = project.UpsertChannel(t.Context(), channels.Channel{Kind: "pager", Name: "ops"})
		must(t, err)
		must(t, mon.Start(t.Context()))
		defer func() { must(t, mon.Stop(context.WithoutCancel(t.Context()))) }()
		c, err := project.Create(t.Context(), checks.Spec{Slug: new("a"), Timeout: new(time.Minute), Grace: new(time.Minute)})
		must(t, err)
		_, err = mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		must(t, err)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		list, err := checks.Collect(project.Deliveries(t.Context(), checks.DeliveryQuery{}))
		must(t, err)
		for _, d := range list {
			if d.State != checks.DeliveryPending || !strings.Contains(d.Error, "runtime.Goexit") {
				t.Errorf("delivery %+v", d)
			}
		}
		if len(list) != 2 {
			t.Errorf("%d deliveries, want 2", len(list))
		}
		mu.Lock()
		exits = false
		mu.Unlock()
		time.Sleep(11 * time.Minute) // the longest pause
		synctest.Wait()
		if n := len(alerts); n != 1 {
			t.Errorf("%d alerts, want 1", n)
		}
		for _, want := range []string{"Observer.PingsWritten", "Observer.Swept", "Observer.Attempted", "alerts to a channel fail"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, log.String())
			}
		}
	})
}

// TestNil refuses what an Open that failed leaves, and a clock that does not run.
func TestNil(t *testing.T) {
	var none *sqlstore.Store
	db := dbtest.Memory(t)
	for name, test := range map[string]struct {
		store  monitor.Store
		config *monitor.Config
	}{
		"no store":           {nil, nil},
		"a nil store":        {none, nil},
		"an embedded one":    {struct{ *sqlstore.Store }{}, nil},
		"an empty store":     {new(sqlstore.Store), nil},
		"a nil spool":        {db, &monitor.Config{Spool: (*spool.Spool)(nil)}},
		"an embedded spool":  {db, &monitor.Config{Spool: struct{ *spool.Spool }{}}},
		"a clock that stops": {db, &monitor.Config{Now: func() time.Time { return time.Time{} }}},
	} {
		if mon, err := monitor.New(test.store, test.config); err == nil || mon != nil || !strings.HasPrefix(err.Error(), "monitor: ") {
			t.Errorf("%s: %v, error %v", name, mon, err)
		}
	}
}
