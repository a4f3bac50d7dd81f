package ui

import (
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Hold says that alerts that a check is down are kept back, by a maintenance window or a snooze. The zero value says that they are not.
type Hold struct {
	gate.Window
	Until time.Time
}

// Word is what pages call the hold, or "".
func (h Hold) Word() string {
	switch h.Kind {
	case gate.Maintenance:
		return "In maintenance"
	case gate.Snooze:
		return "Snoozed"
	}
	return ""
}

// Alone reports whether the window is about one check and nothing else.
func (h Hold) Alone() bool { return len(h.Checks) == 1 && len(h.Tags) == 0 }

// Running returns the maintenance windows and snoozes of the project that are in effect. It is one small query.
func (q *Request) Running() (running []Hold, err error) {
	list, err := q.Mon.Project(q.Project.ID).Windows(q.Ctx(), checks.WindowQuery{})
	for _, w := range list {
		if until, in := w.At(q.Mon.Now()); in {
			running = append(running, Hold{w, until})
		}
	}
	return running, err
}

// HoldOf returns the hold of a check: maintenance before a snooze, and of one kind that which ends last.
func HoldOf(running []Hold, c checks.Check) (held Hold) {
	for _, h := range running {
		later := h.Kind == held.Kind && h.Until.After(held.Until)
		if h.Covers(c.ID, c.TagList()) && (held.Kind == "" || later || h.Kind == gate.Maintenance && held.Kind == gate.Snooze) {
			held = h
		}
	}
	return held
}

// SnoozeChoices are how long one tap snoozes.
var SnoozeChoices = []Choice{{Value: "30m", Label: "30 minutes"}, {Value: "2h", Label: "2 hours"}, {Value: "tomorrow", Label: "Until tomorrow 09:00"}}

// Snooze keeps alerts of checks back for as long as one of SnoozeChoices says, and says until when.
func (q *Request) Snooze(choice string, list ...checks.Check) error {
	if !slices.ContainsFunc(SnoozeChoices, func(c Choice) bool { return c.Value == choice }) {
		return ErrBadForm
	}
	w := gate.Window{Kind: gate.Snooze}
	now, clock := q.Mon.Now(), q.Clock()
	if choice == "tomorrow" {
		year, month, day := now.In(clock.Zone).Date()
		w.End = time.Date(year, month, day+1, 9, 0, 0, 0, clock.Zone)
	} else {
		w.Duration, _ = time.ParseDuration(choice)
	}
	for _, c := range list {
		w.Checks = append(w.Checks, c.ID)
	}
	w, err := q.Mon.Project(q.Project.ID).AddWindow(q.Ctx(), w)
	if err != nil {
		return err
	}
	return q.NoticeUndo("Snoozed until "+clock.Text(w.End, now)+".", Undo{window: w.ID})
}
