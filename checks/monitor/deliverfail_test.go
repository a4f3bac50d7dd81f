package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// answer makes the inbox refuse every notification with an error.
func answer(err error) func(context.Context, channels.Channel, channels.Notification) error {
	return func(context.Context, channels.Channel, channels.Notification) error { return err }
}

// mark returns the mark of the only channel.
func (o outbox) mark(t *testing.T) (time.Time, string) {
	t.Helper()
	list, err := o.Channels(t.Context(), o.project.ID)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0].FailedAt, list[0].Error
}

// TestPermanent has a receiver refuse for good. The delivery fails at once and marks the channel until another delivery
// arrives. Failed deliveries can be retried.
func TestPermanent(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.set(answer(channels.Permanent(errors.New("no such number"))))
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		o.states(t, "down failed 1 no such number")
		if at, text := o.mark(t); !at.Equal(noon) || text != "no such number" {
			t.Errorf("marked %v, %q", at, text)
		}
		o.clock.Advance(48 * time.Hour)
		o.deliver(t)
		o.set(nil)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, "ops: a up")
		if at, text := o.mark(t); !at.IsZero() || text != "" {
			t.Errorf("after a success: marked %v, %q", at, text)
		}
		failed := o.history(t, checks.DeliveryQuery{State: checks.DeliveryFailed})
		if len(failed) != 1 {
			t.Fatal(failed)
		}
		other, err := o.OpenProject(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.RetryDeliveries(t.Context(), other.ID, failed[0].ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("sent again from another project: %v", err)
		}
		if _, err := o.RetryDeliveries(t.Context(), o.project.ID, failed[0].ID, failed[0].ID+100); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("sent again with one that does not exist: %v", err)
		}
		if n, err := o.RetryDeliveries(t.Context(), o.project.ID, failed[0].ID, failed[0].ID); n != 1 || err != nil {
			t.Errorf("%d are sent again, %v", n, err)
		}
		o.deliver(t, "ops: a down")
		if n, err := o.Project(o.project.ID).RetryFailed(t.Context()); n != 0 || err != nil {
			t.Errorf("%d are sent again, %v", n, err)
		}
		o.states(t, "down sent 2", "up sent 1")
	})
}

// TestHalfFailing has a receiver that refuses every other attempt, while jobs fail each minute. The log says when that
// begins, counts, and says in the end that alerts arrive again.
func TestHalfFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var mu sync.Mutex // of the three, because alerts are sent at once
		attempts, refused, half := 0, 0, true
		mon, err := monitor.New(dbtest.Memory(t), &monitor.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			OnAlert: func(context.Context, channels.Notification) error {
				mu.Lock()
				defer mu.Unlock()
				if attempts++; half && attempts%2 == 1 {
					refused++
					return errors.New("status 500")
				}
				return nil
			},
		})
		must(t, err)
		project, err := mon.OpenProject(t.Context(), "jobs")
		must(t, err)
		var list []checks.Snapshot
		for range 40 {
			c, err := project.Create(t.Context(), checks.Spec{Timeout: new(24 * time.Hour), Grace: new(24 * time.Hour)})
			must(t, err)
			list = append(list, c)
		}
		must(t, mon.Start(t.Context()))
		defer func() { must(t, mon.Stop(context.WithoutCancel(t.Context()))) }()
		fails := func(d time.Duration) {
			for begin := time.Now(); time.Since(begin) < d; {
				for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
					together(len(list), func(i int) {
						if _, err := mon.Ping(t.Context(), list[i].ID, pings.Signal{Kind: kind}); err != nil {
							t.Error(err)
						}
					})
					time.Sleep(30 * time.Second)
				}
			}
		}
		fails(5 * time.Minute)
		mu.Lock()
		half = false
		mu.Unlock()
		fails(5 * time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		if refused < 300 || len(lines) > 12 {
			t.Fatalf("%d lines about %d refusals of %d attempts:\n%.2000s", len(lines), refused, attempts, log.String())
		}
		counted := 0
		for _, line := range lines {
			n := 0
			if strings.Contains(line, "alerts to a channel fail") {
				n = 1
			}
			if _, rest, found := strings.Cut(line, " failed="); found {
				_, err := fmt.Sscanf(rest, "%d", &n)
				must(t, err)
			}
			counted += n
		}
		if !strings.Contains(lines[0], "alerts to a channel fail") || counted != refused {
			t.Errorf("the log counts %d of %d refusals:\n%s", counted, refused, log.String())
		}
		if last := lines[len(lines)-1]; !strings.Contains(last, "alerts to a channel arrive again") {
			t.Errorf("the last line is %s", last)
		}
	})
}

