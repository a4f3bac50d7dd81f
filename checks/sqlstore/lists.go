package sqlstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/flips"
)

// late is the code of a status that no row has: it follows from the clock.
const late = 4

// listCode returns the code of a status in the queries below.
func listCode(s checks.Status) int64 {
	if s == checks.StatusGrace {
		return late
	}
	return code(statuses[:], s)
}

// statusAt returns the status at an instant of a check AS c, as the clock has changed it. state is the alias of its row of
// rollcall_states.
func statusAt(now int64, state string) string {
	fresh, up, down := listCode(checks.StatusNew), listCode(checks.StatusUp), listCode(checks.StatusDown)
	return fmt.Sprintf("CASE WHEN c.status IN (%d, %d) AND %s.down_at <= %d THEN %d WHEN c.status = %[2]d AND %[3]s.next_at <= %[4]d THEN %[6]d ELSE c.status END",
		fresh, up, state, now, down, late)
}

// lister makes the queries for a list. The clock changes the status of some checks, in rows of rollcall_states, for which a
// query scans the table, because it has no index for that: the first part of a query, clock, has these rows.
type lister struct {
	s       *database
	project uuid.UUID
	q       checks.ListQuery
	now     int64
	// few says that the project has few checks of all, so that their states are found by their keys. PostgreSQL decides that
	// itself.
	few bool
	// rare has the tag of the query if the index of tags finds its checks.
	rare []string
	// apart says that the states are on other servers, which must get a query of their own.
	apart bool
}

// fewOf is how small a part of all checks those of a project may be to find their states by their keys.
const fewOf = 8

func (s *database) lister(ctx context.Context, l layout, project uuid.UUID, q checks.ListQuery) (*lister, error) {
	made := &lister{s: s, project: project, q: q, now: micros(q.Now), few: s.d.postgres}
	if _, made.apart = l.(spread); made.apart {
		made.few = false
	}
	if q.Tag != "" {
		var err error
		if made.rare, err = s.rareTags(ctx, project, []string{q.Tag}); err != nil {
			return nil, err
		}
	}
	if s.d.postgres {
		return made, nil
	}
	var err error
	made.few, err = s.isFew(ctx, "rollcall_checks WHERE project_id = ?", project)
	return made, err
}

// isFew reports whether rows, one for each check, are few of all checks. It counts no further than it must.
func (s *database) isFew(ctx context.Context, rows string, args ...any) (few bool, err error) {
	query := `WITH few AS (SELECT coalesce(max(id), 0) / ? AS n FROM rollcall_checks)
		SELECT count(*) <= (SELECT n FROM few) FROM (SELECT 1 FROM ` + rows + ` LIMIT (SELECT n + 1 FROM few))`
	err = s.db.NewRaw(query, append([]any{fewOf}, args...)...).Scan(ctx, &few)
	return few, err
}

// states returns the FROM and WHERE of the project's checks AS c with their states AS s.
func (l *lister) states() string {
	from := "rollcall_states AS s CROSS JOIN rollcall_checks AS c"
	if l.few {
		from = "rollcall_checks AS c CROSS JOIN rollcall_states AS s"
	}
	return l.s.format(" FROM "+from+" WHERE s.check_id = c.id AND c.project_id = ?", l.project)
}

// clock returns the first part of a query: states by a condition on s.
func (l *lister) clock(where string) string {
	columns := "WITH clock AS MATERIALIZED (SELECT s.check_id, s.last_at, s.next_at, s.down_at"
	if l.few {
		return columns + l.states() + " AND (" + where + ")) "
	}
	return columns + " FROM rollcall_states AS s WHERE " + where + ") "
}

// turned are the states of the checks whose status the clock has changed, as a condition on s.
func (l *lister) turned() string { return l.s.format("s.next_at <= ? OR s.down_at <= ?", l.now, l.now) }

// status is statusAt the instant of the list.
func (l *lister) status(state string) string { return statusAt(l.now, state) }

