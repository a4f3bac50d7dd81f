package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// policy is an outbox with three integrations: mail is notified at once, pager 15 minutes after an alert and boss an hour after it.
type policy struct {
	outbox
	*monitor.Project
	mail, pager, boss channels.Channel
}

func newPolicy(t *testing.T, o outbox) policy {
	t.Helper()
	p := policy{outbox: o, Project: o.Monitor.Project(o.project.ID)}
	p.mail, p.pager, p.boss = o.channel(t, "pager", "mail", nil), o.channel(t, "pager", "pager", nil), o.channel(t, "pager", "boss", nil)
	p.set(t, step(0, p.mail), step(15*time.Minute, p.pager), step(time.Hour, p.boss))
	return p
}

func (p policy) set(t *testing.T, steps ...gate.Step) {
	t.Helper()
	must(t, p.SetEscalation(t.Context(), steps))
	got, err := p.Escalation(t.Context())
	if must(t, err); !cmp.Equal(steps, got) {
		t.Errorf("the policy is %v, want %v", got, steps)
	}
}

func step(after time.Duration, to ...channels.Channel) gate.Step {
	s := gate.Step{After: after}
	for _, c := range to {
		s.Channels = append(s.Channels, c.ID)
	}
	return s
}

// job adds a check that has none of the integrations but those named.
func (p policy) job(t *testing.T, name, selection string) checks.Check {
	t.Helper()
	return p.outbox.create(t, checks.Spec{Name: &name, Channels: &selection})
}

// down adds a check that goes down at noon. Its alert has arrived at the first step.
func (p policy) down(t *testing.T) checks.Check {
	t.Helper()
	c := p.job(t, "job", "")
	p.ping(t, c.ID, pings.Failure)
	p.after(t, 0, "mail: job down")
	return c
}

// after moves the clock to a time after noon and delivers.
func (p policy) after(t *testing.T, d time.Duration, want ...string) {
	t.Helper()
	p.clock.Set(noon.Add(d))
	_, err := p.Deliver(t.Context())
	must(t, err)
	got := p.received()
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("received after %v (-want +got):\n%s", d, diff)
	}
}

// TestEscalationSteps notifies each integration once, at its step, whichever checks name it.
func TestEscalationSteps(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		o.channel(t, "pager", "own", nil)
		p.ping(t, p.job(t, "job", "own,pager").ID, pings.Failure)
		p.after(t, 0, "mail: job down", "own: job down")
		p.after(t, 15*time.Minute-time.Microsecond)
		p.after(t, 15*time.Minute, "pager: job down")
		p.after(t, time.Hour, "boss: job down")
		other := o.Monitor.Project(open(t, o, "other"))
		c, err := other.Create(t.Context(), checks.Spec{Name: new("elsewhere")})
		must(t, err)
		o.ping(t, c.Check.ID, pings.Failure)
		p.after(t, 2*time.Hour)
		if list, err := other.Escalation(t.Context()); len(list) > 0 || err != nil {
			t.Errorf("the other project has the policy %v, error %v", list, err)
		}
	})
}

