package wire

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Check is a check (server/API.md section 2.1). A field that not every check has is left out if it is empty.
type Check struct {
	Name  string `json:"name"`
	Slug  string `json:"slug"`
	Tags  string `json:"tags"`
	Desc  string `json:"desc"`
	Grace int64  `json:"grace"` // seconds

	Timeout  int64  `json:"timeout,omitempty"`  // seconds; Simple checks only
	Schedule string `json:"schedule,omitempty"` // Cron checks only
	TZ       string `json:"tz,omitempty"`       // Cron checks, and Simple ones with quiet hours

	NPings   int64  `json:"n_pings"`
	Status   string `json:"status"`
	Started  bool   `json:"started"`
	LastPing *Time  `json:"last_ping"`
	NextPing *Time  `json:"next_ping"`

	ManualResume      bool   `json:"manual_resume"`
	Methods           string `json:"methods"`
	StartKW           string `json:"start_kw"`
	SuccessKW         string `json:"success_kw"`
	FailureKW         string `json:"failure_kw"`
	FilterSubject     bool   `json:"filter_subject"`
	FilterBody        bool   `json:"filter_body"`
	FilterHTTPBody    bool   `json:"filter_http_body"`
	FilterDefaultFail bool   `json:"filter_default_fail"`

	// Extensions by Rollcall, left out if they are not set.
	MaxRuntime  int64  `json:"max_runtime,omitempty"`  // seconds
	AlertAfter  int64  `json:"alert_after,omitempty"`  // failures in a row, up to 100
	RepeatEvery int64  `json:"repeat_every,omitempty"` // seconds
	QuietHours  string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet

	BadgeURL string `json:"badge_url"`

	UniqueKey string `json:"unique_key,omitempty"` // only with a read-only key

	// Left out with a read-only key.
	UUID      string  `json:"uuid,omitempty"`
	PingURL   string  `json:"ping_url,omitempty"`
	UpdateURL string  `json:"update_url,omitempty"`
	PauseURL  string  `json:"pause_url,omitempty"`
	ResumeURL string  `json:"resume_url,omitempty"`
	Channels  *string `json:"channels,omitempty"` // comma-separated integrations, "" for none

	// "" in the responses of create, update, pause, resume and delete, left out elsewhere.
	Subject     *string `json:"subject,omitempty"`
	SubjectFail *string `json:"subject_fail,omitempty"`
}

// Checks is the response of server/API.md section 4.1.
type Checks struct {
	Checks []Check `json:"checks"`
}

// CheckUpdate is the body of a request that updates a check (server/API.md section 4.4). A nil field is left out and
// keeps its stored value.
type CheckUpdate struct {
	Name *string `json:"name,omitempty"`
	Slug *string `json:"slug,omitempty"`
	Tags *string `json:"tags,omitempty"`
	Desc *string `json:"desc,omitempty"`

	Timeout  *int64  `json:"timeout,omitempty"` // seconds, 60 to 31536000
	Grace    *int64  `json:"grace,omitempty"`   // seconds, 60 to 31536000
	Schedule *string `json:"schedule,omitempty"`
	TZ       *string `json:"tz,omitempty"`

	ManualResume *bool   `json:"manual_resume,omitempty"`
	Methods      *string `json:"methods,omitempty"`  // "" or "POST"
	Channels     *string `json:"channels,omitempty"` // "*", "", or comma-separated UUIDs or names

	StartKW           *string `json:"start_kw,omitempty"`
	SuccessKW         *string `json:"success_kw,omitempty"`
	FailureKW         *string `json:"failure_kw,omitempty"`
	FilterSubject     *bool   `json:"filter_subject,omitempty"`
	FilterBody        *bool   `json:"filter_body,omitempty"`
	FilterHTTPBody    *bool   `json:"filter_http_body,omitempty"`
	FilterDefaultFail *bool   `json:"filter_default_fail,omitempty"`

	// Extensions by Rollcall.
	MaxRuntime  *int64  `json:"max_runtime,omitempty"`  // seconds, 60 to 31536000, or 0 for the grace time
	AlertAfter  *int64  `json:"alert_after,omitempty"`  // failures in a row, 0 to 100; 0 and 1 alert on the first
	RepeatEvery *int64  `json:"repeat_every,omitempty"` // seconds, 60 to 31536000, or 0 for never
	QuietHours  *string `json:"quiet_hours,omitempty"`  // windows in the form of package checks/quiet, "" for none

	// APIKey replaces the header X-Api-Key (section 5).
	APIKey *string `json:"api_key,omitempty"`
}

