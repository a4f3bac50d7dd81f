package gate

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// WindowKind says what a window is for.
type WindowKind string

// The kinds of windows.
const (
	// Maintenance is planned work: pages announce and show it, and statistics leave it out of the downtime.
	Maintenance WindowKind = "maintenance"
	// Snooze keeps alerts back until a time, and nothing else.
	Snooze WindowKind = "snooze"
)

// Window is a maintenance window or a snooze. It keeps alerts of the checks that it covers back, but never that one is up
// again after an alert. What is still down at its end is alerted then.
type Window struct {
	ID   uuid.UUID  `json:"id"`
	Kind WindowKind `json:"kind"`
	// Checks and Tags select the checks that it covers: those listed, and those that have any of the tags. Without both, it
	// covers the whole project.
	Checks []uuid.UUID `json:"checks,omitempty"`
	Tags   []string    `json:"tags,omitempty"`
	// Start and End bound a window that occurs once: Start <= t < End. Occurrences of a recurring one begin between them; its End
	// may be the zero time.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	// Schedule is the cron or OnCalendar expression of the occurrences of a recurring window in TZ, each of which takes Duration
	// of elapsed time. It is "" for one that occurs once.
	Schedule string        `json:"schedule,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	TZ       string        `json:"tz,omitempty"`
	// Note is what people read about it, By who made it, in the words of the audit log, and CreatedAt when.
	Note      string    `json:"note,omitempty"`
	By        string    `json:"by,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Covers reports whether the window is about a check.
func (w Window) Covers(check uuid.UUID, tags []string) bool {
	if len(w.Checks) == 0 && len(w.Tags) == 0 {
		return true
	}
	return slices.Contains(w.Checks, check) || slices.ContainsFunc(w.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
}

// At reports whether an instant is within an occurrence of the window, and when that ends.
func (w Window) At(now time.Time) (until time.Time, in bool) {
	if w.Schedule == "" {
		return w.End, !now.Before(w.Start) && now.Before(w.End)
	}
	return time.Time{}, false
}