func TestEscalationErrors(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		before, err := p.Escalation(t.Context())
		must(t, err)
		foreign, err := o.CreateChannel(t.Context(), open(t, o, "other"), "pager", "foreign", nil)
		must(t, err)
		deleted := o.channel(t, "pager", "deleted", nil)
		must(t, p.DeleteChannel(t.Context(), deleted.ID))
		many := make([]gate.Step, checks.MaxSteps+1)
		for i := range many {
			many[i] = step(time.Duration(i)*time.Minute, channels.Channel{ID: uuid.New()})
		}
		for want, steps := range map[string][]gate.Step{
			"steps has a step 2 with an integration that the project does not have: " + foreign.ID.String(): {step(0, p.mail), step(time.Minute, foreign)},
			"steps has a step 1 with an integration that the project does not have: " + deleted.ID.String(): {step(0, deleted)},
			"steps names an integration twice, in step 1 and step 2: " + p.mail.ID.String():                 {step(0, p.mail), step(time.Minute, p.mail)},
			"steps names an integration twice, in step 1 and step 1: " + p.mail.ID.String():                 {step(0, p.mail, p.mail)},
			"steps has a step 2 that does not follow later than step 1: 1m0s after 1m0s":                    {step(time.Minute, p.mail), step(time.Minute, p.boss)},
			"steps has a step 1 whose time is out of range: 168h1m0s, from 0 to 7 days":                     {step(checks.MaxStepAfter+time.Minute, p.mail)},
			"steps has a step 1 whose time is out of range: -1m0s, from 0 to 7 days":                        {step(-time.Minute, p.mail)},
			"steps has a step 1 whose time is not in whole minutes: 1m30s":                                  {step(90*time.Second, p.mail)},
			"steps has a step 2 without integrations":                                                       {step(0, p.mail), step(time.Minute)},
			"steps has too many steps: 11, the maximum is 10":                                               many,
		} {
			err := p.SetEscalation(t.Context(), steps)
			if wrong, ok := errors.AsType[*checks.FieldError](err); !ok || wrong.Field != "steps" || wrong.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		if got, err := p.Escalation(t.Context()); err != nil || !cmp.Equal(before, got) {
			t.Errorf("the policy is %v, error %v, want %v", got, err, before)
		}
	})
}

// open adds a project.
func open(t *testing.T, o outbox, name string) uuid.UUID {
	t.Helper()
	p, err := o.Monitor.OpenProject(t.Context(), name)
	must(t, err)
	return p.ID()
}

// TestEscalationWithoutChannel takes a deleted integration out of the policy, and a step that only had that one, and says so.
func TestEscalationWithoutChannel(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		p.ping(t, p.job(t, "job", "").ID, pings.Failure)
		must(t, p.DeleteChannel(t.Context(), p.pager.ID))
		got, err := p.Escalation(t.Context())
		if want := []gate.Step{step(0, p.mail), step(time.Hour, p.boss)}; err != nil || !cmp.Equal(want, got) {
			t.Errorf("the policy is %v, error %v, want %v", got, err, want)
		}
		var log []string
		for _, line := range entries(t, o.Monitor, o.project.ID, audit.Query{}) {
			if _, changes, found := strings.Cut(line, "escalation.update "); found {
				log = append(log, changes)
			}
		}
		all := `"at once: mail; after 15 min: pager; after 1 h: boss"`
		want := []string{
			`"escalation policy" steps ""→` + all, `"escalation policy" steps ` + all + `→"at once: mail; after 1 h: boss"`,
		}
		if diff := cmp.Diff(want, log); diff != "" {
			t.Errorf("the audit log (-want +got):\n%s", diff)
		}
		p.after(t, 2*time.Hour, "boss: job down", "mail: job down")
		must(t, o.Projects().Delete(t.Context(), o.project.ID))
	})
}

// TestEscalationChanged applies a changed policy to an outage that is going on.
func TestEscalationChanged(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		c := p.job(t, "job", "boss")
		p.ping(t, c.ID, pings.Failure)
		p.ping(t, p.job(t, "twin", "").ID, pings.Failure)
		p.after(t, 0, "mail: job down", "mail: twin down")
		p.clock.Set(noon.Add(5 * time.Minute))
		p.set(t, step(0, p.mail), step(30*time.Minute, p.pager)) // boss is one of the integrations of job only
		p.after(t, 5*time.Minute, "boss: job down")
		p.after(t, 15*time.Minute)
		p.after(t, 30*time.Minute, "pager: job down", "pager: twin down")
		p.clock.Set(noon.Add(40 * time.Minute))
		p.set(t, step(0, p.mail), step(2*time.Hour, p.boss))
		p.after(t, 2*time.Hour-time.Second)
		p.after(t, 2*time.Hour, "boss: twin down") // boss has the other
	})
}