// CheckCreate is the body of a request that creates a check (server/API.md section 4.3). A nil field is left out and
// takes its default.
type CheckCreate struct {
	CheckUpdate
	// Unique names the fields that identify an existing check to update: name, slug, tags, timeout or grace.
	Unique []string `json:"unique,omitempty"`
}

func (r *reader) update() CheckUpdate {
	return CheckUpdate{
		Name:              r.text("name"),
		Slug:              r.text("slug"),
		Tags:              r.text("tags"),
		Desc:              r.text("desc"),
		Timeout:           r.seconds("timeout"),
		Grace:             r.seconds("grace"),
		Schedule:          r.text("schedule"),
		TZ:                r.text("tz"),
		ManualResume:      r.boolean("manual_resume"),
		Methods:           r.text("methods"),
		Channels:          r.text("channels"),
		StartKW:           r.text("start_kw"),
		SuccessKW:         r.text("success_kw"),
		FailureKW:         r.text("failure_kw"),
		FilterSubject:     r.boolean("filter_subject"),
		FilterBody:        r.boolean("filter_body"),
		FilterHTTPBody:    r.boolean("filter_http_body"),
		FilterDefaultFail: r.boolean("filter_default_fail"),
		MaxRuntime:        r.optionalSeconds("max_runtime"),
		AlertAfter:        r.number("alert_after", 0, checks.MaxAlertAfter),
		RepeatEvery:       r.optionalSeconds("repeat_every"),
		QuietHours:        r.text("quiet_hours"),
		APIKey:            r.text("api_key"),
	}
}

// NewCheckUpdate returns the request with the settings of a spec; [CheckUpdate.Spec] is the reverse. It ignores
// Spec.ID. The error is a *[checks.FieldError] for what the request cannot express: a period that is not in whole
// seconds, or a tag with a blank.
func NewCheckUpdate(s checks.Spec) (u CheckUpdate, err error) {
	seconds := func(field string, d *time.Duration) *int64 {
		if d == nil {
			return nil
		}
		if *d%time.Second != 0 && err == nil {
			err = &checks.FieldError{Field: field, Reason: fmt.Sprintf("is not a whole number of seconds: %v", *d)}
		}
		return new(int64(*d / time.Second))
	}
	u = CheckUpdate{
		Name: s.Name, Slug: s.Slug, Desc: s.Desc,
		Timeout: seconds("timeout", s.Timeout), Grace: seconds("grace", s.Grace), Schedule: s.Schedule, TZ: s.TZ,
		ManualResume: s.ManualResume, Methods: s.Methods, Channels: s.Channels,
		StartKW: s.StartKW, SuccessKW: s.SuccessKW, FailureKW: s.FailureKW,
		FilterSubject: s.FilterSubject, FilterBody: s.FilterBody,
		FilterHTTPBody: s.FilterHTTPBody, FilterDefaultFail: s.FilterDefaultFail,
		MaxRuntime: seconds("max_runtime", s.MaxRuntime), RepeatEvery: seconds("repeat_every", s.RepeatEvery), QuietHours: s.QuietHours,
	}
	if s.AlertAfter != nil {
		u.AlertAfter = new(int64(*s.AlertAfter))
	}
	if s.Tags != nil {
		u.Tags = new(checks.JoinTags(s.Tags))
		err = cmp.Or(err, checks.Spec{Tags: s.Tags}.Validate(time.Time{})) // a blank would make two tags of one
	}
	return u, err
}

