package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
)

// The states of a [Reach].
const (
	ReachNotified      = "notified"      // alerts arrive, or none was tried yet
	ReachPartial       = "partial"       // some alerts or recipients fail, and others have arrived since
	ReachFailing       = "failing"       // none has arrived since one failed
	ReachSkipped       = "skipped"       // it gets recovery alerts only
	ReachUndeliverable = "undeliverable" // nobody sends alerts to its kind
	ReachEmpty         = "empty"         // it is a group without members
)

// Reach says whether alerts that a check is down arrive at a channel. It is the one answer for pages, commands, the API and
// metrics; [ReachOf] makes it.
type Reach struct {
	// State is one of the states of a reach, such as [ReachFailing].
	State string
	// Since is since when alerts fail, if they do: when the first could leave that did not arrive, of those after the last that did.
	// Error is why they fail or why the kind is undeliverable.
	Since time.Time
	Error string
	// Waiting counts the alerts that have not arrived yet, and Attempts those at one of them, at most.
	Waiting, Attempts int
	// Delivered is when an alert arrived last, and GaveUp when one was given up after that, or the zero time.
	Delivered, GaveUp time.Time
	// Named says that the escalation policy of the project names the channel, which therefore gets the alerts of every check. After
	// is how long after an alert its step follows, unless somebody acknowledges the outage, or 0 for at once.
	Named bool
	After time.Duration
}

// Outcome is what a reach is made of beside the channel.
type Outcome struct {
	// Waiting counts the alerts that wait after a failed attempt, or for longer than a minute. They were raised between
	// Oldest and Newest. Attempts is the most that one had, and Error that of the newest attempt.
	Waiting, Attempts int
	Oldest, Newest    time.Time
	Error             string
	// Delivered is when an alert arrived last, and FirstGivenUp when the first of those after it could leave that were given up, or
	// the zero time.
	Delivered, FirstGivenUp time.Time
	// InPart says that the alert that was given up last has arrived at other recipients of the channel.
	InPart bool
	// Undeliverable is why nobody sends alerts to the kind, or nil.
	Undeliverable error
}

// Delivers reports whether alerts arrive, as far as is known.
func (r Reach) Delivers() bool { return r.State == ReachNotified || r.State == ReachPartial }

// Reached reports whether alerts are sent, whether or not they arrive.
func (r Reach) Reached() bool { return r.Delivers() || r.State == ReachFailing }

// Untried reports whether no alert was ever sent or given up.
func (r Reach) Untried() bool {
	return r.State == ReachNotified && r.Delivered.IsZero() && r.GaveUp.IsZero()
}

// ReachOf says whether alerts arrive at a channel that is not a group.
func ReachOf(c channels.Channel, o Outcome) Reach {
	r := Reach{State: ReachNotified, Waiting: o.Waiting, Attempts: o.Attempts, Delivered: o.Delivered, GaveUp: c.FailedAt}
	switch {
	case o.Undeliverable != nil:
		r.State, r.Error = ReachUndeliverable, prose.Line(o.Undeliverable.Error(), maxError)
		return r
	case !c.Wants(channels.Down):
		r.State = ReachSkipped
		return r
	case o.Waiting == 0 && c.FailedAt.IsZero():
		return r
	}
	r.Error = prose.Line(c.Error, maxError)
	if o.Waiting > 0 && (o.Error != "" || r.Error == "") {
		r.Error = prose.Line(o.Error, maxError)
	}
	if r.Since = o.FirstGivenUp; r.Since.IsZero() {
		r.Since = c.FailedAt
	}
	if r.Since.IsZero() || o.Waiting > 0 && o.Oldest.Before(r.Since) {
		r.Since = o.Oldest
	}
	r.State = ReachFailing
	waits := o.Waiting > 0 && !o.Delivered.After(o.Newest)
	if gaveUp := !c.FailedAt.IsZero() && !o.InPart; !waits && !gaveUp {
		r.State = ReachPartial
	}
	return r
}

// Reaches says of each channel of a project whether alerts arrive, and when by the steps of its escalation policy. Those of a group
// arrive where they do at any member.
func Reaches(list []channels.Channel, outcomes map[uuid.UUID]Outcome, steps []gate.Step) map[uuid.UUID]Reach {
	reaches := make(map[uuid.UUID]Reach, len(list))
	for _, c := range list {
		if c.Kind != channels.Group {
			reaches[c.ID] = ReachOf(c, outcomes[c.ID])
		}
	}
	order := []string{ReachNotified, ReachPartial, ReachFailing, ReachUndeliverable, ReachSkipped}
	for _, g := range list {
		if g.Kind != channels.Group {
			continue
		}
		best := Reach{State: ReachEmpty}
		for _, c := range membersOf(g, list) {
			r, known := reaches[c.ID]
			if !known || best.State != ReachEmpty && slices.Index(order, r.State) >= slices.Index(order, best.State) {
				continue
			}
			best = r
		}
		if !g.Wants(channels.Down) {
			best = Reach{State: ReachSkipped}
		}
		reaches[g.ID] = best
	}
	for id, r := range reaches {
		for _, step := range steps {
			if slices.Contains(step.Channels, id) {
				r.Named, r.After = true, step.After
			}
		}
		reaches[id] = r
	}
	return reaches
}

