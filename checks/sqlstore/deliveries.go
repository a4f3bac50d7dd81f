package sqlstore

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
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
	Done      string    `bun:"done"`
	Close     string    `bun:"close"`
}

// queuedColumns lists the columns that deliveryRow.queued reads.
const queuedColumns = "d.id, d.flip_id, d.check_id, d.channel_id, d.since, d.state, d.attempts, d.due_at, d.created_at, d.error, d.done"

func (r *deliveryRow) queued() store.QueuedDelivery {
	q := store.QueuedDelivery{
		ID: r.ID, ChannelID: r.ChannelID, State: store.DeliveryState(r.State), Attempts: int(r.Attempts),
		CreatedAt: instant(r.CreatedAt), Due: instant(r.DueAt), Since: instant(r.Since), Error: r.Error,
	}
	if r.Done != "" {
		_ = json.Unmarshal([]byte(r.Done), &q.Done) // doneText wrote it
	}
	return q
}

// doneText returns the column done of recipients.
func doneText(done []string) string {
	if len(done) == 0 {
		return ""
	}
	text, _ := json.Marshal(done) // strings always can be encoded
	return string(text)
}

// line identifies the pending deliveries of one check to one channel.
type line struct {
	check   int64
	channel uuid.UUID
}

func (r *deliveryRow) line() line { return line{r.CheckID, r.ChannelID} }

// DueChannels returns the channels that have a delivery due. It jumps from channel to channel in the index, so many
// deliveries to one channel do not slow it down.
func (s *Store) DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	err = s.db.NewRaw(`WITH RECURSIVE ch (id) AS (
			SELECT (SELECT channel_id FROM rollcall_deliveries
				WHERE state = 'pending' AND channel_id > ? ORDER BY channel_id LIMIT 1)
			WHERE EXISTS (SELECT 1 FROM rollcall_deliveries WHERE state = 'pending' AND due_at <= ?)
			UNION ALL
			SELECT (SELECT d.channel_id FROM rollcall_deliveries AS d
				WHERE d.state = 'pending' AND d.channel_id > ch.id ORDER BY d.channel_id LIMIT 1)
			FROM ch WHERE ch.id IS NOT NULL
		)
		SELECT ch.id FROM ch WHERE ch.id IS NOT NULL AND EXISTS (SELECT 1 FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch.id AND d.due_at <= ?) LIMIT ?`,
		after, micros(now), micros(now), limit).Scan(ctx, &ids)
	return ids, translate(err)
}

const (
	// claimPasses bounds how often one claim looks for deliveries. From the second pass on, it reads up to parkMost
	// more than it may claim, because some are not the first of their line.
	claimPasses, parkMost = 20, 200
	// parkTime is how long a delivery is parked behind one that can be claimed.
	parkTime = time.Second
)

// ClaimDeliveries leases due deliveries that are the first of their line. It parks the others that it finds: it moves
// their due_at to when the first of their line may be final, so that the next claim does not find them again.
func (t *transaction) ClaimDeliveries(ctx context.Context, c store.DeliveryClaim) (claimed []store.QueuedDelivery, err error) {
	rooms := slices.Clone(c.Room)
	for pass := 0; pass < claimPasses && len(rooms) > 0; pass++ {
		beyond := 0
		if pass > 0 {
			beyond = parkMost
		}
		rows, err := t.lockDue(ctx, c.Now, rooms, beyond)
		if err != nil {
			return nil, err
		}
		found, taken := make(map[uuid.UUID]int), make(map[uuid.UUID]int)
		got, err := t.take(ctx, c, rooms, rows)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.ChannelID]++
		}
		for _, q := range got {
			taken[q.ChannelID]++
		}
		claimed = append(claimed, got...)
		var rest []store.ChannelRoom
		for _, r := range rooms {
			// A channel can have more only if the query reached its limit.
			if n := r.N - taken[r.Channel]; n > 0 && found[r.Channel] >= r.N+beyond {
				rest = append(rest, store.ChannelRoom{Channel: r.Channel, N: n})
			}
		}
		rooms = rest
	}
	return claimed, nil
}

