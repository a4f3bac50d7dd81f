package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// family is an outbox with a dump and an upload that follows it. Both are due every day, and the upload has less grace.
type family struct {
	outbox
	dump, upload checks.Check
}

func eachFamily(t *testing.T, test func(t *testing.T, f family)) {
	t.Helper()
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "ops", nil)
		f := family{outbox: o}
		f.dump = o.create(t, checks.Spec{Slug: new("dump"), Timeout: new(24 * time.Hour), Grace: new(2 * time.Hour), Channels: new("*")})
		f.upload = o.create(t, checks.Spec{Slug: new("upload"), Timeout: new(24 * time.Hour), Grace: new(30 * time.Minute), Channels: new("*"), After: new("dump")})
		o.ping(t, f.dump.ID, pings.Success)
		o.ping(t, f.upload.ID, pings.Success)
		test(t, f)
	})
}

// heldBy compares what keeps the alert about a check back, "" for nothing.
func (f family) heldBy(t *testing.T, c checks.Check, want string) {
	t.Helper()
	got := ""
	for _, d := range f.history(t, checks.DeliveryQuery{Check: c.ID, State: checks.DeliveryPending}) {
		if got = d.HeldBy; d.Held != gate.ByParent {
			t.Errorf("kept back by %s %s", d.Held, d.HeldBy)
		}
	}
	if got != want {
		t.Errorf("kept back by %q, want %q", got, want)
	}
}

// says checks that the verdict about the upload has a sentence.
func (f family) says(t *testing.T, want string) {
	t.Helper()
	c, err := f.Check(t.Context(), f.upload.ID)
	must(t, err)
	v, err := f.Project(f.project.ID).Explain(t.Context(), c, nil)
	must(t, err)
	if text := v.Text(nil); !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %s", text, want)
	}
}

// TestParentDown has a job fail because the one before it did. Its alert waits, through a restart, and follows if it is down still
// when the other one is up again.
func TestParentDown(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		f.ping(t, f.dump.ID, pings.Failure)
		f.ping(t, f.upload.ID, pings.Failure)
		f.deliver(t, "ops: dump down")
		f.heldBy(t, f.upload, "dump")
		f.says(t, "Its alert waits because dump is down.")
		for range 3 {
			f.wait(t, time.Hour)
			f.Monitor = f.server(t, f.store)
		}
		f.ping(t, f.dump.ID, pings.Success)
		f.deliver(t, "ops: dump up")
		f.wait(t, gate.AskParent)
		f.says(t, "Its alert waits because dump is down or late, or has just come up.")
		f.wait(t, 29*time.Minute)
		f.heldBy(t, f.upload, "dump")
		f.clock.Advance(30 * time.Second) // its own grace time has passed
		_, err := f.Deliver(t.Context())
		must(t, err)
		if sent := f.all(); len(sent) != 1 || !strings.Contains(sent[0].Verdict, "This alert has waited because dump was down or late.") {
			t.Errorf("sent: %+v", sent)
		}
		f.received()
		f.ping(t, f.upload.ID, pings.Success)
		f.deliver(t, "ops: upload up")

		f.ping(t, f.dump.ID, pings.Failure) // both recover
		f.ping(t, f.upload.ID, pings.Failure)
		f.deliver(t, "ops: dump down")
		f.ping(t, f.dump.ID, pings.Success)
		f.ping(t, f.upload.ID, pings.Success)
		f.deliver(t, "ops: dump up")
		f.wait(t, time.Hour)
		f.ping(t, f.upload.ID, pings.Failure) // the other one is up
		f.deliver(t, "ops: upload down")
		f.ping(t, f.dump.ID, pings.Failure) // what was reported before is over at once
		f.ping(t, f.upload.ID, pings.Success)
		f.deliver(t, "ops: dump down", "ops: upload up")
	})
}