// TestEscalationUp is silent to those whose step has not come when the check is up again, and tells all others.
func TestEscalationUp(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		c := p.down(t)
		p.after(t, 15*time.Minute, "pager: job down")
		p.clock.Set(noon.Add(20 * time.Minute))
		p.ping(t, c.ID, pings.Success)
		p.after(t, 20*time.Minute, "mail: job up", "pager: job up")
		p.clock.Set(noon.Add(30 * time.Minute)) // a second outage within the hour that boss would have waited
		p.ping(t, c.ID, pings.Failure)
		p.after(t, 30*time.Minute, "mail: job down")
		p.after(t, time.Hour, "pager: job down")
		p.after(t, 90*time.Minute, "boss: job down")
		p.clock.Set(noon.Add(2 * time.Hour))
		p.ping(t, c.ID, pings.Success)
		p.after(t, 2*time.Hour, "boss: job up", "mail: job up", "pager: job up")
		for _, d := range o.history(t, checks.DeliveryQuery{State: checks.DeliveryPending}) {
			t.Errorf("left: %+v", d)
		}
	})
}

// TestToldDuringOutage assigns integrations while a check is down: to it, to its group, in the policy, also one that is back, or that
// heard only of recoveries before. Each gets the alert at its step, once, and hears of the end, also if it is taken away again.
func TestToldDuringOutage(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		o.channel(t, "pager", "own", nil)
		member := o.channel(t, "pager", "member", nil)
		team := o.channel(t, channels.Group, "team", map[string]string{"channels": p.mail.ID.String()})
		late, ups := o.channel(t, "pager", "late", nil), o.channel(t, "pager", "ups", map[string]string{"notify": "up"})
		c := p.job(t, "job", "team,ups")
		p.ping(t, c.ID, pings.Failure)
		p.after(t, 0, "mail: job down")
		p.clock.Set(noon.Add(20 * time.Minute))
		assign := func(selection string) {
			t.Helper()
			_, err := p.Update(t.Context(), c.ID, checks.Spec{Channels: &selection})
			must(t, err)
		}
		assign("team,own,ups")
		p.after(t, 20*time.Minute, "own: job down", "pager: job down")
		settings := func(c channels.Channel, settings map[string]string) {
			t.Helper()
			_, err := p.UpdateChannel(t.Context(), c.ID, func(c channels.Channel) (channels.Channel, error) {
				c.Settings = settings
				return c, nil
			})
			must(t, err)
		}
		settings(team, map[string]string{"channels": p.mail.ID.String() + "," + member.ID.String()})
		settings(ups, nil)
		p.after(t, 21*time.Minute, "member: job down", "ups: job down")
		p.set(t, step(0, p.mail), step(30*time.Minute, late), step(35*time.Minute, p.boss))
		assign("team,ups")
		p.after(t, 29*time.Minute)
		p.after(t, 30*time.Minute, "late: job down")
		p.after(t, 35*time.Minute, "boss: job down")
		p.set(t, step(40*time.Minute, p.boss))
		assign("team,own")
		p.after(t, time.Hour)
		p.ping(t, c.ID, pings.Success)
		p.after(t, time.Hour, "boss: job up", "late: job up", "mail: job up", "member: job up", "own: job up", "pager: job up", "ups: job up")
		p.ping(t, c.ID, pings.Failure)
		p.ping(t, c.ID, pings.Success)
		p.after(t, 2*time.Hour, "mail: job down", "mail: job up", "member: job down", "member: job up", "own: job down", "own: job up")
	})
}

