package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks/monitor"
)

var _ monitor.Recorder = (*Store)(nil)

// errStale says that a check is not any more as it was read or remembered. Nothing was written then.
var errStale = errors.New("sqlstore: a check was changed meanwhile")

// Record saves what fn does to checks; see [monitor.Recorder]. Checks that were pinged lately are not read, and none
// is locked before it is written: whether they are what fn was given is found out by the write. Where they are not,
// all is done again under locks. So it is when the connection breaks off, if the revisions tell that the write was not
// done. When others have written all of the checks since, they do not tell, and the error is that of the connection.
//
// On SQLite, a checkpoint of large bodies may still run when Record returns. To close the database meanwhile does no harm.
func (s *Store) Record(ctx context.Context, ids []uuid.UUID, fn func(locked []*monitor.Locked) error) error {
	var tried map[uuid.UUID]attempt
	var broken error
	if len(ids) > 0 && s.recent.trusted() {
		var err error
		tried, err = s.recordRecent(ctx, ids, fn)
		if !errors.Is(err, errStale) && !retryable(err) && !disconnected(err) {
			return translate(err)
		}
		if disconnected(err) {
			broken = err
		}
	}
	var saved []*monitor.Locked
	err := s.Update(ctx, func(ctx context.Context, tx monitor.Tx) error {
		saved = nil
		locked, err := tx.LockChecks(ctx, ids)
		if err != nil {
			return err
		}
		if broken != nil {
			if done, known := outcome(tried, locked); !known {
				return broken
			} else if done {
				return nil
			}
		}
		if err := fn(locked); err != nil {
			return err
		}
		saved = locked
		return tx.SaveStates(ctx, locked)
	})
	if err == nil {
		s.recent.put(saved)
	}
	return err
}

// attempt is the revision of a check before and after a write of which it is not known whether it was done.
type attempt struct{ before, after int64 }

// outcome tells from the revisions that checks have now whether an attempt was done. It was done for all or for none.
func outcome(tried map[uuid.UUID]attempt, now []*monitor.Locked) (done, known bool) {
	for _, l := range now {
		a, ok := tried[l.ID]
		revision := l.Row.(*lockedRow).revision
		if ok && (revision == a.before || revision == a.after) {
			return revision == a.after, true
		}
	}
	return false, len(tried) == 0
}

// recordRecent writes a batch on the strength of what is remembered. When it fails, tried is what it may have written.
func (s *Store) recordRecent(
	ctx context.Context, ids []uuid.UUID, fn func(locked []*monitor.Locked) error,
) (tried map[uuid.UUID]attempt, err error) {
	remembered, missing := s.recent.get(ids)
	defer remembered.release()
	if len(missing) > 0 {
		read, err := s.readSome(ctx, missing)
		if err != nil {
			return nil, err
		}
		remembered.locked = append(remembered.locked, read...)
	}
	locked := remembered.locked
	if err := fn(locked); err != nil || len(locked) == 0 {
		return nil, err
	}
	was := revisions(locked)
	save := s.saveEach
	if s.d.postgres {
		save = s.saveAtOnce
	}
	if err := save(ctx, locked, was); err != nil {
		s.recent.drop(ids, errors.Is(err, errStale))
		tried = make(map[uuid.UUID]attempt, len(locked))
		for i, revision := range revisions(locked) {
			if revision != was[i] {
				tried[locked[i].ID] = attempt{was[i], revision}
			}
		}
		return tried, err
	}
	s.recent.put(locked)
	s.recent.confirm()
	return nil, nil
}

// readSome reads checks by their identifiers.
func (s *Store) readSome(ctx context.Context, ids []uuid.UUID) ([]*monitor.Locked, error) {
	if s.d.postgres {
		return s.lockedIn(s.db.DB.QueryContext(ctx, s.statements.readAny, s.d.list(ids)))
	}
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s.lockedIn(s.statements.read.QueryContext(ctx, s.d.list(ids)))
}

// revisions are those of checks as they were read, or as they are to be written.
func revisions(locked []*monitor.Locked) []int64 {
	list := make([]int64, len(locked))
	for i, l := range locked {
		list[i] = l.Row.(*lockedRow).revision
	}
	return list
}

// rare reports whether there is more to write than states and pings.
func (c *changes) rare() bool { return len(c.uploads)+len(c.flips)+len(c.alerts) > 0 }

// saveRare writes what few batches have.
func (t *transaction) saveRare(ctx context.Context, c changes) error {
	if err := t.s.d.insert(ctx, t.tx, "rollcall_uploads", uploadInsert, c.uploads); err != nil {
		return err
	}
	if err := t.enqueue(ctx, c.alerts); err != nil {
		return err
	}
	return t.s.d.insert(ctx, t.tx, "rollcall_flips", flipInsert, c.flips)
}

// divisionByZero is the code with which PostgreSQL says that recordStatement has failed on purpose.
const divisionByZero = "22012"

