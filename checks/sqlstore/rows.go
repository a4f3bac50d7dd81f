package sqlstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

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

// orNull returns NULL for the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// orNullBytes returns NULL for an empty slice.
func orNullBytes(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

func runID(id uuid.NullUUID) any {
	if !id.Valid {
		return nil
	}
	return id.UUID.String()
}

// statuses are the stored states. The database has their index.
var statuses = [...]checks.Status{checks.StatusNew, checks.StatusUp, checks.StatusDown, checks.StatusPaused}

// kinds are the kinds of pings. The database has their index.
var kinds = [...]pings.Kind{pings.Success, pings.Start, pings.Fail, pings.Log, pings.Ignored}

func code[T comparable](list []T, v T) (int64, error) {
	for i := range list {
		if list[i] == v {
			return int64(i), nil
		}
	}
	return 0, fmt.Errorf("sqlstore: %v has no code", v)
}

func decode[T comparable](list []T, i int64) (v T, err error) {
	if i < 0 || i >= int64(len(list)) {
		return v, fmt.Errorf("sqlstore: a row has the code %d, which this version does not know", i)
	}
	return list[i], nil
}

// checkRow is a row of rollcall_checks. The scanonly fields are those of rollcall_states.
type checkRow struct {
	bun.BaseModel `bun:"table:rollcall_checks,alias:c"`

	ID                int64     `bun:"id,pk,autoincrement"`
	UUID              uuid.UUID `bun:"uuid"`
	ProjectID         uuid.UUID `bun:"project_id"`
	UniqueKey         string    `bun:"unique_key"`
	BadgeKey          uuid.UUID `bun:"badge_key"`
	CreatedAt         int64     `bun:"created_at"`
	Name              string    `bun:"name"`
	Slug              string    `bun:"slug"`
	Tags              string    `bun:"tags"`
	Description       string    `bun:"description"`
	Timeout           int64     `bun:"timeout"`
	Grace             int64     `bun:"grace"`
	Schedule          string    `bun:"schedule"`
	TZ                string    `bun:"tz"`
	TimingSince       int64     `bun:"timing_since"`
	ManualResume      bool      `bun:"manual_resume"`
	Methods           string    `bun:"methods"`
	StartKW           string    `bun:"start_kw"`
	SuccessKW         string    `bun:"success_kw"`
	FailureKW         string    `bun:"failure_kw"`
	FilterSubject     bool      `bun:"filter_subject"`
	FilterBody        bool      `bun:"filter_body"`
	FilterHTTPBody    bool      `bun:"filter_http_body"`
	FilterDefaultFail bool      `bun:"filter_default_fail"`
	AlertAfter        int64     `bun:"alert_after"`
	RepeatEvery       int64     `bun:"repeat_every"`
	QuietHours        string    `bun:"quiet_hours"`

	Status       int64         `bun:"status,scanonly"`
	Since        int64         `bun:"since,scanonly"`
	NPings       int64         `bun:"n_pings,scanonly"`
	LastPing     int64         `bun:"last_ping,scanonly"`
	LastStart    int64         `bun:"last_start,scanonly"`
	LastStartRun uuid.NullUUID `bun:"last_start_run,scanonly"`
	Runs         []byte        `bun:"runs,scanonly"`
	Alerting     []byte        `bun:"alerting,scanonly"`
	LogHead      int64         `bun:"log_head,scanonly"`
	WatchAt      int64         `bun:"watch_at,scanonly"`
	Revision     int64         `bun:"revision,scanonly"`
}

func newCheckRow(c checks.Check) checkRow {
	return checkRow{
		UUID: c.ID, ProjectID: c.ProjectID, UniqueKey: c.UniqueKey(), BadgeKey: c.BadgeKey, CreatedAt: micros(c.CreatedAt),
		Name: c.Name, Slug: c.Slug, Tags: c.Tags, Description: c.Desc,
		Timeout: int64(c.Timeout / time.Second), Grace: int64(c.Grace / time.Second),
		Schedule: c.Schedule, TZ: c.TZ, TimingSince: micros(c.TimingSince),
		ManualResume: c.ManualResume, Methods: c.Methods,
		StartKW: c.StartKW, SuccessKW: c.SuccessKW, FailureKW: c.FailureKW,
		FilterSubject: c.FilterSubject, FilterBody: c.FilterBody,
		FilterHTTPBody: c.FilterHTTPBody, FilterDefaultFail: c.FilterDefaultFail,
		AlertAfter: int64(c.AlertAfter), RepeatEvery: int64(c.RepeatEvery / time.Second), QuietHours: c.QuietHours,
	}
}

// check returns the check of a row, with its schedule compiled and without its channels.
func (s *Store) check(r *checkRow) (checks.Check, error) {
	status, err := decode(statuses[:], r.Status)
	if err != nil {
		return checks.Check{}, err
	}
	runs, err := decodeRuns(r.Runs)
	if err != nil {
		return checks.Check{}, err
	}
	alerting, err := decodeAlerting(r.Alerting)
	if err != nil {
		return checks.Check{}, err
	}
	c := checks.Check{
		ID: r.UUID, ProjectID: r.ProjectID, BadgeKey: r.BadgeKey, CreatedAt: instant(r.CreatedAt),
		Settings: checks.Settings{
			Name: r.Name, Slug: r.Slug, Tags: r.Tags, Desc: r.Description,
			Timeout: time.Duration(r.Timeout) * time.Second, Grace: time.Duration(r.Grace) * time.Second,
			Schedule: r.Schedule, TZ: r.TZ,
			ManualResume: r.ManualResume, Methods: r.Methods,
			StartKW: r.StartKW, SuccessKW: r.SuccessKW, FailureKW: r.FailureKW,
			FilterSubject: r.FilterSubject, FilterBody: r.FilterBody,
			FilterHTTPBody: r.FilterHTTPBody, FilterDefaultFail: r.FilterDefaultFail,
			AlertAfter: int(r.AlertAfter), RepeatEvery: time.Duration(r.RepeatEvery) * time.Second, QuietHours: r.QuietHours,
		},
		TimingSince: instant(r.TimingSince),
		State: checks.State{
			Stored: status, Since: instant(r.Since), NPings: r.NPings, LastPing: instant(r.LastPing),
			LastStart: instant(r.LastStart), LastStartRun: r.LastStartRun, Runs: runs,
			Alerting: alerting,
		},
	}
	// A check whose schedule cannot be evaluated here must not stop lists and the watcher. It goes down after its grace
	// time, so that someone is alerted.
	_ = s.plans.Attach(&c)
	return c, nil
}

// locked returns the lockedRow of a row that was just locked.
func (r *checkRow) locked() *lockedRow {
	return &lockedRow{
		id: r.ID, logHead: r.LogHead, watchAt: r.WatchAt, alerting: r.Alerting, revision: r.Revision, before: r.Revision,
	}
}

// Open runs are stored one after the other: the start (8 bytes), then 1 and the run identifier (16 bytes), or 0.

func encodeRuns(runs pings.Runs) []byte {
	var b []byte
	for _, run := range runs {
		b = binary.BigEndian.AppendUint64(b, uint64(run.StartedAt.UnixMicro()))
		if run.ID.Valid {
			b = append(append(b, 1), run.ID.UUID[:]...)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

var errRuns = errors.New("sqlstore: the column runs has a value that this version cannot read")

func decodeRuns(b []byte) (pings.Runs, error) {
	var runs pings.Runs
	for len(b) > 0 {
		if len(b) < 9 {
			return nil, errRuns
		}
		run := pings.Run{StartedAt: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
		valid := b[8] == 1
		b = b[9:]
		if valid {
			if len(b) < 16 {
				return nil, errRuns
			}
			run.ID = uuid.NullUUID{UUID: uuid.UUID(b[:16]), Valid: true}
			b = b[16:]
		}
		runs = append(runs, run)
	}
	return runs, nil
}
