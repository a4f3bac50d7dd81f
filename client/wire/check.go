package wire

import (
	"math"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Check is the document of a check. A field that not every check has is left out if it is empty.
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
	RecordOnly  bool   `json:"record_only,omitempty"`
	After       string `json:"after,omitempty"` // comma-separated slugs or IDs of checks

	Acknowledged *Ack `json:"acknowledged,omitempty"` // while somebody has the outage

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

// Ack is an acknowledgement of the outage of a check.
type Ack struct {
	By    string `json:"by,omitempty"` // left out with a key that sees no UUIDs
	At    *Time  `json:"at"`
	Until *Time  `json:"until"` // null if only the outage ends it
	Note  string `json:"note"`
}

// AckRequest is the body of a request that acknowledges the outage of a check.
type AckRequest struct {
	For      int64  `json:"for,omitempty"` // seconds
	Note     string `json:"note,omitempty"`
	By       string `json:"by,omitempty"`
	TakeOver bool   `json:"take_over,omitempty"`
}

// AckManyRequest is the body of a request that acknowledges the outages of many checks: of those that are down and that match all
// fields that are set.
type AckManyRequest struct {
	AckRequest
	Slug   string   `json:"slug,omitempty"`
	Tags   string   `json:"tags,omitempty"`   // all of them, separated by spaces
	Checks []string `json:"checks,omitempty"` // UUIDs
	All    bool     `json:"all,omitempty"`    // without the others
}

// AckReport is the response to it.
type AckReport struct {
	Acknowledged []Check `json:"acknowledged"`
	Taken        []Check `json:"taken"` // what somebody else has
}

// Checks is the response of section 4.1 of the API.
type Checks struct {
	Checks []Check `json:"checks"`
}

// SetSettings fills in the settings of a check. It leaves out the timeout of a Cron check, and the tz of a Simple check
// without quiet hours.
func (d *Check) SetSettings(s checks.Settings) {
	d.Name, d.Slug, d.Tags, d.Desc = s.Name, s.Slug, strings.Join(s.Tags, " "), s.Desc
	d.Grace, d.Schedule = seconds(s.Grace), s.Schedule
	if !s.IsCron() {
		d.Timeout = seconds(s.Timeout)
	}
	if s.UsesTZ() {
		d.TZ = s.TZ
	}
	d.ManualResume, d.Methods = s.ManualResume, s.Methods
	d.StartKW, d.SuccessKW, d.FailureKW = s.StartKW, s.SuccessKW, s.FailureKW
	d.FilterSubject, d.FilterBody = s.FilterSubject, s.FilterBody
	d.FilterHTTPBody, d.FilterDefaultFail = s.FilterHTTPBody, s.FilterDefaultFail
	d.MaxRuntime = seconds(s.MaxRuntime)
	d.AlertAfter, d.RepeatEvery, d.QuietHours = int64(s.AlertAfter), seconds(s.RepeatEvery), s.QuietHours
	d.RecordOnly, d.After = s.RecordOnly, s.After
}

// Settings returns the settings of the check. A setting that the document leaves out is zero.
func (d Check) Settings() checks.Settings {
	s := checks.Settings{
		Name: d.Name, Slug: d.Slug, Desc: d.Desc,
		Timeout: duration(d.Timeout), Grace: duration(d.Grace), Schedule: d.Schedule, TZ: d.TZ,
		ManualResume: d.ManualResume, Methods: d.Methods,
		StartKW: d.StartKW, SuccessKW: d.SuccessKW, FailureKW: d.FailureKW,
		FilterSubject: d.FilterSubject, FilterBody: d.FilterBody,
		FilterHTTPBody: d.FilterHTTPBody, FilterDefaultFail: d.FilterDefaultFail,
		MaxRuntime: duration(d.MaxRuntime), AlertAfter: int(d.AlertAfter), RepeatEvery: duration(d.RepeatEvery), QuietHours: d.QuietHours,
		RecordOnly: d.RecordOnly, After: d.After,
	}
	if d.Tags != "" {
		s.Tags = strings.Split(d.Tags, " ")
	}
	return s
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// duration converts seconds to a duration. It clamps numbers that do not fit.
func duration(seconds int64) time.Duration {
	const limit = int64(math.MaxInt64 / time.Second)
	return time.Duration(min(max(seconds, -limit), limit)) * time.Second
}