// filter returns the conditions of the query on a check AS c but its status.
func (l *lister) filter() string {
	var out strings.Builder
	add := func(text string, args ...any) { out.WriteString(" AND " + l.s.format(text, args...)) }
	if slices.ContainsFunc(slices.Concat(l.q.Words, []string{l.q.Slug, l.q.Key}), func(text string) bool { return !storable(text) }) {
		return " AND FALSE"
	}
	out.WriteString(" AND " + l.s.tagged(l.project, l.rare...))
	within := "instr(c.search, ?) > 0"
	if l.s.d.postgres {
		within = "strpos(c.search, ?) > 0"
	}
	for _, word := range l.q.Words {
		add(within, word)
	}
	if l.q.Tag != "" && len(l.rare) == 0 {
		add(strings.Replace(within, "c.search", "' ' || c.tags || ' '", 1), " "+l.q.Tag+" ")
	}
	if l.q.Slug != "" {
		add("c.slug = ?", l.q.Slug)
	}
	if l.q.Key != "" {
		add("c.unique_key = ?", l.q.Key)
	}
	if l.q.IDs != nil {
		add(l.s.d.anyOf("c.uuid", "uuid"), l.s.d.list(l.q.IDs))
	}
	if l.q.Without != nil {
		add("NOT EXISTS (SELECT 1 FROM rollcall_check_channels AS cc WHERE cc.check_id = c.id AND cc.channel_id IN (?))", bun.List(orNone(l.q.Without)))
	}
	if !l.q.FlippedSince.IsZero() {
		add("c.id IN (SELECT check_id FROM rollcall_flips WHERE at >= ?)", l.q.FlippedSince.UnixMicro())
	}
	if !l.q.SlowSince.IsZero() {
		add("c.slow_at > 0 AND c.slow_at >= ?", l.q.SlowSince.UnixMicro())
	}
	if l.q.Pinged {
		add("c.id IN (SELECT check_id FROM rollcall_states WHERE n_pings > 0)")
	}
	return out.String()
}

// orNone returns a list that is not empty, which SQL demands.
func orNone(ids []uuid.UUID) []uuid.UUID {
	if len(ids) == 0 {
		return []uuid.UUID{uuid.Nil}
	}
	return ids
}

// format fills in the parameters of a part of a query.
func (s *database) format(query string, args ...any) string {
	return s.db.QueryGen().FormatQuery(query, args...)
}

// CountChecks counts checks: by the column, less those whose status the clock has changed.
func (s *database) CountChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) (counts checks.Counts, err error) {
	var found []struct{ was, is, n int64 }
	err = s.read(ctx, func(use layout) error {
		l, err := s.lister(ctx, use, project, q)
		if err != nil {
			return err
		}
		query := l.clock(l.turned()) + "SELECT -1, c.status, count(*) FROM rollcall_checks AS c WHERE TRUE" + l.filter() + ` GROUP BY 2 UNION ALL
			SELECT was, became, count(*) FROM (SELECT c.status AS was, ` + l.status("k") + ` AS became FROM clock AS k CROSS JOIN rollcall_checks AS c
				WHERE c.id = k.check_id` + l.filter() + `) AS t WHERE was <> became GROUP BY 1, 2`
		var row struct{ was, is, n int64 }
		rows, err := s.db.DB.QueryContext(ctx, query)
		found, err = scanList(rows, err, &row, &row.was, &row.is, &row.n)
		return err
	})
	by := map[int64]int64{}
	for _, r := range found {
		by[r.is] += r.n
		by[r.was] -= r.n
	}
	counts = make(checks.Counts)
	for _, status := range allStatuses {
		if n := by[listCode(status)]; n > 0 && (len(q.Status) == 0 || slices.Contains(q.Status, status)) {
			counts[status] = int(n)
		}
	}
	return counts, err
}

// allStatuses are the statuses in the order of checks.ListUrgent.
var allStatuses = []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusUp, checks.StatusNew, checks.StatusPaused}

// ListChecks returns whole checks in the order of a list.
func (s *database) ListChecks(ctx context.Context, project uuid.UUID, q checks.ListQuery) ([]checks.Check, error) {
	var ids []int64
	err := s.read(ctx, func(use layout) error {
		l, err := s.lister(ctx, use, project, q)
		if err != nil {
			return err
		}
		rows, err := s.db.DB.QueryContext(ctx, l.query())
		var id int64
		ids, err = scanList(rows, err, &id, &id)
		return err
	})
	var list []checks.Check
	for part := range slices.Chunk(ids, checksAtOnce) {
		places := make(map[int64]int64, len(part))
		for i, id := range part {
			places[id] = int64(i)
		}
		found, readErr := s.readInOrder(ctx, store.CheckFilter{}, func(r *checkRow) int64 { return places[r.id] }, s.d.text(withKeys), s.d.list(part))
		if list = append(list, found...); readErr != nil {
			return nil, readErr
		}
	}
	return list, err
}

