package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
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
	Recipient string    `bun:"recipient"`
	Origin    int64     `bun:"origin"`
	Held      string    `bun:"held"`
	HeldUntil int64     `bun:"held_until"`
	Batch     int64     `bun:"batch"`
}

// queuedColumns lists the columns that deliveryRow.queued reads. In RETURNING, SQLite wants them without a table.
const (
	queuedColumns   = "d.id, d.flip_id, d.check_id, d.channel_id, d.reminder, d.since, d.state, d.attempts, d.due_at, d.created_at, d.error, d.done, d.recipient, d.origin, d.held, d.held_until, d.batch"
	queuedReturning = " RETURNING id, flip_id, check_id, channel_id, reminder, since, state, attempts, due_at, created_at, error, done, recipient, origin, held, held_until, batch"
)

func (r *deliveryRow) queued() store.QueuedDelivery {
	q := store.QueuedDelivery{
		ID: r.ID, ChannelID: r.ChannelID, State: checks.DeliveryState(r.State), Attempts: int(r.Attempts),
		CreatedAt: instant(r.CreatedAt), Reminder: int(r.Reminder), Due: instant(r.DueAt), Since: instant(r.Since), Error: r.Error,
		Recipient: r.Recipient, Origin: max(r.Origin, 0), HeldUntil: instant(r.HeldUntil), Batch: r.Batch,
	}
	held, by, _ := strings.Cut(r.Held, " ") // as RecordResults joins them
	q.Held, q.HeldBy = gate.Why(held), by
	if r.Done != "" {
		_ = json.Unmarshal([]byte(r.Done), &[...]*[]string{&q.Done, &q.Handed}) // doneText wrote it
	}
	return q
}

// doneText returns the column done of recipients: an array of those that have accepted an alert, and of those that it was handed over to.
func doneText(done, handed []string) string {
	if len(done)+len(handed) == 0 {
		return ""
	}
	text, _ := json.Marshal([][]string{done, handed}) // strings always can be encoded
	return string(text)
}

// firstOfLine is the first of the pending deliveries of the check, the channel and the recipient of d. Only that one can be
// claimed. A reminder that the gate keeps back, which nobody has tried to send, is behind all others, so that no alert waits for it.
const firstOfLine = `(SELECT h.id FROM rollcall_deliveries AS h WHERE h.state = 'pending'
	AND h.check_id = d.check_id AND h.channel_id = d.channel_id AND h.recipient = d.recipient
	ORDER BY h.reminder > 0 AND h.held <> '' AND h.attempts = 0, h.id LIMIT 1)`

