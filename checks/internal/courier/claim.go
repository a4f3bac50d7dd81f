package courier

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// channelWindow bounds the due channels that one query returns.
	channelWindow = 4000
	// exchangeTime bounds a claim.
	exchangeTime = 5 * time.Second
)

// claim records results and claims as many deliveries as there is room for. more reports whether it has left out
// channels.
func (l *loop) claim(ctx context.Context, now time.Time) (claimed []store.QueuedDelivery, more bool, err error) {
	if l.renewing = l.renewing && len(l.sends) > 0; l.renewing {
		l.renewLeases(now)
	}
	due, next, err := l.due(ctx, now)
	if err != nil {
		return nil, false, err
	}
	states, used := l.load(now)
	list := turns(due, l.after, states)
	parts := share(list, used)
	l.oldest.Store(new(oldest(due, states, nil)))
	if len(parts) == 0 && next != uuid.Nil {
		l.after = next
	}
	if len(l.results)+len(parts) == 0 {
		return nil, false, nil
	}
	if claimed, err = l.exchange(parts, now); err != nil {
		return nil, false, err
	}
	if len(parts) > 0 {
		l.after = parts[len(parts)-1].Channel
		l.oldest.Store(new(oldest(due, states, parts)))
	}
	return claimed, len(parts) > 0 && len(parts) < len(list), nil
}

// renewLeases adds results that renew the leases of unfinished sends. It does not renew the lease of a send whose notifier
// hangs long after the timeout.
func (l *loop) renewLeases(now time.Time) {
	for s := range l.sends {
		if s.took() < l.Timeout+l.Lease {
			for _, q := range s.deliveries() {
				l.results.add(result{DeliveryResult: pending(q, now.Add(l.Lease))})
			}
		}
	}
}

// due returns the channels to claim for. It includes those of final results, because the next delivery of their line becomes
// due now. If there may be more channels than it returns, next is the one that they follow.
func (l *loop) due(ctx context.Context, now time.Time) (due []store.DueChannel, next uuid.UUID, err error) {
	due, err = l.Store.DueChannels(ctx, now, l.after, channelWindow)
	if err != nil {
		return nil, uuid.Nil, err
	}
	if len(due) == channelWindow {
		next = due[len(due)-1].Channel
	} else if l.after != uuid.Nil {
		rest, err := l.Store.DueChannels(ctx, now, uuid.Nil, channelWindow)
		if err != nil {
			return nil, uuid.Nil, err
		}
		due = append(due, rest...)
	}
	for _, r := range l.results {
		if r.State != checks.DeliveryPending {
			for _, channel := range append([]uuid.UUID{r.ChannelID}, r.Copies...) {
				due = append(due, store.DueChannel{Channel: channel, Project: r.about.Project, Due: now})
			}
		}
	}
	return slices.DeleteFunc(due, func(d store.DueChannel) bool { return !l.Serves(d.Channel) }), next, nil
}

// load returns what the courier is busy with. It forgets what no longer counts of the paces.
func (l *loop) load(now time.Time) (map[uuid.UUID]channelState, pool) {
	states := make(map[uuid.UUID]channelState, len(l.paces)+1)
	for channel, p := range l.paces {
		if now.Sub(p.at) >= windowTime {
			p.window = 1
		}
		if now.Sub(p.at) >= slowTime || !p.slow && p.window == 1 {
			delete(l.paces, channel)
			continue
		}
		l.paces[channel], states[channel] = p, channelState{pace: p}
	}
	states[store.OnAlert.ID] = channelState{pace: pace{window: ahead * l.SendsPerChannel}} // a function of this program
	for s := range l.sends {
		state := states[s.ChannelID]
		state.claimed++
		if s.took() >= slowAfter { // one that hangs does not hold up those behind it
			state.slow, state.window = true, max(state.window, 2)
		}
		states[s.ChannelID] = state
	}
	used := pool{size: l.Sends, used: len(l.sends), projects: make(map[uuid.UUID]int)}
	for s := range l.sends {
		used.projects[cmp.Or(s.Channel.ProjectID, s.ChannelID)]++
		if states[s.ChannelID].slow {
			used.slow++
		}
	}
	l.addPaused(states, now)
	return states, used
}

// exchange records results and claims deliveries in one transaction. It has until end.Save ends: if the answer to a claim
// is lost, nobody can send its deliveries until the lease ends.
func (l *loop) exchange(parts []store.ChannelRoom, now time.Time) (claimed []store.QueuedDelivery, err error) {
	ctx, cancel := context.WithTimeout(l.end.Save, exchangeTime)
	defer cancel()
	var list []store.DeliveryResult
	var changed []Change
	for _, id := range slices.Sorted(maps.Keys(l.results)) {
		r := l.results[id]
		if list = append(list, r.DeliveryResult); r.about != (Change{}) {
			changed = append(changed, r.about)
		}
	}
	err = l.Store.Update(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		if err := tx.RecordResults(ctx, now, list); err != nil {
			return err
		}
		claimed, err = tx.ClaimDeliveries(ctx, store.DeliveryClaim{Now: now, Until: now.Add(l.Lease), Room: parts})
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claimed, func(q store.QueuedDelivery) bool { return stale(q, now) }) {
			return replaceStale(ctx, tx, claimed, now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	clear(l.results)
	l.renewing = false
	if len(changed) > 0 {
		l.Changed(ctx, changed)
	}
	return claimed, nil
}

// replaceStale supersedes stale deliveries among the claimed and replaces each with a newer one of its line.
func replaceStale(ctx context.Context, tx store.CourierTx, claimed []store.QueuedDelivery, now time.Time) error {
	var ids []int64
	for _, q := range claimed {
		if stale(q, now) {
			ids = append(ids, q.ID)
		}
	}
	lines, err := tx.LockLines(ctx, ids)
	if err != nil {
		return err
	}
	var changes []store.DeliveryResult
	for i, q := range claimed {
		if line := lines[q.ID]; len(line) > 1 {
			superseded, first := supersede(line)
			if len(superseded) == 0 {
				continue
			}
			first.Mark = &store.ChannelMark{FailedAt: now, Error: first.Error}
			changes, claimed[i] = append(append(changes, superseded...), first), first.QueuedDelivery
		}
	}
	return tx.RecordResults(ctx, now, changes)
}
