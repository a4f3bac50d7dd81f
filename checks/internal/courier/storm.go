package courier

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// stormMost bounds the alerts that one message combines.
const stormMost = 500

// traffic is the alerts to a channel that checks are down, that they still are, or that they are up.
type traffic struct {
	channel      uuid.UUID
	up, reminder bool
}

// company is what alerts have in common that one message combines.
type company struct {
	traffic
	batch           int64 // of those that were tried before
	recipient, done string
}

// combine sends alerts to channels whose kind combines them. During a storm it keeps them back, or sends them together with those
// that it kept back before.
func (l *loop) combine(ctx, sending context.Context, alerts []*send) error {
	now := l.Now()
	for i, d := range l.decide(alerts, now) {
		switch s := alerts[i]; {
		case d.Action == gate.Wait:
			r := pending(s.QueuedDelivery, d.Until)
			r.Attempts--
			r.Held, r.HeldBy, r.HeldUntil = gate.ByStorm, "", d.Until
			l.results.add(result{r, Change{Project: s.Check.ProjectID, Check: s.Check.ID}})
		case d.Why == gate.ByStorm:
			l.departing[s.company()] = append(l.departing[s.company()], s)
		default:
			l.start(sending, l.notifiers[s.Channel.Kind], s)
		}
	}
	if l.gathering || len(l.departing) == 0 {
		return nil
	}
	err := l.gather(ctx, sending, now)
	for of, members := range l.departing {
		delete(l.departing, of)
		if err != nil {
			for _, s := range members {
				l.giveBack(now, s.QueuedDelivery)
			}
		} else {
			l.depart(sending, members, now)
		}
	}
	return err
}

// joins reports whether an alert may leave together with others: it has not been tried, and is one that nobody told apart.
func (s *send) joins() bool {
	return s.Storm.On() && s.Close == "" && s.Batch == 0 && s.Error == "" && !s.Flip.At.IsZero() &&
		s.Recipient == "" && len(s.Done)+len(s.Handed)+len(s.Apart) == 0
}

func (s *send) company() company {
	return company{traffic{s.ChannelID, s.Flip.Up, s.Reminder > 0}, s.Batch, s.Recipient, strings.Join(slices.Concat(s.Done, s.Handed), "\n")}
}

// decide decides about alerts that no other policy keeps back, and notes which leave alone.
func (c *Courier) decide(alerts []*send, now time.Time) []gate.Decision {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.bursts, func(_ traffic, b *gate.Burst) bool { return b.Idle(now) })
	for _, s := range alerts {
		if s.joins() && s.Held != gate.ByStorm {
			c.burst(s).Want(s.Storm, s.Check.ID, now)
		}
	}
	list := make([]gate.Decision, len(alerts))
	for i, s := range alerts {
		switch {
		case s.Batch != 0, s.joins() && s.Held == gate.ByStorm:
			list[i].Why = gate.ByStorm
		case s.joins():
			ready := s.CreatedAt
			if s.HeldUntil.After(ready) {
				ready = s.HeldUntil
			}
			if list[i] = c.burst(s).Decide(s.Storm, ready, now); list[i].Why == "" {
				c.burst(s).Left(now)
			}
		}
	}
	return list
}

// burst returns what is known about the alerts like one.
func (c *Courier) burst(s *send) *gate.Burst {
	of := s.company().traffic
	if c.bursts[of] == nil {
		c.bursts[of] = new(gate.Burst)
	}
	return c.bursts[of]
}

// gather claims what else is due to the channels of departing alerts, and records what leaves together before anything leaves:
// after a crash, the same message is sent. Alerts that are no part of it are sent alone.
func (l *loop) gather(ctx, sending context.Context, now time.Time) error {
	l.gathering = true
	defer func() { l.gathering = false }()
	rooms := make(map[uuid.UUID]bool)
	for of := range l.departing {
		rooms[of.channel] = true
	}
	var parts []store.ChannelRoom
	for channel := range rooms {
		if n := min(stormMost, l.Sends-len(l.sends)); n > 0 {
			parts = append(parts, store.ChannelRoom{Channel: channel, N: n})
		}
	}
	due := now
	if !l.asOf.IsZero() {
		due = l.asOf
	}
	claimed, err := l.exchange(parts, due)
	if err != nil {
		return err
	}
	if len(claimed) > 0 {
		if err := l.begin(ctx, sending, claimed); err != nil {
			return err
		}
	}
	for _, members := range l.departing {
		first := slices.MinFunc(members, func(a, b *send) int { return cmp.Compare(a.ID, b.ID) })
		for _, s := range members {
			if len(members) > 1 && s.Batch == 0 {
				s.Batch = first.ID
				l.results.add(result{DeliveryResult: pending(s.QueuedDelivery, now.Add(l.Lease))})
			}
		}
	}
	_, err = l.exchange(nil, now)
	return err
}

// depart sends alerts in one message.
func (l *loop) depart(sending context.Context, members []*send, now time.Time) {
	s := members[0]
	s.others = members[1:]
	if s.Error == "" {
		l.mu.Lock()
		l.burst(s).Left(now)
		l.mu.Unlock()
	}
	l.start(sending, l.notifiers[s.Channel.Kind], s)
}

// combined returns the content of a message about several checks. Bodies in object storage count only if they arrive soon.
func (c *Courier) combined(ctx context.Context, s *send) channels.Notification {
	limited, cancel := context.WithTimeout(ctx, bodyTime)
	defer cancel()
	var list []channels.Notification
	ongoing, last := false, s.ID
	for _, one := range append([]*send{s}, s.others...) {
		n := c.notification(limited, one.Alert)
		n.Ping.Body, n.Ping.End = nil, nil
		list, last, ongoing = append(list, n), max(last, one.ID), ongoing || n.AckURL != ""
	}
	url := ""
	if c.ListLink != nil {
		url = c.ListLink(s.Check.ProjectID, s.Project)
	}
	all := channels.Combine(uuid.NewSHA1(s.ChannelID, fmt.Appendf(nil, "batch/%d", s.Batch)).String(), url, list)
	if c.AckAllLink != nil && ongoing {
		all.AckURL = c.AckAllLink(ctx, s.Check.ProjectID, s.Batch, last)
	}
	return all
}
