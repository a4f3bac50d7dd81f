package courier

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// This file holds the rules of the delivery as pure functions: whose turn it is, what an attempt means for a delivery,
// and which deliveries a newer one supersedes.

const (
	// giveUpAttempts is the minimum number of attempts before an alert is given up.
	giveUpAttempts = 5
	// staleAfter is the age from which newer alerts may supersede one whose attempts have failed.
	staleAfter = 10 * time.Minute
	// maxRetryAfter bounds the pause that a receiver can ask for.
	maxRetryAfter = time.Hour
	// ahead is the ratio of claimed alerts to concurrent sends of a channel, so that sending continues during a claim.
	ahead = 4
	// slowAfter is the duration of an attempt from which its channel counts as slow, for slowTime at most.
	slowAfter, slowTime = 2 * time.Second, time.Hour
	// windowTime is how long a channel may rest until its window closes again.
	windowTime = 10 * time.Second
	// maxDone and maxRecipient are the limits of [channels.Partial].
	maxDone, maxRecipient = 100, 200
)

// judge returns the state of a delivery after an attempt, and when to retry a pending one.
func (l *Limits) judge(q store.QueuedDelivery, err error, now time.Time) (to checks.DeliveryState, due time.Time) {
	switch {
	case err == nil:
		return checks.DeliverySent, time.Time{}
	case channels.IsPermanent(err):
		return checks.DeliveryFailed, time.Time{}
	case q.Attempts >= giveUpAttempts && now.Sub(q.CreatedAt) >= l.GiveUp && now.Sub(q.HeldUntil) >= l.GiveUp:
		return checks.DeliveryFailed, time.Time{}
	}
	if after, found := channels.RetryDelay(err); found && after > 0 {
		return checks.DeliveryPending, now.Add(max(min(after, maxRetryAfter), l.RetryFirst))
	}
	return checks.DeliveryPending, now.Add(background.Backoff(l.RetryFirst, l.RetryMost, q.Attempts))
}

// remainder is what an attempt leaves undone of a delivery.
type remainder struct {
	err    error    // nil if nothing is left for the delivery itself
	done   []string // those that have it
	handed []handed // those that get deliveries of their own now
}

// handed is a recipient that gets a delivery of its own, with the error of the attempt to send to it, if there was one.
type handed struct {
	store.Handover
	err error
}

// divide returns what an attempt leaves undone. Those apart get their own deliveries, behind their earlier ones. If
// anyone has the alert, or gets it separately, so do those for which it failed for now, because later alerts must not wait for them.
// Otherwise, a recipient that used up all the time does, so that those after it have their turn.
func (l *Limits) divide(q store.QueuedDelivery, apart []string, err error, now time.Time) remainder {
	rest := channels.Rest(err)
	left := remainder{err: err, done: merged(q.Done, accepted(q, apart, err))}
	handOver := func(recipient string, attempts int, due time.Time, err error) {
		left.handed = append(left.handed, handed{store.Handover{Recipient: recipient, Attempts: attempts, Due: due}, err})
	}
	for _, recipient := range apart {
		if !slices.Contains(q.Done, recipient) && !slices.Contains(q.Handed, recipient) {
			handOver(recipient, 0, now, nil)
		}
	}
	if q.Recipient != "" || len(rest) == 0 {
		return left
	}
	if len(left.done)+len(left.handed)+len(q.Handed) == 0 {
		if len(rest) > 1 && errors.Is(rest[0].Err, context.DeadlineExceeded) {
			_, due := l.judge(q, rest[0].Err, now)
			handOver(rest[0].Recipient, q.Attempts, due, rest[0].Err)
		}
		return left
	}
	var failed []error
	for _, u := range rest {
		if to, due := l.judge(q, u.Err, now); to == checks.DeliveryPending {
			handOver(u.Recipient, q.Attempts, due, u.Err)
		} else {
			failed = append(failed, u.Err)
		}
	}
	left.err = channels.Permanent(errors.Join(failed...))
	return left
}

// accepted returns the recipients that have accepted an alert, before or in an attempt with an error, which also names those that the
// attempt left out because they get theirs by themselves.
func accepted(q store.QueuedDelivery, apart []string, err error) []string {
	return slices.DeleteFunc(slices.Clone(channels.Accepted(err)), func(r string) bool {
		return slices.Contains(q.Handed, r) || slices.Contains(apart, r)
	})
}