// query returns the query for the keys of the checks.
func (l *lister) query() string {
	order := l.order(l.q.Order)
	switch {
	case l.q.Order == checks.ListByLast || l.q.Order == checks.ListByNext:
		return l.byInstant()
	case l.q.Order != checks.ListUrgent && l.whateverTheClock():
		where := "TRUE"
		if len(l.q.Status) == len(allStatuses)-1 {
			where = l.s.format("c.status <> ?", listCode(checks.StatusPaused))
		}
		filter := l.filter()
		if !l.few && !l.apart && l.q.Order == checks.ListByAge { // in the order of the table, which needs no sorting
			filter = strings.Replace(filter, "c.project_id", "+c.project_id", 1)
		}
		return "SELECT c.id FROM rollcall_checks AS c WHERE " + where + filter + " ORDER BY " + order + l.bounds()
	}
	limit := l.q.Limit
	if limit == 0 {
		limit = math.MaxInt32
	}
	parts := make([]string, 0, len(allStatuses))
	clock := ""
	for rank, status := range allStatuses {
		if len(l.q.Status) > 0 && !slices.Contains(l.q.Status, status) {
			continue
		}
		if status != checks.StatusPaused {
			clock = l.clock(l.turned())
		}
		within := order
		if l.q.Order == checks.ListUrgent && rank > 1 { // their index has the order
			within = l.order(checks.ListByName)
		}
		for _, part := range l.parts(status, rank) {
			parts = append(parts, "SELECT * FROM ("+part+" ORDER BY "+within+fmt.Sprintf(" LIMIT %d) AS t", min(limit+l.q.Offset, math.MaxInt32)))
		}
	}
	return clock + "SELECT id FROM (" + strings.Join(parts, " UNION ALL ") + ") AS u ORDER BY " + order + l.bounds()
}

// bounds returns the end of a query.
func (l *lister) bounds() string {
	if l.q.Limit == 0 {
		return ""
	}
	return fmt.Sprintf(" LIMIT %d OFFSET %d", l.q.Limit, l.q.Offset)
}

// whateverTheClock reports whether the query selects the same checks at each instant: all, or all that are not paused.
func (l *lister) whateverTheClock() bool {
	not := slices.DeleteFunc(slices.Clone(allStatuses), func(s checks.Status) bool { return slices.Contains(l.q.Status, s) })
	return len(l.q.Status) == 0 || len(not) == 0 || len(not) == 1 && not[0] == checks.StatusPaused
}

// parts returns queries for the checks with a status.
func (l *lister) parts(status checks.Status, rank int) []string {
	columns := func(since string) string {
		return fmt.Sprintf("SELECT %d AS rank, %s AS since, c.sort_name, c.id, c.status_at, c.slow_at", rank, since)
	}
	stored := func(except string) string {
		return columns("0") + " FROM rollcall_checks AS c WHERE c.status = " + fmt.Sprint(listCode(status)) + except + l.filter()
	}
	turned := func(since string) string {
		return columns(since) + " FROM clock AS k CROSS JOIN rollcall_checks AS c WHERE c.id = k.check_id AND c.status IN (0, 1) AND " + l.status("k") +
			" = " + fmt.Sprint(listCode(status)) + l.filter()
	}
	switch status {
	case checks.StatusDown:
		return []string{strings.Replace(stored(""), "0 AS since", "c.status_at AS since", 1), turned("k.down_at")}
	case checks.StatusGrace:
		latest := "max"
		if l.s.d.postgres {
			latest = "greatest"
		}
		return []string{turned(latest + "(k.next_at, c.timing_since, c.status_at)")}
	case checks.StatusPaused:
		return []string{stored("")}
	case checks.StatusNew:
		return []string{stored(l.s.format(" AND c.id NOT IN (SELECT check_id FROM clock WHERE down_at <= ?)", l.now))}
	}
	return []string{stored(" AND c.id NOT IN (SELECT check_id FROM clock)")}
}

// order returns the columns by which a query sorts.
func (l *lister) order(by checks.ListOrder) string {
	columns := []string{"sort_name", "id"}
	switch by {
	case checks.ListUrgent:
		columns = []string{"rank", "since DESC", "sort_name", "id"}
	case checks.ListByAge:
		columns = []string{"id"}
	case checks.ListBySince:
		columns = []string{"status_at DESC", "sort_name", "id"}
	case checks.ListBySlow:
		columns = []string{"slow_at DESC", "sort_name", "id"}
	case checks.ListByLast:
		columns = []string{"coalesce(s.last_at, 0) DESC", "c.sort_name", "c.id"}
	case checks.ListByNext:
		next := "CASE WHEN c.status = 1 AND " + l.status("s") + " <> 2 THEN s.next_at END"
		columns = []string{next + " IS NULL", next, "c.sort_name", "c.id"}
	}
	for i, column := range columns {
		if l.q.Reverse {
			if falling, is := strings.CutSuffix(column, " DESC"); is {
				columns[i] = falling
			} else {
				columns[i] += " DESC"
			}
		}
	}
	return strings.Join(columns, ", ")
}

