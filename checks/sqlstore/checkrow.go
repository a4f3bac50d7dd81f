package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// checkRow is a row of rollcall_checks joined with rollcall_states. check has only its settings.
type checkRow struct {
	id    int64
	check checks.Check

	decoded                    *checks.State // from the cache, or nil
	stored                     []byte        // storedState
	logHead, watchAt, revision int64
	listed                     listed
}

// listed are the columns of rollcall_checks that follow from the state; see lists.go. They change with the status, so that most
// pings leave them and their indexes alone.
type listed struct{ status, statusAt, slowAt int64 }

// listedOf returns the columns of a state that had others before. A success without a duration leaves a slow run the last whose
// duration is known.
func listedOf(s *checks.State, before listed) listed {
	l := listed{code(statuses[:], s.Stored), micros(s.StoredSince), 0}
	if took := s.History.LastSuccessDuration; took >= checks.SlowFrom || took == 0 && before.slowAt != 0 {
		if run, _, slow := s.History.Slow(); slow {
			l.slowAt = micros(run.At)
		}
	}
	return l
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
		{"created_at", cell{&c.CreatedAt}},
		{"name", &c.Name},
		{"slug", &c.Slug},
		{"tags", cell{&c.Tags}},
		{"description", &c.Desc},
		{"timeout", cell{&c.Timeout}},
		{"grace", cell{&c.Grace}},
		{"max_runtime", cell{&c.MaxRuntime}},
		{"schedule", &c.Schedule},
		{"tz", &c.TZ},
		{"timing_since", cell{&c.TimingSince}},
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
		{"repeat_every", cell{&c.RepeatEvery}},
		{"quiet_hours", &c.QuietHours},
		{"record_only", &c.RecordOnly},
		{"after", &c.After},
	}
}

// settingColumns and stateColumns are the columns of rollcall_checks AS c and rollcall_states AS s that fields scans. The
// columns are named because a newer version may add some while this one runs.
var settingColumns = func() string {
	columns := []string{"c.id"}
	for _, f := range new(checkRow).settings() {
		columns = append(columns, "c."+f.column)
	}
	return strings.Join(columns, ", ") + ", c.status, c.status_at, c.slow_at"
}()

const stateColumns = "s.state, coalesce(s.log_head, 0), coalesce(s.watch_at, 0), s.revision"

func (r *checkRow) fields() (settings, state []any) {
	settings = []any{&r.id}
	for _, f := range r.settings() {
		settings = append(settings, f.value)
	}
	settings = append(settings, &r.listed.status, &r.listed.statusAt, &r.listed.slowAt)
	return settings, []any{&r.stored, &r.logHead, &r.watchAt, &r.revision}
}

// check returns the check of a row, with its schedule compiled and without its channels.
func (s *database) check(r *checkRow) (checks.Check, error) {
	c, stored := r.check, storedState{State: r.decoded}
	if stored.State == nil {
		stored.State = new(checks.State)
		switch err := json.Unmarshal(r.stored, &stored); {
		case stored.Version > stateVersion:
			return checks.Check{}, &partError{ErrNewerSchema,
				fmt.Errorf("sqlstore: the state of a check has version %d, and this one reads up to %d", stored.Version, stateVersion)}
		case err != nil:
			return checks.Check{}, fmt.Errorf("sqlstore: the state of a check: %w", err)
		}
	}
	c.State = *stored.State
	// A check whose schedule this version cannot evaluate must not break lists and the watcher. It goes down after its
	// grace time, so that someone notices.
	s.plans.Attach(&c)
	return c, nil
}

// stateVersion is the version of storedState, in the first release 2. A higher one is refused: writing the state again would lose what
// this version does not know.
const stateVersion = 2

// storedState is the JSON in rollcall_states.state.
type storedState struct {
	Version int `json:"version"`
	*checks.State
}

func encodeState(s *checks.State) (string, error) {
	text, err := json.Marshal(storedState{stateVersion, s})
	return string(text), err
}

// derivedColumns are columns for searches and orders, which follow from the settings.
var derivedColumns = []string{"unique_key", "sort_name", "search"}

// savedColumns lists the columns that settingValues fills, and savedTypes their types for PostgreSQL.
var savedColumns, savedTypes = func() (columns, types []string) {
	for _, f := range new(checkRow).settings() {
		columns = append(columns, f.column)
	}
	columns = append(columns, derivedColumns...)
	for _, value := range settingValues(checks.Check{}) {
		types = append(types, map[string]string{"uuid.UUID": "uuid", "int64": "bigint", "bool": "boolean", "string": "text"}[fmt.Sprintf("%T", value)])
	}
	return columns, types
}()

// settingValues returns the values of savedColumns.
func settingValues(c checks.Check) []any {
	row := checkRow{check: c}
	fields := row.settings()
	values := make([]any, 0, len(fields)+len(derivedColumns))
	for _, f := range fields {
		if id, is := f.value.(*uuid.UUID); is {
			values = append(values, *id)
			continue
		}
		value, _ := driver.DefaultParameterConverter.ConvertValue(f.value) // fails for no type of settings
		values = append(values, value)
	}
	return append(values, c.UniqueKey(), c.SortName(), c.SearchText())
}

// cell is a setting that its column has in another form: a duration in seconds, an instant in microseconds since 1970, tags
// in the form of the API.
type cell struct{ to any }

// Scan implements sql.Scanner.
func (c cell) Scan(src any) error {
	if tags, ok := c.to.(*[]string); ok {
		var text sql.NullString
		err := text.Scan(src)
		*tags = splitTags(text.String)
		return err
	}
	var number sql.NullInt64
	err := number.Scan(src)
	switch to := c.to.(type) {
	case *time.Duration:
		*to = time.Duration(number.Int64) * time.Second
	case *time.Time:
		*to = instant(number.Int64)
	}
	return err
}

// splitTags returns the tags of a column.
func splitTags(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, " ")
}

// Value implements driver.Valuer.
func (c cell) Value() (driver.Value, error) {
	switch from := c.to.(type) {
	case *time.Duration:
		return int64(*from / time.Second), nil
	case *time.Time:
		return micros(*from), nil
	default:
		return strings.Join(*c.to.(*[]string), " "), nil
	}
}
