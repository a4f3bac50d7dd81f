package sqlstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// loggedColumns lists the columns that insertPings sets, in the order of pingValues.
const loggedColumns = `id, check_id, n, prev, kind, at, scheme, method, remote_addr, ua, run, exit_status, duration, body_size, body,
	body_cut, body_charset`

// On PostgreSQL, insertPings and updateStates are one statement, to save a round trip: the text of updateStates follows
// that of insertPings, and the parameters of insertPings follow those of updateStates.
var insertPings = statement{
	sqlite: `INSERT INTO rollcall_pings (` + loggedColumns + `)
		VALUES (?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	postgres: `WITH inserted AS (
			INSERT INTO rollcall_pings (` + loggedColumns + `)
			SELECT unnest($9::bigint[]), unnest($10::bigint[]), unnest($11::bigint[]), nullif(unnest($12::bigint[]), 0),
				unnest($13::smallint[]), unnest($14::bigint[]), unnest($15::text[]), unnest($16::text[]), unnest($17::text[]),
				unnest($18::text[]), unnest($19::uuid[]), unnest($20::smallint[]), unnest($21::bigint[]), unnest($22::bigint[]),
				unnest($23::bytea[]), unnest($24::bigint[]), unnest($25::text[])
		) `,
}

// The second condition on check_id is redundant, but without it PostgreSQL may scan the table for the join.
var updateStates = statement{
	sqlite: `UPDATE rollcall_states SET state = ?, log_head = nullif(?, 0), revision = ?, n_pings = ?,
		last_at = nullif(?, 0), next_at = nullif(?, 0), down_at = nullif(?, 0) WHERE check_id = ?`,
	postgres: `UPDATE rollcall_states AS s SET state = v.state, log_head = nullif(v.log_head, 0), revision = v.revision,
			n_pings = v.n_pings, last_at = nullif(v.last_at, 0), next_at = nullif(v.next_at, 0), down_at = nullif(v.down_at, 0)
		FROM (SELECT unnest($1::text[]) AS state, unnest($2::bigint[]) AS log_head, unnest($3::bigint[]) AS revision,
			unnest($4::bigint[]) AS n_pings, unnest($5::bigint[]) AS last_at, unnest($6::bigint[]) AS next_at,
			unnest($7::bigint[]) AS down_at, unnest($8::bigint[]) AS check_id) AS v
		WHERE s.check_id = v.check_id AND s.check_id = ANY ($8::bigint[])`,
}

var updateWatches = statement{
	sqlite: "UPDATE rollcall_states SET watch_at = nullif(?, 0) WHERE check_id = ?",
	postgres: `UPDATE rollcall_states AS s SET watch_at = nullif(v.watch_at, 0)
		FROM (SELECT unnest($1::bigint[]) AS watch_at, unnest($2::bigint[]) AS check_id) AS v
		WHERE s.check_id = v.check_id AND s.check_id = ANY ($2::bigint[])`,
}

var updateListed = statement{
	sqlite: "UPDATE rollcall_checks SET status = ?, status_at = ?, slow_at = ? WHERE id = ?",
	postgres: `UPDATE rollcall_checks AS c SET status = v.status, status_at = v.status_at, slow_at = v.slow_at
		FROM (SELECT unnest($1::smallint[]) AS status, unnest($2::bigint[]) AS status_at, unnest($3::bigint[]) AS slow_at,
			unnest($4::bigint[]) AS id) AS v
		WHERE c.id = v.id AND c.id = ANY ($4::bigint[])`,
}

var insertUploads = statement{
	sqlite: "INSERT INTO rollcall_uploads (ping_id, object, due_at) VALUES (?, ?, ?)",
	postgres: `INSERT INTO rollcall_uploads (ping_id, object, due_at)
		SELECT unnest($1::bigint[]), unnest($2::text[]), unnest($3::bigint[])`,
}

var insertFlips = statement{
	sqlite: "INSERT INTO rollcall_flips (id, check_id, at, up, from_status, reason) VALUES (?, ?, ?, ?, ?, ?)",
	postgres: `INSERT INTO rollcall_flips (id, check_id, at, up, from_status, reason) SELECT unnest($1::bigint[]),
		unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::boolean[]), unnest($5::smallint[]), unnest($6::text[])`,
}

var insertPauses = statement{
	sqlite: "INSERT INTO rollcall_pauses (check_id, at, from_status) VALUES (?, ?, ?)",
	postgres: `INSERT INTO rollcall_pauses (check_id, at, from_status)
		SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::smallint[])`,
}

var deletePauses = statement{
	sqlite: "DELETE FROM rollcall_pauses WHERE check_id = ? AND at = ?",
	postgres: `DELETE FROM rollcall_pauses AS p USING (SELECT unnest($1::bigint[]) AS check_id, unnest($2::bigint[]) AS at) AS v
		WHERE p.check_id = v.check_id AND p.at = v.at`,
}

// batch holds the rows that SaveChecks writes: for each the values of its statement.
type batch struct {
	pings, states, watches, listed, uploads, flips, pauses, unpaused [][]any

	alerts    []raisedAlert
	months    []monthChange
	bodyBytes int // the size of the pings' bodies
}

// SaveChecks writes locked checks and their changes. Nothing else writes rollcall_checks and rollcall_states, so every
// change gives the check a new revision.
func (t *transaction) SaveChecks(ctx context.Context, locked []*store.Locked) error {
	if slices.ContainsFunc(locked, func(l *store.Locked) bool { return l.Row == nil || l.SettingsChanged }) {
		if err := t.saveSettings(ctx, locked); err != nil {
			return err
		}
	}
	if err := t.saveStates(ctx, locked); err != nil {
		return err
	}
	t.saved = append(t.saved, locked...)
	return nil
}

// saveStates writes the states of checks and all that is new about them.
func (t *transaction) saveStates(ctx context.Context, locked []*store.Locked) error {
	var n, flips int
	for _, l := range locked {
		n, flips = n+len(l.Pings), flips+len(l.Transitions)
	}
	pingIDs, err := t.reserve(ctx, "rollcall_pings", n)
	if err != nil {
		return err
	}
	flipIDs, err := t.reserve(ctx, "rollcall_flips", flips)
	if err != nil {
		return err
	}
	var b batch
	for _, l := range locked {
		n, flips := len(l.Pings), len(l.Transitions)
		if err := b.add(l, pingIDs[:n], flipIDs[:flips]); err != nil {
			return err
		}
		pingIDs, flipIDs = pingIDs[n:], flipIDs[flips:]
	}
	t.bodyBytes += b.bodyBytes
	events := len(b.listed)+len(b.uploads)+len(b.alerts)+len(b.months)+len(b.pauses)+len(b.unpaused)+len(b.flips) > 0
	if events && t.direct {
		return errDetour
	}
	if err := t.layout.write(ctx, t, &b); err != nil {
		return err
	}
	if events {
		return t.saveEvents(ctx, &b)
	}
	return nil
}

// saveEvents writes what most pings do not have, deliveries before flips; see enqueue.
func (t *transaction) saveEvents(ctx context.Context, b *batch) error {
	if err := t.exec(ctx, updateListed, b.listed); err != nil {
		return err
	}
	if err := t.exec(ctx, insertUploads, b.uploads); err != nil {
		return err
	}
	if err := t.enqueue(ctx, b.alerts); err != nil {
		return err
	}
	if len(b.months) > 0 {
		if err := t.saveMonths(ctx, b.months); err != nil {
			return err
		}
	}
	if err := t.exec(ctx, insertPauses, b.pauses); err != nil {
		return err
	}
	if err := t.exec(ctx, deletePauses, b.unpaused); err != nil {
		return err
	}
	return t.exec(ctx, insertFlips, b.flips)
}

// add adds the rows of one check, and takes from it what is new.
func (b *batch) add(l *store.Locked, pingIDs, flipIDs []int64) error {
	row := l.Row.(*lockedRow)
	uploads := l.Uploads
	for i := range l.Pings {
		p := &l.Pings[i]
		b.pings = append(b.pings, pingValues(pingIDs[i], row, p))
		b.bodyBytes += len(p.Body)
		row.logHead = pingIDs[i]
		if len(uploads) > 0 && uploads[0] == p.N {
			uploads = uploads[1:]
			b.uploads = append(b.uploads, []any{pingIDs[i], store.ObjectKey(l.ID, row.id, p.N, p.Body), micros(p.At)})
		}
	}
	// The revision is random because a counter would not do: after a failover that loses the last commits, it would reuse
	// numbers that caches still hold.
	row.revision = rand.Int64()
	state, err := encodeState(&l.State)
	if err != nil {
		return err
	}
	next, deadline, wakeAt := l.Outlook()
	b.states = append(b.states, []any{state, row.logHead, row.revision, l.NPings, micros(l.LastPing), micros(next), micros(deadline), row.id})
	// watch_at is a lower bound of the next instant to settle, usually the deadline. Most pings move the deadline later,
	// which needs no write: the watcher then finds the check too early and sets a new bound.
	wake := micros(wakeAt)
	early := wake != 0 && row.watchAt != 0 && row.watchAt <= wake
	if wake != row.watchAt && (!early || l.Due) {
		row.watchAt = wake
		b.watches = append(b.watches, []any{wake, row.id})
	}
	if list := listedOf(&l.State, row.listed); list != row.listed {
		row.listed = list
		b.listed = append(b.listed, []any{list.status, list.statusAt, list.slowAt, row.id})
	}
	for i, tr := range l.Transitions {
		up := tr.To == checks.StatusUp
		b.flips = append(b.flips, []any{flipIDs[i], row.id, micros(tr.At), up, code(statuses[:], tr.From), string(tr.Reason)})
	}
	for _, tr := range l.Pauses {
		b.pauses = append(b.pauses, []any{row.id, micros(tr.At), code(statuses[:], tr.From)})
	}
	for _, at := range l.Unpaused {
		b.unpaused = append(b.unpaused, []any{row.id, micros(at)})
	}
	if len(l.Days) > 0 || len(l.Folds) > 0 {
		b.months = append(b.months, monthChange{row.id, l.Days, l.Folds})
	}
	if len(l.Alerts) > 0 {
		b.addAlerts(l, row.id, flipIDs)
	}
	l.Pings, l.Uploads, l.Transitions, l.Pauses, l.Alerts = nil, nil, nil, nil, nil
	l.Days, l.Folds, l.Unpaused = nil, nil, nil
	return nil
}

// pingValues returns the values of insertPings.
func pingValues(id int64, row *lockedRow, p *pings.Ping) []any {
	var exitStatus, duration, body any
	if p.ExitStatus != nil {
		exitStatus = int64(*p.ExitStatus)
	}
	if p.Duration != nil {
		duration = p.Duration.Microseconds()
	}
	if len(p.Body) > 0 {
		body = p.Body
	}
	return []any{
		id, row.id, p.N, row.logHead, code(kinds[:], p.Kind), micros(p.At), p.Scheme, p.Method, p.RemoteAddr, p.UserAgent, p.RunID,
		exitStatus, duration, p.BodySize, body, p.BodyCut, p.BodyCharset,
	}
}

// pingRow is a row of rollcall_pings as pingColumns select it, with the body.
type pingRow struct {
	N          int64         `bun:"n"`
	Kind       int64         `bun:"kind"`
	At         int64         `bun:"at"`
	Scheme     string        `bun:"scheme"`
	Method     string        `bun:"method"`
	RemoteAddr string        `bun:"remote_addr"`
	UA         string        `bun:"ua"`
	Run        uuid.NullUUID `bun:"run"`
	ExitStatus *int          `bun:"exit_status"`
	Duration   *int64        `bun:"duration"`
	BodySize   int64         `bun:"body_size"`
	BodyCut    int64         `bun:"body_cut"`
	Charset    string        `bun:"body_charset"`
	Body       []byte        `bun:"body"`
	Object     string        `bun:"object"`
}

func (r *pingRow) ping() (pings.Ping, error) {
	kind, err := decode(kinds[:], r.Kind)
	if err != nil {
		return pings.Ping{}, err
	}
	p := pings.Ping{
		N: r.N, Kind: kind, At: instant(r.At), Scheme: r.Scheme, Method: r.Method, RemoteAddr: r.RemoteAddr,
		UserAgent: r.UA, RunID: r.Run, ExitStatus: r.ExitStatus, BodySize: r.BodySize, BodyCut: r.BodyCut,
		BodyCharset: r.Charset, Body: r.Body, BodyKey: r.Object,
	}
	if r.Duration != nil {
		p.Duration = new(time.Duration(*r.Duration) * time.Microsecond)
	}
	return p, nil
}

// pingColumns lists the columns that pingRow reads, but for the body and its object.
const pingColumns = "p.n, p.kind, p.at, p.scheme, p.method, p.remote_addr, p.ua, p.run, p.exit_status, p.duration, p.body_size, p.body_cut, p.body_charset"

// statuses lists the states of checks. The database stores the index.
var statuses = [...]checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusDown, checks.StatusPaused}

// kinds lists the kinds of pings. The database stores the index.
var kinds = [...]pings.Kind{pings.Success, pings.Start, pings.Failure, pings.Log, pings.Ignored}

// code returns the index of a value, or -1, which decode refuses.
func code[T comparable](list []T, v T) int64 { return int64(slices.Index(list, v)) }

func decode[T comparable](list []T, i int64) (v T, err error) {
	if i < 0 || i >= int64(len(list)) {
		return v, &partError{err: fmt.Errorf("sqlstore: a row has the unknown code %d: is it from a newer version of Rollcall?", i)}
	}
	return list[i], nil
}

// Instants are stored as microseconds since 1970, the zero time as NULL.

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
