package monitor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// feedSetup is a monitor in memory with OnAlert, a project and a subscription to all its changes.
type feedSetup struct {
	verbs
	project checks.Project
	changes <-chan checks.Change
	onAlert func() error
}

// inFeed runs a test in a bubble.
func inFeed(t *testing.T, test func(t *testing.T, f *feedSetup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &feedSetup{onAlert: func() error { return nil }}
		var err error
		f.Monitor, err = monitor.New(dbtest.Memory(t), &monitor.Config{
			Logger:   slog.New(slog.DiscardHandler),
			OnAlert:  func(context.Context, channels.Notification) error { return f.onAlert() },
			Channels: standard.Kinds(), DeliveredElsewhere: true,
			Delivery: monitor.DeliveryConfig{RetryFirst: time.Minute},
		})
		must(t, err)
		f.project, err = f.OpenProject(t.Context(), "p")
		must(t, err)
		f.changes = f.Changes(t.Context())
		test(t, f)
	})
}

// create adds a check and skips its change.
func (f *feedSetup) create(t *testing.T) checks.Check {
	t.Helper()
	c := f.add(t)
	f.settle()
	return c
}

func (f *feedSetup) add(t *testing.T) checks.Check {
	t.Helper()
	c, err := f.Create(t.Context(), f.project.ID, everyMinute())
	must(t, err)
	return c
}

// settle skips all changes until now.
func (f *feedSetup) settle() {
	for {
		time.Sleep(time.Second)
		synctest.Wait()
		select {
		case <-f.changes:
		default:
			return
		}
	}
}

// changed compares the next change of a channel, within a second.
func changed(t *testing.T, changes <-chan checks.Change, what string, want checks.Change) {
	t.Helper()
	var got checks.Change
	select {
	case got = <-changes:
	case <-time.After(time.Second):
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// unchanged fails if a channel has a change within a second.
func unchanged(t *testing.T, changes <-chan checks.Change, what string) {
	t.Helper()
	select {
	case got := <-changes:
		t.Errorf("%s: changes %+v", what, got)
	case <-time.After(time.Second):
	}
}

// ofChecks is the change of some checks of a project.
func ofChecks(project uuid.UUID, kinds checks.ChangeKind, ids ...uuid.UUID) checks.Change {
	p := checks.ProjectChange{Kinds: kinds, Checks: make(map[uuid.UUID]checks.ChangeKind)}
	for _, id := range ids {
		p.Checks[id] = kinds & checks.ChangedChecks
	}
	return checks.Change{Projects: map[uuid.UUID]checks.ProjectChange{project: p}}
}

// ofProject is the change of a project, and with a kind that concerns checks, of all of them.
func ofProject(project uuid.UUID, kinds checks.ChangeKind) checks.Change {
	return checks.Change{Projects: map[uuid.UUID]checks.ProjectChange{
		project: {Kinds: kinds, AllChecks: kinds&checks.ChangedChecks != 0},
	}}
}

// TestChangesOfAnything commits something of each kind.
func TestChangesOfAnything(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		ctx, c := t.Context(), f.create(t)
		check := func(kinds checks.ChangeKind) checks.Change { return ofChecks(f.project.ID, kinds, c.ID) }
		const delivery = checks.ChangedDeliveries | checks.ChangedChannels
		var channel channels.Channel
		var key checks.Key
		var page checks.StatusPage
		for _, step := range []struct {
			what string
			do   func() error
			want checks.Change
		}{
			{"first ping", func() error { _, err := f.Ping(ctx, c.ID, pings.Signal{}); return err },
				check(checks.ChangedLog | checks.ChangedStatus)},
			{"second ping", func() error { _, err := f.Ping(ctx, c.ID, pings.Signal{}); return err }, check(checks.ChangedLog)},
			{"ping of an unknown check", func() error {
				if _, err := f.Ping(ctx, uuid.New(), pings.Signal{}); !errors.Is(err, checks.ErrNotFound) {
					return err
				}
				return nil
			}, checks.Change{}},
			{"missed deadline", func() error { time.Sleep(time.Hour); _, err := f.Sweep(ctx); return err },
				check(checks.ChangedStatus | checks.ChangedDeliveries)},
			{"sweep", func() error { _, err := f.Sweep(ctx); return err }, checks.Change{}},
			{"failed attempt", func() error {
				f.onAlert = func() error { return channels.Permanent(errors.New("refused")) }
				_, err := f.Deliver(ctx)
				return err
			}, check(delivery)},
			{"retry", func() error { _, err := f.Project(f.project.ID).RetryFailed(ctx); return err }, check(delivery)},
			{"success", func() error {
				f.onAlert = func() error { return nil }
				_, err := f.Deliver(ctx)
				return err
			}, check(delivery)},
			{"update", func() error { _, err := f.Update(ctx, c.ID, checks.Spec{Name: new("x")}); return err }, check(checks.ChangedSettings)},
			{"pause", func() error { _, err := f.Pause(ctx, c.ID); return err }, check(checks.ChangedStatus)},
			{"resumption", func() error { _, err := f.Resume(ctx, c.ID); return err }, check(checks.ChangedStatus)},
			{"new channel", func() (err error) {
				channel, err = f.CreateChannel(ctx, f.project.ID, channels.Email, "ops", map[string]string{"to": "ops@example.org"})
				return err
			}, ofProject(f.project.ID, checks.ChangedChannels)},
			{"removed channel", func() error { return f.DeleteChannel(ctx, f.project.ID, channel.ID) },
				ofProject(f.project.ID, checks.ChangedChannels|checks.ChangedSettings|checks.ChangedDeliveries)},
			{"new key", func() (err error) { _, key, err = f.CreateKey(ctx, f.project.ID, checks.ReadOnly); return err },
				ofProject(f.project.ID, checks.ChangedProject)},
			{"revoked key", func() error { return f.DeleteKey(ctx, f.project.ID, key.ID) }, ofProject(f.project.ID, checks.ChangedProject)},
			{"new name", func() error {
				_, err := f.Projects().Update(ctx, f.project.ID, checks.ProjectUpdate{Name: new("renamed")})
				return err
			}, ofProject(f.project.ID, checks.ChangedProject)},
			{"new status page", func() (err error) {
				page, err = f.CreateStatusPage(ctx, checks.StatusPage{ProjectID: f.project.ID, Slug: "acme", Title: "Acme"})
				return err
			}, ofProject(f.project.ID, checks.ChangedStatusPages)},
			{"removed status page", func() error { return f.DeleteStatusPage(ctx, f.project.ID, page.ID) },
				ofProject(f.project.ID, checks.ChangedStatusPages)},
			{"removed check", func() error { _, err := f.Delete(ctx, c.ID); return err }, check(checks.ChangedChecks)},
		} {
			if err := step.do(); err != nil {
				t.Errorf("%s: %v", step.what, err)
			}
			changed(t, f.changes, step.what, step.want)
			unchanged(t, f.changes, step.what)
		}
		other, err := f.OpenProject(ctx, "other")
		must(t, err)
		changed(t, f.changes, "new project", ofProject(other.ID, checks.ChangedProject))
		must(t, f.Projects().Delete(ctx, other.ID))
		changed(t, f.changes, "removed project", ofProject(other.ID, checks.ChangedAnything))
	})
}

