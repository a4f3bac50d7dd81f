package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Window is a maintenance window or a snooze. It is an extension by Rollcall.
type Window struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // "maintenance" or "snooze"
	// Checks has the UUIDs of the checks that it covers, or, with a key that sees no UUIDs, their unique keys. Tags, separated by
	// spaces, select further ones. Without both, it covers the whole project.
	Checks []string `json:"checks"`
	Tags   string   `json:"tags"`
	Start  Time     `json:"start"`
	End    *Time    `json:"end"` // null for one that recurs without an end
	// Only recurring windows have the next three: a cron or OnCalendar expression in the time zone TZ, whose occurrences take
	// Duration, in seconds.
	Schedule string `json:"schedule,omitempty"`
	Duration int64  `json:"duration,omitempty"`
	TZ       string `json:"tz,omitempty"`
	Note     string `json:"note"`
	// By is who added it, left out with a key that sees no UUIDs.
	By        string `json:"by,omitempty"`
	CreatedAt Time   `json:"created_at"`
	// ActiveUntil is when the occurrence ends that is running, null if none is. Next is when the next one starts, null if none
	// will. Servers fill in both.
	ActiveUntil *Time `json:"active_until"`
	Next        *Time `json:"next_start"`
}

// Windows is the response with maintenance windows and snoozes, in the order of their starts.
type Windows struct {
	Windows []Window `json:"windows"`
}

// WindowRequest is the body of a request that adds a window.
type WindowRequest struct {
	Kind string `json:"kind"` // "maintenance" or "snooze"
	// Checks has UUIDs or slugs of checks.
	Checks []string `json:"checks,omitempty"`
	Tags   string   `json:"tags,omitempty"` // separated by spaces
	// Start is now if it is left out. A window that occurs once has either End or Duration, in seconds.
	Start    *Time `json:"start,omitempty"`
	End      *Time `json:"end,omitempty"`
	Duration int64 `json:"duration,omitempty"`
	// Schedule and TZ make maintenance recur. Each occurrence takes Duration, and starts before End.
	Schedule string `json:"schedule,omitempty"`
	TZ       string `json:"tz,omitempty"`
	Note     string `json:"note,omitempty"`
}

// NewWindow returns the document of a window at an instant. It names checks by their unique keys and leaves By out unless identified.
func NewWindow(w gate.Window, now time.Time, identified bool) Window {
	d := Window{
		ID: w.ID.String(), Kind: string(w.Kind), Checks: make([]string, len(w.Checks)), Tags: strings.Join(w.Tags, " "),
		Start: Time{w.Start}, End: NewTime(w.End), Schedule: w.Schedule, Duration: seconds(w.Duration), TZ: w.TZ,
		Note: w.Note, CreatedAt: Time{w.CreatedAt},
	}
	if until, in := w.At(now); in {
		d.ActiveUntil = NewTime(until)
	}
	if start, _, ok := w.Next(now); ok {
		d.Next = NewTime(start)
	}
	for i, id := range w.Checks {
		if d.Checks[i] = checks.UniqueKey(id); identified {
			d.Checks[i] = id.String()
		}
	}
	if identified {
		d.By = w.By
	}
	return d
}

// Window returns the window. For a check that the document names by its unique key, Checks has the zero UUID.
func (d Window) Window() (gate.Window, error) {
	id, err := uuid.Parse(d.ID)
	if err != nil {
		return gate.Window{}, fmt.Errorf("wire: the id of a window is not a UUID: %q", d.ID)
	}
	w := gate.Window{
		ID: id, Kind: gate.WindowKind(d.Kind), Tags: strings.Fields(d.Tags), Start: d.Start.Time, Schedule: d.Schedule,
		Duration: duration(d.Duration), TZ: d.TZ, Note: d.Note, By: d.By, CreatedAt: d.CreatedAt.Time,
	}
	if d.End != nil {
		w.End = d.End.Time
	}
	for _, text := range d.Checks {
		id, _ := uuid.Parse(text)
		w.Checks = append(w.Checks, id)
	}
	return w, nil
}

// NewWindowRequest returns the body of a request that adds a window. A zero Start means now, on the server's clock. The error is a
// *[checks.FieldError] for what a request cannot express: a duration that is not in whole seconds, or a tag that is empty or has a blank.
func NewWindowRequest(w gate.Window) (WindowRequest, error) {
	if w.Duration%time.Second != 0 {
		return WindowRequest{}, &checks.FieldError{Field: "duration", Reason: fmt.Sprintf("is not a whole number of seconds: %v", w.Duration)}
	}
	if err := (checks.Spec{Tags: w.Tags}).Validate(time.Time{}); err != nil {
		return WindowRequest{}, err
	}
	if slices.Contains(w.Tags, "") { // left out, it would cover the whole project
		return WindowRequest{}, &checks.FieldError{Field: "tags", Reason: `has an item that is empty or has a blank: ""`}
	}
	d := WindowRequest{
		Kind: string(w.Kind), Tags: strings.Join(w.Tags, " "), Start: NewTime(w.Start), End: NewTime(w.End),
		Schedule: w.Schedule, Duration: seconds(w.Duration), TZ: w.TZ, Note: w.Note,
	}
	for _, id := range w.Checks {
		d.Checks = append(d.Checks, id.String())
	}
	return d, nil
}
