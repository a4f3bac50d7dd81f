package verdict

import (
	"cmp"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// windows tells about the maintenance window or the snooze that keeps alerts back now.
func (b *builder) windows() {
	e := gate.Event{Check: b.Check.ID, Tags: b.Check.TagList()}
	d := gate.Decide(e, gate.Policies{Windows: b.Windows}, b.Now)
	if d.Action != gate.Wait {
		return
	}
	text, note := "In maintenance", ""
	if d.Why == gate.BySnooze {
		text = "Snoozed"
	}
	if d.Name != "" {
		note = " (" + prose.Line(d.Name, maxNote) + ")"
	}
	b.say(emphasis(text), plain(" until "), since(d.Until), plain(note+": alerts wait."))
}

// wait moves the alert of a rehearsal to the end of the windows and quiet hours that hold it, and cancels reminders within windows.
// It returns from when on the steps of an escalation policy count.
func (r *Rehearsal) wait(windows []gate.Window) (from time.Time) {
	from = r.AlertAt
	if len(windows) == 0 {
		return from
	}
	p := r.Check.Policies()
	p.Windows, p.Ack, p.RecordOnly, p.AlertAfter, p.RepeatEvery = windows, gate.Ack{}, false, 0, 0
	e := gate.Event{Check: r.Check.ID, Tags: r.Check.TagList()}
	var steps []Step
	for _, s := range r.Steps {
		switch s.Kind {
		case stepAlert:
			for range maxWaits {
				d := gate.Decide(e, p, s.At)
				if d.Action != gate.Wait {
					break
				}
				steps = append(steps, Step{Kind: stepHeld, At: s.At, Until: d.Until, By: d.Why, Note: d.Name})
				if r.AlertAt.Equal(s.At) {
					r.AlertAt = d.Until
				}
				if s.At = d.Until; d.Why != gate.ByQuiet {
					from = d.Until
				}
			}
		case stepReminder:
			e := e
			e.Kind = gate.Reminder
			if d := gate.Decide(e, p, s.At); d.Action == gate.Drop || s.At.Before(r.AlertAt) {
				s.Kind, s.By, s.Note = stepSilenced, cmp.Or(d.Why, gate.ByMaintenance), d.Name
			}
		}
		steps = append(steps, s)
	}
	r.Steps = steps
	return from
}

// maxWaits bounds the waits of an alert, one after another.
const maxWaits = 20

// waitText says in a step what holds the alert or cancels a reminder.
func (r Rehearsal) waitText(s Step, zone *time.Location) string {
	by := map[gate.Why]string{gate.ByMaintenance: "Maintenance", gate.BySnooze: "A snooze"}[s.By]
	quiet := by == ""
	if quiet {
		by = "Quiet hours"
	}
	note := ""
	if s.Note != "" {
		note = " (" + prose.Line(s.Note, maxNote) + ")"
	}
	verb := func(one, many string) string {
		if quiet {
			return " " + many
		}
		return note + " " + one
	}
	switch {
	case s.Kind == stepHeld:
		return by + verb("holds", "hold") + " the alert until " + r.time(s.Until, zone) + "."
	case s.Until.IsZero():
		return by + verb("cancels", "cancel") + " the reminder."
	}
	return by + verb("cancels", "cancel") + " the reminder; the next one is due " + r.at(s.Until, zone) + "."
}
