package lists

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/board"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// The board is a time machine: its address can name an earlier instant for the middle of the axis.

const (
	// instantForm is an instant in an address: whole minutes in UTC, so that it is the same for viewers in all zones.
	instantForm = "2006-01-02T15:04Z"
	// localForm is what a control for date and time sends: the time in the viewer's zone.
	localForm = "2006-01-02T15:04"
)

// parseInstant reads an instant of an address. Local says that it is not in the form of addresses.
func parseInstant(text string, zone *time.Location) (at time.Time, local, ok bool) {
	if at, err := time.Parse(instantForm, text); err == nil {
		return at, false, true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC().Truncate(time.Minute), true, true
	}
	for _, form := range []string{localForm, localForm + ":05"} { // browsers leave out seconds that are 0
		if wall, err := time.Parse(form, text); err == nil {
			at, _ := schedule.Shown(zone, wall)
			return at.UTC().Truncate(time.Minute), true, true
		}
	}
	return time.Time{}, false, false
}

// moved returns the query for another instant, which is now for one that is not before.
func (q boardQuery) moved(at, now time.Time) string {
	if !at.Before(now.Truncate(time.Minute)) {
		return q.With("at", "")
	}
	return q.With("at", at.UTC().Format(instantForm))
}

// Earlier and Later are the queries for the axes beside this one. Later is "" for now.
func (v boardView) Earlier() string { return v.Query.moved(v.Axis.At.Add(-v.Query.span()), v.Axis.Now) }

func (v boardView) Later() string {
	if !v.Axis.Past() {
		return ""
	}
	return v.Query.moved(v.Axis.At.Add(v.Query.span()), v.Axis.Now)
}

// LastNight is the query for the last time at which it was 03:00 where the viewer is, with the hours around it.
func (v boardView) LastNight() string {
	now := v.Axis.Now.In(v.Axis.Zone)
	wall := time.Date(now.Year(), now.Month(), now.Day(), 3, 0, 0, 0, time.UTC)
	at, _ := schedule.Shown(v.Axis.Zone, wall)
	if at.After(v.Axis.Now) {
		at, _ = schedule.Shown(v.Axis.Zone, wall.AddDate(0, 0, -1))
	}
	q := v.Query
	q.Span = spans[0].Name
	return q.moved(at, v.Axis.Now)
}

// Local is the middle of the axis for the control, and Latest the latest instant that it takes.
func (v boardView) Local() string  { return v.Axis.At.In(v.Axis.Zone).Format(localForm) }
func (v boardView) Latest() string { return v.Axis.Now.In(v.Axis.Zone).Format(localForm) }

// Middle names the middle of the axis.
func (v boardView) Middle() string { return v.Axis.Format(v.Axis.At, "Mon 2 Jan 15:04") }

// Every is the length of the parts of the strip.
func (v boardView) Every() string { return prose.Period(v.Density.Step) }

// past is what was at an earlier time: the checks that were down on the axis, and the statuses in its middle.
type past struct {
	down   map[uuid.UUID]bool
	status map[uuid.UUID]checks.Status
}

// readPast reads the transitions since the beginning of an axis in the past.
func readPast(q *ui.Request, list []checks.Check, axis *board.Axis) (past, error) {
	p := past{map[uuid.UUID]bool{}, map[uuid.UUID]checks.Status{}}
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	transitions, err := q.Mon.Projects().Transitions(q.Ctx(), ids, axis.From)
	for _, c := range list {
		settled, effects := c.Settle(axis.Now)
		p.add(settled, append(transitions[c.ID][:len(transitions[c.ID]):len(transitions[c.ID])], effects.Transitions...), axis)
	}
	return p, err
}

// add finds out how a check was, from its transitions since the beginning of the axis.
func (p past) add(c checks.Check, transitions []checks.Transition, axis *board.Axis) {
	status := c.Stored
	if len(transitions) > 0 {
		status = transitions[0].From
	}
	down := status == checks.StatusDown
	for _, t := range transitions {
		if t.At.After(axis.To) {
			break
		}
		down = down || t.To == checks.StatusDown
		if !t.At.After(axis.At) {
			status = t.To
		}
	}
	if c.CreatedAt.After(axis.At) {
		status = checks.StatusNew
	}
	p.down[c.ID], p.status[c.ID] = down, status
}

// board opens the board at an instant, with the hours around it.
func boardAt(at, now time.Time) string {
	return boardQuery{Span: spans[0].Name}.moved(at, now)
}

// keep are the values of the query that a form for the instant sends along.
func (q boardQuery) Keep() url.Values {
	values := q.values()
	values.Del("at")
	return values
}
