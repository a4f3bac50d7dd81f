package courier

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// channelWindow bounds the due channels that one claim reads.
	channelWindow = 1000
	// exchangeTime bounds a claim, which goes on while the courier stops.
	exchangeTime = 5 * time.Second
)

// claim records results and claims as many deliveries as there is room for. more reports whether it has left out
// channels.
func (l *loop) claim(ctx context.Context, now time.Time) (claimed []store.QueuedDelivery, more bool, err error) {
	if l.renewing = l.renewing && len(l.sends) > 0; l.renewing {
		l.renewLeases(now)
	}
	rooms, err := l.rooms(ctx, now)
	if err != nil || len(l.results)+len(rooms) == 0 {
		return nil, false, err
	}
	parts := share(rooms, l.room())
	claimed, err = l.exchange(ctx, parts, now)
	if err == nil && len(parts) > 0 {
		l.after = parts[len(parts)-1].Channel
	}
	return claimed, len(parts) < len(rooms), err
}

// renewLeases adds results that renew the leases of unfinished sends. It does not renew the lease of a send whose notifier
// hangs long after the timeout.
func (l *loop) renewLeases(now time.Time) {
	for s := range l.sends {
		if s.took() < l.Timeout+l.Lease {
			l.results.add(result{DeliveryResult: pending(s.QueuedDelivery, now.Add(l.Lease))})
		}
	}
}

// rooms returns the channels to claim for, in the order of their turns. It includes the channels of final results,
// because the next delivery of their line becomes due now.
func (l *loop) rooms(ctx context.Context, now time.Time) ([]store.ChannelRoom, error) {
	if l.room() <= 0 {
		return nil, nil
	}
	due, err := l.Store.DueChannels(ctx, now, l.after, channelWindow)
	if err != nil {
		return nil, err
	}
	window := due
	if len(window) < channelWindow && l.after != uuid.Nil {
		if due, err = l.Store.DueChannels(ctx, now, uuid.Nil, channelWindow); err != nil {
			return nil, err
		}
		due = append(due, window...)
	}
	for _, r := range l.results {
		if r.State != store.DeliveryPending {
			due = append(append(due, r.ChannelID), r.Copies...)
		}
	}
	busy := make(map[uuid.UUID]int, len(l.lanes))
	for channel, lane := range l.lanes {
		busy[channel] = lane.claimed
	}
	perChannel := ahead * l.SendsPerChannel
	l.addPaused(busy, perChannel, now)
	list := slices.DeleteFunc(turns(due, l.after, busy, perChannel),
		func(r store.ChannelRoom) bool { return !l.Serves(r.Channel) })
	if len(list) == 0 && len(window) == channelWindow {
		l.after = window[len(window)-1]
	}
	return list, nil
}

// exchange records results and claims deliveries in one transaction. It ignores cancellation: if the answer to a claim
// is lost, nobody can send its deliveries until the lease ends.
func (l *loop) exchange(ctx context.Context, parts []store.ChannelRoom, now time.Time) (claimed []store.QueuedDelivery, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
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