// TestGiveUp has a receiver stay away. A delivery fails after a day and five attempts, whichever is later.
func TestGiveUp(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.set(answer(errors.New("away")))
		o.ping(t, c.ID, pings.Failure)
		for range 4 {
			o.clock.Advance(24 * time.Hour)
			o.deliver(t)
		}
		o.states(t, "down pending 4 away")
		if at, _ := o.mark(t); !at.IsZero() {
			t.Errorf("marked %v", at)
		}
		o.clock.Advance(time.Hour)
		o.deliver(t)
		o.states(t, "down failed 5 away")
		if at, text := o.mark(t); !at.Equal(o.clock.Now()) || text != "away" {
			t.Errorf("marked %v, %q", at, text)
		}

		o.ping(t, c.ID, pings.Success)
		for o.clock.Now().Before(noon.Add(5*24*time.Hour + 59*time.Minute)) {
			o.deliver(t)
			if d := o.history(t, checks.DeliveryQuery{Limit: 1})[0]; d.State != checks.DeliveryPending || d.Due.Sub(o.clock.Now()) > 10*time.Minute {
				t.Fatalf("at %v: %+v", o.clock.Now(), d)
			}
			o.clock.Advance(30 * time.Minute)
		}
	})
}

// TestNotConfigured has a channel of a kind without a notifier. A monitor refuses it, unless another one delivers. What is
// stored passes as it is; alerts to it are left to the other monitor, or fail and are tried again, or fail for good if the
// kind is unknown.
func TestNotConfigured(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		ctx := t.Context()
		to := map[string]string{"to": "+37120000000"}
		refused := func(err error) bool {
			lacks, ok := errors.AsType[*channels.NotConfiguredError](err)
			return ok && *lacks == channels.NotConfiguredError{Kind: channels.SMS, Missing: "no account"}
		}
		i := slices.IndexFunc(o.config.Channels, func(t channels.Type) bool { return t.Kind == channels.SMS })
		o.config.Channels[i].Missing = "no account"
		o.Monitor = o.server(t, o.store)
		if _, err := o.CreateChannel(ctx, o.project.ID, channels.SMS, "phone", to); !refused(err) {
			t.Errorf("created: %v", err)
		}
		if list, err := o.Channels(ctx, o.project.ID); len(list) > 0 || err != nil {
			t.Errorf("stored %v, %v", list, err)
		}
		if c := o.Health(ctx)[2]; !c.OK() {
			t.Errorf("without channels: %+v", c)
		}
		o.config.DeliveredElsewhere = true
		other := o.server(t, o.store)
		phone, err := on(other).CreateChannel(ctx, o.project.ID, channels.SMS, "phone", to)
		must(t, err)
		if _, err := o.UpdateChannel(ctx, o.project.ID, phone.ID, map[string]string{"to": "+37120000001"}, nil); !refused(err) {
			t.Errorf("updated: %v", err)
		}
		_, _, err = o.UpsertChannel(ctx, o.project.ID, channels.SMS, "phone", to)
		must(t, err)
		_, err = o.Monitor.Project(o.project.ID).UpdateChannel(ctx, phone.ID, func(c channels.Channel) (channels.Channel, error) {
			c.Name = "night"
			return c, nil
		})
		must(t, err)
		// A change that reaches nobody new passes, as when an address unsubscribes.
		for _, notify := range []string{"down", ""} {
			_, err = o.UpdateChannel(ctx, o.project.ID, phone.ID, map[string]string{"to": to["to"], channels.NotifySetting: notify}, nil)
			must(t, err)
		}

		o.ping(t, o.watched(t, "a").ID, pings.Failure)
		if n, err := other.Deliver(ctx); n != 0 || err != nil {
			t.Errorf("%d sent, %v", n, err)
		}
		o.states(t, "down pending 0")
		o.deliver(t)
		o.states(t, "down pending 1 no account")
		if c := other.Health(ctx)[2]; !c.OK() {
			t.Errorf("delivered elsewhere: %+v", c)
		}
		want := "do not reach all integrations: 1 of the kind sms: no account"
		if c := o.Health(ctx)[2]; c.Part != "deliveries" || c.Problem != want || c.Err == nil || !strings.Contains(c.Err.Error(), `sms "night"`) {
			t.Errorf("health %+v, want %s", c, want)
		}
		var log lockedLog
		o.config.DeliveredElsewhere, o.config.Logger = false, slog.New(slog.NewTextHandler(&log, nil))
		logging := o.server(t, o.store)
		stopped, cancel := context.WithCancel(ctx)
		done := make(chan error)
		go func() { done <- logging.Run(stopped) }()
		for !strings.Contains(log.String(), "alerts "+want) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if remain, ok := errors.AsType[*monitor.StopError](<-done); !ok || remain.Alerts != 1 {
			t.Errorf("it stopped with %v, want an alert that remains", remain)
		}

		o.clock.Advance(time.Hour)
		o.config.Channels = slices.Delete(slices.Clone(o.config.Channels), i, i+1)
		if _, err := o.server(t, o.store).Deliver(ctx); err != nil {
			t.Error(err)
		}
		o.states(t, `down failed 2 integrations of the kind "sms" are not configured on this server`)
	})
}

