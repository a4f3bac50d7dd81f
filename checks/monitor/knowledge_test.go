package monitor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestKnowledge has two features meet in an outage, and asks who hears of it and of its end. The judge has found most of these.
func TestKnowledge(t *testing.T) {
	away := func(context.Context, channels.Channel, channels.Notification) error { return errors.New("away") }
	soon := func(p policy) gate.Window {
		return gate.Window{Kind: gate.Maintenance, Start: p.clock.Now(), End: p.clock.Now().Add(time.Hour)}
	}
	for name, story := range map[string]func(t *testing.T, p policy){
		"assigned while the check only records": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.change(t, c, checks.Spec{RecordOnly: new(true)})
			p.change(t, c, checks.Spec{Channels: new("mail,pager")})
			p.ping(t, c.ID, pings.Success)
			p.after(t, time.Minute, "mail: job up")
		},
		"perhaps heard, then a window": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.inbox.set(away)
			p.after(t, 0)
			p.window(t, soon(p))
			p.inbox.set(nil)
			p.ping(t, c.ID, pings.Success)
			p.after(t, 5*time.Minute, "mail: job up")
		},
		"perhaps heard by one recipient, then a window": func(t *testing.T, p policy) {
			var heard []string
			boris := errors.New("no answer")
			p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
					heard = append(heard, recipient+" "+string(n.Status))
					if recipient == "boris" {
						return boris
					}
					return nil
				})
			})
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			p.window(t, soon(p))
			p.after(t, 10*time.Minute)
			boris = nil
			p.ping(t, c.ID, pings.Success)
			p.clock.Advance(time.Minute)
			_, err := p.Deliver(t.Context())
			must(t, err)
			p.received()
			equal(t, "heard", heard, []string{"anna down", "boris down", "anna up", "boris up"})
		},
		"an alert that waits for its step behind one that failed": func(t *testing.T, p policy) {
			p.set(t, step(0, p.mail), step(15*time.Minute, p.pager))
			p.inbox.set(func(_ context.Context, ch channels.Channel, _ channels.Notification) error {
				if ch.ID == p.pager.ID {
					return errors.New("away")
				}
				return nil
			})
			c := p.job(t, "job", "")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.after(t, 15*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.after(t, 16*time.Minute, "mail: job up")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 17*time.Minute, "mail: job down")
			p.after(t, 28*time.Minute) // the recovery is stale, and the alert behind it waits for its step
			p.pause(t, c)
			p.clock.Advance(time.Minute)
			p.ping(t, c.ID, pings.Failure)
			p.inbox.set(nil)
			p.after(t, 30*time.Minute, "mail: job down")
			p.after(t, 35*time.Minute)
			p.after(t, 45*time.Minute, "pager: job down")
		},
		"taken from a check while a window keeps the alert back": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "boss"})
			c := p.job(t, "job", "mail,all")
			p.window(t, soon(p))
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			p.change(t, c, checks.Spec{Channels: new("pager")})
			p.unwindow(t)
			p.after(t, 5*time.Minute, "pager: job down")
			p.ping(t, c.ID, pings.Success)
			p.after(t, 6*time.Minute, "pager: job up")
		},
		"taken from a check while a reminder waits": func(t *testing.T, p policy) {
			p.channel(t, "pager", "only", nil)
			p.channel(t, channels.Group, "all", map[string]string{"channels": "only"})
			c := p.job(t, "job", "mail,only,all")
			p.change(t, c, checks.Spec{RepeatEvery: new(20 * time.Minute)})
			w := soon(p)
			w.End = noon.Add(15 * time.Minute)
			p.window(t, w)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 15*time.Minute, "mail: job down", "only: job down")
			p.sweep(t, 20*time.Minute) // the reminders wait until 20 minutes after the alert
			p.change(t, c, checks.Spec{Channels: new("all,pager")})
			p.sweep(t, 21*time.Minute, "pager: job down")
			list, err := checks.Collect(p.Project.Deliveries(t.Context(), checks.DeliveryQuery{State: checks.DeliveryPending}))
			must(t, err)
			equal(t, "one waits for mail", slices.ContainsFunc(list, func(d checks.Delivery) bool { return d.ChannelID == p.mail.ID }), false)
			p.sweep(t, 35*time.Minute, "only: job down")
		},
		"a new member of a group that gets the alerts no more": func(t *testing.T, p policy) {
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			p.set(t, step(0, all))
			p.ping(t, p.job(t, "job", "").ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			must(t, p.SetEscalation(t.Context(), nil))
			_, err := p.UpdateChannel(t.Context(), all.ID, func(c channels.Channel) (channels.Channel, error) {
				c.Settings["channels"] = "mail,pager"
				return c, nil
			})
			must(t, err)
			p.after(t, time.Minute)
		},
		"a reminder to a group that gets the alerts no more": func(t *testing.T, p policy) {
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "mail,pager"})
			p.set(t, step(0, all), step(15*time.Minute, p.pager))
			c := p.job(t, "job", "")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.clock.Advance(10 * time.Minute)
			_, err := p.Sweep(t.Context())
			must(t, err)
			must(t, p.SetEscalation(t.Context(), nil))
			p.after(t, 10*time.Minute)
		},
		"failed in quiet hours, before the check that it follows came up": func(t *testing.T, p policy) {
			first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail")})
			c := p.outbox.create(t, checks.Spec{
				Name: new("job"), Channels: new("mail"), After: new("first"), Grace: new(20 * time.Minute), QuietHours: new("11:00-12:10"),
			})
			p.ping(t, first.ID, pings.Failure)
			p.sweep(t, 0, "mail: first down")
			p.ping(t, c.ID, pings.Failure)
			p.clock.Advance(time.Minute)
			p.ping(t, first.ID, pings.Success)
			p.sweep(t, 10*time.Minute, "mail: first up")
			p.sweep(t, 20*time.Minute)
			p.sweep(t, 21*time.Minute, "mail: job down")
		},
		"missed, after the check that it follows came up": func(t *testing.T, p policy) {
			spec := checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail"), Timeout: new(40 * time.Minute), Grace: new(5 * time.Minute)}
			first := p.outbox.create(t, spec)
			spec.Name, spec.Slug, spec.After, spec.Grace = new("job"), nil, new("first"), new(20*time.Minute)
			c := p.outbox.create(t, spec)
			p.ping(t, first.ID, pings.Success)
			p.ping(t, c.ID, pings.Success)
			p.sweep(t, 45*time.Minute, "mail: first down")
			p.clock.Set(noon.Add(56 * time.Minute))
			p.ping(t, first.ID, pings.Success)
			p.sweep(t, 56*time.Minute, "mail: first up")
			p.sweep(t, time.Hour)
			p.clock.Set(noon.Add(69 * time.Minute))
			p.ping(t, first.ID, pings.Success)
			p.sweep(t, 75*time.Minute)
			p.sweep(t, 76*time.Minute, "mail: job down")
		},
		"heard by one recipient and refused by the other": func(t *testing.T, p policy) {
			first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail")})
			c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("mail"), After: new("first")})
			p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
					if recipient == "anna" {
						return channels.Permanent(errors.New("refused"))
					}
					return nil
				})
			})
			p.ping(t, first.ID, pings.Failure)
			p.sweep(t, 0)
			p.inbox.set(nil)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, time.Hour)
		},
		"refused by one recipient, and sent again": func(t *testing.T, p policy) {
			first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail")})
			c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("pager"), After: new("first")})
			var heard []string
			p.inbox.set(func(_ context.Context, to channels.Channel, n channels.Notification) error {
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
					if recipient == "anna" {
						return channels.Permanent(errors.New("refused"))
					}
					heard = append(heard, to.Name+" "+recipient)
					return nil
				})
			})
			p.ping(t, first.ID, pings.Failure)
			p.after(t, 0)
			p.ping(t, c.ID, pings.Failure)
			p.after(t, time.Hour)
			n, err := p.RetryFailed(t.Context())
			must(t, err)
			p.after(t, time.Hour+30*time.Second)
			equal(t, "sent again", n, 1)
			equal(t, "heard", heard, []string{"mail boris"})
		},
		"a parent for which one recipient was too slow, and others refused": func(t *testing.T, p policy) {
			unheardParent(t, p, channels.Permanent(errors.New("refused")))
		},
		"a parent for which one recipient was too slow, and others are away": func(t *testing.T, p policy) {
			unheardParent(t, p, errors.New("away"))
		},
		"one recipient gets alerts separately, and the other is away": func(t *testing.T, p policy) {
			away := map[string]bool{"boris": true}
			var heard []string
			p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
					if away[recipient] {
						return errors.New("away")
					}
					heard = append(heard, recipient+" "+string(n.Status))
					return nil
				})
			})
			c := p.job(t, "job", "mail")
			for i, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure, pings.Success} {
				away["anna"], away["boris"] = i >= 2, i < 3
				p.clock.Set(noon.Add(time.Duration(i) * time.Minute))
				p.ping(t, c.ID, kind)
				_, err := p.Deliver(t.Context())
				must(t, err)
			}
			equal(t, "heard first", heard[:2], []string{"anna down", "anna up"})
			equal(t, "heard last", heard[len(heard)-1], "boris up")
		},
		"perhaps heard, given up, and sent again in a window in which it ends": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			for i, err := range []error{errors.New("the answer was lost"), channels.Permanent(errors.New("refused"))} {
				p.inbox.set(func(context.Context, channels.Channel, channels.Notification) error { return err })
				p.after(t, time.Duration(i)*2*time.Minute)
			}
			p.inbox.set(nil)
			p.window(t, soon(p))
			n, err := p.RetryFailed(t.Context())
			must(t, err)
			equal(t, "sent again", n, 1)
			p.after(t, 3*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.after(t, 4*time.Minute, "mail: job up")
		},
		"moved, with one recipient who has not heard of the end": func(t *testing.T, p policy) { movedTooEarly(t, p) },
		"moved, and down again before one recipient has heard of the end": func(t *testing.T, p policy) {
			movedTooEarly(t, p, pings.Failure, pings.Success)
		},
		"refused by one recipient to the end, then an outage in a window": func(t *testing.T, p policy) {
			var heard []string
			p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
					if recipient == "anna" {
						return channels.Permanent(errors.New("refused"))
					}
					heard = append(heard, recipient+" "+string(n.Status))
					return nil
				})
			})
			c := p.job(t, "job", "mail")
			for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
				p.ping(t, c.ID, kind)
				p.after(t, time.Minute)
			}
			p.window(t, soon(p))
			for _, kind := range []pings.Kind{pings.Failure, pings.Success} {
				p.ping(t, c.ID, kind)
				p.after(t, time.Minute)
			}
			p.after(t, 2*time.Hour)
			equal(t, "heard", heard, []string{"boris down", "boris up"})
		},
		"an alert that sums up quiet hours is dropped": func(t *testing.T, p policy) {
			p.set(t, step(0, p.mail))
			c := downAgain(t, p, "12:05-12:20")
			p.window(t, soon(p))
			p.sweep(t, 20*time.Minute)
			must(t, p.SetEscalation(t.Context(), nil))
			p.ping(t, c.ID, pings.Success)
			p.sweep(t, 30*time.Minute, "mail: job up")
		},
		"moved back, with a reminder that waits": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.inbox.set(away)
			p.sweep(t, 0)
			p.inbox.set(nil)
			p.sweep(t, 7*time.Minute, "mail: job down")
			p.sweep(t, 10*time.Minute) // it waits until 10 minutes after the alert
			p.ping(t, c.ID, pings.Success)
			_, err := p.Transfer(t.Context(), c.ID, p.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
			must(t, err)
			p.after(t, 20*time.Minute, "mail: job up")
		},
		"a group that waits, and is taken from the check": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			c := p.job(t, "job", "all")
			p.window(t, soon(p))
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			p.change(t, c, checks.Spec{Channels: new("pager")})
			p.ping(t, c.ID, pings.Success)
			p.ping(t, c.ID, pings.Failure)
			p.unwindow(t)
			p.after(t, 5*time.Minute, "pager: job down")
		},
		"a step of an outage that a pause has ended": func(t *testing.T, p policy) {
			p.set(t, step(15*time.Minute, p.pager))
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{AlertAfter: new(2)})
			p.ping(t, c.ID, pings.Failure)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.pause(t, c)
			p.sweep(t, time.Minute)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 15*time.Minute)
		},
		"the member of a group, paused in an outage": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			c := p.job(t, "job", "all")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.pause(t, c)
			p.clock.Advance(time.Minute)
			p.ping(t, c.ID, pings.Failure)
			p.clock.Advance(time.Minute)
			p.ping(t, c.ID, pings.Success)
			_, err := p.Deliver(t.Context())
			must(t, err)
			equal(t, "in order", p.received(), []string{"mail: job down", "mail: job up"})
		},
		"a group is reminded of an outage that ends at the same time": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			c := p.job(t, "job", "all")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.clock.Advance(10 * time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.after(t, 10*time.Minute, "mail: job up")
		},
		"assigned while quiet hours keep the recovery back": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{QuietHours: new("12:10-13:00")})
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.after(t, 20*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.change(t, c, checks.Spec{Channels: new("mail,pager")})
			p.sweep(t, time.Hour, "mail: job up")
		},
		"moved in an outage to a project with an escalation policy": func(t *testing.T, p policy) {
			other := p.Monitor.Project(p.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
			p.set(t, step(0, p.mail), step(15*time.Minute, p.pager), step(time.Hour, p.boss))
			c, err := other.Create(t.Context(), checks.Spec{Name: new("job"), Channels: new("")})
			must(t, err)
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 50*time.Minute)
			_, err = other.Transfer(t.Context(), c.ID, p.project.ID)
			must(t, err)
			p.after(t, 50*time.Minute, "mail: job down")
			p.after(t, 65*time.Minute-time.Second)
			p.after(t, 65*time.Minute, "pager: job down")
			p.after(t, 110*time.Minute, "boss: job down")
		},
		"moved in an outage, and up after quiet hours with a group": func(t *testing.T, p policy) {
			other := p.addProject(t, checks.ProjectSpec{Name: "other"})
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			c := p.job(t, "job", "all")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.change(t, c, checks.Spec{QuietHours: new("12:05-13:00")})
			p.after(t, 6*time.Minute)
			_, err := p.Transfer(t.Context(), c.ID, other.ID)
			must(t, err)
			elsewhere := p.Monitor.Project(other.ID)
			for _, ch := range []channels.Channel{{Kind: "pager", Name: "night"}, {Kind: channels.Group, Name: "nights", Settings: map[string]string{"channels": "night"}}} {
				_, err = elsewhere.CreateChannel(t.Context(), ch)
				must(t, err)
			}
			_, err = elsewhere.Update(t.Context(), c.ID, checks.Spec{Channels: new("nights")})
			must(t, err)
			for i, kind := range []pings.Kind{pings.Success, pings.Failure, pings.Success} {
				p.clock.Set(noon.Add(time.Duration(10+i) * time.Minute))
				p.ping(t, c.ID, kind)
			}
			p.sweep(t, time.Hour, "mail: job up")
		},
		"a group is taken away before it has passed an alert on": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "pager"})
			c := p.job(t, "job", "mail,all")
			p.ping(t, c.ID, pings.Failure)
			p.change(t, c, checks.Spec{Channels: new("mail")})
			p.ping(t, c.ID, pings.Success)
			p.after(t, 0, "mail: job down", "mail: job up", "pager: job down", "pager: job up")
		},
		"moved away and back, with a receiver that is away": func(t *testing.T, p policy) {
			other := p.addProject(t, checks.ProjectSpec{Name: "other"})
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.inbox.set(away)
			p.after(t, 0)
			_, err := p.Transfer(t.Context(), c.ID, other.ID)
			must(t, err)
			p.inbox.set(nil)
			_, err = p.Monitor.Project(other.ID).Transfer(t.Context(), c.ID, p.project.ID)
			must(t, err)
			p.after(t, 15*time.Minute, "boss: job down", "mail: job down", "pager: job down")
		},
		"moved after a group has passed on an earlier end": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "pager"})
			c := p.job(t, "job", "mail,all")
			for i, kind := range []pings.Kind{pings.Failure, pings.Success, pings.Failure} {
				p.clock.Set(noon.Add(time.Duration(i) * time.Second))
				p.ping(t, c.ID, kind)
			}
			p.after(t, time.Minute, "mail: job down", "mail: job down", "mail: job up", "pager: job down", "pager: job down", "pager: job up")
			_, err := p.Transfer(t.Context(), c.ID, p.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
			must(t, err)
			p.ping(t, c.ID, pings.Success)
			p.after(t, time.Hour, "mail: job up", "pager: job up")
		},
		"a group passes an end on to one that waits for the next alert": func(t *testing.T, p policy) {
			only := p.channel(t, "pager", "only", map[string]string{channels.NotifySetting: "down"})
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "only"})
			p.set(t, step(5*time.Minute, only), step(15*time.Minute, all))
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			p.after(t, 5*time.Minute, "only: job down")
			p.after(t, 15*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.clock.Advance(time.Second)
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 16*time.Minute, "mail: job down", "mail: job up")
			p.after(t, 21*time.Minute, "only: job down")
		},
		"quiet hours are taken away": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute), QuietHours: new("12:05-13:00")})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.sweep(t, 20*time.Minute)
			p.change(t, c, checks.Spec{QuietHours: new("")})
			p.sweep(t, 30*time.Minute, "mail: job down")
		},
		"reminders wanted in a pause that is undone": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0, "mail: job down")
			pausedFor(t, p, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.sweep(t, time.Minute)
			p.sweep(t, 11*time.Minute, "mail: job down")
		},
		"no record-only check any more in a pause that is undone": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RecordOnly: new(true)})
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			pausedFor(t, p, c, checks.Spec{RecordOnly: new(false)})
			p.sweep(t, time.Minute, "mail: job down")
		},
		"taken away after the end of an outage that sums up quiet hours": func(t *testing.T, p policy) {
			p.set(t, step(0, p.mail))
			p.ping(t, p.outbox.create(t, checks.Spec{Name: new("other"), RecordOnly: new(true)}).ID, pings.Failure)
			c := downAgain(t, p, "12:05-12:30")
			p.window(t, soon(p))
			p.sweep(t, 30*time.Minute)
			p.ping(t, c.ID, pings.Success)
			must(t, p.SetEscalation(t.Context(), nil))
			p.after(t, 31*time.Minute, "mail: job up")
		},
		"a group is assigned after an alert that was raised twice": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail,pager"})
			c := p.job(t, "job", "mail")
			p.window(t, soon(p))
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			p.change(t, c, checks.Spec{RecordOnly: new(true)})
			p.after(t, time.Minute)
			p.change(t, c, checks.Spec{RecordOnly: new(false)})
			p.unwindow(t)
			p.after(t, 2*time.Minute, "mail: job down")
			p.change(t, c, checks.Spec{Channels: new("mail,all")})
			p.after(t, 3*time.Minute, "pager: job down")
		},
		"a policy ends in the wait for a parent, and begins after it": func(t *testing.T, p policy) {
			first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail")})
			c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("mail"), After: new("first"), Grace: new(20 * time.Minute)})
			p.set(t, step(5*time.Minute, p.pager))
			p.ping(t, first.ID, pings.Failure)
			p.sweep(t, 0, "mail: first down")
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0)
			p.clock.Advance(time.Minute)
			p.ping(t, first.ID, pings.Success)
			p.sweep(t, 2*time.Minute, "mail: first up")
			must(t, p.SetEscalation(t.Context(), nil))
			p.sweep(t, 20*time.Minute)
			p.sweep(t, 21*time.Minute, "mail: job down")
			p.sweep(t, 24*time.Minute)
			p.set(t, step(5*time.Minute, p.pager))
			p.sweep(t, 25*time.Minute)
			p.sweep(t, 26*time.Minute, "pager: job down")
		},
		"record_only for a part of an outage, and a later step": func(t *testing.T, p policy) {
			p.set(t, step(5*time.Minute, p.mail), step(15*time.Minute, p.pager))
			c := p.job(t, "job", "")
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0)
			p.sweep(t, 5*time.Minute, "mail: job down")
			p.change(t, c, checks.Spec{RecordOnly: new(true)})
			p.sweep(t, 40*time.Minute)
			p.change(t, c, checks.Spec{RecordOnly: new(false)})
			p.sweep(t, 44*time.Minute)
			p.sweep(t, 45*time.Minute, "mail: job down")
			p.sweep(t, 54*time.Minute)
			p.sweep(t, 55*time.Minute, "pager: job down")
		},
		"a follower of a check whose group has passed an alert on to nobody": func(t *testing.T, p policy) {
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "mail,pager"})
			p.set(t, step(0, all), step(5*time.Minute, p.mail), step(15*time.Minute, p.pager))
			first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("")})
			c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("mail"), After: new("first")})
			p.ping(t, first.ID, pings.Failure)
			p.sweep(t, 0)
			must(t, p.SetEscalation(t.Context(), nil))
			p.sweep(t, time.Minute)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, time.Minute, "mail: job down")
		},
		"the members of a group are deleted, and it has others": func(t *testing.T, p policy) {
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			c := p.job(t, "job", "all")
			p.change(t, c, checks.Spec{RepeatEvery: new(30 * time.Minute)})
			must(t, p.DeleteChannel(t.Context(), p.mail.ID))
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 0)
			_, err := p.UpdateChannel(t.Context(), all.ID, func(c channels.Channel) (channels.Channel, error) {
				c.Settings["channels"] = "pager"
				return c, nil
			})
			must(t, err)
			p.after(t, time.Minute, "pager: job down")
			p.ping(t, c.ID, pings.Success)
			p.after(t, 2*time.Minute, "pager: job up")
		},
		"reminded by a group whose alert is not due yet": func(t *testing.T, p policy) {
			all := p.channel(t, channels.Group, "all", map[string]string{"channels": "mail"})
			p.set(t, step(0, p.mail), step(20*time.Minute, all))
			c := p.job(t, "job", "pager")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down", "pager: job down")
			p.set(t, step(20*time.Minute, all))
			p.sweep(t, 10*time.Minute, "pager: job down")
			p.sweep(t, 20*time.Minute, "mail: job down", "pager: job down")
			p.sweep(t, 30*time.Minute, "mail: job down", "pager: job down")
		},
		"reminded when a group takes over": func(t *testing.T, p policy) {
			p.channel(t, channels.Group, "all", map[string]string{"channels": "mail,pager"})
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.clock.Advance(10 * time.Minute)
			p.change(t, c, checks.Spec{Channels: new("all")})
			p.sweep(t, 10*time.Minute, "mail: job down", "pager: job down")
		},
		"perhaps heard, and moved after its end, with a reminder between": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(20 * time.Minute)})
			p.inbox.set(away)
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0)
			p.sweep(t, 20*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.sweep(t, 30*time.Minute)
			_, err := p.Transfer(t.Context(), c.ID, p.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
			must(t, err)
			p.inbox.set(nil)
			p.sweep(t, time.Hour, "mail: job up")
		},
		"reminded while a reminder that has waited is sent": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
			p.window(t, gate.Window{Kind: gate.Maintenance, Start: p.clock.Now(), End: p.clock.Now().Add(9 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0)
			p.sweep(t, 9*time.Minute, "mail: job down")
			p.sweep(t, 10*time.Minute)
			other := p.server(t, p.store)
			p.inbox.set(func(ctx context.Context, _ channels.Channel, _ channels.Notification) error {
				p.inbox.set(nil)
				_, err := other.Sweep(ctx)
				must(t, err)
				_, err = other.Deliver(ctx)
				return err
			})
			p.after(t, 20*time.Minute, "mail: job down")
			p.sweep(t, 30*time.Minute, "mail: job down")
		},
		"a window that begins in the past": func(t *testing.T, p policy) {
			p.set(t, step(0, p.mail), step(20*time.Minute, p.pager))
			c := p.job(t, "job", "")
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.clock.Set(noon.Add(15 * time.Minute))
			p.window(t, gate.Window{Kind: gate.Maintenance, Start: noon.Add(time.Minute), End: noon.Add(time.Hour)})
			p.sweep(t, 18*time.Minute)
			p.unwindow(t)
			p.sweep(t, 18*time.Minute)
			p.sweep(t, 22*time.Minute)
			p.sweep(t, 23*time.Minute, "pager: job down")
		},
		"sent again after a pause and a later outage": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.ping(t, c.ID, pings.Failure)
			p.inbox.set(func(context.Context, channels.Channel, channels.Notification) error {
				return channels.Permanent(errors.New("refused"))
			})
			p.after(t, 0)
			p.inbox.set(nil)
			p.pause(t, c)
			p.clock.Advance(time.Minute)
			p.ping(t, c.ID, pings.Failure)
			p.after(t, 2*time.Minute, "mail: job down")
			n, err := p.RetryFailed(t.Context())
			must(t, err)
			equal(t, "retried", n, 1)
			p.after(t, 3*time.Minute)
			p.ping(t, c.ID, pings.Success)
			p.after(t, 4*time.Minute, "mail: job up")
		},
		"reminders are sent again, to one recipient each": func(t *testing.T, p policy) {
			numbers := make(map[string][]int)
			says := map[string]error{}
			p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
				if !slices.Contains(numbers[n.ID], n.Reminder) {
					numbers[n.ID] = append(numbers[n.ID], n.Reminder)
				}
				return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error { return says[recipient] })
			})
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(5 * time.Minute)})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			refused := channels.Permanent(errors.New("refused"))
			says["anna"], says["boris"] = refused, refused
			p.sweep(t, 5*time.Minute)
			p.sweep(t, 10*time.Minute)
			says["anna"], says["boris"] = context.DeadlineExceeded, errors.New("away")
			_, err := p.RetryFailed(t.Context())
			must(t, err)
			for i := range 4 {
				p.sweep(t, 11*time.Minute+time.Duration(i)*10*time.Second)
			}
			clear(says)
			p.sweep(t, 14*time.Minute, "mail: job down", "mail: job down")
			for id, list := range numbers {
				equal(t, "numbers of "+id, len(list), 1)
			}
		},
		"quiet hours end earlier": func(t *testing.T, p policy) {
			c := p.job(t, "job", "mail")
			p.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute), QuietHours: new("12:05-13:00")})
			p.ping(t, c.ID, pings.Failure)
			p.sweep(t, 0, "mail: job down")
			p.sweep(t, 20*time.Minute)
			p.change(t, c, checks.Spec{QuietHours: new("12:05-12:30")})
			p.sweep(t, 39*time.Minute)
			p.sweep(t, 40*time.Minute, "mail: job down")
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachOutbox(t, nil, func(t *testing.T, o outbox) {
				p := newPolicy(t, o)
				must(t, p.SetEscalation(t.Context(), nil))
				story(t, p)
			})
		})
	}
}