// Spec returns the settings of the request. It does not validate them; see [checks.Spec.Validate].
func (u CheckUpdate) Spec() checks.Spec {
	period := func(seconds *int64) *time.Duration {
		if seconds == nil {
			return nil
		}
		return new(duration(*seconds))
	}
	s := checks.Spec{
		Name: u.Name, Slug: u.Slug, Desc: u.Desc,
		Timeout: period(u.Timeout), Grace: period(u.Grace), Schedule: u.Schedule, TZ: u.TZ,
		ManualResume: u.ManualResume, Methods: u.Methods, Channels: u.Channels,
		StartKW: u.StartKW, SuccessKW: u.SuccessKW, FailureKW: u.FailureKW,
		FilterSubject: u.FilterSubject, FilterBody: u.FilterBody,
		FilterHTTPBody: u.FilterHTTPBody, FilterDefaultFail: u.FilterDefaultFail,
		MaxRuntime: period(u.MaxRuntime), RepeatEvery: period(u.RepeatEvery), QuietHours: u.QuietHours,
	}
	if u.AlertAfter != nil {
		s.AlertAfter = new(int(*u.AlertAfter))
	}
	if u.Tags != nil {
		s.Tags = append([]string{}, checks.SplitTags(*u.Tags)...)
	}
	return s
}

// SetSettings fills in the settings of a check. It leaves out the timeout of a Cron check, and the tz of a Simple check
// without quiet hours.
func (d *Check) SetSettings(s checks.Settings) {
	d.Name, d.Slug, d.Tags, d.Desc = s.Name, s.Slug, checks.JoinTags(s.Tags), s.Desc
	d.Grace, d.Schedule = seconds(s.Grace), s.Schedule
	if !s.IsCron() {
		d.Timeout = seconds(s.Timeout)
	}
	if s.IsCron() || s.QuietHours != "" {
		d.TZ = s.TZ
	}
	d.ManualResume, d.Methods = s.ManualResume, s.Methods
	d.StartKW, d.SuccessKW, d.FailureKW = s.StartKW, s.SuccessKW, s.FailureKW
	d.FilterSubject, d.FilterBody = s.FilterSubject, s.FilterBody
	d.FilterHTTPBody, d.FilterDefaultFail = s.FilterHTTPBody, s.FilterDefaultFail
	d.MaxRuntime = seconds(s.MaxRuntime)
	d.AlertAfter, d.RepeatEvery, d.QuietHours = int64(s.AlertAfter), seconds(s.RepeatEvery), s.QuietHours
}

// Settings returns the settings of the check. A setting that the document leaves out is zero.
func (d Check) Settings() checks.Settings {
	return checks.Settings{
		Name: d.Name, Slug: d.Slug, Tags: checks.SplitTags(d.Tags), Desc: d.Desc,
		Timeout: duration(d.Timeout), Grace: duration(d.Grace), Schedule: d.Schedule, TZ: d.TZ,
		ManualResume: d.ManualResume, Methods: d.Methods,
		StartKW: d.StartKW, SuccessKW: d.SuccessKW, FailureKW: d.FailureKW,
		FilterSubject: d.FilterSubject, FilterBody: d.FilterBody,
		FilterHTTPBody: d.FilterHTTPBody, FilterDefaultFail: d.FilterDefaultFail,
		MaxRuntime: duration(d.MaxRuntime), AlertAfter: int(d.AlertAfter), RepeatEvery: duration(d.RepeatEvery), QuietHours: d.QuietHours,
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// duration converts seconds to a duration. It clamps numbers that do not fit.
func duration(seconds int64) time.Duration {
	const limit = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(seconds, -limit), limit)) * time.Second
}