// lockDue locks and returns the deliveries of each channel that have been due the longest. It skips those that another
// transaction has locked.
func (t *transaction) lockDue(
	ctx context.Context, now time.Time, rooms []store.ChannelRoom, beyond int,
) (rows []deliveryRow, err error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	if t.s.d.postgres {
		values := make([][]any, len(rooms))
		for i, r := range rooms {
			values[i] = []any{r.Channel.String(), int64(r.N + beyond)}
		}
		err = t.tx.NewRaw(`SELECT d.* FROM unnest(?::uuid[], ?::bigint[]) AS ch (id, room) CROSS JOIN LATERAL (
			SELECT `+queuedColumns+` FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch.id AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT ch.room FOR UPDATE SKIP LOCKED) AS d`,
			append(arrays(values), micros(now))...).Scan(ctx, &rows)
		return rows, err
	}
	for _, r := range rooms {
		var list []deliveryRow
		err = t.tx.NewRaw("SELECT "+queuedColumns+` FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ? AND d.due_at <= ? ORDER BY d.due_at, d.id LIMIT ?`,
			r.Channel, micros(now), r.N+beyond).Scan(ctx, &list)
		if err != nil {
			return nil, err
		}
		rows = append(rows, list...)
	}
	return rows, nil
}

// take leases the locked deliveries that are the first of their line, as far as there is room, and parks the others.
func (t *transaction) take(
	ctx context.Context, c store.DeliveryClaim, rooms []store.ChannelRoom, rows []deliveryRow,
) (claimed []store.QueuedDelivery, err error) {
	heads, err := t.heads(ctx, rows)
	if err != nil {
		return nil, err
	}
	room := make(map[uuid.UUID]int, len(rooms))
	for _, r := range rooms {
		room[r.Channel] = r.N
	}
	ours := make(map[line]bool)
	var updates [][]any
	for _, r := range rows {
		if heads[r.line()].ID != r.ID || room[r.ChannelID] == 0 {
			continue
		}
		room[r.ChannelID]--
		ours[r.line()] = true
		r.Attempts, r.DueAt = r.Attempts+1, micros(c.Until)
		updates = append(updates, []any{r.Attempts, r.DueAt, r.ID})
		claimed = append(claimed, r.queued())
	}
	for _, r := range rows {
		head := heads[r.line()]
		due := micros(c.Now.Add(parkTime))
		switch {
		case head.ID == r.ID:
			continue
		case ours[r.line()]:
			due = micros(c.Until)
		case head.DueAt > micros(c.Now):
			due = head.DueAt
		}
		updates = append(updates, []any{r.Attempts, due, r.ID})
	}
	return claimed, t.s.d.exec(ctx, t.tx, claimDeliveries, updates)
}

var claimDeliveries = statement{
	sqlite: "UPDATE rollcall_deliveries SET attempts = ?, due_at = ? WHERE id = ?",
	postgres: `UPDATE rollcall_deliveries AS d SET attempts = v.attempts, due_at = v.due_at
		FROM (SELECT unnest($1::bigint[]) AS attempts, unnest($2::bigint[]) AS due_at, unnest($3::bigint[]) AS id) AS v
		WHERE d.id = v.id AND d.id = ANY ($3::bigint[])`,
}

// heads returns the first delivery of each line. It must be a separate query that runs after the lock. Suppose another
// transaction ends the first of a line and then makes the next one due. Either heads sees the end, or that transaction
// waits for the lock and wakes the next one after this transaction.
func (t *transaction) heads(ctx context.Context, rows []deliveryRow) (map[line]deliveryRow, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	// Two queries: PostgreSQL would scan the table for a join.
	err := t.tx.NewRaw(`SELECT (SELECT h.id FROM rollcall_deliveries AS h WHERE h.state = 'pending'
			AND h.check_id = r.check_id AND h.channel_id = r.channel_id ORDER BY h.id LIMIT 1)
		FROM rollcall_deliveries AS r WHERE r.id IN (?)`, bun.List(ids)).Scan(ctx, &ids)
	if err != nil {
		return nil, err
	}
	var first []deliveryRow
	err = t.tx.NewRaw("SELECT "+queuedColumns+" FROM rollcall_deliveries AS d WHERE d.id IN (?)", bun.List(ids)).Scan(ctx, &first)
	heads := make(map[line]deliveryRow, len(first))
	for _, r := range first {
		heads[r.line()] = r
	}
	return heads, err
}
