package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// late is the channel that the escalation policy notifies last, stepAfter after the alert.
const (
	late      = "late"
	stepAfter = time.Minute
)

// project returns the project of a check.
func (s *site) project(ctx context.Context, check uuid.UUID) (*monitor.Project, error) {
	c, err := s.mon.Check(ctx, check)
	return s.mon.Project(c.ProjectID), err
}

// escalate gives the project of a check an escalation policy.
func (s *site) escalate(ctx context.Context, check uuid.UUID) error {
	project, err := s.project(ctx, check)
	if err != nil {
		return err
	}
	list, err := project.Channels(ctx)
	if err != nil {
		return err
	}
	step := gate.Step{After: stepAfter}
	for _, to := range list {
		if to.Name == late {
			step.Channels = append(step.Channels, to.ID)
		}
	}
	err = project.SetEscalation(ctx, []gate.Step{step})
	s.receiver.escalated.Store(err == nil)
	return err
}

// acks are acknowledgements that certainly hold. The zero value has none.
type acks struct {
	mu   sync.Mutex
	list map[uuid.UUID]time.Time // since when
}

func (a *acks) begin(check uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = make(map[uuid.UUID]time.Time)
	}
	a.list[check] = time.Now()
}

func (a *acks) end(check uuid.UUID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.list, check)
}

// forbids reports whether no later step may notify anybody now that a check is down since an instant.
func (a *acks) forbids(check uuid.UUID, since time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, found := a.list[check]
	return found && !since.After(at)
}

// onCall acknowledges outages, and lets checks follow others, until ctx ends. In the end, all of it ends.
func (r *round) onCall(ctx context.Context) {
	project, err := r.project(ctx, r.subjects[0].id)
	if err != nil {
		r.problem("%v", err)
		return
	}
	rng := r.random(clients + 2)
	for sleep(ctx, time.Duration(rng.Int64N(int64(300*time.Millisecond)))) {
		i := 2 * rng.IntN(len(r.subjects)/2) // the steered ones
		s := r.subjects[i]
		if rng.IntN(2) == 0 {
			after := []string{"", r.subjects[i+1].slug}[rng.IntN(2)]
			_, _ = project.Update(ctx, s.id, checks.Spec{After: &after}) // the database may be away
			continue
		}
		if _, err := project.Acknowledge(ctx, s.id, checks.AckSpec{By: "torture"}); err == nil {
			r.acks.begin(s.id)
			sleep(ctx, time.Duration(rng.Int64N(int64(2*time.Second))))
			r.acks.end(s.id)
			_, _ = project.Unacknowledge(ctx, s.id)
		}
	}
	for _, s := range r.subjects {
		r.release(project, s.id)
	}
}

// release ends what keeps the alerts of a check back, when the database is there.
func (r *round) release(project *monitor.Project, id uuid.UUID) {
	ctx := context.Background()
	ended, err := await(ctx, patience, func() (bool, error) {
		_, err := project.Unacknowledge(ctx, id)
		if err == nil {
			_, err = project.Update(ctx, id, checks.Spec{After: new("")})
		}
		return err == nil, nil
	})
	if !ended {
		r.problem("check %s is not released: %v", id, err)
	}
}

// auditKnowledge compares what a channel has heard last of a check with whether that is down.
func (s *site) auditKnowledge(p pair, c checks.Check) {
	s.receiver.mu.Lock()
	heard := s.receiver.alerts[p]
	s.receiver.mu.Unlock()
	knows := "up"
	if len(heard) > 0 {
		knows = heard[len(heard)-1].Status
	}
	if (c.Stored == checks.StatusUp || c.Stored == checks.StatusDown) && knows != string(c.Stored) {
		s.problem("%s is %s, and the last that %s has heard is that it is %s", p.check, c.Stored, p.channel, knows)
	}
}

// auditSkipped judges what the gate has dropped: an alert that a check is down only if a window, another check, an acknowledgement or
// its step kept it back and something came after it, and one that it is up only if the channel has heard of no outage.
func (s *site) auditSkipped(ctx context.Context, all map[pair][]outboxRow) error {
	for p, rows := range all {
		c, err := s.mon.Check(ctx, p.check)
		if err != nil {
			return err
		}
		list, err := s.mon.Project(c.ProjectID).Windows(ctx, checks.WindowQuery{EndsAfter: s.began})
		if err != nil {
			return err
		}
		knows := false
		for i, d := range rows {
			at := time.UnixMicro(d.CreatedAt)
			const noticed = 5 * time.Second // until a window has ended for everyone
			why, _, _ := strings.Cut(d.Held, " ")
			kept := slices.Contains([]string{string(gate.ByParent), string(gate.ByAck), string(gate.ByStep)}, why) ||
				slices.ContainsFunc(list, func(w gate.Window) bool {
					return w.Covers(p.check, nil) && time.UnixMicro(d.FinishedAt).After(w.Start) && at.Before(w.End.Add(noticed))
				})
			over := i < len(rows)-1 || c.Stored != checks.StatusDown
			skipped := d.State == "skipped"
			switch {
			case d.State != "sent" && !skipped:
				s.problem("the delivery at %v about %s to %s is %s", at, p.check, p.channel, d.State)
			case d.Up && skipped == knows:
				s.problem("the recovery of %s at %v for %s is %s; it has heard of the outage: %v", p.check, at, p.channel, d.State, knows)
			case skipped && !d.Up && !(kept && over):
				s.problem("lost: the alert at %v that %s is down to %s; kept back by %q: %v, over: %v", at, p.check, p.channel, d.Held, kept, over)
			case skipped:
				s.count.skipped++
			}
			knows = !d.Up && (knows || !skipped || d.Attempts > 0)
		}
		s.auditKnowledge(p, c)
	}
	return nil
}
