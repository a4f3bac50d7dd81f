package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/feed"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// channelWindow bounds the due channels that one turn reads.
	channelWindow = 1000
	// claimRounds bounds how often one transaction shares out the remaining claims.
	claimRounds = 20
)

// rooms returns the channels to claim for, in the order of their turns. It includes the channels of final results,
// because the next delivery of their line becomes due now.
func (c *courier) rooms(ctx context.Context, results []result, now time.Time) ([]store.ChannelRoom, error) {
	if c.room() <= 0 {
		return nil, nil
	}
	due, err := c.m.store.DueChannels(ctx, now, c.after, channelWindow)
	if err != nil {
		return nil, err
	}
	window := due
	if len(window) < channelWindow && c.after != uuid.Nil {
		if due, err = c.m.store.DueChannels(ctx, now, uuid.Nil, channelWindow); err != nil {
			return nil, err
		}
		due = append(due, window...)
	}
	for i := range results {
		if r := &results[i]; r.over() {
			due = append(append(due, r.ChannelID), r.copies...)
		}
	}
	busy := make(map[uuid.UUID]int, len(c.lanes))
	for channel, l := range c.lanes {
		busy[channel] = l.claimed
	}
	perChannel := ahead * c.d.SendsPerChannel
	c.d.addPaused(busy, perChannel, now)
	list := slices.DeleteFunc(rooms(due, c.after, busy, perChannel),
		func(r store.ChannelRoom) bool { return !c.d.serves(r.Channel) })
	if len(list) == 0 && len(window) == channelWindow {
		c.after = window[len(window)-1]
	}
	return list, nil
}

// exchange records results and claims deliveries in one transaction. It ignores cancellation: if the answer to a claim
// is lost, nobody can send its deliveries until the lease ends.
func (c *courier) exchange(ctx context.Context, results []result, list []store.ChannelRoom, now time.Time) (claimed []store.QueuedDelivery, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	after := c.after
	err = c.m.store.Update(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		if err := recordResults(ctx, tx, results, now); err != nil {
			return err
		}
		claimed, after, err = c.claim(ctx, tx, list, now)
		return err
	})
	if err != nil {
		return nil, err
	}
	changed := make([]feed.Note, len(results))
	for i, r := range results {
		changed[i] = r.about
	}
	c.m.feed.Publish(ctx, changed...)
	c.done, c.renewing, c.after = nil, false, after
	return claimed, nil
}

// recordResults writes the results of deliveries.
func recordResults(ctx context.Context, tx store.Tx, results []result, now time.Time) error {
	if len(results) == 0 {
		return nil
	}
	ids := make([]int64, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	rows, err := tx.LockDeliveries(ctx, ids)
	if err != nil {
		return err
	}
	return tx.SaveDeliveries(ctx, settle(rows, results, now))
}

// claim claims deliveries for channels until the courier has enough. It returns the channel whose turn was last.
func (c *courier) claim(ctx context.Context, tx store.Tx, list []store.ChannelRoom, now time.Time) (claimed []store.QueuedDelivery, after uuid.UUID, err error) {
	after = c.after
	limit := c.room()
	for round := 0; round < claimRounds && limit > 0 && len(list) > 0; round++ {
		parts := share(list, limit)
		after = parts[len(parts)-1].Channel
		got, err := tx.ClaimDeliveries(ctx, store.DeliveryClaim{Now: now, Until: now.Add(c.d.Lease), Room: parts})
		if err != nil {
			return nil, after, err
		}
		count := make(map[uuid.UUID]int, len(parts))
		for _, q := range got {
			count[q.ChannelID]++
		}
		claimed = append(claimed, got...)
		limit -= len(got)
		list = unshared(list, parts, count)
	}
	return claimed, after, replaceStale(ctx, tx, claimed, now)
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

// deliveryIDs returns the IDs of deliveries.
func deliveryIDs(list []store.QueuedDelivery) []int64 {
	ids := make([]int64, len(list))
	for i, q := range list {
		ids[i] = q.ID
	}
	return ids
}
