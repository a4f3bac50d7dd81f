package gate_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/quiet"
)

// drawn are policies at noon of March 2, 2026, and the alert that they are about, with whole minutes in all of them.
type drawn struct {
	event    gate.Event
	policies gate.Policies
	quiet    [2]int // minutes of the day; none if they are equal
	late, up int    // the minutes until whose end one parent is late and another one is down; 0 for none
}

func draw(t *rapid.T) (d drawn) {
	minutes := func(from, to int, label string) time.Time { return at(rapid.IntRange(from, to).Draw(t, label)) }
	maybe := func(label string) bool { return rapid.IntRange(0, 2).Draw(t, label) == 0 }
	e, p := &d.event, &d.policies
	*e = gate.Event{At: minutes(-120, 0, "at"), Check: db, Tags: []string{"eu"}, Channel: second, Failures: rapid.IntRange(1, 3).Draw(t, "failures")}
	p.AlertAfter = rapid.IntRange(0, 3).Draw(t, "alert_after")
	if maybe("fails again") {
		e.NextFailure = minutes(-1, 60, "next failure")
	}
	if maybe("quiet") {
		d.quiet = [2]int{rapid.IntRange(0, 1439).Draw(t, "begin"), rapid.IntRange(0, 1439).Draw(t, "end")}
		if text := clock(d.quiet[0]) + "-" + clock(d.quiet[1]); d.quiet[0] != d.quiet[1] {
			h, err := quiet.Parse(text, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			p.Quiet = &h
		}
	}
	for range rapid.IntRange(0, 4).Draw(t, "windows") {
		w := gate.Window{Kind: rapid.SampledFrom([]gate.WindowKind{gate.Maintenance, gate.Snooze}).Draw(t, "kind"), Start: minutes(-180, 180, "start")}
		w.End = w.Start.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "duration")) * time.Minute)
		if maybe("tagged") {
			w.Tags = []string{rapid.SampledFrom([]string{"eu", "us"}).Draw(t, "tag")}
		}
		p.Windows = append(p.Windows, w)
	}
	if maybe("late") {
		d.late = rapid.IntRange(1, 60).Draw(t, "deadline")
	}
	if maybe("down") {
		d.up = rapid.IntRange(1, 60).Draw(t, "recovery")
	}
	if maybe("acknowledged") {
		p.Ack = gate.Ack{By: "ann", At: e.At, Until: minutes(-10, 120, "until")}
	}
	if maybe("escalation") {
		p.Steps = []gate.Step{
			{After: time.Duration(rapid.IntRange(0, 90).Draw(t, "after")) * time.Minute, Channels: []uuid.UUID{second}},
			{After: 2 * time.Hour, Channels: []uuid.UUID{first, second}},
		}
	}
	return d
}

// parents are the checks that the check follows, as they are at an instant.
func (d drawn) parents(now time.Time) []gate.Parent {
	list := []gate.Parent{{Name: "up"}, {Name: "late"}, {Name: "down", Down: now.Before(at(d.up))}}
	if now.Before(at(d.late)) {
		list[1].Late = at(d.late)
	}
	return list
}

func clock(minute int) string { return at(minute - 12*60).Format("15:04") }

// waits is the plain model: whether the rules, as people would read them, keep the alert that the check is down back in a minute after
// noon, although it is asked for the first time then.
func (d drawn) waits(minute int) bool {
	e, p := d.event, d.policies
	now := at(minute)
	covered := func(t time.Time) bool {
		return slices.ContainsFunc(p.Windows, func(w gate.Window) bool {
			return !t.Before(w.Start) && t.Before(w.End) && !slices.Equal(w.Tags, []string{"us"})
		})
	}
	tooFew := func(t time.Time) bool { return e.Failures < p.AlertAfter && e.NextFailure.After(t) }
	held := func(minute int) bool {
		today := (36*60 + minute) % (24 * 60)
		isQuiet := d.quiet[0] <= today && today < d.quiet[1]
		if d.quiet[0] > d.quiet[1] {
			isQuiet = today >= d.quiet[0] || today < d.quiet[1]
		}
		return isQuiet || covered(at(minute)) || minute < max(d.late, d.up) && minute >= 0 && !tooFew(at(minute))
	}
	if tooFew(now) || held(minute) {
		return true
	}
	if len(p.Steps) == 0 || p.Steps[0].After == 0 {
		return false
	}
	begin, free := int(e.At.Sub(noon)/time.Minute), 0
	if !p.Ack.At.IsZero() {
		begin = max(begin, int(p.Ack.Until.Sub(noon)/time.Minute))
	}
	for m := begin; m < minute; m++ {
		if !held(m) {
			free++
		}
	}
	return p.Ack.Until.After(now) || time.Duration(free)*time.Minute < p.Steps[0].After
}

// property compares what becomes of an alert with the plain model, minute by minute. Whoever asks at noon and then always at Until sends
// it in the first minute in which nothing keeps it back.
func property(t *rapid.T) {
	d := draw(t)
	p := d.policies
	for now, minute := noon, 0; ; {
		for ; at(minute).Before(now); minute++ {
			if !d.waits(minute) {
				t.Fatalf("asked again only at %v, although it may leave at %v", now, at(minute))
			}
		}
		p.Parents = d.parents(now)
		if !p.Ack.Active(now) && d.late%2 == 0 { // somebody has noted the end already
			p.Returned = p.Ack.Until
		}
		decision := gate.Decide(d.event, p, now)
		if want := d.waits(int(now.Sub(noon) / time.Minute)); (decision.Action == gate.Wait) != want || decision.Action == gate.Drop {
			t.Fatalf("at %v: %+v, want that it waits: %v", now, decision, want)
		}
		if decision.Action == gate.Send {
			return
		}
		if !decision.Until.After(now) || decision.Until.After(now.Add(14*24*time.Hour)) || decision.Why == "" {
			t.Fatalf("at %v: %+v", now, decision)
		}
		now, d.event.Clock = decision.Until, decision.Clock
	}
}

func TestDownLeavesInTime(t *testing.T) { rapid.Check(t, property) }

func FuzzDownLeavesInTime(f *testing.F) { f.Fuzz(rapid.MakeFuzz(property)) }

func BenchmarkDecide(b *testing.B) {
	windows := make([]gate.Window, 100)
	for i := range windows {
		windows[i] = window(gate.Maintenance, i+1, i+2, "")
	}
	for name, p := range map[string]gate.Policies{"none": {}, "quiet": {Quiet: hours(b, "22:00-06:00")}, "windows": {Windows: windows}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				gate.Decide(gate.Event{Check: db}, p, noon)
			}
		})
	}
}