// TestChangesOfFailures commits nothing.
func TestChangesOfFailures(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		c := f.create(t)
		if _, err := f.Update(t.Context(), c.ID, checks.Spec{Channels: new("nobody")}); err == nil {
			t.Error("an update with an unknown channel succeeds")
		}
		if _, err := f.Resume(t.Context(), c.ID); err == nil {
			t.Error("a check that is not paused was resumed")
		}
		if err := f.DeleteKey(t.Context(), f.project.ID, uuid.New()); err == nil {
			t.Error("an unknown key was revoked")
		}
		unchanged(t, f.changes, "failed operations")
	})
}

// TestChangesAreMerged pings for 10 seconds. The first ping is reported at once, and the others about 5 times a second.
func TestChangesAreMerged(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		first, second := f.create(t), f.create(t)
		begin := time.Now()
		go func() {
			for range 1000 {
				for _, c := range []checks.Check{first, second} {
					if _, err := f.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log}); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		<-f.changes
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("the first change came after %v", waited)
		}
		n := 0
		for time.Since(begin) < 10*time.Second {
			changed(t, f.changes, "merged", ofChecks(f.project.ID, checks.ChangedLog, first.ID, second.ID))
			n++
		}
		if n < 48 || n > 51 {
			t.Errorf("%d changes in 10 seconds, want 50", n)
		}
		time.Sleep(time.Second)
	})
}

// TestSlowSubscriber reads nothing while first 999 checks and then 1,500 change. It gets one change for all of them.
func TestSlowSubscriber(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		slow := f.Changes(t.Context())
		var ids []uuid.UUID
		for i := range 999 {
			ids = append(ids, f.add(t).ID)
			if i%100 == 0 {
				f.settle()
			}
		}
		f.settle()
		changed(t, slow, "999 checks", ofChecks(f.project.ID, checks.ChangedSettings, ids...))
		for i := range 1500 {
			f.add(t)
			if i%100 == 0 {
				f.settle()
			}
		}
		_, _, err := f.CreateKey(t.Context(), f.project.ID, checks.ReadOnly)
		must(t, err)
		f.settle()
		changed(t, slow, "1,500 checks and a key", ofProject(f.project.ID, checks.ChangedSettings|checks.ChangedProject))
		unchanged(t, slow, "afterwards")
	})
}

