package checks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/pings"
)

var slugForm = regexp.MustCompile(`^[a-z0-9_-]*$`)

// ValidSlug reports whether a text can be the slug of a check: up to 100 of a–z, 0–9, hyphen and underscore.
func ValidSlug(slug string) bool { return len(slug) <= MaxSlug && slugForm.MatchString(slug) }

// refuse returns a FieldError. Its cause is the argument of %w, if there is one.
func refuse(field, format string, args ...any) error {
	reason := fmt.Errorf(format, args...)
	return &FieldError{Field: field, Reason: reason.Error(), Err: errors.Unwrap(reason)}
}

// ValidateSignal checks the kind and the exit status of a signal. The error is a *[FieldError].
func ValidateSignal(s pings.Signal) error {
	if err := s.Validate(); err != nil {
		return refuse("signal", "is not valid: %w", err)
	}
	return nil
}

// text checks a text of up to limit characters, or of any length if the limit is 0. It refuses NUL, which PostgreSQL
// cannot store.
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

func (s Spec) tags() error {
	for _, tag := range s.Tags {
		if strings.Contains(tag, " ") {
			return refuse("tags", "has an item with a blank: %q", tag)
		}
	}
	return text("tags", new(JoinTags(s.Tags)), MaxTags)
}

func period(field string, d *time.Duration) error {
	if d == nil {
		return nil
	}
	if *d%time.Second != 0 {
		return refuse(field, "is not a whole number of seconds: %v", *d)
	}
	return number(field, *d/time.Second, MinPeriod/time.Second, MaxPeriod/time.Second)
}

// number checks a whole number against its bounds.
func number[T int | time.Duration](field string, n, least, most T) error {
	switch {
	case n < least:
		return refuse(field, "is too small: %d, the minimum is %d", n, least)
	case n > most:
		return refuse(field, "is too large: %d, the maximum is %d", n, most)
	}
	return nil
}

func (s Spec) schedule(now time.Time) error {
	if err := text("schedule", s.Schedule, MaxSchedule); err != nil || s.Schedule == nil {
		return err
	}
	parsed, err := schedule.Parse(*s.Schedule)
	if err != nil {
		return refuse("schedule", "is not a valid cron or OnCalendar expression: %w", err)
	}
	// From a day ago in UTC, so that a schedule is refused only if it is over in every time zone.
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
		return &FieldError{Field: "tz", Reason: "is not a valid time zone: " + reason, Err: err}
	}
	return nil
}

func (s Spec) alertAfter() error {
	if s.AlertAfter == nil {
		return nil
	}
	return number("alert_after", *s.AlertAfter, 0, MaxAlertAfter)
}

// optionalPeriod checks a period for which 0 stands for none.
func optionalPeriod(field string, d *time.Duration) error {
	if d == nil || *d == 0 {
		return nil
	}
	return period(field, d)
}

func (s Spec) quietHours() error {
	if err := text("quiet_hours", s.QuietHours, MaxQuietHours); err != nil || s.QuietHours == nil {
		return err
	}
	if _, err := quiet.Parse(*s.QuietHours, time.UTC); err != nil {
		return refuse("quiet_hours", "cannot be read: %w", err)
	}
	return nil
}

func (s Spec) methods() error {
	if s.Methods != nil && *s.Methods != "" && *s.Methods != "POST" {
		return refuse("methods", `must be "" or "POST": %q`, *s.Methods)
	}
	return nil
}
