package sqlstore

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

type deliveryRow struct {
	bun.BaseModel `bun:"table:rollcall_deliveries,alias:d"`

	ID        int64     `bun:"id,pk"`
	FlipID    int64     `bun:"flip_id"`
	CheckID   int64     `bun:"check_id"`
	ChannelID uuid.UUID `bun:"channel_id"`
	Reminder  int64     `bun:"reminder"`
	Since     int64     `bun:"since"`
	State     string    `bun:"state"`
	Attempts  int64     `bun:"attempts"`
	DueAt     int64     `bun:"due_at"`
	CreatedAt int64     `bun:"created_at"`
	Error     string    `bun:"error"`
}

// pair is what deliveries are kept in order for.
type pair struct {
	check   int64
	channel uuid.UUID
}

func (r *deliveryRow) pair() pair { return pair{r.CheckID, r.ChannelID} }

// DeliveryDue reports whether a delivery is due.
func (s *Store) DeliveryDue(ctx context.Context, now time.Time) (due bool, err error) {
	err = s.db.NewRaw("SELECT EXISTS (SELECT 1 FROM rollcall_deliveries WHERE state = 'pending' AND due_at <= ?)",
		micros(now)).Scan(ctx, &due)
	return due, translate(err)
}

// ExchangeDeliveries records results and claims deliveries.
func (s *Store) ExchangeDeliveries(
	ctx context.Context, results []monitor.DeliveryResult, claim monitor.DeliveryClaim,
) (batch monitor.DeliveryBatch, err error) {
	err = s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		t := tx.(*transaction)
		if err := t.recordResults(ctx, results, claim.Now); err != nil {
			return err
		}
		c := claiming{transaction: t, DeliveryClaim: claim}
		c.batch.After = claim.After
		if claim.Limit > 0 {
			if err := c.run(ctx); err != nil {
				return err
			}
		}
		batch = c.batch
		return nil
	})
	if err != nil {
		return monitor.DeliveryBatch{}, err
	}
	return batch, nil
}

const (
	// channelWindow is how many integrations are looked at for a claim.
	channelWindow = 1000
	// claimRounds is how many times more deliveries are looked for in one transaction. From the second time on that
	// is parkMost beyond what may be claimed, as there are some that wait for others.
	claimRounds, parkMost = 20, 200
	// parkTime is for how long a delivery is left alone that waits for an earlier one which can be claimed.
	parkTime = time.Second
)

// claiming is a claim under way.
type claiming struct {
	*transaction
	monitor.DeliveryClaim
	batch monitor.DeliveryBatch
}

// room is how many deliveries of an integration may be claimed.
type room struct {
	channel uuid.UUID
	n       int
}

// run claims integration by integration, so that many deliveries to one of them hold up no other, and gives each the
// same share of the limit as long as it can use it.
func (c *claiming) run(ctx context.Context) error {
	rooms, more, err := c.rooms(ctx)
	if err != nil {
		return err
	}
	for round := 0; len(rooms) > 0 && c.left() > 0; round++ {
		if round == claimRounds {
			more = true
			break
		}
		extra := 0
		if round > 0 {
			extra = parkMost
		}
		if rooms, err = c.round(ctx, rooms, extra); err != nil {
			return err
		}
	}
	c.batch.More = more
	return nil
}

// left is how many may be claimed yet.
func (c *claiming) left() int { return c.Limit - len(c.batch.Claimed) }

// rooms returns the integrations that something is due of and that have room, beginning after those that had their
// turn last. more is true when there may be others.
func (c *claiming) rooms(ctx context.Context) (list []room, more bool, err error) {
	found, err := c.dueChannels(ctx, c.After)
	if err != nil {
		return nil, false, err
	}
	if more = len(found) == channelWindow; !more && c.After != uuid.Nil {
		first, err := c.dueChannels(ctx, uuid.Nil)
		if err != nil {
			return nil, false, err
		}
		for _, id := range first {
			if string(id[:]) > string(c.After[:]) {
				break
			}
			found = append(found, id)
		}
		more = len(first) == channelWindow
	}
	for _, id := range found {
		if n := c.PerChannel - c.Busy[id]; n > 0 {
			list = append(list, room{id, n})
		}
	}
	if len(found) > 0 && len(list) == 0 {
		c.batch.After = found[len(found)-1]
	}
	return list, more, nil
}

// dueChannels returns the integrations behind the given one that something is due of. It goes from one to the next by
// the index, so that it takes no longer when there are many deliveries of one.
func (c *claiming) dueChannels(ctx context.Context, after uuid.UUID) (ids []uuid.UUID, err error) {
	err = c.tx.NewRaw(`WITH RECURSIVE ch (id) AS (
			SELECT (SELECT channel_id FROM rollcall_deliveries
				WHERE state = 'pending' AND channel_id > ? ORDER BY channel_id LIMIT 1)
			UNION ALL
			SELECT (SELECT d.channel_id FROM rollcall_deliveries AS d
				WHERE d.state = 'pending' AND d.channel_id > ch.id ORDER BY d.channel_id LIMIT 1)
			FROM ch WHERE ch.id IS NOT NULL
		)
		SELECT ch.id FROM ch WHERE ch.id IS NOT NULL AND EXISTS (SELECT 1 FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch.id AND d.due_at <= ?) LIMIT ?`,
		after, micros(c.Now), channelWindow).Scan(ctx, &ids)
	return ids, err
}

