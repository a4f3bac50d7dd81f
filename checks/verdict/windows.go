package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// windows tells about the maintenance window or the snooze that keeps alerts back now.
func (b *builder) windows() {
	d := b.window()
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
	waits := []Part{plain(note + ": alerts wait.")}
	if list := b.deliveries(b.inWindow); len(list) == 1 {
		waits = []Part{plain(note + ": the alert to "), labelOf(list[0]), plain(" waits.")}
	} else if len(list) > 1 {
		waits = slices.Concat([]Part{plain(note + ": the alerts to ")}, names(labelsOf(list)), []Part{plain(" wait.")})
	}
	b.say(append([]Part{emphasis(text), plain(" until "), since(d.Until)}, waits...)...)
}

// inWindow reports whether a delivery waits for the end of the windows of which windows tells.
func (b *builder) inWindow(d checks.Delivery) bool {
	if d.State != checks.DeliveryPending || d.Held != gate.ByMaintenance && d.Held != gate.BySnooze {
		return false
	}
	return b.window().Action == gate.Wait
}

// window decides about an alert by the windows alone.
func (b *builder) window() gate.Decision {
	e := gate.Event{Check: b.Check.ID, Tags: b.Check.TagList()}
	return gate.Decide(e, gate.Policies{Windows: b.Windows}, b.Now)
}

// wait moves the alert of a rehearsal to the end of the windows and quiet hours that hold it, cancels reminders within windows, and puts
// those off that follow too soon after an alert that was moved. It returns when the alert was raised.
func (r *Rehearsal) wait(windows []gate.Window) (raised time.Time) {
	raised = r.AlertAt
	if len(windows) == 0 {
		return raised
	}
	p := r.Check.Policies()
	p.Windows, p.Ack, p.RecordOnly, p.AlertAfter = windows, gate.Ack{}, false, 0
	every := r.Check.RepeatEvery
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
				s.At = d.Until
			}
		case stepReminder:
			e := e
			e.Kind = gate.Reminder
			if d := gate.Decide(e, p, s.At); d.Action == gate.Drop || s.At.Before(r.AlertAt) {
				s.Kind, s.By, s.Note = stepSilenced, cmp.Or(d.Why, gate.ByMaintenance), d.Name
			} else if soonest := r.AlertAt.Add(every); !r.AlertAt.Equal(raised) && s.At.Before(soonest.Add(-every/10)) {
				s.At = soonest
			}
		}
		steps = append(steps, s)
	}
	r.Steps = steps
	return raised
}

// maxWaits bounds the waits of an alert, one after another.
const maxWaits = 20

const quietHours = "quiet hours"

// Holder says what By stands for: "maintenance", "a snooze" or "quiet hours".
func (s Step) Holder() string {
	switch s.By {
	case gate.ByMaintenance:
		return "maintenance"
	case gate.BySnooze:
		return "a snooze"
	case gate.ByParent:
		return s.Note
	case gate.ByAck:
		return "the acknowledgement"
	}
	return quietHours
}

// waitText says in a step what holds the alert or cancels a reminder.
func (r Rehearsal) waitText(s Step, zone *time.Location) string {
	by := s.Holder()
	if s.Kind == stepHeld && s.Until.IsZero() { // see release
		if because := blocking(r.Parents); s.By == gate.ByParent && because != "" {
			return "The alert to " + namesOf(r.receivers(s.To)) + " waits as long as " + because + "."
		}
		return "The alert to " + namesOf(r.receivers(s.To)) + " waits: " + s.By.Words(s.Note) + "."
	}
	quiet := by == quietHours
	by = strings.ToUpper(by[:1]) + by[1:]
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