// TestRemindersOfFollower has two integrations and many repeats while the parent is down, before and after the follower's alert. Those
// that nobody gets leave no delivery, and who hears of the end does not depend on them.
func TestRemindersOfFollower(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		f.channel(t, "pager", "boss", nil)
		for _, c := range []checks.Check{f.dump, f.upload} {
			f.change(t, c, checks.Spec{Channels: new("*")})
		}
		f.change(t, f.upload, checks.Spec{RepeatEvery: new(time.Hour)})
		wait := func(d time.Duration, about ...string) { // in any order
			t.Helper()
			f.clock.Advance(d)
			_, err := f.Sweep(t.Context())
			must(t, err)
			_, err = f.Deliver(t.Context())
			must(t, err)
			got := f.received()
			slices.Sort(got)
			equal(t, "received", got, about)
		}
		states := func(want map[checks.DeliveryState]int) {
			t.Helper()
			got := make(map[checks.DeliveryState]int)
			for _, d := range f.history(t, checks.DeliveryQuery{Check: f.upload.ID, Limit: 1000}) {
				got[d.State]++
			}
			equal(t, "deliveries", got, want)
		}
		f.ping(t, f.dump.ID, pings.Failure)
		f.ping(t, f.upload.ID, pings.Failure)
		wait(0, "boss: dump down", "ops: dump down")
		for range 10 {
			wait(time.Hour)
		}
		states(map[checks.DeliveryState]int{checks.DeliveryPending: 2})
		f.ping(t, f.dump.ID, pings.Success)
		wait(0, "boss: dump up", "ops: dump up")
		wait(31*time.Minute, "boss: upload down", "ops: upload down")
		states(map[checks.DeliveryState]int{checks.DeliverySent: 2})
		f.ping(t, f.dump.ID, pings.Failure)
		wait(0, "boss: dump down", "ops: dump down")
		for range 10 {
			wait(time.Hour)
		}
		states(map[checks.DeliveryState]int{checks.DeliverySent: 2})
		f.ping(t, f.upload.ID, pings.Success)
		wait(0, "boss: upload up", "ops: upload up")
		states(map[checks.DeliveryState]int{checks.DeliverySent: 4})

		f.ping(t, f.upload.ID, pings.Failure) // of which nobody hears
		for range 3 {
			wait(time.Hour)
		}
		f.ping(t, f.upload.ID, pings.Success)
		wait(time.Hour)
		states(map[checks.DeliveryState]int{checks.DeliverySent: 4, checks.DeliverySkipped: 4})
	})
}

// TestParentLate has a job whose deadline passes before that of the one before it.
func TestParentLate(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		f.clock.Advance(24 * time.Hour)
		f.wait(t, 31*time.Minute) // the upload is down, the dump late
		f.heldBy(t, f.upload, "dump")
		f.wait(t, time.Hour)
		f.ping(t, f.dump.ID, pings.Success) // and up
		f.wait(t, gate.AskParent)
		f.wait(t, 29*time.Minute)
		f.heldBy(t, f.upload, "dump")
		f.wait(t, 30*time.Second, "ops: upload down")
		f.ping(t, f.upload.ID, pings.Success)
		f.deliver(t, "ops: upload up")

		f.clock.Advance(24*time.Hour - time.Minute)
		f.wait(t, 32*time.Minute)
		f.heldBy(t, f.upload, "dump")
		f.wait(t, 89*time.Minute, "ops: dump down") // its own deadline has passed
		f.wait(t, time.Minute)
		f.heldBy(t, f.upload, "dump")
	})
}

