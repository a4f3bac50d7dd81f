package courier

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
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
	// maxDone and maxRecipient are the limits of [channels.Partial].
	maxDone, maxRecipient = 100, 200
)

// judge returns the state of a delivery after an attempt, and when to retry a pending one.
func (l *Limits) judge(q store.QueuedDelivery, err error, now time.Time) (to store.DeliveryState, due time.Time) {
	switch {
	case err == nil:
		return store.DeliverySent, time.Time{}
	case channels.IsPermanent(err), now.Sub(q.CreatedAt) >= l.GiveUp && q.Attempts >= giveUpAttempts:
		return store.DeliveryFailed, time.Time{}
	}
	if after, found := channels.RetryDelay(err); found && after > 0 {
		return store.DeliveryPending, now.Add(max(min(after, maxRetryAfter), l.RetryFirst))
	}
	return store.DeliveryPending, now.Add(background.Backoff(l.RetryFirst, l.RetryMost, q.Attempts))
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
// staleAfter.
func stale(q store.QueuedDelivery, now time.Time) bool {
	return q.Error != "" && q.CreatedAt.Before(now.Add(-staleAfter))
}

// supersede decides which deliveries of a line that begins with a stale one are obsolete. It keeps the newest. If that
// one reports that the check is up, it also keeps the first one about the last outage. The first delivery that it keeps
// takes over the claim and sums up the flips of the superseded ones.
func supersede(line []store.WaitingDelivery) (superseded []store.DeliveryResult, first store.DeliveryResult) {
	newest := line[len(line)-1]
	kept := newest
	if newest.FlipUp {
		var down int64 // the flip that began the last outage
		for _, w := range line {
			if !w.FlipUp {
				down = w.FlipID
			}
		}
		if i := slices.IndexFunc(line, func(w store.WaitingDelivery) bool { return !w.FlipUp && w.FlipID == down }); i >= 0 {
			kept = line[i]
		}
	}
	claimed := line[0].QueuedDelivery
	since := flipsFrom(kept)
	for _, w := range line {
		if w.ID == kept.ID || w.ID == newest.ID {
			continue
		}
		if from := flipsFrom(w); from.Before(since) {
			since = from
		}
		superseded = append(superseded, over(w.QueuedDelivery, store.DeliverySuperseded, supersededText(w.Error)))
	}
	first = pending(kept.QueuedDelivery, kept.Due)
	if len(superseded) == 0 {
		return nil, first
	}
	first.Since, first.Error, first.Due = since, claimed.Error, claimed.Due
	if first.ID != claimed.ID {
		first.Attempts = max(first.Attempts+1, claimed.Attempts) // so that the backoff does not restart
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

// turns returns the channels that may get more deliveries, up to perChannel each including those they are busy with.
// Turns go round in the order of the IDs and begin after the given channel.
func turns(due []uuid.UUID, after uuid.UUID, busy map[uuid.UUID]int, perChannel int) (list []store.ChannelRoom) {
	due = slices.Clone(due)
	slices.SortFunc(due, func(a, b uuid.UUID) int {
		if aNext, bNext := bytes.Compare(a[:], after[:]) > 0, bytes.Compare(b[:], after[:]) > 0; aNext != bNext {
			if aNext {
				return -1
			}
			return 1
		}
		return bytes.Compare(a[:], b[:])
	})
	for _, channel := range slices.Compact(due) {
		if n := perChannel - busy[channel]; n > 0 {
			list = append(list, store.ChannelRoom{Channel: channel, N: n})
		}
	}
	return list
}

// share divides limit claims among channels, in their order: an equal part for each, at least 1 and at most its room.
// It leaves out the channels for which nothing is left.
func share(list []store.ChannelRoom, limit int) (parts []store.ChannelRoom) {
	if len(list) == 0 {
		return nil
	}
	equal := max(1, limit/len(list))
	for _, r := range list {
		n := min(equal, r.N, limit)
		if n <= 0 {
			break
		}
		parts = append(parts, store.ChannelRoom{Channel: r.Channel, N: n})
		limit -= n
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
	if !found || r.State == store.DeliverySent || old.State != store.DeliverySent && old.Claim <= r.Claim {
		rs[r.ID] = r
	}
}

// pending returns the result of a delivery that becomes pending again.
func pending(q store.QueuedDelivery, due time.Time) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.Due = due
	return r
}

// over returns the result of a delivery that reaches a final state.
func over(q store.QueuedDelivery, state store.DeliveryState, text string) store.DeliveryResult {
	r := store.DeliveryResult{QueuedDelivery: q, Claim: q.Attempts}
	r.State, r.Error = state, text
	return r
}