// TestOneClock keeps all alerts back for half an hour, 5 minutes after the first step: the others come half an hour later.
func TestOneClock(t *testing.T) {
	window := func(from, to time.Duration) gate.Window {
		return gate.Window{Kind: gate.Maintenance, Start: noon.Add(from), End: noon.Add(to)}
	}
	for name, test := range map[string]struct {
		spec      checks.Spec
		first     time.Duration
		hold, end func(t *testing.T, p policy, parent uuid.UUID) // after 5 and 35 minutes
	}{
		"a window":             {hold: func(t *testing.T, p policy, _ uuid.UUID) { p.window(t, window(5*time.Minute, 35*time.Minute)) }},
		"a window from before": {first: 35 * time.Minute, hold: func(t *testing.T, p policy, _ uuid.UUID) {}},
		"a window that somebody ends": {
			hold: func(t *testing.T, p policy, _ uuid.UUID) { p.window(t, window(5*time.Minute, 3*time.Hour)) },
			end:  func(t *testing.T, p policy, _ uuid.UUID) { p.unwindow(t) },
		},
		"quiet hours": {spec: checks.Spec{QuietHours: new("12:05-12:35")}},
		"a parent": {spec: checks.Spec{After: new("dump")},
			hold: func(t *testing.T, p policy, parent uuid.UUID) { p.ping(t, parent, pings.Failure) },
			end:  func(t *testing.T, p policy, parent uuid.UUID) { p.ping(t, parent, pings.Success) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachOutbox(t, nil, func(t *testing.T, o outbox) {
				p := newPolicy(t, o)
				dump := o.create(t, checks.Spec{Name: new("dump"), Slug: new("dump"), Channels: new(""), Timeout: new(24 * time.Hour)})
				p.clock.Set(noon.Add(-time.Hour))
				p.ping(t, dump.ID, pings.Success)
				p.clock.Set(noon)
				spec := test.spec
				spec.Name, spec.Slug, spec.Channels, spec.Grace = new("job"), new("job"), new(""), new(time.Minute)
				c := o.create(t, spec)
				if test.first > 0 {
					p.window(t, window(-time.Hour, test.first))
				}
				p.ping(t, c.ID, pings.Failure)
				if test.first == 0 {
					p.after(t, 0, "mail: job down")
				}
				want := []string{"pager: job down after 45m0s", "boss: job down after 1h30m0s"}
				due := []time.Duration{45 * time.Minute, 90 * time.Minute}
				switch {
				case name == "a parent": // which the follower gives its grace of a minute after it came up
					want = []string{"pager: job down after 46m0s", "boss: job down after 1h31m0s"}
					due = []time.Duration{36 * time.Minute, 46 * time.Minute, 91 * time.Minute}
				case test.first > 0:
					want = []string{"mail: job down after 35m0s", "pager: job down after 50m0s", "boss: job down after 1h35m0s"}
					due = []time.Duration{35 * time.Minute, 50 * time.Minute, 95 * time.Minute}
				}
				// A server looks every 5 minutes, and half a minute before and after the parent lets it go and each alert is due.
				var looks []time.Duration
				for at := time.Duration(0); at < 2*time.Hour; at += 5 * time.Minute {
					looks = append(looks, at)
				}
				for _, at := range due {
					looks = append(looks, at-30*time.Second, at, at+30*time.Second)
				}
				slices.Sort(looks)
				run := func(from, to time.Duration) (got []string) {
					for _, at := range slices.Compact(looks) {
						if at < from || at >= to {
							continue
						}
						p.clock.Set(noon.Add(at))
						_, err := p.Deliver(t.Context())
						must(t, err)
						for _, text := range p.received() {
							if !strings.Contains(text, "dump") {
								got = append(got, fmt.Sprint(text, " after ", at))
							}
						}
					}
					return got
				}
				got := run(0, 5*time.Minute)
				if p.clock.Set(noon.Add(5 * time.Minute)); test.hold != nil {
					test.hold(t, p, dump.ID)
				}
				got = append(got, run(5*time.Minute, 35*time.Minute)...)
				if p.clock.Set(noon.Add(35 * time.Minute)); test.end != nil {
					test.end(t, p, dump.ID)
				}
				got = append(got, run(35*time.Minute, 2*time.Hour)...)
				equal(t, "received", got, want)
			})
		})
	}
}

func (p policy) window(t *testing.T, w gate.Window) {
	t.Helper()
	_, err := p.AddWindow(t.Context(), w)
	must(t, err)
}

func (p policy) unwindow(t *testing.T) {
	t.Helper()
	list, err := p.Windows(t.Context(), checks.WindowQuery{})
	must(t, err)
	for _, w := range list {
		_, err := p.EndWindow(t.Context(), w.ID)
		must(t, err)
	}
}

