package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

type pingRow struct {
	bun.BaseModel `bun:"table:rollcall_pings,alias:p"`

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
		UserAgent: r.UA, RunID: r.Run, ExitStatus: r.ExitStatus, BodySize: r.BodySize, Body: r.Body, BodyKey: r.Object,
	}
	if r.Duration != nil {
		p.Duration = new(time.Duration(*r.Duration) * time.Microsecond)
	}
	return p, nil
}

// chain walks the log of one check back from its newest entry. The entry that prev names may have been pruned, and on
// SQLite its identifier may belong to another check's entry.
const chain = `WITH RECURSIVE chain (id, prev, n, check_id, depth) AS (
	SELECT p.id, p.prev, p.n, p.check_id, 1
	FROM %[1]s JOIN rollcall_states s ON s.check_id = c.id%[3]s JOIN rollcall_pings p ON p.id = s.log_head%[4]s
	WHERE %[2]s
	UNION ALL
	SELECT p.id, p.prev, p.n, p.check_id, depth + 1
	FROM chain JOIN rollcall_pings p ON p.id = chain.prev AND p.check_id = chain.check_id AND p.n = chain.n - 1%[4]s
	WHERE depth < ? AND chain.n > ?
) SELECT %[5]s FROM chain JOIN rollcall_pings p ON p.id = chain.id%[4]s`

// readChain reads entries of the log of one check, with the given columns and the conditions after them.
func (s *database) readChain(ctx context.Context, checkID uuid.UUID, columns, conditions string, args ...any) (rows []pingRow, err error) {
	sources, err := s.logSources(ctx, "c.uuid = ?", checkID)
	for _, l := range sources { // at most one
		err = s.db.NewRaw(fmt.Sprintf(chain, l.checks, l.where, l.state, l.ping, columns)+conditions, args...).Scan(ctx, &rows)
	}
	return rows, translate(err)
}

const pingColumns = "p.n, p.kind, p.at, p.scheme, p.method, p.remote_addr, p.ua, p.run, p.exit_status, p.duration, p.body_size"

// Pings returns the newest pings of a check, newest first, without their bodies.
func (s *database) Pings(ctx context.Context, checkID uuid.UUID, limit int) ([]pings.Ping, error) {
	rows, err := s.readChain(ctx, checkID, pingColumns, " ORDER BY p.n DESC", limit, 0)
	if err != nil {
		return nil, err
	}
	list := make([]pings.Ping, len(rows))
	for i := range rows {
		if list[i], err = rows[i].ping(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Ping returns ping number n with its body, if it is among the newest limit pings of the check.
func (s *database) Ping(ctx context.Context, checkID uuid.UUID, n int64, limit int) (pings.Ping, error) {
	rows, err := s.readChain(ctx, checkID, pingColumns+", p.body, p.object", " WHERE chain.n = ?", limit, n, n)
	if err != nil {
		return pings.Ping{}, err
	}
	if len(rows) == 0 {
		return pings.Ping{}, checks.ErrNotFound
	}
	return rows[0].ping()
}

type flipRow struct {
	bun.BaseModel `bun:"table:rollcall_flips,alias:f"`

	ID     int64        `bun:"id,pk"`
	At     int64        `bun:"at"`
	Up     bool         `bun:"up"`
	Reason flips.Reason `bun:"reason"`
}

// Flips returns the flips of a check in a window, newest first.
func (s *database) Flips(ctx context.Context, checkID uuid.UUID, from, until time.Time) ([]flips.Flip, error) {
	var rows []flipRow
	// Order by identifier, which is the order of commits: instants can be out of order after a clock was set back.
	q := s.db.NewSelect().Model(&rows).Join("JOIN rollcall_checks AS c ON c.id = f.check_id").
		Where("c.uuid = ?", checkID).OrderExpr("f.id DESC")
	if !from.IsZero() {
		q = q.Where("f.at >= ?", from.UnixMicro())
	}
	if !until.IsZero() {
		q = q.Where("f.at < ?", until.UnixMicro())
	}
	if err := q.Scan(ctx); err != nil {
		return nil, translate(err)
	}
	list := make([]flips.Flip, len(rows))
	for i, r := range rows {
		list[i] = flips.Flip{At: instant(r.At), Up: r.Up, Reason: r.Reason}
	}
	return list, nil
}
