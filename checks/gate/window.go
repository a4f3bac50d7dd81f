package gate

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/flips"
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

// Validate returns a *[Error] unless the kind is known.
func (k WindowKind) Validate() error {
	if k != Maintenance && k != Snooze {
		return refuse("kind", "is neither %q nor %q: %q", Maintenance, Snooze, k)
	}
	return nil
}

// Window is a maintenance window or a snooze. It keeps alerts of the checks that it covers back, but never that one is up
// again after an alert. What is still down at its end is alerted then.
type Window struct {
	ID   uuid.UUID  `json:"id"`
	Kind WindowKind `json:"kind"`
	// Checks and Tags select the checks that it covers: those listed, and those that have any of the tags. Without both, it
	// covers the whole project.
	Checks []uuid.UUID `json:"checks,omitempty"`
	Tags   []string    `json:"tags,omitempty"`
	// Start and End bound the window: Start <= t < End. It always has a Start; only a recurring one may have no End. An
	// occurrence that has begun at End ends there.
	Start time.Time `json:"start"`
	End   time.Time `json:"end,omitzero"`
	// Schedule is the cron or OnCalendar expression of the occurrences of a recurring window in TZ, each of which takes Duration
	// of elapsed time. It is "" for one that occurs once, from Start to End.
	Schedule string        `json:"schedule,omitempty"`
	Duration time.Duration `json:"duration,omitempty"`
	TZ       string        `json:"tz,omitempty"`
	// Note is what people read about it, By what people call who made it, and CreatedAt when.
	Note      string    `json:"note,omitempty"`
	By        string    `json:"by,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	times *times // of Schedule, once it was read
}

// Covers reports whether the window is about a check.
func (w Window) Covers(check uuid.UUID, tags []string) bool {
	if len(w.Checks) == 0 && len(w.Tags) == 0 {
		return true
	}
	return slices.Contains(w.Checks, check) || slices.ContainsFunc(w.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
}

// Over reports whether the window has ended for good at an instant.
func (w Window) Over(now time.Time) bool { return !w.End.IsZero() && !w.End.After(now) }

// maxJoined bounds the occurrences that follow one another without a break.
const maxJoined = 100

// At reports whether an instant is within an occurrence of the window, and when that ends. Occurrences that overlap or follow at
// once count as one; after 100 of those, until may be too early: ask again then.
func (w Window) At(now time.Time) (until time.Time, in bool) {
	s, ok := w.occurrences().next(now)
	return s.End, ok && !s.Start.After(now)
}

// Next returns the first stretch of time of the window that begins after an instant. If none does, ok is false.
func (w Window) Next(now time.Time) (start, end time.Time, ok bool) {
	o := w.occurrences()
	s, ok := o.next(now)
	if ok && !s.Start.After(now) {
		s, ok = o.next(s.End)
	}
	if !ok {
		return time.Time{}, time.Time{}, false
	}
	return s.Start, s.End, true
}

// Spans returns the stretches of time of the window between two instants, cut there, in order. None of them touches another.
func (w Window) Spans(from, to time.Time) (list []flips.Span) {
	o := w.occurrences()
	for at := from; at.Before(to); {
		s, ok := o.next(at)
		if !ok || !s.Start.Before(to) {
			break
		}
		at = s.End
		list = append(list, flips.Span{Start: latest(s.Start, from), End: earliest(s.End, to)})
	}
	return flips.Join(list)
}

// Covered returns a function that tells in which stretches of time between two instants any of the windows is about a check. It is
// for many checks: the occurrences of the windows are found once.
func Covered(windows []Window, from, to time.Time) func(check uuid.UUID, tags []string) []flips.Span {
	spans := make([][]flips.Span, len(windows))
	for i, w := range windows {
		spans[i] = w.Spans(from, to)
	}
	return func(check uuid.UUID, tags []string) (list []flips.Span) {
		for i, w := range windows {
			if w.Covers(check, tags) {
				list = append(list, spans[i]...)
			}
		}
		return flips.Join(list)
	}
}

// times are the schedule of a window in its zone.
type times struct {
	schedule schedule.Schedule
	loc      *time.Location
}

// Compiled returns a window that has read its schedule, so that questions about it are cheap. Windows of a monitor have.
func (w Window) Compiled() Window {
	if w.times = nil; w.Schedule == "" {
		return w
	}
	loc, err := schedule.LoadLocation(w.TZ)
	if err != nil {
		return w
	}
	if s, err := schedule.Read(w.Schedule); err == nil {
		w.times = &times{s, loc}
	}
	return w
}

// occurrences finds those of one window.
type occurrences struct {
	Window
	times
}

// occurrences reads the schedule unless that was done. A window whose schedule or zone nobody can read any more never occurs.
func (w Window) occurrences() occurrences {
	if t := w.times; t == nil || t.schedule.String() != w.Schedule || t.loc.String() != w.TZ {
		w = w.Compiled()
	}
	switch {
	case w.times != nil:
		return occurrences{w, *w.times}
	case w.Schedule != "":
		return occurrences{}
	}
	return occurrences{Window: w}
}

// Equal reports whether two windows are the same.
func (w Window) Equal(v Window) bool {
	return w.ID == v.ID && w.Kind == v.Kind && slices.Equal(w.Checks, v.Checks) && slices.Equal(w.Tags, v.Tags) &&
		w.Start.Equal(v.Start) && w.End.Equal(v.End) && w.Schedule == v.Schedule && w.Duration == v.Duration && w.TZ == v.TZ &&
		w.Note == v.Note && w.By == v.By && w.CreatedAt.Equal(v.CreatedAt)
}

// next returns the first stretch of time that ends after an instant.
func (o occurrences) next(at time.Time) (s flips.Span, ok bool) {
	if o.times.schedule == nil {
		return flips.Span{Start: o.Start, End: o.End}, o.Start.Before(o.End) && at.Before(o.End)
	}
	begin := o.begin(at.Add(-o.Duration))
	if begin.IsZero() {
		return flips.Span{}, false
	}
	s = flips.Span{Start: begin, End: begin.Add(o.Duration)}
	for range maxJoined {
		if begin = o.begin(begin); begin.IsZero() || begin.After(s.End) {
			break
		}
		s.End = begin.Add(o.Duration)
	}
	if !o.End.IsZero() {
		s.End = earliest(s.End, o.End)
	}
	return s, s.End.After(at)
}

// begin returns when the first occurrence after an instant begins, or the zero time.
func (o occurrences) begin(after time.Time) time.Time {
	begin := o.times.schedule.Next(latest(after, o.Start.Add(-1)).In(o.times.loc))
	if begin.IsZero() || !o.End.IsZero() && !begin.Before(o.End) {
		return time.Time{}
	}
	return begin.UTC()
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
