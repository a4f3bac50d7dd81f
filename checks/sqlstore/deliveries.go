package sqlstore

import (
	"cmp"
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

// queuedColumns lists the columns that deliveryRow.queued reads. In RETURNING, SQLite wants them without a table.
const (
	queuedColumns   = "d.id, d.flip_id, d.check_id, d.channel_id, d.since, d.state, d.attempts, d.due_at, d.created_at, d.error, d.done"
	queuedReturning = " RETURNING id, flip_id, check_id, channel_id, since, state, attempts, due_at, created_at, error, done"
)

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

// firstOfLine is the first of the pending deliveries of the check and the channel of d. Only that one can be claimed.
const firstOfLine = `(SELECT h.id FROM rollcall_deliveries AS h WHERE h.state = 'pending'
	AND h.check_id = d.check_id AND h.channel_id = d.channel_id ORDER BY h.id LIMIT 1)`

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
	// claimPasses bounds how often one claim looks for deliveries, and parkMost the deliveries of a channel that it parks
	// between.
	claimPasses, parkMost = 20, 200
	// parkTime is how long a delivery is parked behind one that can be claimed.
	parkTime = time.Second
)

// ClaimDeliveries leases due deliveries that are the first of their line. Locking them and looking for the first of a line
// must be two statements. Suppose another transaction ends the first of a line and then makes the next one due. Either the
// second statement sees the end, or that transaction waits for the lock and wakes the next one after this transaction.
func (t *transaction) ClaimDeliveries(ctx context.Context, c store.DeliveryClaim) (claimed []store.QueuedDelivery, err error) {
	rooms := slices.Clone(c.Room)
	for range claimPasses {
		ids, err := t.lockDeliveries(ctx, c.Now, rooms, 0)
		if err != nil || len(ids) == 0 {
			return claimed, err
		}
		var rows []deliveryRow
		err = t.tx.NewRaw(`UPDATE rollcall_deliveries AS d SET attempts = attempts + 1, due_at = ?
			WHERE d.id IN (?) AND d.id = `+firstOfLine+queuedReturning, micros(c.Until), bun.List(ids)).Scan(ctx, &rows)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rows, func(a, b deliveryRow) int { return cmp.Compare(a.ID, b.ID) })
		taken := make(map[uuid.UUID]int)
		for i := range rows {
			taken[rows[i].ChannelID]++
			claimed = append(claimed, rows[i].queued())
		}
		if len(rows) == len(ids) {
			break
		}
		for i := range rooms {
			rooms[i].N -= taken[rooms[i].Channel]
		}
		if err := t.park(ctx, c.Now, rooms); err != nil {
			return nil, err
		}
	}
	return claimed, nil
}

// lockDeliveries locks the deliveries of each channel that have been due the longest: as many as there is room for, and
// some beyond. It skips those that another transaction has locked.
func (t *transaction) lockDeliveries(ctx context.Context, now time.Time, rooms []store.ChannelRoom, beyond int) (ids []int64, err error) {
	rooms = slices.DeleteFunc(slices.Clone(rooms), func(r store.ChannelRoom) bool { return r.N <= 0 })
	if len(rooms) == 0 {
		return nil, nil
	}
	if t.s.d.postgres {
		list, err := json.Marshal(rooms)
		if err != nil {
			return nil, err
		}
		err = t.tx.NewRaw(`SELECT d.id FROM json_to_recordset(?) AS ch ("Channel" uuid, "N" bigint) CROSS JOIN LATERAL (
			SELECT d.id FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch."Channel" AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT ch."N" + ? FOR UPDATE SKIP LOCKED) AS d`, string(list), micros(now), beyond).Scan(ctx, &ids)
		return ids, err
	}
	for _, r := range rooms {
		var list []int64
		err = t.tx.NewRaw(`SELECT d.id FROM rollcall_deliveries AS d WHERE d.state = 'pending' AND d.channel_id = ? AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT ?`, r.Channel, micros(now), r.N+beyond).Scan(ctx, &list)
		if err != nil {
			return nil, err
		}
		ids = append(ids, list...)
	}
	return ids, nil
}

// park puts off due deliveries that are not the first of their line to when that may have ended, so that the next claim
// does not find them.
func (t *transaction) park(ctx context.Context, now time.Time, rooms []store.ChannelRoom) error {
	ids, err := t.lockDeliveries(ctx, now, rooms, parkMost)
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = t.tx.NewRaw(`UPDATE rollcall_deliveries AS d SET due_at = (
			SELECT CASE WHEN f.due_at > ? THEN f.due_at ELSE ? END FROM rollcall_deliveries AS f WHERE f.id = `+firstOfLine+`)
		WHERE d.id IN (?) AND d.id <> `+firstOfLine, micros(now), micros(now.Add(parkTime)), bun.List(ids)).Exec(ctx)
	return err
}