// round claims a share for each of the integrations, and returns those that there may be more of.
func (c *claiming) round(ctx context.Context, rooms []room, extra int) ([]room, error) {
	left := c.left()
	share := max(1, left/len(rooms))
	plan := make([]room, 0, len(rooms))
	for _, r := range rooms {
		if n := min(share, r.n, left); n > 0 {
			plan = append(plan, room{r.channel, n})
			left -= n
		}
	}
	c.batch.After = plan[len(plan)-1].channel
	rows, err := c.lockReady(ctx, plan, extra)
	if err != nil {
		return nil, err
	}
	claimed, err := c.take(ctx, plan, rows)
	if err != nil {
		return nil, err
	}
	found := make(map[uuid.UUID]int)
	for i := range rows {
		found[rows[i].ChannelID]++
	}
	rest := rooms[len(plan):]
	for i, p := range plan {
		if n := rooms[i].n - claimed[p.channel]; n > 0 && found[p.channel] >= p.n+extra {
			rest = append(rest, room{p.channel, n})
		}
	}
	return rest, nil
}

// take claims those of locked deliveries that have no earlier one, and parks the others.
func (c *claiming) take(ctx context.Context, plan []room, rows []deliveryRow) (map[uuid.UUID]int, error) {
	heads, err := c.heads(ctx, rows)
	if err != nil {
		return nil, err
	}
	rows, err = c.supersede(ctx, rows, heads)
	if err != nil {
		return nil, err
	}
	room := make(map[uuid.UUID]int, len(plan))
	for _, p := range plan {
		room[p.channel] = p.n
	}
	until := micros(c.Until)
	claimed := make(map[uuid.UUID]int)
	ours := make(map[pair]bool)
	var updates [][]any
	for _, r := range rows {
		if heads[r.pair()].ID == r.ID && claimed[r.ChannelID] < room[r.ChannelID] {
			claimed[r.ChannelID]++
			ours[r.pair()] = true
			updates = append(updates, []any{r.Attempts + 1, until, r.ID})
			c.batch.Claimed = append(c.batch.Claimed, monitor.QueuedDelivery{
				ID: r.ID, ChannelID: r.ChannelID, Attempts: int(r.Attempts) + 1, CreatedAt: instant(r.CreatedAt),
			})
		}
	}
	for _, r := range rows {
		head := heads[r.pair()]
		due := micros(c.Now.Add(parkTime))
		switch {
		case head.ID == r.ID:
			continue
		case ours[r.pair()]:
			due = until
		case head.DueAt > micros(c.Now):
			due = head.DueAt
		}
		updates = append(updates, []any{r.Attempts, due, r.ID})
	}
	return claimed, c.s.d.update(ctx, c.tx, "rollcall_deliveries",
		[]column{{"attempts", "bigint"}, {"due_at", "bigint"}, {"id", "bigint"}}, updates)
}

// pendingColumns are those that a claim needs to know.
const pendingColumns = `d.id, d.flip_id, d.check_id, d.channel_id, coalesce(d.since, 0) AS since,
	d.attempts, d.due_at, d.created_at, d.error`

// lockReady locks and returns the deliveries that are longest due of each integration, leaving out those that another
// transaction has locked.
func (c *claiming) lockReady(ctx context.Context, plan []room, extra int) (rows []deliveryRow, err error) {
	if c.s.d.postgres {
		values := make([][]any, len(plan))
		for i, p := range plan {
			values[i] = []any{p.channel.String(), int64(p.n + extra)}
		}
		err = c.tx.NewRaw(`SELECT d.* FROM unnest(?::uuid[], ?::bigint[]) AS ch (id, room) CROSS JOIN LATERAL (
			SELECT `+pendingColumns+` FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch.id AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT ch.room FOR UPDATE SKIP LOCKED) AS d`,
			arrayText(values, 0), arrayText(values, 1), micros(c.Now)).Scan(ctx, &rows)
		return rows, err
	}
	for _, p := range plan {
		var list []deliveryRow
		err = c.tx.NewRaw("SELECT "+pendingColumns+` FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ? AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
			p.channel, micros(c.Now), p.n+extra).Scan(ctx, &list)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	return rows, nil
}

// heads returns the earliest pending delivery for each pair of the given ones. It is a query of its own, after they are
// locked: whoever ends the earlier of two and has not come to the later one yet is seen to have ended it, or else
// waits for the lock and makes the later one due after this.
func (c *claiming) heads(ctx context.Context, rows []deliveryRow) (map[pair]deliveryRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	var ids []int64
	err := c.tx.NewRaw(`SELECT (SELECT h.id FROM rollcall_deliveries AS h WHERE h.state = 'pending'
			AND h.check_id = r.check_id AND h.channel_id = r.channel_id ORDER BY h.id LIMIT 1)
		FROM rollcall_deliveries AS r WHERE r.id IN (?)`, bun.List(deliveryIDs(rows))).Scan(ctx, &ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]deliveryRow, len(rows))
	for _, r := range rows {
		byID[r.ID] = r
	}
	heads := make(map[pair]deliveryRow, len(ids))
	var others []int64
	for _, id := range ids {
		if r, ok := byID[id]; ok {
			heads[r.pair()] = r
		} else {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return heads, nil
	}
	var list []deliveryRow
	err = c.tx.NewRaw("SELECT "+pendingColumns+" FROM rollcall_deliveries AS d WHERE d.id IN (?)", bun.List(others)).
		Scan(ctx, &list)
	for _, r := range list {
		heads[r.pair()] = r
	}
	return heads, err
}

func deliveryIDs(rows []deliveryRow) []int64 {
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}
