package checks

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/quiet"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
)

var slugForm = regexp.MustCompile(`^[a-z0-9_-]*$`)

// ValidSlug reports whether a text can be the slug of a check: up to 100 of a–z, 0–9, hyphen and underscore.
func ValidSlug(slug string) bool { return len(slug) <= MaxSlug && slugForm.MatchString(slug) }

// SlugOf returns a slug for the name of a check. A name that is a valid slug is its own. Otherwise the slug is the name in
// lower case, with a hyphen in place of characters that a slug cannot contain, cut to [MaxSlug]. It is "" if no
// character is left. Different names may have the same slug.
func SlugOf(name string) string {
	if ValidSlug(name) {
		return name
	}
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		switch {
		case r < 0x80 && r != '-' && ValidSlug(string(r)):
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return strings.TrimRight(b.String()[:min(b.Len(), MaxSlug)], "-")
}

// pingKeyLength is the length of a ping key in characters.
const pingKeyLength = 22

// ValidPingKey reports whether a text has the form of a ping key: 22 lower-case letters and digits.
func ValidPingKey(text string) bool {
	return len(text) == pingKeyLength && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// refuse returns a FieldError. Its cause is the argument of %w, if there is one.
func refuse(field, format string, args ...any) error {
	reason := fmt.Errorf(format, args...)
	return &FieldError{Field: field, Reason: reason.Error(), Err: errors.Unwrap(reason)}
}

// validText checks a text of up to most characters, or of any length if most is 0. It refuses NUL, which PostgreSQL
// cannot store.
func validText(field, value string, most int64) error {
	switch length := int64(utf8.RuneCountInString(value)); {
	case !utf8.ValidString(value):
		return refuse(field, "is not valid UTF-8")
	case strings.IndexByte(value, 0) >= 0:
		return refuse(field, "has a NUL character")
	case most > 0 && length > most:
		return refuse(field, "is too long: %d characters, the maximum is %d", length, most)
	}
	return nil
}

// ValidateName checks the name of an account or a channel, or the title of a status page: 1 to 100 characters, one of them
// visible, without control characters. The error is a *[FieldError].
func ValidateName(field, name string) error {
	switch {
	case name == "":
		return refuse(field, "is empty")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return refuse(field, "has a control character")
	}
	if err := validText(field, name, MaxName); err != nil {
		return err
	}
	blank := func(r rune) bool {
		return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800'
	}
	if strings.TrimFunc(name, blank) == "" {
		return refuse(field, "has no visible character: %q", name)
	}
	return nil
}

// ValidateTag checks one tag: 1 to 500 characters, none of them a blank. The error is a *[FieldError] for the field "tag".
func ValidateTag(tag string) error {
	switch {
	case tag == "":
		return refuse("tag", "is empty")
	case strings.ContainsFunc(tag, unicode.IsSpace):
		return refuse("tag", "has a blank: %q", cut(tag))
	}
	return validText("tag", tag, maxTags)
}

// Bounds of a range of flips, by the query parameters of the management API.
const (
	MaxFlipSeconds   = 31_536_000     // 365 days
	MaxFlipTimestamp = 10_000_000_000 // in November 2286
)

// ValidateRange checks a range of flips: it begins at most 365 days ago if it has Last, which is not negative, and its bounds
// lie before November 2286, the end not before 1970. The error is a *[FieldError] for the query parameter of the API: "seconds"
// for Last, "start" for From, "end" for Until.
func ValidateRange(r flips.Range) error {
	last := int64(r.Last / time.Second)
	if r.Last%time.Second > 0 {
		last++
	}
	switch {
	case r.Last < 0:
		return refuse("seconds", "is too small: %d, the minimum is 0", min(last, -1))
	case last > MaxFlipSeconds:
		return refuse("seconds", "is too large: %d, the maximum is %d", last, MaxFlipSeconds)
	case !r.From.IsZero() && r.From.Unix() > MaxFlipTimestamp:
		return refuse("start", "is too large: %d, the maximum is %d", r.From.Unix(), int64(MaxFlipTimestamp))
	case !r.Until.IsZero() && r.Until.Unix() < 0:
		return refuse("end", "is too small: %d, the minimum is 0", r.Until.Unix())
	case r.Until.Unix() > MaxFlipTimestamp:
		return refuse("end", "is too large: %d, the maximum is %d", r.Until.Unix(), int64(MaxFlipTimestamp))
	}
	return nil
}

// ValidateLimit checks a limit of a list. The error is a *[FieldError] for "limit".
func ValidateLimit(limit int) error {
	if limit < 0 {
		return refuse("limit", "is too small: %d, the minimum is 0", limit)
	}
	return nil
}

// maxStatsDays bounds the days that statistics are asked for at once.
const maxStatsDays = 366

// ValidateDays checks the first and the last UTC day of statistics: at most 366 days of the years 1 to 9999. The error is a
// *[FieldError] for the query parameter of the API: "start" or "end".
func ValidateDays(from, to time.Time) error {
	for _, bound := range []struct {
		name string
		at   time.Time
	}{{"start", from}, {"end", to}} {
		if year := bound.at.UTC().Year(); year < 1 || year > 9999 {
			return refuse(bound.name, "is neither a day such as 2026-10-31 nor a month such as 2026-10")
		}
	}
	first, last := from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
	switch {
	case first.After(last):
		return refuse("start", "is after end")
	case first.AddDate(0, 0, maxStatsDays).Before(last.AddDate(0, 0, 1)):
		return refuse("start", "is too long before end: the maximum is %d days", maxStatsDays)
	}
	return nil
}

// ValidateProjectName checks the name of a project by the rule of [ValidateName]. It refuses "*", which stands for all projects.
func ValidateProjectName(name string) error {
	if name == "*" {
		return refuse("name", "cannot be %q, which stands for all projects", name)
	}
	return ValidateName("name", name)
}

// ValidateSource checks where the value of a channel's setting comes from: see Sources of [channels.Channel]. The error is a
// *[FieldError] for the field "sources".
func ValidateSource(setting, source string) error {
	if err := plainText("sources", source, maxSource, ""); err != nil {
		e, _ := errors.AsType[*FieldError](err)
		return refuse("sources", "has a value for %q that %s", cut(setting), e.Reason)
	}
	return nil
}

func slugRule(slug string, _ time.Time) error {
	if !slugForm.MatchString(slug) {
		return refuse("slug", "may only have a-z, 0-9, hyphen and underscore: %q", slug)
	}
	return nil
}

// cut shortens a value of any length for the text of an error.
func cut(value string) string { return prose.Brief(value, 100) }

func scheduleRule(expr string, now time.Time) error {
	parsed, err := parseSchedule(expr)
	if err != nil {
		return err
	}
	// From a day ago in UTC, so that a schedule is refused only if it is over in every time zone.
	if parsed.Next(now.UTC().Add(-24 * time.Hour)).IsZero() {
		return refuse("schedule", "has no time to come: %q", cut(expr))
	}
	return nil
}

func parseSchedule(expr string) (schedule.Schedule, error) {
	parsed, err := schedule.Read(expr)
	if err != nil {
		return nil, &FieldError{Field: "schedule", Reason: "is not a valid cron or OnCalendar expression: " + schedule.Detail(err), Err: err}
	}
	return parsed, nil
}

func zoneRule(name string, _ time.Time) error {
	_, err := loadZone(name)
	return err
}

func loadZone(name string) (*time.Location, error) {
	zone, err := schedule.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	return nil, &FieldError{Field: "tz", Reason: "is not a valid time zone: " + schedule.Detail(err), Err: err}
}

func quietHoursRule(hours string, _ time.Time) error {
	_, err := parseHours(hours, time.UTC)
	return err
}

func parseHours(hours string, zone *time.Location) (quiet.Hours, error) {
	parsed, err := quiet.Parse(hours, zone)
	if err != nil {
		return quiet.Hours{}, refuse("quiet_hours", "cannot be read: %w", err)
	}
	return parsed, nil
}

func afterRule(text string, _ time.Time) error {
	list := parents(text)
	if len(list) > MaxParents {
		return refuse("after", "names too many checks: %d, the maximum is %d", len(list), MaxParents)
	}
	for _, name := range list {
		if !ValidSlug(name) {
			return refuse("after", "has an item that is neither a slug nor an ID: %q", cut(name))
		}
	}
	return nil
}

func methodsRule(methods string, _ time.Time) error {
	if methods != "" && methods != "POST" {
		return refuse("methods", `must be "" or "POST": %q`, cut(methods))
	}
	return nil
}