// Notifies reports whether an alert that a check is down arrives somewhere, as far as is known. The arguments are those of
// [Receivers].
func Notifies(check checks.Check, available []channels.Channel, reach map[uuid.UUID]Reach) bool {
	return slices.ContainsFunc(Receivers(check, available, reach), func(r Receiver) bool { return r.Delivers() })
}

// Words says in words whether alerts arrive, such as "failing since 03:20, 9 attempts so far: connection refused".
func (r Reach) Words() Sentence {
	failing := "failing since "
	switch r.State {
	case ReachPartial:
		failing = "partly failing since "
	case ReachFailing:
	case ReachSkipped:
		return Sentence{plain("sends recovery alerts only")}
	case ReachUndeliverable:
		return Sentence{plain("cannot be reached" + errorText(r.Error))}
	case ReachEmpty:
		return Sentence{plain("is a group without members")}
	default:
		return Sentence{plain("notified")}
	}
	tried := ""
	switch {
	case r.Waiting > 0 && r.Attempts > 0:
		tried = fmt.Sprintf(", %s so far", prose.Count(r.Attempts, "attempt"))
	case r.Waiting > 0:
		tried = fmt.Sprintf(", %s waiting", prose.Count(r.Waiting, "alert"))
	}
	return Sentence{plain(failing), since(r.Since), plain(tried + errorText(r.Error))}
}

// clause is Words after the name of the channel.
func (r Reach) clause() Sentence {
	if r.State == ReachFailing || r.State == ReachPartial {
		return append(Sentence{plain(" has been ")}, r.Words()...)
	}
	return append(Sentence{plain(" ")}, r.Words()...)
}

// Receiver is a channel in a rehearsal. A group stands for its members, unless the alert ends there.
type Receiver struct {
	ID   uuid.UUID
	Name string
	Kind channels.Kind
	// Group is the name of the group through which the alert arrives, or "".
	Group string
	// Reach says whether the alert arrives.
	Reach
}

// Receivers returns the channels that an alert that a check is down goes to, each once, and those that do not get it: the
// channels of the check and of the escalation policy first, then the members of groups, and those of each step before those of the
// next. available and reach are those of a [RehearseInput].
func Receivers(check checks.Check, available []channels.Channel, reach map[uuid.UUID]Reach) (list []Receiver) {
	seen := make(map[uuid.UUID]bool)
	var groups []channels.Channel
	add := func(c channels.Channel, group string, after time.Duration) {
		if seen[c.ID] {
			return
		}
		seen[c.ID] = true
		if c.Kind == channels.Group && c.Wants(channels.Down) && len(membersOf(c, available)) > 0 {
			groups = append(groups, c)
			return
		}
		r, known := reach[c.ID]
		if !known && c.Kind == channels.Group {
			r = Reaches([]channels.Channel{c}, nil, nil)[c.ID]
		} else if !known {
			r = ReachOf(c, Outcome{})
		}
		if !r.Named {
			r.After = after
		}
		list = append(list, Receiver{c.ID, prose.Line(c.Name, maxName), c.Kind, group, r})
	}
	for _, c := range available {
		if c.Kind == channels.Function || slices.Contains(check.Channels, c.ID) || reach[c.ID].Named {
			add(c, "", 0)
		}
	}
	for _, g := range groups {
		for _, c := range membersOf(g, available) {
			add(c, prose.Line(g.Name, maxName), reach[g.ID].After)
		}
	}
	slices.SortStableFunc(list, func(a, b Receiver) int { return cmp.Compare(a.After, b.After) })
	return list
}

// membersOf returns the members of a group that exist.
func membersOf(group channels.Channel, available []channels.Channel) (list []channels.Channel) {
	members := selection.Members(group)
	for _, c := range available {
		if slices.Contains(members, c.ID) {
			list = append(list, c)
		}
	}
	return list
}

// Label returns the name of the channel, or else its kind.
func (r Receiver) Label() string { return r.part().Text }

func (r Receiver) part() Part { return label(r.Name, r.Kind) }