// TestRetryAfter has a receiver ask for a pause. Nothing is sent to it meanwhile, and other channels are not affected.
func TestRetryAfter(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "slow", nil)
		o.channel(t, "pager", "ops", nil)
		a, b := o.watched(t, "a"), o.watched(t, "b")
		var calls atomic.Int64
		after := 5 * time.Minute
		refuse := func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			if c.Name != "slow" {
				return nil
			}
			calls.Add(1)
			return fmt.Errorf("status 429: %w", channels.RetryAfter(errors.New("too many requests"), after))
		}
		o.set(refuse)
		o.ping(t, a.ID, pings.Failure)
		o.deliver(t, "ops: a down")
		o.ping(t, b.ID, pings.Failure)
		o.clock.Advance(after - time.Microsecond)
		o.deliver(t, "ops: b down")
		if n := calls.Load(); n != 1 {
			t.Errorf("%d attempts before the pause was over", n)
		}
		o.clock.Advance(time.Microsecond)
		after = 1000 * time.Hour // longer than a receiver can ask for
		o.set(refuse)
		o.deliver(t)
		o.set(nil)
		o.clock.Advance(time.Hour - time.Microsecond)
		o.deliver(t)
		o.clock.Advance(time.Microsecond)
		if _, err := o.Deliver(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := o.received()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"slow: a down", "slow: b down"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestPanic has a notifier change the settings it was given and panic.
func TestPanic(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", map[string]string{"token": "t"})
		c := o.watched(t, "a")
		o.set(func(_ context.Context, c channels.Channel, _ channels.Notification) error {
			clear(c.Settings)
			panic("no token t")
		})
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t)
		o.states(t, "down pending 1 panic: no ***oken ***")
		o.set(nil)
		o.clock.Advance(time.Second)
		o.deliver(t, "ops: a down")
	})
}

// TestUnreadable has a channel whose row cannot be read. Others get their alerts.
func TestUnreadable(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o := newOutbox(t, db.Open(t), nil)
		o.channel(t, "pager", "bad", nil)
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.ping(t, c.ID, pings.Failure)
		_, err := db.Bun(t).ExecContext(t.Context(), "UPDATE rollcall_channels SET settings = '{' WHERE name = 'bad'")
		if err != nil {
			t.Fatal(err)
		}
		o.deliver(t, "ops: a down")
		failing := 0
		for _, d := range o.history(t, checks.DeliveryQuery{State: checks.DeliveryPending}) {
			if d.ChannelName == "bad" && strings.HasPrefix(d.Error, "the alert cannot be read") && d.Attempts == 1 {
				failing++
			}
		}
		if failing != 1 {
			t.Errorf("deliveries: %+v", o.history(t, checks.DeliveryQuery{}))
		}
	})
}

// TestOrphans claims deliveries whose channel or check no longer exists. They end and are not claimed again.
func TestOrphans(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o := newOutbox(t, db.Open(t), nil)
		o.channel(t, "pager", "ops", nil)
		c := o.watched(t, "a")
		o.ping(t, c.ID, pings.Failure)
		bundb := db.Bun(t)
		for _, columns := range []string{"check_id, '" + uuid.NewString() + "'", "check_id + 1000, channel_id"} {
			_, err := bundb.ExecContext(t.Context(), `INSERT INTO rollcall_deliveries (flip_id, check_id, channel_id, state, due_at, created_at)
				SELECT flip_id, `+columns+`, state, due_at, created_at FROM rollcall_deliveries WHERE id = 1`)
			if err != nil {
				t.Fatal(err)
			}
		}
		o.deliver(t, "ops: a down")
		var pending int
		err := bundb.NewRaw("SELECT count(*) FROM rollcall_deliveries WHERE state = 'pending'").Scan(t.Context(), &pending)
		if err != nil || pending != 0 {
			t.Errorf("%d deliveries are pending, %v", pending, err)
		}
		if at, text := o.mark(t); !at.IsZero() {
			t.Errorf("the channel that exists is marked %v, %q", at, text)
		}
	})
}

