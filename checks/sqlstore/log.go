package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// chains walks the logs of checks at once, each back from its newest entry. The entry that prev names may have been pruned,
// and on SQLite its identifier may belong to another check's entry. ended grows by a step with each entry in a row that
// meets a condition.
const chains = `WITH RECURSIVE chains AS (
	SELECT c.uuid, p.check_id, p.id, p.prev, p.n, 1 AS depth, CASE WHEN {ended} THEN {step} ELSE 0 END AS ended{carried}
	FROM {checks} JOIN rollcall_states AS s ON s.check_id = c.id{state} {head} WHERE {where}
	UNION ALL
	SELECT k.uuid, p.check_id, p.id, p.prev, p.n, k.depth + 1, CASE WHEN {ended} THEN k.ended + {step} ELSE 0 END{carried}
	FROM chains AS k {next} WHERE k.depth < {limit} AND k.ended < {most}
) SELECT k.uuid, k.n, {read} FROM chains AS k {wanted}`

// The columns that chains carries along or reads of an entry, in the order in which Pings scans them.
const (
	briefColumns = "p.kind, p.at, p.run, p.exit_status, p.duration, p.body_size"
	moreColumns  = ", p.scheme, p.method, p.remote_addr, p.ua"
	bodyColumns  = ", p.body, coalesce(p.object, ''), p.body_cut, p.body_charset" // SQLite finds the last two behind the body
	bodyEnd      = ", substr(p.body, CASE WHEN length(p.body) > {end} THEN length(p.body) - {end} + 1 ELSE 1 END), '', p.body_cut, p.body_charset"
	noMore       = ", '', '', '', ''"
	noBody       = ", NULL, '', 0, ''"
)

// walk is what a query for chains looks for: the parts of its text.
type walk struct {
	ended   string // what of an entry counts as the end of the walk
	step    int    // by how much it counts; the walk ends at store.OlderPings
	carried string // columns of an entry, or "" to look each up again at the end
	read    string
	wanted  string
}

// walkOf returns the walk of a query. One for bodies does not carry them along past the entries before.
func walkOf(q store.PingQuery) walk {
	w := walk{ended: fmt.Sprintf("p.at < %d", q.Since.UnixMicro()), step: 1, carried: briefColumns + moreColumns}
	w.read = w.carried + noBody
	switch {
	case q.Number != nil:
		w = walk{ended: fmt.Sprintf("p.n <= %d", *q.Number), step: store.OlderPings, read: briefColumns + moreColumns + bodyColumns}
		w.wanted = fmt.Sprintf(" WHERE k.n = %d", *q.Number)
	case q.Failed:
		w = walk{ended: fmt.Sprintf("p.kind = %d", code(kinds[:], pings.Failure)), step: store.OlderPings, read: briefColumns + moreColumns + bodyEnd}
		w.wanted = " WHERE k.ended > 0"
	case q.Timed:
		w = walk{ended: "p.duration IS NOT NULL", step: store.OlderPings, carried: briefColumns, read: briefColumns + noMore + noBody}
		w.wanted = " WHERE k.duration IS NOT NULL"
	case q.Brief:
		w.carried, w.read = briefColumns, briefColumns+noMore+noBody
	}
	return w
}

// query returns the query for the logs of a source.
func (w walk) query(d dialect, l logSource, limit int) string {
	if w.carried == "" {
		w.wanted = d.joinEntry("p.id = k.id AND p.check_id = k.check_id"+l.ping) + w.wanted
	} else {
		w.carried, w.read = ", "+w.carried, strings.ReplaceAll(w.read, "p.", "k.")
	}
	return strings.NewReplacer(
		"{ended}", w.ended, "{step}", fmt.Sprint(w.step), "{carried}", w.carried, "{wanted}", w.wanted,
		"{read}", strings.ReplaceAll(w.read, "{end}", fmt.Sprint(store.FailedBody)),
		"{checks}", l.checks, "{where}", l.where, "{state}", l.state, "{head}", d.joinEntry("p.id = s.log_head"+l.ping),
		"{next}", d.joinEntry("p.id = k.prev AND p.check_id = k.check_id AND p.n = k.n - 1"+l.ping),
		"{limit}", fmt.Sprint(limit), "{most}", fmt.Sprint(store.OlderPings),
	).Replace(chains)
}

// Pings returns the newest pings of checks.
func (s *database) Pings(ctx context.Context, q store.PingQuery) (logs map[uuid.UUID][]pings.Ping, err error) {
	if q.Limit <= 0 || len(q.Checks) == 0 && q.Project == uuid.Nil {
		return nil, nil
	}
	where, arg := "c.project_id = ?", any(q.Project)
	if q.Project == uuid.Nil {
		where, arg = s.d.anyOf("c.uuid", "uuid"), s.d.list(q.Checks)
	}
	where = s.db.QueryGen().FormatQuery(where, arg)
	err = s.read(ctx, func(l layout) error {
		logs = make(map[uuid.UUID][]pings.Ping)
		sources, err := l.logs(ctx, s.db.DB, where)
		for _, source := range sources {
			if err = s.addPings(ctx, logs, walkOf(q).query(s.d, source, q.Limit)); err != nil {
				break
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, log := range logs {
		slices.SortFunc(log, func(a, b pings.Ping) int { return cmp.Compare(b.N, a.N) })
	}
	return logs, nil
}

// addPings adds the result of a query for chains to the logs of checks.
func (s *database) addPings(ctx context.Context, logs map[uuid.UUID][]pings.Ping, query string) error {
	rows, err := s.db.QueryContext(ctx, query)
	var row struct {
		check uuid.UUID
		pingRow
	}
	list, err := scanList(rows, err, &row, &row.check, &row.N, &row.Kind, &row.At, &row.Run, &row.ExitStatus, &row.Duration, &row.BodySize,
		&row.Scheme, &row.Method, &row.RemoteAddr, &row.UA, &row.Body, &row.Object, &row.BodyCut, &row.Charset)
	if err != nil {
		return err
	}
	for i := range list {
		p, err := list[i].ping()
		if err != nil {
			return err
		}
		logs[list[i].check] = append(logs[list[i].check], p)
	}
	return nil
}

// joinEntry joins the log entry p that meets a condition on its key. The database must look up each entry: it cannot know how
// many entries the walk has in hand, and might join with the whole table.
func (d dialect) joinEntry(condition string) string {
	if d.postgres {
		return "CROSS JOIN LATERAL (SELECT * FROM rollcall_pings AS p WHERE " + condition + " LIMIT 1) AS p"
	}
	return "CROSS JOIN rollcall_pings AS p ON " + condition // in this order
}
