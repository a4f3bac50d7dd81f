package monitor_test

import (
	"errors"
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
