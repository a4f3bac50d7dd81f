package checks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Limits of the texts of a check, in characters.
const (
	MaxName     = 100
	MaxSlug     = 100
	MaxTags     = 500
	MaxDesc     = 10_000
	MaxKeywords = 200
	MaxSchedule = 100
)

// Spec is a set of settings to give to a check, new or existing (API-V3.md sections 4.3 and 4.4). A nil field is
// left as it is, or takes its default on a new check.
type Spec struct {
	// ID is the identifier of a new check; a random one is made when it is the zero UUID. It is not looked at
	// when a check is updated.
	ID uuid.UUID

	Name *string // up to 100 characters
	Slug *string // up to 100 of a–z, 0–9, hyphen and underscore
	Tags *string // up to 500 characters, blanks between the tags
	Desc *string // up to 10,000 characters

	Timeout *time.Duration // whole seconds, 1 minute to 365 days; makes the check a Simple check unless Schedule is set
	Grace   *time.Duration // whole seconds, 1 minute to 365 days

	Schedule *string // Cron or OnCalendar, up to 100 characters, with at least one time; makes the check a Cron check
	TZ       *string // IANA time zone, of Schedule and QuietHours

	ManualResume *bool
	Methods      *string // "" or "POST"

	// Channels selects integrations: "*" for all, "" for none, or identifiers or names with commas between.
	// It is resolved against the project's integrations where those are at hand, not in this package.
	Channels *string

	StartKW, SuccessKW, FailureKW *string // up to 200 characters each
	FilterSubject, FilterBody     *bool
	FilterHTTPBody                *bool
	FilterDefaultFail             *bool

	AlertAfter  *int           // failures in a row, 0 to 100; 0 and 1 both alert at once
	RepeatEvery *time.Duration // whole seconds, 1 minute to 365 days, or 0 for never
	QuietHours  *string        // windows in the form of package quiet, up to 200 characters; "" for none
}

var slugForm = regexp.MustCompile(`^[a-z0-9_-]*$`)

// ValidSlug reports whether a text can be the slug of a check: up to 100 of a–z, 0–9, hyphen and underscore.
func ValidSlug(slug string) bool { return len(slug) <= MaxSlug && slugForm.MatchString(slug) }

