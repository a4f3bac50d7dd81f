package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// chains walks the logs of several checks at once, like chain. Its column older counts the entries in a row that are
// older than an instant. The verbs stand for a logSource and for the two
// look-ups of an entry.
const chains = `WITH RECURSIVE chains (uuid, check_id, prev, n, kind, at, run, exit_status, duration, body_size, depth, older) AS (
	SELECT c.uuid, p.check_id, p.prev, p.n, p.kind, p.at, p.run, p.exit_status, p.duration, p.body_size, 1,
		CASE WHEN p.at < ? THEN 1 ELSE 0 END
	FROM %[1]s JOIN rollcall_states AS s ON s.check_id = c.id%[3]s %[4]s WHERE %[2]s
	UNION ALL
	SELECT k.uuid, p.check_id, p.prev, p.n, p.kind, p.at, p.run, p.exit_status, p.duration, p.body_size, k.depth + 1,
		CASE WHEN p.at < ? THEN k.older + 1 ELSE 0 END
	FROM chains AS k %[5]s WHERE k.depth < ? AND k.older < ?
) SELECT uuid, n, kind, at, run, exit_status, duration, body_size FROM chains`

// RecentPings returns the newest pings of checks, until ten in a row are older than an instant.
func (s *database) RecentPings(ctx context.Context, checkIDs []uuid.UUID, since time.Time, limit int) (map[uuid.UUID][]pings.Ping, error) {
	if len(checkIDs) == 0 || limit <= 0 {
		return nil, nil
	}
	sources, err := s.logSources(ctx, s.d.anyOf("c.uuid", "uuid"), s.d.list(checkIDs))
	if err != nil {
		return nil, translate(err)
	}
	recent := make(map[uuid.UUID][]pings.Ping)
	for _, l := range sources {
		query := fmt.Sprintf(chains, l.checks, l.where, l.state, s.d.joinEntry("p.id = s.log_head"+l.ping),
			s.d.joinEntry("p.id = k.prev AND p.check_id = k.check_id AND p.n = k.n - 1"+l.ping))
		rows, err := s.db.QueryContext(ctx, query, since.UnixMicro(), since.UnixMicro(), limit, store.OlderPings)
		if err := addRecent(recent, rows, err); err != nil {
			return nil, translate(err)
		}
	}
	for _, log := range recent {
		slices.SortStableFunc(log, func(a, b pings.Ping) int { return cmp.Compare(b.N, a.N) })
	}
	return recent, nil
}

// addRecent adds the result of a query for chains to the logs of checks.
func addRecent(recent map[uuid.UUID][]pings.Ping, rows *sql.Rows, err error) error {
	var row struct {
		check uuid.UUID
		pingRow
	}
	list, err := scanList(rows, err, &row, &row.check, &row.N, &row.Kind, &row.At, &row.Run, &row.ExitStatus, &row.Duration, &row.BodySize)
	if err != nil {
		return err
	}
	for i := range list {
		p, err := list[i].ping()
		if err != nil {
			return err
		}
		recent[list[i].check] = append(recent[list[i].check], p)
	}
	return nil
}

// joinEntry joins the log entry p that meets a condition on its key. PostgreSQL must look up each entry: it cannot know how
// many entries the walk has in hand, and might join with the whole table.
func (d dialect) joinEntry(condition string) string {
	if d.postgres {
		return "CROSS JOIN LATERAL (SELECT * FROM rollcall_pings AS p WHERE " + condition + " LIMIT 1) AS p"
	}
	return "JOIN rollcall_pings AS p ON " + condition
}