// DueChannels returns the channels that have a delivery due. It jumps from channel to channel in the index, so many
// deliveries to one channel do not slow it down.
func (s *database) DueChannels(ctx context.Context, now time.Time, after uuid.UUID, limit int) ([]store.DueChannel, error) {
	var rows []struct {
		ID        uuid.UUID `bun:"id"`
		ProjectID uuid.UUID `bun:"project_id"`
		DueAt     int64     `bun:"due_at"`
	}
	err := s.db.NewRaw(`WITH RECURSIVE ch (id) AS (
			SELECT (SELECT channel_id FROM rollcall_deliveries
				WHERE state = 'pending' AND channel_id > ? ORDER BY channel_id LIMIT 1)
			WHERE EXISTS (SELECT 1 FROM rollcall_deliveries WHERE state = 'pending' AND due_at <= ?)
			UNION ALL
			SELECT (SELECT d.channel_id FROM rollcall_deliveries AS d
				WHERE d.state = 'pending' AND d.channel_id > ch.id ORDER BY d.channel_id LIMIT 1)
			FROM ch WHERE ch.id IS NOT NULL
		)
		SELECT due.id, due.due_at, coalesce((SELECT c.project_id FROM rollcall_channels AS c WHERE c.id = due.id), due.id) AS project_id
		FROM (SELECT ch.id, (SELECT d.due_at FROM rollcall_deliveries AS d WHERE d.state = 'pending' AND d.channel_id = ch.id
			ORDER BY d.due_at LIMIT 1) AS due_at FROM ch WHERE ch.id IS NOT NULL) AS due
		WHERE due.due_at <= ? LIMIT ?`,
		after, micros(now), micros(now), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	due := make([]store.DueChannel, len(rows))
	for i, r := range rows {
		due[i] = store.DueChannel{Channel: r.ID, Project: r.ProjectID, Due: instant(r.DueAt)}
	}
	return due, nil
}

// Remaining counts the pending deliveries by channel that a courier leaves when it stops. Those that others have leased are
// neither due nor failed, unless an attempt had failed before.
func (s *database) Remaining(ctx context.Context, raised, due time.Time) (map[uuid.UUID]int, error) {
	var rows []struct {
		ChannelID uuid.UUID `bun:"channel_id"`
		N         int       `bun:"n"`
	}
	err := s.db.NewRaw(`SELECT channel_id, count(*) AS n FROM (SELECT channel_id FROM rollcall_deliveries
			WHERE state = 'pending' AND created_at <= ? AND (due_at <= ? OR error <> '') LIMIT ?) AS p GROUP BY channel_id`,
		micros(raised), micros(due), store.MaxPending).Scan(ctx, &rows)
	if err != nil {
		return nil, s.translate(err)
	}
	left := make(map[uuid.UUID]int, len(rows))
	for _, r := range rows {
		left[r.ChannelID] = r.N
	}
	return left, nil
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
		err = t.tx().NewRaw(`UPDATE rollcall_deliveries AS d SET attempts = attempts + 1, due_at = ?
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
		err = t.tx().NewRaw(`SELECT d.id FROM json_to_recordset(?) AS ch ("Channel" uuid, "N" bigint) CROSS JOIN LATERAL (
			SELECT d.id FROM rollcall_deliveries AS d
			WHERE d.state = 'pending' AND d.channel_id = ch."Channel" AND d.due_at <= ?
			ORDER BY d.due_at, d.id LIMIT ch."N" + ? FOR UPDATE SKIP LOCKED) AS d`, string(list), micros(now), beyond).Scan(ctx, &ids)
		return ids, err
	}
	for _, r := range rooms {
		var list []int64
		err = t.tx().NewRaw(`SELECT d.id FROM rollcall_deliveries AS d WHERE d.state = 'pending' AND d.channel_id = ? AND d.due_at <= ?
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
	_, err = t.tx().NewRaw(`UPDATE rollcall_deliveries AS d SET due_at = (
			SELECT CASE WHEN f.due_at > ? THEN f.due_at ELSE ? END FROM rollcall_deliveries AS f WHERE f.id = `+firstOfLine+`)
		WHERE d.id IN (?) AND d.id <> `+firstOfLine, micros(now), micros(now.Add(parkTime)), bun.List(ids)).Exec(ctx)
	return err
}

// LockLines locks lines and returns each by the ID of its first delivery.
func (t *transaction) LockLines(ctx context.Context, ids []int64) (map[int64][]store.WaitingDelivery, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var rows []struct {
		deliveryRow
		First  int64 `bun:"first"`
		FlipAt int64 `bun:"flip_at"`
		FlipUp bool  `bun:"flip_up"`
	}
	query := "SELECT " + queuedColumns + `, h.id AS first, coalesce(f.at, d.created_at) AS flip_at, (d.close <> '' OR coalesce(f.up, FALSE)) AS flip_up
		FROM rollcall_deliveries AS h
		JOIN rollcall_deliveries AS d ON d.check_id = h.check_id AND d.channel_id = h.channel_id
			AND d.recipient = h.recipient AND d.state = 'pending'
		LEFT JOIN rollcall_flips AS f ON f.id = d.flip_id AND f.check_id = d.check_id
		WHERE h.id IN (?) ORDER BY d.reminder > 0 AND d.held <> '' AND d.attempts = 0, d.id`
	if t.s.d.postgres {
		query += " FOR UPDATE OF d"
	}
	if err := t.tx().NewRaw(query, bun.List(ids)).Scan(ctx, &rows); err != nil {
		return nil, err
	}
	lines := make(map[int64][]store.WaitingDelivery, len(ids))
	for i := range rows {
		r := &rows[i]
		lines[r.First] = append(lines[r.First], store.WaitingDelivery{
			QueuedDelivery: r.queued(), FlipID: r.FlipID, FlipAt: instant(r.FlipAt), FlipUp: r.FlipUp,
		})
	}
	return lines, nil
}

// resultRow is a result as RecordResults passes it to the database.
type resultRow struct {
	ID       int64  `json:"delivery"`
	Claim    int    `json:"claim"`
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	Due      int64  `json:"due"`
	Since    int64  `json:"since"`
	Error    string `json:"error"`
	Done     string `json:"done"`
	Held     string `json:"held"`
	Until    int64  `json:"until"`
	Batch    int64  `json:"batch"`
	Reminder int    `json:"reminder"`
}

// resultRows reads an array of resultRow on each database.
const (
	resultRowsPostgres = "json_to_recordset(?) AS v (delivery bigint, claim bigint, state text, attempts bigint, due bigint, since bigint, error text, done text, held text, until bigint, batch bigint, reminder bigint)"
	resultRowsSQLite   = `(SELECT value->>'delivery' AS delivery, value->>'claim' AS claim, value->>'state' AS state,
		value->>'attempts' AS attempts, value->>'due' AS due, value->>'since' AS since, value->>'error' AS error, value->>'done' AS done,
		value->>'held' AS held, value->>'until' AS until, value->>'batch' AS batch, value->>'reminder' AS reminder FROM json_each(?)) AS v`
)

// RecordResults writes the results whose deliveries are still pending under the same claim, or were sent.
func (t *transaction) RecordResults(ctx context.Context, now time.Time, results []store.DeliveryResult) error {
	if len(results) == 0 {
		return nil
	}
	rows, ids := make([]resultRow, len(results)), make([]int64, len(results))
	for i, r := range results {
		rows[i] = resultRow{ID: r.ID, Claim: r.Claim, State: string(r.State), Attempts: r.Attempts,
			Due: micros(r.Due), Since: micros(r.Since), Error: r.Error, Done: doneText(r.Done, r.Handed),
			Held: strings.TrimSpace(string(r.Held) + " " + r.HeldBy), Until: micros(r.HeldUntil), Batch: r.Batch, Reminder: r.Reminder}
		ids[i] = r.ID
	}
	list, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	from := resultRowsSQLite
	if t.s.d.postgres {
		from = resultRowsPostgres
	}
	var recorded []int64
	// The list of IDs is redundant, but without it the planner may scan the table for the join.
	err = t.tx().NewRaw(`UPDATE rollcall_deliveries AS d SET state = v.state, due_at = v.due, error = v.error, done = v.done,
			held = v.held, held_until = nullif(v.until, 0), batch = nullif(v.batch, 0), reminder = v.reminder,
			attempts = CASE WHEN d.attempts = v.claim THEN v.attempts ELSE d.attempts END,
			since = CASE WHEN d.attempts = v.claim THEN nullif(v.since, 0) ELSE d.since END,
			finished_at = CASE WHEN v.state <> 'pending' THEN ? END
		FROM `+from+` WHERE d.id = v.delivery AND d.id IN (?) AND d.state = 'pending'
			AND (d.attempts = v.claim OR v.state = 'sent') RETURNING id`,
		micros(now), string(list), bun.List(ids)).Scan(ctx, &recorded)
	if err != nil {
		return err
	}
	slices.Sort(recorded)
	return t.followUp(ctx, now, slices.DeleteFunc(slices.Clone(results), func(r store.DeliveryResult) bool {
		_, found := slices.BinarySearch(recorded, r.ID)
		return !found
	}))
}

// followUp writes what recorded results entail.
func (t *transaction) followUp(ctx context.Context, now time.Time, results []store.DeliveryResult) error {
	var ended, forgotten []int64
	marks := make(map[uuid.UUID]store.ChannelMark)
	for _, r := range results {
		if r.State != checks.DeliveryPending {
			ended = append(ended, r.ID)
		}
		if r.Forget {
			forgotten = append(forgotten, r.ID)
		}
		if r.Mark != nil {
			marks[r.ChannelID] = *r.Mark
		}
		if len(r.Copies) > 0 {
			if err := t.copyDelivery(ctx, r.ID, r.Copies, now); err != nil {
				return err
			}
		}
		if len(r.Handovers) > 0 {
			if err := t.handOver(ctx, r); err != nil {
				return err
			}
		}
		if r.Incident != nil {
			if err := t.SaveIncident(ctx, *r.Incident); err != nil {
				return err
			}
		}
	}
	if err := t.wakeNext(ctx, ended, now); err != nil {
		return err
	}
	if len(forgotten) > 0 {
		if _, err := t.tx().NewRaw("DELETE FROM rollcall_deliveries WHERE id IN (?)", bun.List(forgotten)).Exec(ctx); err != nil {
			return err
		}
	}
	return t.markChannels(ctx, marks)
}

// wakeNext makes the next delivery of each line due whose first has ended. It skips one that was claimed before, which
// may be on its way. It also writes one that is due already: that makes it wait for a transaction that has locked the
// row and is about to park it.
func (t *transaction) wakeNext(ctx context.Context, ended []int64, now time.Time) error {
	if len(ended) == 0 {
		return nil
	}
	_, err := t.tx().NewRaw(`UPDATE rollcall_deliveries SET due_at = CASE WHEN due_at < ?0 THEN due_at ELSE ?0 END
		WHERE state = 'pending' AND attempts = 0 AND id IN (
			SELECT `+firstOfLine+` FROM rollcall_deliveries AS d WHERE d.id IN (?1))`, micros(now), bun.List(ended)).Exec(ctx)
	return err
}

// keepChannels locks the channels that an INSERT into rollcall_deliveries selects as ch. On PostgreSQL, another
// transaction could otherwise delete a channel before the commit and leave its delivery behind.
const keepChannels = " FOR KEY SHARE OF ch"

// copyDelivery adds deliveries of the same alert to further channels, also to one whose incident was closed since, but not behind one
// about a later flip.
func (t *transaction) copyDelivery(ctx context.Context, id int64, to []uuid.UUID, now time.Time) error {
	insert := `INSERT INTO rollcall_deliveries
			(flip_id, check_id, channel_id, reminder, since, state, due_at, created_at, held, held_until, origin)
		SELECT d.flip_id, d.check_id, ch.id, d.reminder, d.since, 'pending', ?, d.created_at, d.held, d.held_until, -d.id
		FROM rollcall_deliveries AS d CROSS JOIN rollcall_channels AS ch
		WHERE d.id = ? AND ch.id IN (?) AND NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS o
			WHERE o.check_id = d.check_id AND o.channel_id = ch.id AND o.flip_id = d.flip_id AND (o.reminder > 0) = (d.reminder > 0)
				AND o.created_at >= d.created_at AND o.state <> 'skipped' AND o.close = ''
				AND NOT EXISTS (` + laterClose + `)
			OR o.check_id = d.check_id AND o.channel_id = ch.id AND o.flip_id > d.flip_id)
		ORDER BY ch.created_at, ch.id`
	if t.s.d.postgres {
		insert += keepChannels
	}
	_, err := t.tx().NewRaw(insert, micros(now), id, bun.List(to)).Exec(ctx)
	return err
}

// handOver adds the deliveries to single recipients that a result entails.
func (t *transaction) handOver(ctx context.Context, r store.DeliveryResult) error {
	from, lock := "rollcall_deliveries AS d JOIN rollcall_channels AS ch ON ch.id = d.channel_id", ""
	if r.ChannelID == store.OnAlert.ID {
		from = "rollcall_deliveries AS d"
	} else if t.s.d.postgres {
		lock = keepChannels
	}
	insert := `INSERT INTO rollcall_deliveries
			(flip_id, check_id, channel_id, reminder, since, state, attempts, due_at, created_at, error, recipient, origin, held, held_until, batch)
		SELECT d.flip_id, d.check_id, d.channel_id, d.reminder, d.since, 'pending', ?, ?, d.created_at, ?, ?, d.id, d.held, d.held_until, d.batch
		FROM ` + from + ` WHERE d.id = ? AND NOT EXISTS (SELECT 1 FROM rollcall_deliveries AS o
			WHERE o.check_id = d.check_id AND o.id > d.id AND o.origin = d.id AND o.recipient = ?)` + lock
	for _, h := range r.Handovers {
		_, err := t.tx().NewRaw(insert, h.Attempts, micros(h.Due), h.Error, h.Recipient, r.ID, h.Recipient).Exec(ctx)
		if err != nil {
			return err
		}
	}
	return nil
}

// markChannels writes the marks of channels, in the order of their IDs to prevent deadlocks. It writes no row of a
// working channel without a mark, the usual case.
func (t *transaction) markChannels(ctx context.Context, marks map[uuid.UUID]store.ChannelMark) error {
	var working []uuid.UUID
	for _, id := range slices.SortedFunc(maps.Keys(marks), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }) {
		if marks[id] == (store.ChannelMark{}) {
			working = append(working, id)
			continue
		}
		_, err := t.tx().NewRaw("UPDATE rollcall_channels SET failed_at = ?, error = ? WHERE id = ?",
			micros(marks[id].FailedAt), marks[id].Error, id).Exec(ctx)
		if err != nil {
			return err
		}
	}
	if len(working) == 0 {
		return nil
	}
	_, err := t.tx().NewRaw("UPDATE rollcall_channels SET failed_at = NULL, error = '' WHERE id IN (?) AND failed_at IS NOT NULL",
		bun.List(working)).Exec(ctx)
	return err
}