// sweep looks at the deadlines and reminders at a time after noon before it delivers what is due.
func (p policy) sweep(t *testing.T, after time.Duration, want ...string) {
	t.Helper()
	p.clock.Set(noon.Add(after))
	_, err := p.Sweep(t.Context())
	must(t, err)
	p.after(t, after, want...)
}

// TestEscalationReminders sends reminders to those that have the alert, counted from when they got it.
func TestEscalationReminders(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		spec := checks.Spec{Name: new("job"), Channels: new(""), RepeatEvery: new(25 * time.Minute)}
		p.ping(t, p.outbox.create(t, spec).ID, pings.Failure)
		p.sweep(t, 0, "mail: job down")
		p.sweep(t, 15*time.Minute, "pager: job down")
		p.sweep(t, 25*time.Minute, "mail: job down")
		p.sweep(t, 40*time.Minute, "pager: job down")
		p.sweep(t, 50*time.Minute, "mail: job down")
		p.sweep(t, time.Hour, "boss: job down")
		p.sweep(t, 65*time.Minute, "pager: job down")
		p.sweep(t, 75*time.Minute, "mail: job down")
		p.sweep(t, 85*time.Minute, "boss: job down")
	})
}

// TestEscalationGroup notifies the members of a group at the step of the group, except one with another step.
func TestEscalationGroup(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		all := o.channel(t, channels.Group, "all", map[string]string{"channels": "*"})
		p.set(t, step(0, p.mail), step(15*time.Minute, all), step(time.Hour, p.boss))
		p.ping(t, p.job(t, "job", "").ID, pings.Failure)
		p.after(t, 0, "mail: job down")
		p.after(t, 15*time.Minute, "pager: job down")
		p.after(t, time.Hour, "boss: job down")
		p.after(t, 2*time.Hour)
	})
}

// TestGroupAssignedLate assigns a group in an outage of which one member has heard by the policy, and another was about to.
func TestGroupAssignedLate(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		o.channel(t, channels.Group, "all", map[string]string{"channels": "mail,pager"})
		c := p.down(t)
		p.clock.Set(noon.Add(5 * time.Minute))
		must(t, p.SetEscalation(t.Context(), nil))
		p.after(t, 6*time.Minute)
		o.change(t, c, checks.Spec{Channels: new("all")})
		p.after(t, 7*time.Minute, "pager: job down")
	})
}

// TestUnnamedInDoubt takes an integration from the policy to which an alert was sent whose answer was lost, and which an acknowledgement
// keeps back since. It may have heard of the outage, so it hears that the check is up, and nothing else.
func TestUnnamedInDoubt(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		c := p.down(t)
		p.inbox.set(func(context.Context, channels.Channel, channels.Notification) error {
			return errors.New("the answer was lost")
		})
		p.after(t, 15*time.Minute)
		_, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{})
		must(t, err)
		p.after(t, 16*time.Minute)
		p.inbox.set(nil)
		must(t, p.SetEscalation(t.Context(), nil))
		p.ping(t, c.ID, pings.Success)
		p.after(t, 20*time.Minute, "mail: job up", "pager: job up")
	})
}

// TestReminderChanged changes how often a check reminds, so that one that was kept back and another are due at once: one is sent.
func TestReminderChanged(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		must(t, p.SetEscalation(t.Context(), nil))
		c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("mail"), RepeatEvery: new(20 * time.Minute)})
		p.ping(t, c.ID, pings.Failure)
		p.sweep(t, 0, "mail: job down")
		p.sweep(t, 20*time.Minute, "mail: job down")
		p.clock.Set(noon.Add(39 * time.Minute))
		o.change(t, c, checks.Spec{RepeatEvery: new(10 * time.Minute)})
		p.sweep(t, 39*time.Minute, "mail: job down")
		p.sweep(t, 40*time.Minute) // kept back: it is too early
		o.change(t, c, checks.Spec{RepeatEvery: new(45 * time.Minute)})
		p.clock.Set(noon.Add(70 * time.Minute))
		o.change(t, c, checks.Spec{RepeatEvery: new(20 * time.Minute)})
		p.sweep(t, 70*time.Minute, "mail: job down")
	})
}