// downAgain has a check that alerts as the policy says go down before quiet hours, and up and down again in them.
func downAgain(t *testing.T, p policy, hours string) checks.Check {
	t.Helper()
	c := p.job(t, "job", "")
	p.change(t, c, checks.Spec{QuietHours: &hours})
	p.ping(t, c.ID, pings.Failure)
	p.sweep(t, 0, "mail: job down")
	for i, kind := range []pings.Kind{pings.Success, pings.Failure} {
		p.clock.Set(noon.Add(time.Duration(6+i) * time.Minute))
		p.ping(t, c.ID, kind)
	}
	return c
}

// unheardParent has a check go down of which nobody can hear: one recipient is too slow, and the others answer with an error. So its
// follower does not wait for it.
func unheardParent(t *testing.T, p policy, others error) {
	t.Helper()
	first := p.outbox.create(t, checks.Spec{Name: new("first"), Slug: new("first"), Channels: new("mail")})
	c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("pager"), After: new("first")})
	p.inbox.set(func(_ context.Context, to channels.Channel, n channels.Notification) error {
		if to.ID != p.mail.ID {
			return nil
		}
		return channels.Each(n, []string{"anna", "boris", "clara"}, func(recipient string) error {
			if recipient == "anna" {
				return context.DeadlineExceeded
			}
			return others
		})
	})
	p.ping(t, first.ID, pings.Failure)
	for _, at := range []time.Duration{0, time.Minute, 2 * time.Minute} {
		p.after(t, at)
	}
	p.ping(t, c.ID, pings.Failure)
	p.after(t, 6*time.Minute, "pager: job down")
}