// Validate checks every field that is set. The instant decides whether a schedule has a time yet to come. The error
// is a *[FieldError] for the first field that is refused.
func (s Spec) Validate(now time.Time) error {
	for _, check := range []func() error{
		func() error { return text("name", s.Name, MaxName) },
		func() error { return s.slug() },
		func() error { return text("tags", s.Tags, MaxTags) },
		func() error { return text("desc", s.Desc, MaxDesc) },
		func() error { return period("timeout", s.Timeout) },
		func() error { return period("grace", s.Grace) },
		func() error { return s.schedule(now) },
		func() error { return s.zone() },
		func() error { return s.methods() },
		func() error { return text("channels", s.Channels, 0) },
		func() error { return text("start_kw", s.StartKW, MaxKeywords) },
		func() error { return text("success_kw", s.SuccessKW, MaxKeywords) },
		func() error { return text("failure_kw", s.FailureKW, MaxKeywords) },
		func() error { return s.alertAfter() },
		func() error { return s.repeatEvery() },
		func() error { return s.quietHours() },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// applyTo returns a check with the validated settings, but for Channels.
func (s Spec) applyTo(c Check) Check {
	set(&c.Name, s.Name)
	set(&c.Slug, s.Slug)
	set(&c.Tags, s.Tags)
	set(&c.Desc, s.Desc)
	set(&c.Grace, s.Grace)
	switch {
	case s.Schedule != nil: // overrides timeout (section 4.3 rule 2)
		c.Schedule = *s.Schedule
	case s.Timeout != nil:
		c.Schedule = ""
		c.Timeout = *s.Timeout
	}
	if s.TZ != nil {
		if zone, err := schedule.LoadLocation(*s.TZ); err == nil {
			c.TZ = zone.String() // the current name of a zone that was renamed
		}
	}
	set(&c.ManualResume, s.ManualResume)
	set(&c.Methods, s.Methods)
	set(&c.StartKW, s.StartKW)
	set(&c.SuccessKW, s.SuccessKW)
	set(&c.FailureKW, s.FailureKW)
	set(&c.FilterSubject, s.FilterSubject)
	set(&c.FilterBody, s.FilterBody)
	set(&c.FilterHTTPBody, s.FilterHTTPBody)
	set(&c.FilterDefaultFail, s.FilterDefaultFail)
	set(&c.AlertAfter, s.AlertAfter)
	set(&c.RepeatEvery, s.RepeatEvery)
	set(&c.QuietHours, s.QuietHours)
	c.plan = plan{}
	return c
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func refuse(field, format string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// text checks a text that may hold anything but NUL (which PostgreSQL cannot store), of up to limit characters;
// a limit of 0 is none.
func text(field string, value *string, limit int) error {
	switch {
	case value == nil:
		return nil
	case !utf8.ValidString(*value):
		return refuse(field, "is not valid UTF-8")
	case strings.IndexByte(*value, 0) >= 0:
		return refuse(field, "has a NUL character")
	case limit > 0 && utf8.RuneCountInString(*value) > limit:
		return refuse(field, "is too long: %d characters, the maximum is %d", utf8.RuneCountInString(*value), limit)
	}
	return nil
}

func (s Spec) slug() error {
	if err := text("slug", s.Slug, MaxSlug); err != nil || s.Slug == nil {
		return err
	}
	if !slugForm.MatchString(*s.Slug) {
		return refuse("slug", "may only have a-z, 0-9, hyphen and underscore: %q", *s.Slug)
	}
	return nil
}

func period(field string, d *time.Duration) error {
	if d == nil {
		return nil
	}
	if *d%time.Second != 0 {
		return refuse(field, "is not a whole number of seconds: %v", *d)
	}
	return CheckSeconds(field, int64(*d/time.Second))
}

// CheckSeconds checks a period in seconds against the bounds of API-V3.md section 2.1, 60 to 31536000. The error
// is a *[FieldError] with the given field.
func CheckSeconds(field string, seconds int64) error {
	const least, most = int64(MinPeriod / time.Second), int64(MaxPeriod / time.Second)
	switch {
	case seconds < least:
		return refuse(field, "is too small: %d, the minimum is %d", seconds, least)
	case seconds > most:
		return refuse(field, "is too large: %d, the maximum is %d", seconds, most)
	}
	return nil
}

func (s Spec) schedule(now time.Time) error {
	if err := text("schedule", s.Schedule, MaxSchedule); err != nil || s.Schedule == nil {
		return err
	}
	parsed, err := schedule.Parse(*s.Schedule)
	if err != nil {
		return refuse("schedule", "is not a valid cron or OnCalendar expression: %v", err)
	}
	// Asked from a day back, in UTC: what is over everywhere is refused, whichever zone the check is in.
	if parsed.Next(now.UTC().Add(-24 * time.Hour)).IsZero() {
		return refuse("schedule", "has no time to come: %q", *s.Schedule)
	}
	return nil
}

func (s Spec) zone() error {
	if s.TZ == nil {
		return nil
	}
	if _, err := schedule.LoadLocation(*s.TZ); err != nil {
		reason := err.Error()
		if typed, ok := errors.AsType[*schedule.Error](err); ok {
			reason = typed.Reason
		}
		return refuse("tz", "is not a valid time zone: %s", reason)
	}
	return nil
}

func (s Spec) alertAfter() error {
	if s.AlertAfter == nil {
		return nil
	}
	return CheckAlertAfter(int64(*s.AlertAfter))
}

// CheckAlertAfter checks a number of failures against its bounds, 0 to 100. The error is a *[FieldError] for the field
// alert_after.
func CheckAlertAfter(failures int64) error {
	switch {
	case failures < 0:
		return refuse("alert_after", "is too small: %d, the minimum is 0", failures)
	case failures > MaxAlertAfter:
		return refuse("alert_after", "is too large: %d, the maximum is %d", failures, MaxAlertAfter)
	}
	return nil
}

func (s Spec) repeatEvery() error {
	if s.RepeatEvery == nil || *s.RepeatEvery == 0 {
		return nil
	}
	return period("repeat_every", s.RepeatEvery)
}

func (s Spec) quietHours() error {
	if err := text("quiet_hours", s.QuietHours, MaxQuietHours); err != nil || s.QuietHours == nil {
		return err
	}
	if _, err := quiet.Parse(*s.QuietHours, time.UTC); err != nil {
		return refuse("quiet_hours", "cannot be read: %v", err)
	}
	return nil
}

func (s Spec) methods() error {
	if s.Methods != nil && *s.Methods != "" && *s.Methods != "POST" {
		return refuse("methods", `must be "" or "POST": %q`, *s.Methods)
	}
	return nil
}