// byInstant returns the query for an order by what only the states have.
func (l *lister) byInstant() string {
	before, from := "", l.states()
	if l.apart {
		before = l.clock("TRUE")
		from = " FROM clock AS s CROSS JOIN rollcall_checks AS c WHERE s.check_id = c.id"
	}
	where := ""
	if len(l.q.Status) > 0 {
		codes := make([]int64, len(l.q.Status))
		for i, status := range l.q.Status {
			codes[i] = listCode(status)
		}
		where = l.s.format(" AND "+l.status("s")+" IN (?)", bun.List(codes))
	}
	if len(l.q.Status) == 1 { // a narrower condition looks at fewer checks
		switch l.q.Status[0] {
		case checks.StatusGrace:
			where += l.s.format(" AND s.next_at <= ?", l.now)
		case checks.StatusUp:
			where += l.s.format(" AND (s.next_at > ? OR s.next_at IS NULL)", l.now)
		}
	}
	return before + "SELECT c.id" + from + where + l.filter() + " ORDER BY " + l.order(l.q.Order) + l.bounds()
}

// CountReached counts assignments, which have only channels of the project.
func (s *database) CountReached(ctx context.Context, project uuid.UUID, channels []uuid.UUID) (all, paused int, err error) {
	of := bun.List(orNone(channels))
	err = s.db.NewRaw("SELECT count(DISTINCT check_id) FROM rollcall_check_channels WHERE channel_id IN (?)", of).Scan(ctx, &all)
	if err == nil {
		err = s.db.NewRaw(`SELECT count(*) FROM rollcall_checks AS c WHERE c.project_id = ? AND c.status = ? AND EXISTS (
			SELECT 1 FROM rollcall_check_channels AS cc WHERE cc.check_id = c.id AND cc.channel_id IN (?))`,
			project, listCode(checks.StatusPaused), of).Scan(ctx, &paused)
	}
	return all, paused, s.translate(err)
}

// CountFailed counts checks by their last flip to down.
func (s *database) CountFailed(ctx context.Context, project uuid.UUID, since time.Time) (map[flips.Reason]int, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT f.reason, count(*)
		FROM (SELECT max(id) AS id FROM rollcall_flips WHERE at >= ? AND NOT up GROUP BY check_id) AS last
		JOIN rollcall_flips AS f ON f.id = last.id JOIN rollcall_checks AS c ON c.id = f.check_id
		WHERE c.project_id = ? AND c.status <> ? GROUP BY f.reason`, since.UnixMicro(), project, listCode(checks.StatusPaused))
	var row struct {
		reason flips.Reason
		n      int
	}
	found, err := scanList(rows, err, &row, &row.reason, &row.n)
	counts := make(map[flips.Reason]int, len(found))
	for _, r := range found {
		counts[r.reason] = r.n
	}
	return counts, s.translate(err)
}

// LastDown finds the newest flip to down. It begins with the checks if the project has few.
func (s *database) LastDown(ctx context.Context, project uuid.UUID) (check uuid.UUID, at time.Time, err error) {
	l, err := s.lister(ctx, plain{}, project, checks.ListQuery{})
	if err != nil {
		return check, at, s.translate(err)
	}
	from := "rollcall_flips AS f CROSS JOIN rollcall_checks AS c"
	if l.few {
		from = "rollcall_checks AS c CROSS JOIN rollcall_flips AS f"
	}
	rows, err := s.db.QueryContext(ctx, "SELECT c.uuid, f.at FROM "+from+` WHERE c.id = f.check_id AND NOT f.up AND c.project_id = ?
		ORDER BY f.at DESC LIMIT 1`, project)
	var row struct {
		check uuid.UUID
		at    int64
	}
	found, err := scanList(rows, err, &row, &row.check, &row.at)
	if err != nil || len(found) == 0 {
		return check, at, s.translate(err)
	}
	return found[0].check, instant(found[0].at), nil
}