// pausedFor changes the settings of a check while it is paused, and undoes the pause.
func pausedFor(t *testing.T, p policy, c checks.Check, spec checks.Spec) {
	t.Helper()
	before, err := p.Check(t.Context(), c.ID)
	must(t, err)
	paused, err := p.Project.Pause(t.Context(), c.ID)
	must(t, err)
	p.change(t, c, spec)
	_, err = p.Restore(t.Context(), c.ID, before.Check.State, paused.Check.StoredSince)
	must(t, err)
}

// TestIncidentNamedAgain names an integration again before its incident is closed, and lets a receiver refuse to close one.
func TestIncidentNamedAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o, desk := newDesk(t, newOutbox(t, db.Open(t), nil), nil)
		c := o.create(t, checks.Spec{Channels: new("desk")})
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		equal(t, "open", desk.said(), []string{"1 down"})
		desk.set(errors.New("away"), false)
		o.change(t, c, checks.Spec{Channels: new("")})
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		o.change(t, c, checks.Spec{Channels: new("desk")})
		desk.set(nil, false)
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		equal(t, "named again", desk.said(), []string{"1 down"})

		o.change(t, c, checks.Spec{Channels: new("")})
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		o.channel(t, channels.Group, "all", map[string]string{"channels": "desk"})
		o.change(t, c, checks.Spec{Channels: new("all")})
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		equal(t, "named by a group", desk.said(), []string{"1 up: the integration does not get alerts about the check any more", "2 down"})

		desk.set(channels.Permanent(errors.New("refused")), false)
		o.change(t, c, checks.Spec{Channels: new("")})
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		desk.set(nil, false)
		o.ping(t, c.ID, pings.Success)
		work(t, o.Monitor)
		equal(t, "refused to close it", desk.said(), []string{"2 up: the job reported success"})
	})
}