// TestParentIsSilent has parents about whose outage nobody knows, and such about which somebody does, or has planned the silence.
func TestParentIsSilent(t *testing.T) {
	ctx := t.Context()
	update := func(s checks.Spec) func(t *testing.T, f family) {
		return func(t *testing.T, f family) {
			_, err := f.Update(ctx, f.dump.ID, s)
			must(t, err)
		}
	}
	for name, tt := range map[string]struct {
		before, after func(t *testing.T, f family) // the failure of the dump, about which nothing arrives
		holds         bool
	}{
		"no integration": {before: update(checks.Spec{Channels: new("")})},
		"records only":   {before: update(checks.Spec{RecordOnly: new(true)})},
		"quiet hours":    {before: update(checks.Spec{QuietHours: new("11:00-20:00")})},
		"too few":        {before: update(checks.Spec{AlertAfter: new(3)})},
		"acknowledged": {before: update(checks.Spec{RecordOnly: new(true)}), after: func(t *testing.T, f family) {
			_, err := f.Project(f.project.ID).Acknowledge(ctx, f.dump.ID, checks.AckSpec{By: "Anna"})
			must(t, err)
		}, holds: true},
		"maintenance": {before: func(t *testing.T, f family) {
			f.save(t, gate.Window{ID: uuid.New(), Kind: gate.Maintenance, Checks: []uuid.UUID{f.dump.ID}, Start: f.Now(), End: f.Now().Add(5 * time.Hour), CreatedAt: f.Now()})
		}, holds: true},
		"follows in turn": {before: func(t *testing.T, f family) {
			disk := f.create(t, checks.Spec{Slug: new("disk"), Channels: new("*")})
			update(checks.Spec{After: new("disk")})(t, f)
			f.ping(t, disk.ID, pings.Failure)
			f.deliver(t, "ops: disk down")
		}, holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				tt.before(t, f)
				f.ping(t, f.dump.ID, pings.Failure)
				f.deliver(t)
				if tt.after != nil {
					tt.after(t, f)
				}
				f.clock.Advance(20 * time.Minute)
				f.ping(t, f.upload.ID, pings.Failure)
				if tt.holds {
					f.wait(t, time.Hour)
					f.heldBy(t, f.upload, "dump")
					f.says(t, "Its alert waits because dump is down.")
					return
				}
				f.deliver(t, "ops: upload down")
				warnings, err := f.Project(f.project.ID).FollowWarnings(ctx, f.upload)
				if err != nil || len(warnings) != 1 {
					t.Fatalf("warnings %q, error %v", warnings, err)
				}
				f.says(t, "It follows others, but "+warnings[0]+".")
			})
		})
	}
}

// TestParentCannotSay has the receiver of the parent's alert be away. The follower does not wait for it long.
func TestParentCannotSay(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		f.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			if n.Check.ID == f.dump.ID {
				return errors.New("away")
			}
			return nil
		})
		f.ping(t, f.dump.ID, pings.Failure)
		f.ping(t, f.upload.ID, pings.Failure)
		f.deliver(t)
		f.heldBy(t, f.upload, "dump")
		f.wait(t, 4*time.Minute)
		f.wait(t, 2*time.Minute, "ops: upload down")
	})
}

// TestParentCannotSayAfterWait has the parent's alert wait for a parent itself, before its receiver turns out to be away.
func TestParentCannotSayAfterWait(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		disk := f.create(t, checks.Spec{Slug: new("disk"), Channels: new("*")})
		_, err := f.Update(t.Context(), f.dump.ID, checks.Spec{After: new("disk"), Grace: new(time.Minute)})
		must(t, err)
		f.ping(t, disk.ID, pings.Failure)
		f.ping(t, f.dump.ID, pings.Failure)
		f.ping(t, f.upload.ID, pings.Failure)
		f.deliver(t, "ops: disk down")
		f.wait(t, time.Hour)
		f.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
			if n.Check.ID == f.dump.ID {
				return errors.New("away")
			}
			return nil
		})
		f.ping(t, disk.ID, pings.Success)
		f.deliver(t, "ops: disk up")
		f.wait(t, 2*time.Minute) // the receiver takes no alert of the dump
		f.wait(t, time.Minute)
		f.heldBy(t, f.upload, "dump")
		f.wait(t, 6*time.Minute, "ops: upload down")
	})
}