// TestErrorText removes the secrets of a channel from an error, in whatever form the error has them.
func TestErrorText(t *testing.T) {
	headers := "Authorization: Bearer abc/d \"e\"\nX-Key: k€y"
	kind := channels.Type{Kind: "hook", Settings: []channels.Setting{{Name: "headers", Secret: true}, {Name: "to"}}}
	o := newOutbox(t, dbtest.SQLite(t).Open(t), func(c *monitor.Config) {
		kind.Notifier = c.Channels[len(c.Channels)-1].Notifier
		c.Channels = append(c.Channels, kind)
	})
	hook := o.channel(t, "hook", "hook", map[string]string{"headers": headers, "to": "ops"})
	for text, want := range map[string]string{
		"":                                "unknown error",
		"\x00\n ":                         "unknown error",
		"to ops":                          "to ops",
		"a" + headers + "b":               "a***b",
		"Bearer abc/d \"e\" is wrong":     "*** is wrong",
		`abc/d "e"`:                       "***",
		"?key=" + "k%E2%82%ACy" + "&x":    "?key=***&x",
		`bad header "Bearer abc/d \"e\""`: `bad header "***"`,
		"/abc%2Fd%20%22e%22/":             "/***/",
		"\u202etxt\x1b[31m\xff":           " txt [31m\uFFFD",
		strings.Repeat("x", 498) + "k€y" + "beyond": strings.Repeat("x", 498) + "**",
	} {
		cause := errors.New(text)
		o.set(answer(cause))
		err := o.TestChannel(t.Context(), o.project.ID, hook.ID)
		if !errors.Is(err, cause) || err.Error() != want {
			t.Errorf("%q: got %q, want %q", text, err, want)
		}
	}
}

// TestSuperseded has a check go down and up while a receiver is away. Later the receiver gets a summary in the newest
// alert instead of every old one.
func TestSuperseded(t *testing.T) {
	for name, tt := range map[string]struct {
		events []pings.Kind
		want   []string
		states string
	}{
		"one":   {[]pings.Kind{pings.Failure}, []string{"down"}, "sent"},
		"over":  {[]pings.Kind{pings.Failure, pings.Success}, []string{"down over", "up"}, "sent sent"},
		"again": {[]pings.Kind{pings.Failure, pings.Success, pings.Failure}, []string{"down after down up"}, "superseded superseded sent"},
		"twice over": {[]pings.Kind{pings.Failure, pings.Success, pings.Failure, pings.Success},
			[]string{"down over after down up", "up"}, "superseded superseded sent sent"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOutbox(t, nil, func(t *testing.T, o outbox) {
				o.channel(t, "pager", "ops", nil)
				c := o.watched(t, "a")
				o.set(answer(errors.New("away")))
				for _, kind := range tt.events {
					o.ping(t, c.ID, kind)
					o.deliver(t)
					o.clock.Advance(time.Minute)
				}
				o.clock.Set(noon.Add(10*time.Minute + time.Second))
				o.set(nil)
				if _, err := o.Deliver(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, summaries(o.all())); diff != "" {
					t.Errorf("received (-want +got):\n%s", diff)
				}
				var states []string
				for _, d := range slices.Backward(o.history(t, checks.DeliveryQuery{})) {
					states = append(states, string(d.State))
					if d.State == checks.DeliverySuperseded && !strings.HasPrefix(d.Error, "superseded by a newer alert") {
						t.Errorf("the reason is %q", d.Error)
					}
				}
				if got := strings.Join(states, " "); got != tt.states {
					t.Errorf("states %q, want %q", got, tt.states)
				}
			})
		})
	}
}

// summaries describes notifications with the changes that they sum up.
func summaries(notes []note) []string {
	var list []string
	for _, n := range notes {
		text := string(n.Status)
		if !n.Over.IsZero() {
			text += " over"
		}
		if len(n.Earlier) > 0 {
			text += " after"
		}
		for _, change := range n.Earlier {
			text += " " + string(change.Status)
		}
		list = append(list, text)
	}
	return list
}
