package sqlstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"strings"
)

// checkColumns are the columns of a whole check, in the order of checkRow.scanned. They are named because a later version
// may add some while this one runs.
const checkColumns = `c.id, c.uuid, c.project_id, c.unique_key, c.badge_key, c.created_at, c.name, c.slug, c.tags,
	c.description, c.timeout, c.grace, c.schedule, c.tz, c.timing_since, c.manual_resume, c.methods, c.start_kw,
	c.success_kw, c.failure_kw, c.filter_subject, c.filter_body, c.filter_http_body, c.filter_default_fail,
	c.alert_after, c.repeat_every, c.quiet_hours,
	s.status, coalesce(s.since, 0), s.n_pings, coalesce(s.last_ping, 0), coalesce(s.last_start, 0), s.last_start_run, s.runs, s.alerting,
	coalesce(s.log_head, 0), coalesce(s.watch_at, 0), s.revision`

// among is the condition that a column has one of the values of a list; dialect.list makes its only parameter.
func (d dialect) among(column, pgType string) string {
	if d.postgres {
		return column + " = ANY ($1::" + pgType + "[])"
	}
	return column + " IN (SELECT value FROM json_each(?))"
}

// list makes one parameter of numbers or UUIDs, so that the text of the query does not depend on how many there are.
func (d dialect) list(values any) string {
	text, _ := json.Marshal(values) // cannot fail for these types
	if d.postgres {
		text[0], text[len(text)-1] = '{', '}' // the text of an array; nothing in it needs other quotes than JSON's
	}
	return string(text)
}

// scanned are the fields that checkColumns are scanned into.
func (r *checkRow) scanned() []any {
	return []any{
		&r.ID, &r.UUID, &r.ProjectID, &r.UniqueKey, &r.BadgeKey, &r.CreatedAt, &r.Name, &r.Slug, &r.Tags,
		&r.Description, &r.Timeout, &r.Grace, &r.Schedule, &r.TZ, &r.TimingSince, &r.ManualResume, &r.Methods, &r.StartKW,
		&r.SuccessKW, &r.FailureKW, &r.FilterSubject, &r.FilterBody, &r.FilterHTTPBody, &r.FilterDefaultFail,
		&r.AlertAfter, &r.RepeatEvery, &r.QuietHours,
		&r.Status, &r.Since, &r.NPings, &r.LastPing, &r.LastStart, &r.LastStartRun, &r.Runs, &r.Alerting,
		&r.LogHead, &r.WatchAt, &r.Revision,
	}
}

// selectChecks is the start of a query for whole checks, whose rows scanRows scans.
const selectChecks = "SELECT " + checkColumns + " FROM rollcall_checks AS c JOIN rollcall_states AS s ON s.check_id = c.id"

// scanRows scans the rows of a query for checks. It takes and returns the error of the query.
func scanRows(rows *sql.Rows, err error) ([]checkRow, error) {
	var row checkRow
	return scanList(rows, err, &row, row.scanned()...)
}

// scanList scans rows, each into the given fields of row, and collects copies of row. It takes and returns the error of
// the query. For thousands of rows it is three times as fast as bun.
func scanList[T any](rows *sql.Rows, err error, row *T, fields ...any) (list []T, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(fields...); err != nil {
			return nil, err
		}
		list = append(list, *row)
	}
	return list, rows.Err()
}

// conditions collects the equalities of a WHERE clause, for bun's placeholders.
type conditions struct {
	equalities []string
	args       []any
}

func (c *conditions) add(column string, value any) {
	c.equalities, c.args = append(c.equalities, column+" = ?"), append(c.args, value)
}

// String returns the clause. Without any condition it allows all rows.
func (c *conditions) String() string {
	return cmp.Or(strings.Join(c.equalities, " AND "), "TRUE")
}

// addSet adds a condition unless the value is nil.
func addSet[T any](c *conditions, column string, value *T) {
	if value != nil {
		c.add(column, *value)
	}
}