// TestFollowerHasItsTime has a job whose deadline passes when the one before it is up again. It has its grace time from then on, unless
// it reports a failure.
func TestFollowerHasItsTime(t *testing.T) {
	for _, failure := range []bool{false, true} {
		t.Run(fmt.Sprint("failure ", failure), func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				_, err := f.Update(t.Context(), f.dump.ID, checks.Spec{Grace: new(10 * time.Minute)})
				must(t, err)
				f.clock.Advance(24 * time.Hour)
				f.wait(t, 20*time.Minute, "ops: dump down")
				f.ping(t, f.dump.ID, pings.Success)
				f.deliver(t, "ops: dump up")
				f.wait(t, 11*time.Minute)
				f.heldBy(t, f.upload, "dump")
				if failure {
					f.ping(t, f.upload.ID, pings.Success)
					f.ping(t, f.upload.ID, pings.Failure)
					f.wait(t, gate.AskParent, "ops: upload down")
					return
				}
				f.wait(t, 18*time.Minute)
				f.ping(t, f.upload.ID, pings.Success)
				f.wait(t, time.Hour)
			})
		})
	}
}

// TestParentIsNone has parents that keep nothing back: paused, renamed, deleted, shared, and such that follow the check in turn.
func TestParentIsNone(t *testing.T) {
	ctx := t.Context()
	for name, change := range map[string]func(f family) error{
		"paused":  func(f family) error { _, err := f.Pause(ctx, f.dump.ID); return err },
		"renamed": func(f family) error { _, err := f.Update(ctx, f.dump.ID, checks.Spec{Slug: new("other")}); return err },
		"deleted": func(f family) error { _, err := f.Delete(ctx, f.dump.ID); return err },
		"twin": func(f family) error {
			_, err := f.Create(ctx, f.project.ID, checks.Spec{Slug: new("dump")})
			return err
		},
		"no more": func(f family) error { _, err := f.Update(ctx, f.upload.ID, checks.Spec{After: new("")}); return err },
		"circle":  func(f family) error { return f.follow(ctx, f.dump.ID, "upload") },
	} {
		t.Run(name, func(t *testing.T) {
			eachFamily(t, func(t *testing.T, f family) {
				f.ping(t, f.dump.ID, pings.Failure)
				f.deliver(t, "ops: dump down")
				f.ping(t, f.upload.ID, pings.Failure)
				f.deliver(t)
				f.heldBy(t, f.upload, "dump")
				must(t, change(f))
				f.wait(t, gate.AskParent, "ops: upload down")
				if name != "paused" && name != "no more" {
					f.says(t, "It follows dump, which is not one check of this project")
				}
			})
		})
	}
}

// follow writes what a check follows into the database, without a question.
func (f family) follow(ctx context.Context, id uuid.UUID, after string) error {
	return f.store.Contract().(store.Store).Update(ctx, func(ctx context.Context, tx store.Tx) error {
		l, err := tx.LockCheck(ctx, id)
		if err != nil {
			return err
		}
		l.After, l.SettingsChanged = after, true
		return tx.SaveChecks(ctx, []*store.Locked{l})
	})
}

// TestRecordOnly switches record-only on and off while a check is down.
func TestRecordOnly(t *testing.T) {
	eachFamily(t, func(t *testing.T, f family) {
		set := func(on bool) {
			t.Helper()
			_, err := f.Update(t.Context(), f.dump.ID, checks.Spec{RecordOnly: &on})
			must(t, err)
		}
		set(true)
		f.ping(t, f.dump.ID, pings.Failure)
		f.ping(t, f.upload.ID, pings.Failure)
		f.deliver(t, "ops: upload down") // what only records keeps nobody back
		f.alertsAre(t, "record-only", f.dump.ID)
		set(false)
		f.deliver(t, "ops: dump down")
		set(true)
		f.ping(t, f.upload.ID, pings.Success)
		f.deliver(t, "ops: upload up")
		f.ping(t, f.dump.ID, pings.Success)
		f.deliver(t, "ops: dump up") // of an outage that was reported
		f.ping(t, f.dump.ID, pings.Failure)
		set(false)
		set(true)
		f.deliver(t) // the alert was pending, and is dropped
		f.ping(t, f.dump.ID, pings.Success)
		f.deliver(t) // nobody has heard that it was down
		f.ping(t, f.dump.ID, pings.Failure)
		set(false)
		set(true)
		f.deliver(t)
		set(false)
		f.deliver(t, "ops: dump down") // as new
		f.ping(t, f.dump.ID, pings.Success)
		f.deliver(t, "ops: dump up")
	})
}
