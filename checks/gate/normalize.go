package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Bounds of a window.
const (
	// MinDuration and MaxDuration bound how long an occurrence of a recurring window takes.
	MinDuration, MaxDuration = time.Minute, 30 * 24 * time.Hour
	// MaxWindow bounds how long a window that occurs once takes, and MaxAhead how long before its start it can be planned.
	MaxWindow, MaxAhead = 366 * 24 * time.Hour, 366 * 24 * time.Hour
	// MaxPast bounds how long ago a new window may have begun.
	MaxPast = 31 * 24 * time.Hour
	// MaxNote bounds the note, in characters, and MaxSelected the checks and the tags that a window lists.
	MaxNote, MaxSelected = 500, 1000

	maxSchedule = 100 // characters
	maxTag      = 500 // characters
	// minApart is the least time between the beginnings of two occurrences. Clock changes may bring a few closer together: maxClose.
	minApart, maxClose = time.Hour, 4
	// maxLooked and lookAhead bound how many occurrences of a schedule are looked at, and how far ahead.
	maxLooked, lookAhead = 400, 2 * 366 * 24 * time.Hour
)

// Error says why a window is invalid.
type Error struct {
	// Field is the field at fault, as in JSON: "kind", "checks", "tags", "start", "end", "schedule", "duration", "tz" or "note".
	Field string
	// Reason completes the sentence that begins with the field, for example "is missing: maintenance always ends".
	Reason string
	// Err is the cause, a *[schedule.Error], or nil.
	Err error
}

func (e *Error) Error() string { return e.Field + " " + e.Reason }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func refuse(field, format string, args ...any) error {
	reason := fmt.Errorf(format, args...)
	return &Error{Field: field, Reason: reason.Error(), Err: errors.Unwrap(reason)}
}

// Normalize returns a new window as it is kept, or a *[Error]. Without a Start it begins now. One without a Schedule may have a
// Duration instead of an End. A window that occurs once ends within 366 days. The occurrences of a recurring one take 1 minute to
// 30 days, begin an hour apart at least, and must leave time between them. Only maintenance recurs. Instants become UTC in whole
// microseconds, and each check and tag is listed once. The ID, By and CreatedAt stay.
func (w Window) Normalize(now time.Time) (Window, error) {
	if err := w.Kind.Validate(); err != nil {
		return w, err
	}
	w.Note, w.Schedule = strings.TrimSpace(w.Note), strings.TrimSpace(w.Schedule)
	if err := plain("note", w.Note, MaxNote, unicode.IsControl); err != nil {
		return w, err
	}
	if err := w.normalizeSelection(); err != nil {
		return w, err
	}
	if w.Start.IsZero() {
		w.Start = now
	}
	w.Start, w.End = whole(w.Start), whole(w.End)
	switch {
	case w.Start.Before(now.Add(-MaxPast)):
		return w, refuse("start", "is too long ago: %s, at most 31 days before now", w.Start.Format(time.RFC3339))
	case w.Start.After(now.Add(MaxAhead)):
		return w, refuse("start", "is too far ahead: %s, at most 366 days from now", w.Start.Format(time.RFC3339))
	case w.Schedule == "":
		return w.normalizeOnce(now)
	}
	return w.normalizeRecurring(now)
}

// normalizeOnce checks a window that occurs once.
func (w Window) normalizeOnce(now time.Time) (Window, error) {
	switch {
	case w.TZ != "":
		return w, refuse("tz", "is only for a window with a schedule: start and end are instants")
	case w.Duration != 0 && !w.End.IsZero():
		return w, refuse("duration", "is beside an end: set one of them")
	case w.Duration < 0 || w.Duration > MaxWindow:
		return w, refuse("duration", "is out of range: %v, it must be above 0 and at most 366 days", w.Duration)
	case w.Duration == 0 && w.End.IsZero():
		return w, refuse("end", "is missing: a %s always ends; set an end, or a duration", w.Kind.name())
	case w.Duration != 0:
		w.End, w.Duration = whole(w.Start.Add(w.Duration)), 0
	}
	if err := w.ends(now); err != nil {
		return w, err
	}
	if w.End.Sub(w.Start) > MaxWindow {
		return w, refuse("end", "is too long after the start: at most 366 days")
	}
	return w, nil
}