// recordColumns are what saveAtOnce writes of a state, and last by what it is found: the revision that is there before,
// and the key.
var recordColumns = []column{
	{"status", "smallint"}, {"since", "bigint"}, {"n_pings", "bigint"}, {"last_ping", "bigint"}, {"last_start", "bigint"},
	{"last_start_run", "uuid"}, {"runs", "bytea"}, {"log_head", "bigint"}, {"revision", "bigint"},
	{"alerting", "bytea"}, {"watch_at", "bigint"}, {"was", "bigint"}, {"check_id", "bigint"},
}

// entryColumns are what saveAtOnce writes of a log entry, with the place of the body among all of the batch in place of
// the body: as one parameter of bytes they are neither written as text nor read from it, which for bodies of 100 kB is
// most of the work.
var entryColumns = append(slices.Clip(pingInsert[:bodyColumn]), column{"body_at", "bigint"}, column{"body_length", "bigint"})

// recordStatement writes states and log entries in one round trip, or nothing if one of the states has another
// revision. The rows are locked in the order of the parameters first, which is that of their keys, as everywhere. All
// is found by a key or by its place: with joins instead, the planner prefers to read all states where there are few,
// and reads their dead versions, too. The remainder of a division by one is always 0, but the planner does not know: it
// expects that one row is held, and finds it by its place, where for more it would read all states as well.
//
// A row is found by its place only as it was when the statement began. Whoever changes a row gives it a new revision, so
// that it is not locked here; for one that does not, the statement fails by dividing by zero rather than write a part.
func recordStatement() string {
	set := assignments(recordColumns[:len(recordColumns)-2])
	states, entries := unnestAs("v", 1, recordColumns), unnestAs("e", 2+len(recordColumns), entryColumns)
	count := fmt.Sprintf("$%d::bigint", 1+len(recordColumns))
	bodies := fmt.Sprintf("$%d::bytea", 2+len(recordColumns)+len(entryColumns))
	return `WITH held AS MATERIALIZED (SELECT v.*, s.place
			FROM ` + states + `
			CROSS JOIN LATERAL (SELECT ctid AS place FROM rollcall_states
				WHERE check_id = v.check_id AND revision = v.was FOR UPDATE) s
			WHERE v.check_id % 1 = 0),
		n AS MATERIALIZED (SELECT count(*) AS n FROM held),
		saved AS (UPDATE rollcall_states t SET ` + set + ` FROM held v
			WHERE t.ctid = v.place AND (SELECT n FROM n) = ` + count + ` RETURNING 1),
		logged AS (INSERT INTO rollcall_pings (` + columnNames(pingInsert) + `)
			SELECT ` + columnNames(entryColumns[:bodyColumn]) + `, substring(` + bodies + ` FROM body_at::int FOR body_length::int)
			FROM ` + entries + ` WHERE (SELECT n FROM n) = ` + count + `)
		SELECT n / CASE WHEN n < ` + count + ` OR n = (SELECT count(*) FROM saved) THEN 1 ELSE 0 END FROM n`
}

// saveAtOnce writes a batch on PostgreSQL: by one statement, and in a transaction only if there is more than that.
func (s *Store) saveAtOnce(ctx context.Context, locked []*monitor.Locked, was []int64) error {
	c, err := collect(locked, func(n int) ([]int64, error) {
		return s.reservePings(ctx, s.db.DB, n)
	}, func(n int) ([]int64, error) {
		return s.d.reserve(ctx, s.db.DB, "rollcall_flips", n)
	})
	if err != nil {
		return err
	}
	for i, l := range locked {
		row := l.Row.(*lockedRow)
		last := len(stateUpdate) - 1 // the key
		c.states[i] = append(c.states[i][:last], orNullBytes(row.alerting), orNull(row.watchAt), was[i], row.id)
	}
	slices.SortFunc(c.states, func(a, b []any) int { return cmp.Compare(a[len(a)-1].(int64), b[len(b)-1].(int64)) })
	if !c.rare() {
		return s.execRecord(ctx, s.db.DB, c)
	}
	return s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if err := s.execRecord(ctx, tx.Tx, c); err != nil {
			return err
		}
		return (&transaction{s: s, tx: tx}).saveRare(ctx, c)
	})
}

func (s *Store) execRecord(ctx context.Context, db querier, c changes) error {
	bodies, places := joinBodies(c.pings)
	args := make([]any, 0, len(recordColumns)+1+len(entryColumns)+1)
	for i := range recordColumns {
		args = append(args, arrayOrNull(c.states, i))
	}
	args = append(args, len(c.states))
	for i := range bodyColumn {
		args = append(args, arrayOrNull(c.pings, i))
	}
	args = append(args, arrayOrNull(places, 0), arrayOrNull(places, 1), bodies)
	var held int
	if err := db.QueryRowContext(ctx, s.statements.record, args...).Scan(&held); err != nil {
		if state, ok := sqlState(err); ok && state == divisionByZero {
			return errStale
		}
		return err
	}
	if held != len(c.states) {
		return errStale
	}
	return nil
}