// aboutOne reports whether the error of an attempt is about one of several recipients, so that the channel works for others.
func aboutOne(s *send, err error) bool {
	return s.Recipient != "" || len(channels.Rest(err)) > 0 && len(accepted(s.QueuedDelivery, s.Apart, err)) > 0
}

// merged returns the recipients of two lists, each once, at most maxDone. Others get the alert again.
func merged(done, more []string) []string {
	for _, r := range more {
		if len(done) < maxDone && len(r) <= maxRecipient && !slices.Contains(done, r) {
			done = append(slices.Clip(done), r)
		}
	}
	return done
}

// stale reports whether newer alerts may supersede a claimed delivery: an attempt has failed and it is older than
// staleAfter, and has not been kept back since.
func stale(q store.QueuedDelivery, now time.Time) bool {
	before := now.Add(-staleAfter)
	return q.Error != "" && q.CreatedAt.Before(before) && q.HeldUntil.Before(before)
}

// supersede decides which deliveries of a line that begins with a stale one are obsolete. It keeps the newest that reports that the
// check is up, and the first one about the last outage: no reminder takes the place of an alert that nobody has heard. The first
// delivery that it keeps takes over the claim and sums up the flips of the superseded ones.
func supersede(line []store.WaitingDelivery) (superseded []store.DeliveryResult, first store.DeliveryResult) {
	claimed := line[0].QueuedDelivery
	line = slices.SortedFunc(slices.Values(line), func(a, b store.WaitingDelivery) int { return cmp.Compare(a.ID, b.ID) }) // a reminder that waits is the last
	newest := line[len(line)-1]
	var down int64 // the flip that began the last outage
	for _, w := range line {
		if !w.FlipUp {
			down = w.FlipID
		}
	}
	kept := newest
	if i := slices.IndexFunc(line, func(w store.WaitingDelivery) bool { return !w.FlipUp && w.FlipID == down }); i >= 0 {
		kept = line[i]
	}
	since := flipsFrom(kept)
	for _, w := range line {
		if w.ID == kept.ID || w.ID == newest.ID && w.FlipUp {
			continue
		}
		if from := flipsFrom(w); from.Before(since) {
			since = from
		}
		text := supersededText(w.Error)
		if w.FlipID == kept.FlipID {
			text = "the alert before it is not sent yet"
		}
		superseded = append(superseded, ended(w.QueuedDelivery, checks.DeliverySuperseded, text))
	}
	first = pending(kept.QueuedDelivery, kept.Due)
	if len(superseded) == 0 {
		return nil, first
	}
	if first.Error, first.Due = claimed.Error, claimed.Due; since.Before(flipsFrom(kept)) {
		first.Since = since
	}
	if first.ID != claimed.ID { // so that the backoff does not restart, and because its recipient may believe in an outage
		first.Attempts = max(first.Attempts+1, claimed.Attempts)
	}
	return superseded, first
}

// flipsFrom returns the instant of the earliest flip that a delivery reports.
func flipsFrom(w store.WaitingDelivery) time.Time {
	if w.Since.IsZero() {
		return w.FlipAt
	}
	return w.Since
}

// supersededText returns the error of a superseded delivery. It includes the error of its last attempt, if any.
func supersededText(last string) string {
	if last == "" {
		return "superseded by a newer alert"
	}
	return cutText("superseded by a newer alert; before that: "+last, MaxError)
}

