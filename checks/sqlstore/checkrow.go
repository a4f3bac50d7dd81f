package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// checkRow is a row of rollcall_checks joined with rollcall_states. Its check lacks what the other fields encode.
type checkRow struct {
	id    int64
	check checks.Check

	status                     int64
	runs, alerting, history    []byte
	logHead, watchAt, revision int64
}

// field is a column and a pointer to its variable, for scanning and writing.
type field struct {
	column string
	value  any
}

// settings returns the columns of rollcall_checks except the keys. A new setting of a check needs a line here and a
// migration that adds its column.
func (r *checkRow) settings() []field {
	c := &r.check
	return []field{
		{"uuid", &c.ID},
		{"project_id", &c.ProjectID},
		{"badge_key", &c.BadgeKey},
		{"created_at", (*instantColumn)(&c.CreatedAt)},
		{"name", &c.Name},
		{"slug", &c.Slug},
		{"tags", (*tagsColumn)(&c.Tags)},
		{"description", &c.Desc},
		{"timeout", (*secondsColumn)(&c.Timeout)},
		{"grace", (*secondsColumn)(&c.Grace)},
		{"max_runtime", (*secondsColumn)(&c.MaxRuntime)},
		{"schedule", &c.Schedule},
		{"tz", &c.TZ},
		{"timing_since", (*instantColumn)(&c.TimingSince)},
		{"manual_resume", &c.ManualResume},
		{"methods", &c.Methods},
		{"start_kw", &c.StartKW},
		{"success_kw", &c.SuccessKW},
		{"failure_kw", &c.FailureKW},
		{"filter_subject", &c.FilterSubject},
		{"filter_body", &c.FilterBody},
		{"filter_http_body", &c.FilterHTTPBody},
		{"filter_default_fail", &c.FilterDefaultFail},
		{"alert_after", &c.AlertAfter},
		{"repeat_every", (*secondsColumn)(&c.RepeatEvery)},
		{"quiet_hours", &c.QuietHours},
	}
}

// state returns the columns of rollcall_states, which [changes] writes.
func (r *checkRow) state() []field {
	s := &r.check.State
	return []field{
		{"status", &r.status},
		{"since", (*instantColumn)(&s.StoredSince)},
		{"n_pings", &s.NPings},
		{"last_ping", (*instantColumn)(&s.LastPing)},
		{"last_start", (*instantColumn)(&s.LastStart)},
		{"last_start_run", &s.LastStartRun},
		{"runs", &r.runs},
		{"alerting", &r.alerting},
		{"history", &r.history},
		{"log_head", (*numberColumn)(&r.logHead)},
		{"watch_at", (*numberColumn)(&r.watchAt)},
		{"revision", &r.revision},
	}
}

// selectChecks begins a query for whole checks; scanRows scans its rows. It names the columns because a newer version
// may add some while this one runs.
var selectChecks = func() string {
	columns := []string{"c.id"}
	row := new(checkRow)
	for _, f := range row.settings() {
		columns = append(columns, "c."+f.column)
	}
	for _, f := range row.state() {
		columns = append(columns, "s."+f.column)
	}
	return "SELECT " + strings.Join(columns, ", ") +
		" FROM rollcall_checks AS c JOIN rollcall_states AS s ON s.check_id = c.id"
}()

// scanRows scans the rows of a query for checks. It takes the two results of the query. It returns pointers because
// rows are large.
func scanRows(rows *sql.Rows, err error) (list []*checkRow, _ error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var row checkRow
	into := []any{&row.id}
	for _, f := range append(row.settings(), row.state()...) {
		into = append(into, f.value)
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		list = append(list, new(row))
	}
	return list, rows.Err()
}

// check returns the check of a row, with its schedule compiled and without its channels.
func (s *Store) check(r *checkRow) (c checks.Check, err error) {
	c = r.check
	if c.Stored, err = decode(statuses[:], r.status); err != nil {
		return checks.Check{}, err
	}
	if c.Runs, err = decodeRuns(r.runs); err != nil {
		return checks.Check{}, err
	}
	if c.Alerting, err = decodeAlerting(r.alerting); err != nil {
		return checks.Check{}, err
	}
	if c.History, err = decodeHistory(r.history); err != nil {
		return checks.Check{}, err
	}
	// A check whose schedule this version cannot evaluate must not break lists and the watcher. It goes down after its
	// grace time, so that someone notices.
	_ = s.plans.Attach(&c)
	return c, nil
}

// locked returns the lockedRow of a row that the transaction has locked.
func (r *checkRow) locked() *lockedRow {
	return &lockedRow{id: r.id, logHead: r.logHead, watchAt: r.watchAt, revision: r.revision, before: r.revision}
}

// settingsOf maps the columns of rollcall_checks to their values.
func settingsOf(c checks.Check) *map[string]any {
	row := checkRow{check: c}
	values := map[string]any{"unique_key": c.UniqueKey()} // derived from the UUID, for searches
	for _, f := range row.settings() {
		values[f.column] = f.value
	}
	return &values
}

// numberColumn is a number, 0 for NULL.
type numberColumn int64

// Scan implements sql.Scanner.
func (c *numberColumn) Scan(src any) error {
	switch src := src.(type) {
	case nil:
		*c = 0
	case int64:
		*c = numberColumn(src)
	default:
		return fmt.Errorf("sqlstore: cannot scan %T into a number", src)
	}
	return nil
}

// tagsColumn is a list of tags, in the form of the API.
type tagsColumn []string

// Scan implements sql.Scanner.
func (c *tagsColumn) Scan(src any) error {
	switch src := src.(type) {
	case string:
		*c = checks.SplitTags(src)
	case []byte:
		*c = checks.SplitTags(string(src))
	default:
		return fmt.Errorf("sqlstore: cannot scan %T into tags", src)
	}
	return nil
}

// Value implements driver.Valuer.
func (c tagsColumn) Value() (driver.Value, error) { return checks.JoinTags(c), nil }

// secondsColumn is a duration, in seconds.
type secondsColumn time.Duration

// Scan implements sql.Scanner.
func (c *secondsColumn) Scan(src any) error {
	var seconds numberColumn
	err := seconds.Scan(src)
	*c = secondsColumn(time.Duration(seconds) * time.Second)
	return err
}

// Value implements driver.Valuer.
func (c secondsColumn) Value() (driver.Value, error) {
	return int64(time.Duration(c) / time.Second), nil
}

// instantColumn is an instant, in microseconds since 1970. The zero time is read from NULL and 0, and written as 0.
type instantColumn time.Time

// Scan implements sql.Scanner.
func (c *instantColumn) Scan(src any) error {
	var us numberColumn
	err := us.Scan(src)
	*c = instantColumn(instant(int64(us)))
	return err
}

// Value implements driver.Valuer.
func (c instantColumn) Value() (driver.Value, error) { return micros(time.Time(c)), nil }
