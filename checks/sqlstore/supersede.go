package sqlstore

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

// waitingRow is a pending delivery with the flip that it is about.
type waitingRow struct {
	deliveryRow

	FlipAt int64 `bun:"flip_at"`
	FlipUp bool  `bun:"flip_up"`
}

// supersede closes deliveries that newer ones stand for, where the first has failed for long enough. It returns the
// rows that are still to be looked at, with those to be sent in place of the ones that were the first, and brings
// heads up to date.
func (c *claiming) supersede(
	ctx context.Context, rows []deliveryRow, heads map[pair]deliveryRow,
) ([]deliveryRow, error) {
	var stale []int64
	for _, r := range rows {
		if heads[r.pair()].ID == r.ID && r.Error != "" && r.CreatedAt < micros(c.Stale) {
			stale = append(stale, r.ID)
		}
	}
	if len(stale) == 0 {
		return rows, nil
	}
	waiting, err := c.lockWaiting(ctx, stale)
	if err != nil {
		return nil, err
	}
	byPair := make(map[pair][]waitingRow)
	for _, r := range waiting {
		byPair[r.pair()] = append(byPair[r.pair()], r)
	}
	var closed, kept [][]any
	var marks []channelMark
	for p, list := range byPair {
		dropped, rest := outdated(list)
		if len(dropped) == 0 {
			continue
		}
		first, oldest := rest[0].deliveryRow, dropped[0]
		first.Attempts = max(first.Attempts, oldest.Attempts) // so that the pauses do not begin anew
		since := min(orElse(oldest.Since, oldest.FlipAt), orElse(first.Since, rest[0].FlipAt))
		kept = append(kept, []any{orNull(since), oldest.Error, first.ID})
		for _, r := range dropped {
			closed = append(closed, []any{string(monitor.DeliverySuperseded), micros(c.Now), supersededText(r.Error), r.ID})
		}
		marks = append(marks, channelMark{p.channel, micros(c.Now), oldest.Error})
		first.Error, first.Since = oldest.Error, since
		heads[p] = first
		gone := make(map[int64]bool)
		for _, r := range dropped {
			gone[r.ID] = true
		}
		rows = slices.DeleteFunc(rows, func(r deliveryRow) bool { return gone[r.ID] || r.ID == first.ID })
		rows = append(rows, first)
	}
	if err := c.finish(ctx, closed); err != nil {
		return nil, err
	}
	err = c.s.d.update(ctx, c.tx, "rollcall_deliveries",
		[]column{{"since", "bigint"}, {"error", "text"}, {"id", "bigint"}}, kept)
	if err != nil {
		return nil, err
	}
	return rows, c.markChannels(ctx, marks)
}

// supersededText is the reason of a delivery that was superseded.
func supersededText(last string) string {
	if last == "" {
		return "a newer alert stands for it"
	}
	return cutText("a newer alert stands for it; before that: "+last, monitor.MaxDeliveryError)
}

func cutText(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// orElse returns the first value unless it is zero.
func orElse(v, other int64) int64 {
	if v == 0 {
		return other
	}
	return v
}

// outdated splits the pending deliveries of one check and integration into those that newer ones stand for and those
// that are still to be sent: the newest, and before one that tells that the check is up the first about the last
// time that it went down.
func outdated(list []waitingRow) (dropped, rest []waitingRow) {
	newest := list[len(list)-1]
	var down int64 // the flip of that time
	if newest.FlipUp {
		for _, r := range list {
			if !r.FlipUp {
				down = r.FlipID
			}
		}
	}
	for _, r := range list {
		switch {
		case r.ID == newest.ID:
			rest = append(rest, r)
		case newest.FlipUp && !r.FlipUp && r.FlipID == down && len(rest) == 0:
			rest = append(rest, r)
		default:
			dropped = append(dropped, r)
		}
	}
	return dropped, rest
}

// lockWaiting locks and returns the given deliveries and all that wait behind them.
func (c *claiming) lockWaiting(ctx context.Context, ids []int64) (rows []waitingRow, err error) {
	query := "SELECT " + pendingColumns + `, coalesce(f.at, d.created_at) AS flip_at, coalesce(f.up, FALSE) AS flip_up
		FROM rollcall_deliveries AS h
		JOIN rollcall_deliveries AS d ON d.check_id = h.check_id AND d.channel_id = h.channel_id AND d.state = 'pending'
		LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id
		WHERE h.id IN (?) ORDER BY d.id`
	if c.s.d.postgres {
		query += " FOR UPDATE OF d"
	}
	err = c.tx.NewRaw(query, bun.List(ids)).Scan(ctx, &rows)
	return rows, err
}