// TestThousandSubscribers has each of them see one ping.
func TestThousandSubscribers(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		c := f.create(t)
		var all []<-chan checks.Change
		for range 1000 {
			all = append(all, f.Changes(t.Context()))
		}
		_, err := f.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Log})
		must(t, err)
		for _, changes := range all {
			changed(t, changes, "ping", ofChecks(f.project.ID, checks.ChangedLog, c.ID))
		}
	})
}

// TestChangesOfProjects subscribes to one project of two, and ends the subscription.
func TestChangesOfProjects(t *testing.T) {
	inFeed(t, func(t *testing.T, f *feedSetup) {
		other, err := f.OpenProject(t.Context(), "other")
		must(t, err)
		f.settle()
		ctx, stop := context.WithCancel(t.Context())
		changes := f.Project(other.ID).Changes(ctx)
		f.create(t)
		unchanged(t, changes, "a check of another project")
		c, err := f.Create(t.Context(), other.ID, everyMinute())
		must(t, err)
		changed(t, changes, "a new check", ofChecks(other.ID, checks.ChangedSettings, c.ID))
		stop()
		if change, open := <-changes; open {
			t.Errorf("a change after the end of ctx: %+v", change)
		}
		if _, open := <-f.Changes(ctx); open {
			t.Error("a subscription after the end of ctx has a change")
		}
		f.settle()
		f.create(t)
	})
}

// TestSubscribeDuringCommit subscribes after a transaction has saved its checks and before it commits. The subscriber may
// read the state before the commit, so it must hear of it.
func TestSubscribeDuringCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mon *monitor.Monitor
		var changes <-chan checks.Change
		mon, err := monitor.New(database{late{dbtest.Memory(t).Contract().(store.Store), func() { changes = mon.Changes(t.Context()) }}}, nil)
		must(t, err)
		_, err = mon.OpenProject(t.Context(), "p")
		must(t, err)
		changed(t, changes, "a new project", checks.Change{All: true})
	})
}

// late is a store that calls a function before each commit.
type late struct {
	store.Store
	before func()
}

func (l late) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return l.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		err := fn(ctx, tx)
		l.before()
		return err
	})
}

// TestLostCommitIsReported has a store that commits and loses the answer.
func TestLostCommitIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := dbtest.Memory(t)
		mon, err := monitor.New(database{lossy{memory.Contract().(store.Store)}}, nil)
		must(t, err)
		changes := mon.Changes(t.Context())
		_, _, err = on(mon).CreateProject(t.Context(), checks.ProjectSpec{Name: "p"})
		if !errors.Is(err, checks.ErrUnavailable) {
			t.Fatal(err)
		}
		project, err := mon.Projects().ByName(t.Context(), "p")
		must(t, err)
		changed(t, changes, "a new project", ofProject(project.ID, checks.ChangedProject))
	})
}

// lossy is a store that loses the answer to each commit.
type lossy struct{ store.Store }

func (l lossy) Update(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return errors.Join(l.Store.Update(ctx, fn), store.ErrUnavailable)
}

// TestChangeOfAll asks a change with All for projects and checks.
func TestChangeOfAll(t *testing.T) {
	p := checks.Change{All: true}.Project(uuid.New())
	if p.Kinds != checks.ChangedAnything || p.Check(uuid.New()) != checks.ChangedChecks {
		t.Errorf("changes of any project: %+v", p)
	}
	if p := (checks.Change{}).Project(uuid.New()); p.Kinds != 0 || p.Check(uuid.New()) != 0 {
		t.Errorf("no changes: %+v", p)
	}
}

// closing is a closed store whose records still work. It counts the calls of a [store.Notifier].
type closing struct {
	store.Store
	announced, listened atomic.Int64
}

func (c *closing) Announce(_ context.Context, message string) error {
	if message == "" {
		return nil
	}
	c.announced.Add(1)
	return store.ErrClosed
}

func (c *closing) Listen(context.Context, func(string)) error {
	c.listened.Add(1)
	return store.ErrClosed
}

// TestFeedEndsWithStore records a ping and subscribes. After the store was closed, the monitor neither announces nor
// listens again, and logs nothing: that is how programs end.
func TestFeedEndsWithStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &closing{Store: dbtest.Memory(t).Contract().(store.Store)}
		mon, err := monitor.New(database{s}, &monitor.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		mon.Changes(t.Context())
		project, err := on(mon).OpenProject(t.Context(), "p")
		must(t, err)
		c, err := on(mon).Create(t.Context(), project.ID, checks.Spec{})
		must(t, err)
		_, err = mon.Ping(t.Context(), c.ID, pings.Signal{})
		must(t, err)
		time.Sleep(time.Hour)
		if a, l := s.announced.Load(), s.listened.Load(); a != 1 || l != 1 || log.Len() > 0 {
			t.Errorf("announced %d times, listened %d times, want once; log:\n%s", a, l, log.String())
		}
	})
}