// ends refuses an end before the start, and one in the past.
func (w Window) ends(now time.Time) error {
	switch {
	case w.Over(w.Start):
		return refuse("end", "is not after the start: %s, the start is %s", w.End.Format(time.RFC3339), w.Start.Format(time.RFC3339))
	case w.Over(now):
		return refuse("end", "is in the past: %s", w.End.Format(time.RFC3339))
	}
	return nil
}

// name is what people call a kind.
func (k WindowKind) name() string {
	if k == Maintenance {
		return "maintenance window"
	}
	return string(k)
}

// normalizeRecurring checks a window with a schedule.
func (w Window) normalizeRecurring(now time.Time) (Window, error) {
	if w.Kind == Snooze {
		return w, refuse("schedule", "is only for maintenance: a snooze occurs once")
	}
	if err := plain("schedule", w.Schedule, maxSchedule, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); err != nil {
		return w, err
	}
	if w.TZ == "" {
		w.TZ = "UTC"
	}
	loc, err := schedule.LoadLocation(w.TZ)
	if err != nil {
		return w, &Error{Field: "tz", Reason: "is not a valid time zone: " + schedule.Detail(err), Err: err}
	}
	w.TZ = loc.String()
	if _, err := schedule.Read(w.Schedule); err != nil {
		return w, &Error{Field: "schedule", Reason: "is not valid: " + schedule.Detail(err), Err: err}
	}
	switch {
	case w.Duration == 0:
		return w, refuse("duration", "is missing: set how long each occurrence takes, from 1 minute to 30 days")
	case w.Duration < MinDuration || w.Duration > MaxDuration:
		return w, refuse("duration", "is out of range: %v, each occurrence takes 1 minute to 30 days", w.Duration)
	}
	if err := w.ends(now); err != nil {
		return w, err
	}
	return w, w.recurs(now)
}

// recurs refuses a schedule that never begins a window after now, and one whose windows leave no time between them.
func (w Window) recurs(now time.Time) error {
	o := w.occurrences()
	first, ok := o.next(now)
	if !ok {
		if w.End.IsZero() {
			return refuse("schedule", "never occurs: it names no time to come")
		}
		return refuse("schedule", "never occurs before the end: the end is %s", w.End.Format(time.RFC3339))
	}
	joined, near := 0, 0
	last := o.begin(first.Start.Add(-1))
	horizon := last.Add(lookAhead)
	for range maxLooked {
		begin := o.begin(last)
		if begin.IsZero() || begin.After(horizon) {
			break
		}
		if begin.Sub(last) < minApart {
			near++
		}
		if joined++; begin.After(last.Add(w.Duration)) {
			joined = 0
		}
		switch last = begin; {
		case near > maxClose:
			return refuse("schedule", "begins a window more than once an hour: begin less often, and set a longer duration")
		case joined > maxJoined:
			return refuse("schedule", "begins again before the %v of the occurrence before are over, more than %d times in a row: begin less often, or shorten the duration",
				w.Duration, maxJoined)
		}
	}
	return nil
}

// normalizeSelection checks and sorts out which checks the window covers.
func (w *Window) normalizeSelection() error {
	w.Checks, w.Tags = unique(w.Checks), unique(w.Tags)
	switch {
	case len(w.Checks) > MaxSelected:
		return refuse("checks", "has %d items, the maximum is %d: select by tags", len(w.Checks), MaxSelected)
	case len(w.Tags) > MaxSelected:
		return refuse("tags", "has %d items, the maximum is %d", len(w.Tags), MaxSelected)
	case slices.Contains(w.Checks, uuid.Nil):
		return refuse("checks", "has an item that is no check: %s", uuid.Nil)
	}
	for _, tag := range w.Tags {
		if tag == "" || strings.ContainsFunc(tag, unicode.IsSpace) {
			return refuse("tags", "has an item that is empty or has a blank: %q", tag)
		}
		if err := plain("tags", tag, maxTag, unicode.IsControl); err != nil {
			return err
		}
	}
	return nil
}

// unique returns each item once, in their order, or nil.
func unique[T comparable](list []T) (kept []T) {
	seen := make(map[T]bool, len(list))
	for _, item := range list {
		if !seen[item] {
			seen[item], kept = true, append(kept, item)
		}
	}
	return kept
}

// plain checks a text of up to most characters.
func plain(field, text string, most int, refused func(rune) bool) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return refuse(field, "is not valid UTF-8")
	case strings.ContainsFunc(text, refused):
		return refuse(field, "has a control character")
	case n > most:
		return refuse(field, "is too long: %d characters, the maximum is %d", n, most)
	}
	return nil
}

// whole returns an instant as databases keep it.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