// TestIncidentOfTriedReminder takes an integration from a check while a window keeps a reminder back that was tried before.
func TestIncidentOfTriedReminder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		o, desk := newDesk(t, newOutbox(t, db.Open(t), nil), nil)
		p := policy{outbox: o, Project: o.Monitor.Project(o.project.ID)}
		c := o.create(t, checks.Spec{Channels: new("desk")})
		o.ping(t, c.ID, pings.Failure)
		work(t, o.Monitor)
		_, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{For: 10 * time.Minute})
		must(t, err)
		desk.set(errors.New("away"), false)
		o.clock.Advance(10 * time.Minute)
		work(t, o.Monitor)
		p.window(t, gate.Window{Kind: gate.Maintenance, Start: o.clock.Now(), End: o.clock.Now().Add(time.Hour)})
		desk.set(nil, false)
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		equal(t, "kept back", desk.said(), []string{"1 down"})
		o.change(t, c, checks.Spec{Channels: new("")})
		o.clock.Advance(time.Minute)
		work(t, o.Monitor)
		equal(t, "not named any more", desk.said(), []string{"1 up: the integration does not get alerts about the check any more"})
	})
}

// movedTooEarly moves a check of which one recipient has not heard yet that it is up, and then pings it. Both hear of the end, once.
func movedTooEarly(t *testing.T, p policy, then ...pings.Kind) {
	c := p.job(t, "job", "mail")
	p.ping(t, c.ID, pings.Failure)
	p.after(t, 0, "mail: job down")
	p.ping(t, c.ID, pings.Success)
	var heard []string
	borisAway := true
	p.inbox.set(func(_ context.Context, _ channels.Channel, n channels.Notification) error {
		return channels.Each(n, []string{"anna", "boris"}, func(recipient string) error {
			if recipient == "boris" && borisAway {
				return errors.New("away")
			}
			heard = append(heard, recipient+" "+string(n.Status))
			return nil
		})
	})
	p.after(t, time.Minute)
	_, err := p.Transfer(t.Context(), c.ID, p.addProject(t, checks.ProjectSpec{Name: "other"}).ID)
	must(t, err)
	for _, kind := range then {
		p.ping(t, c.ID, kind)
		p.after(t, time.Minute)
	}
	borisAway = false
	p.after(t, time.Hour, "mail: job up")
	equal(t, "heard", heard, []string{"anna up", "boris up"})
}