func cutText(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// pace says how a channel answered its last attempts.
type pace struct {
	window int       // the most alerts to claim for the channel
	slow   bool      // the last attempt took slowAfter or longer
	at     time.Time // when the last attempt ended
}

// next returns the pace after an attempt. The window begins with one alert and grows by one with each attempt, so a
// channel that hangs after a rest holds one alert at a time, however many are due. Only quick channels get alerts ahead of
// their sends.
func (p pace) next(took time.Duration, failed bool, now time.Time, perChannel int) pace {
	n := pace{window: max(p.window, 1) + 1, slow: took >= slowAfter, at: now}
	switch {
	case !n.slow:
		n.window = min(n.window, ahead*perChannel)
	case failed:
		n.window = 1
	default:
		n.window = min(n.window, perChannel)
	}
	return n
}

// channelState is what the rules know about a channel.
type channelState struct {
	pace
	claimed int
	paused  bool // the receiver asked for a pause
}

// room is how many more alerts to a channel may be claimed.
type room struct {
	store.ChannelRoom
	project uuid.UUID
	slow    bool
}

// turns returns the channels that may get more deliveries, each once. The quick ones come first. Within each sort, turns go
// round in the order of the IDs and begin after the given channel.
func turns(due []store.DueChannel, after uuid.UUID, states map[uuid.UUID]channelState) (list []room) {
	for _, d := range due {
		state := states[d.Channel]
		if state.paused {
			continue
		}
		if n := max(state.window, 1) - state.claimed; n > 0 {
			list = append(list, room{store.ChannelRoom{Channel: d.Channel, N: n}, d.Project, state.slow})
		}
	}
	rank := func(last bool) int {
		if last {
			return 1
		}
		return 0
	}
	passed := func(r room) bool { return bytes.Compare(r.Channel[:], after[:]) <= 0 }
	slices.SortFunc(list, func(a, b room) int {
		return cmp.Or(rank(a.slow)-rank(b.slow), rank(passed(a))-rank(passed(b)), bytes.Compare(a.Channel[:], b.Channel[:]))
	})
	return slices.CompactFunc(list, func(a, b room) bool { return a.Channel == b.Channel })
}

// oldest returns when the first delivery to a channel became due that is not slow and gets no part of a claim, or the zero
// time.
func oldest(due []store.DueChannel, states map[uuid.UUID]channelState, parts []store.ChannelRoom) (at time.Time) {
	for _, d := range due {
		got := slices.ContainsFunc(parts, func(p store.ChannelRoom) bool { return p.Channel == d.Channel })
		if !got && !states[d.Channel].slow && !states[d.Channel].paused && (at.IsZero() || d.Due.Before(at)) {
			at = d.Due
		}
	}
	return at
}

// pool says what the alerts that a courier has claimed are about.
type pool struct {
	size, used, slow int
	projects         map[uuid.UUID]int
}

// share divides what is free among channels, in their order: an equal part for each, at least 1 and at most its room. It
// leaves out the channels for which nothing is left.
//
// Slow channels together get a quarter of the pool. A project gets an equal part of it, with one part in reserve, and never
// more than it leaves free, so there is always room for the alerts of other projects.
func share(list []room, p pool) (parts []store.ChannelRoom) {
	if len(list) == 0 {
		return nil
	}
	projects := maps.Clone(p.projects)
	if projects == nil {
		projects = make(map[uuid.UUID]int)
	}
	for _, r := range list {
		projects[r.project] += 0
	}
	most := max(1, p.size/(len(projects)+1))
	equal := max(1, (p.size-p.used)/len(list))
	for _, r := range list {
		free, used := p.size-p.used, projects[r.project]
		n := min(equal, r.N, free, max(min(most-used, (free-used+1)/2), 1-used))
		if r.slow {
			n = min(n, max(1, p.size/4)-p.slow)
		}
		if n <= 0 {
			continue
		}
		parts = append(parts, store.ChannelRoom{Channel: r.Channel, N: n})
		p.used += n
		projects[r.project] += n
		if r.slow {
			p.slow += n
		}
	}
	return parts
}

// result is a result to record, and which check it is about; the zero Change is for what no page shows.
type result struct {
	store.DeliveryResult
	about Change
}

// results holds the results to record, by the ID of the delivery.
type results map[int64]result

// add adds a result. Of two for one delivery, that it was sent counts, or else the later claim.
func (rs results) add(r result) {
	old, found := rs[r.ID]
	if !found || r.State == checks.DeliverySent || old.State != checks.DeliverySent && old.Claim <= r.Claim {
		rs[r.ID] = r
	}
}

// pending returns the result of a delivery that becomes pending again.
func pending(q store.QueuedDelivery, due time.Time) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.Due = due
	return r
}

// ended returns the result of a delivery that reaches a final state.
func ended(q store.QueuedDelivery, state checks.DeliveryState, text string) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.State, r.Error = state, text
	return r
}