// bodyBytes is the size of the bodies of pings.
func bodyBytes(pings [][]any) (size int) {
	for _, row := range pings {
		body, _ := row[bodyColumn].([]byte)
		size += len(body)
	}
	return size
}

// joinBodies returns the bodies of pings in a row, and where each of them is, from 1 on, as PostgreSQL counts. A ping
// without a body has no place; without any, there are no places at all.
func joinBodies(pings [][]any) (bodies []byte, places [][]any) {
	size := bodyBytes(pings)
	if size == 0 {
		return nil, nil
	}
	bodies = make([]byte, 0, size)
	places = make([][]any, len(pings))
	for i, row := range pings {
		places[i] = []any{nil, nil}
		if body, ok := row[bodyColumn].([]byte); ok {
			places[i] = []any{int64(len(bodies) + 1), int64(len(body))}
			bodies = append(bodies, body...)
		}
	}
	return bodies, places
}

// arrayOrNull writes one column of rows as an array, or returns NULL when there is nothing in it, which is less to read:
// unnest fills it up with NULL.
func arrayOrNull(rows [][]any, i int) any {
	for _, row := range rows {
		if row[i] != nil {
			return arrayText(rows, i)
		}
	}
	return nil
}

// idBlock is what is left of identifiers that were reserved together. Nobody holds it while more are reserved: that may
// have to wait for a connection, which another who waits for the block may have.
type idBlock struct {
	mu   sync.Mutex
	left []int64
}

// idBlockSize is how many identifiers are reserved at once. Those that are left at the end are lost.
const idBlockSize = 1024

// reservePings returns n identifiers for entries of the log. On PostgreSQL, where that is a round trip, many are
// reserved at once. They need not be in the order of the entries: an entry is found by the one after it.
func (s *Store) reservePings(ctx context.Context, db querier, n int) ([]int64, error) {
	if !s.d.postgres || n == 0 {
		return s.d.reserve(ctx, db, "rollcall_pings", n)
	}
	b := &s.pingIDs
	if ids := b.take(n); ids != nil {
		return ids, nil
	}
	more, err := s.d.reserve(ctx, db, "rollcall_pings", max(n, idBlockSize))
	if err != nil {
		return nil, err
	}
	b.put(more[n:])
	return more[:n:n], nil
}

// take returns n identifiers, or none if so many are not left.
func (b *idBlock) take(n int) (ids []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.left) < n {
		return nil
	}
	ids = b.left[:n:n]
	b.left = b.left[n:]
	return ids
}

// put keeps identifiers for later, in place of those that were left if these are more.
func (b *idBlock) put(ids []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ids) > len(b.left) {
		b.left = ids
	}
}

// saveEach writes a batch on SQLite, row by row.
func (s *Store) saveEach(ctx context.Context, locked []*monitor.Locked, was []int64) error {
	release, err := s.writeAlone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	var c changes
	err = s.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) (err error) {
		t := &transaction{s: s, tx: tx}
		if c, err = t.saveRows(ctx, locked, was); err != nil {
			return err
		}
		if err := s.d.update(ctx, tx, "rollcall_states", watchUpdate, c.watches); err != nil {
			return err
		}
		if err := s.d.update(ctx, tx, "rollcall_states", alertingUpdate, c.alerting); err != nil {
			return err
		}
		return t.saveRare(ctx, c)
	})
	if err == nil {
		s.checkpointBodies(c)
	}
	return err
}

// saveRows writes states and log entries with the prepared statements.
func (t *transaction) saveRows(ctx context.Context, locked []*monitor.Locked, was []int64) (c changes, err error) {
	// The driver starts a goroutine for each statement that can be cancelled, which costs as much as the statement.
	// None of these waits for anything but the disk, and the transaction as a whole can be cancelled.
	within := context.WithoutCancel(ctx)
	prepared := &t.s.statements
	if _, err := t.tx.Tx.StmtContext(within, prepared.lock).ExecContext(within); err != nil {
		return c, err
	}
	c, err = collect(locked, func(n int) ([]int64, error) {
		return following(t.tx.Tx.StmtContext(within, prepared.newest).QueryRowContext(within), n)
	}, func(n int) ([]int64, error) {
		return t.s.d.reserve(within, t.tx.Tx, "rollcall_flips", n)
	})
	if err != nil {
		return c, err
	}
	save := t.tx.Tx.StmtContext(within, prepared.save)
	for i, row := range c.states {
		result, err := save.ExecContext(within, append(row, was[i])...)
		if err != nil {
			return c, err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return c, errors.Join(err, errStale)
		}
	}
	log := t.tx.Tx.StmtContext(within, prepared.log)
	for _, row := range c.pings {
		if _, err := log.ExecContext(within, row...); err != nil {
			return c, err
		}
	}
	return c, ctx.Err()
}