// TestAssignedAsReminderIsDue assigns an integration when a reminder is due: it gets the alert, not the reminder.
func TestAssignedAsReminderIsDue(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		must(t, p.SetEscalation(t.Context(), nil))
		c := p.outbox.create(t, checks.Spec{Name: new("job"), Channels: new("mail"), RepeatEvery: new(10 * time.Minute)})
		p.ping(t, c.ID, pings.Failure)
		p.after(t, 0, "mail: job down")
		p.clock.Set(noon.Add(10 * time.Minute))
		o.change(t, c, checks.Spec{Channels: new("mail,boss")})
		_, err := p.Deliver(t.Context())
		must(t, err)
		got := make(map[string]int)
		for _, n := range p.all() {
			got[n.channel] = n.Reminder
		}
		if diff := cmp.Diff(map[string]int{"mail": 1, "boss": 0}, got); diff != "" {
			t.Errorf("reminders (-want +got):\n%s", diff)
		}
	})
}

// TestEscalationServers sends each alert once, by whichever of two servers is there, also if one dies between two steps.
func TestEscalationServers(t *testing.T) {
	eachStore(t, func(t *testing.T, open func() database) {
		o := newOutbox(t, open(), nil)
		p := newPolicy(t, o)
		p.ping(t, p.job(t, "job", "").ID, pings.Failure)
		p.after(t, 0, "mail: job down") // by the server that dies now
		one, two := o.server(t, open()), o.server(t, open())
		for _, after := range []time.Duration{15*time.Minute - time.Second, 15 * time.Minute, time.Hour} {
			p.clock.Set(noon.Add(after))
			together(2, func(i int) {
				if _, err := []*monitor.Monitor{one, two}[i].Deliver(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		if diff := cmp.Diff([]string{"pager: job down", "boss: job down"}, p.received()); diff != "" {
			t.Errorf("received (-want +got):\n%s", diff)
		}
	})
}

// TestEscalationText says in the alert of a later step that nobody has answered.
func TestEscalationText(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		p.ping(t, p.job(t, "job", "").ID, pings.Failure)
		var got []string
		for _, after := range []time.Duration{0, 15 * time.Minute, time.Hour} {
			p.clock.Set(noon.Add(after))
			_, err := p.Deliver(t.Context())
			must(t, err)
		}
		for _, n := range p.all() {
			_, text, _ := strings.Cut(n.Verdict, "Nobody")
			got = append(got, text)
		}
		if diff := cmp.Diff([]string{"", " has acknowledged it for 15 min.", " has acknowledged it for 1 h."}, got); diff != "" {
			t.Errorf("alerts (-want +got):\n%s", diff)
		}
	})
}

// TestEscalationAcknowledged keeps later steps back while somebody has the outage, and begins again after that.
func TestEscalationAcknowledged(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		c := p.down(t)
		p.clock.Set(noon.Add(5 * time.Minute))
		_, err := p.Acknowledge(t.Context(), c.ID, checks.AckSpec{For: 30 * time.Minute})
		must(t, err)
		p.after(t, 15*time.Minute)
		p.sweep(t, 35*time.Minute, "mail: job down") // the acknowledgement has ended
		p.after(t, 49*time.Minute)
		p.after(t, 50*time.Minute, "pager: job down")
		p.clock.Set(noon.Add(55 * time.Minute))
		_, err = p.Acknowledge(t.Context(), c.ID, checks.AckSpec{})
		must(t, err)
		p.after(t, 2*time.Hour)
		p.clock.Set(noon.Add(3 * time.Hour))
		_, err = p.Unacknowledge(t.Context(), c.ID)
		must(t, err)
		p.after(t, 3*time.Hour, "mail: job down")
		p.after(t, 3*time.Hour+15*time.Minute, "pager: job down")
		p.after(t, 4*time.Hour, "boss: job down")
	})
}
