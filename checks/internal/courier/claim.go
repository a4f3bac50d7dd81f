package courier

import (
	"context"
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
	results := l.results
	if l.renewing {
		results = append(results, l.renewals(now)...)
	}
	rooms, err := l.rooms(ctx, results, now)
	if err != nil || len(results)+len(rooms) == 0 {
		return nil, false, err
	}
	parts := share(rooms, l.room())
	claimed, err = l.exchange(ctx, results, parts, now)
	if err == nil && len(parts) > 0 {
		l.after = parts[len(parts)-1].Channel
	}
	return claimed, len(parts) < len(rooms), err
}

// renewals returns results that renew the leases of unfinished sends. It does not renew the lease of a send whose
// notifier hangs long after the timeout.
func (l *loop) renewals(now time.Time) (list []result) {
	for s := range l.sends {
		if s.took() < l.Timeout+l.Lease {
			list = append(list, result{QueuedDelivery: s.QueuedDelivery, to: store.DeliveryPending, due: now.Add(l.Lease)})
		}
	}
	return list
}

// rooms returns the channels to claim for, in the order of their turns. It includes the channels of final results,
// because the next delivery of their line becomes due now.
func (l *loop) rooms(ctx context.Context, results []result, now time.Time) ([]store.ChannelRoom, error) {
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
	for i := range results {
		if r := &results[i]; r.to != store.DeliveryPending {
			due = append(append(due, r.ChannelID), r.copies...)
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
func (l *loop) exchange(ctx context.Context, results []result, parts []store.ChannelRoom, now time.Time) (claimed []store.QueuedDelivery, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), exchangeTime)
	defer cancel()
	err = l.Store.Update(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		if err := saveResults(ctx, tx, results, now); err != nil {
			return err
		}
		claimed, err = tx.ClaimDeliveries(ctx, store.DeliveryClaim{Now: now, Until: now.Add(l.Lease), Room: parts})
		if err != nil {
			return err
		}
		return replaceStale(ctx, tx, claimed, now)
	})
	if err != nil {
		return nil, err
	}
	var changed []Change
	for _, r := range results {
		if r.about != (Change{}) {
			changed = append(changed, r.about)
		}
	}
	if len(changed) > 0 {
		l.Changed(ctx, changed)
	}
	l.results, l.renewing = nil, false
	return claimed, nil
}

// replaceStale supersedes stale deliveries among the claimed and replaces each with a newer one of its line.
func replaceStale(ctx context.Context, tx store.Tx, claimed []store.QueuedDelivery, now time.Time) error {
	var ids []int64
	for _, q := range claimed {
		if stale(q, now) {
			ids = append(ids, q.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	lines, err := tx.LockLines(ctx, ids)
	if err != nil {
		return err
	}
	changes := store.DeliveryChanges{Now: now, Marks: make(map[uuid.UUID]store.ChannelMark)}
	for i, q := range claimed {
		line := lines[q.ID]
		if len(line) < 2 {
			continue
		}
		superseded, first := supersede(line)
		if len(superseded) == 0 {
			continue
		}
		changes.Deliveries = append(append(changes.Deliveries, superseded...), first)
		changes.Marks[q.ChannelID] = store.ChannelMark{FailedAt: now, Error: first.Error}
		claimed[i] = first
	}
	return tx.SaveDeliveries(ctx, changes)
}
