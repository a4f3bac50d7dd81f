package gate_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/quiet"
)

// A program with its own alerts asks again whenever Until has come.
func Example() {
	night, err := quiet.Parse("22:00-06:00", time.UTC)
	if err != nil {
		panic(err)
	}
	evening := time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	down := gate.Event{Kind: gate.Down, At: evening}
	policies := gate.Policies{
		Quiet:   &night,
		Windows: []gate.Window{{Kind: gate.Maintenance, Start: evening.Add(-time.Hour), End: evening.Add(3 * time.Hour), Note: "new disks"}},
	}
	for now := evening; ; {
		d := gate.Decide(down, policies, now)
		if d.Action != gate.Wait {
			fmt.Println(now.Format("15:04"), "sent")
			break
		}
		fmt.Printf("%s waits until %s: %s %q\n", now.Format("15:04"), d.Until.Format("15:04"), d.Why, d.Name)
		now = d.Until
	}
	// Output:
	// 20:00 waits until 23:00: maintenance "new disks"
	// 23:00 waits until 06:00: quiet_hours ""
	// 06:00 sent
}

// An acknowledgement keeps the later steps of an escalation back. When it ends, they begin again.
func ExampleDecide_escalation() {
	mail, phone := uuid.New(), uuid.New()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	policies := gate.Policies{Steps: []gate.Step{
		{Channels: []uuid.UUID{mail}},
		{Channels: []uuid.UUID{phone}, After: 15 * time.Minute},
	}}
	show := func(channel string, to uuid.UUID, now time.Time) {
		d := gate.Decide(gate.Event{Kind: gate.Down, At: noon, Channel: to}, policies, now)
		if d.Action == gate.Send {
			fmt.Println(channel, "is notified")
		} else {
			fmt.Printf("%s waits until %s: %s %q\n", channel, d.Until.Format("15:04"), d.Why, d.Name)
		}
	}
	show("mail", mail, noon)
	show("phone", phone, noon)
	policies.Ack = gate.Ack{By: "ann@example.org", At: noon.Add(time.Minute), Until: noon.Add(time.Hour)}
	show("phone", phone, noon.Add(15*time.Minute))
	show("phone", phone, noon.Add(time.Hour))
	show("phone", phone, noon.Add(75*time.Minute))
	// Output:
	// mail is notified
	// phone waits until 12:15: escalation ""
	// phone waits until 13:00: acknowledged "ann@example.org"
	// phone waits until 13:15: escalation ""
	// phone is notified
}

// The state machine of a check counts failures. A program that counts them itself says when the next one follows.
func ExampleDecide_failures() {
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	policies := gate.Policies{AlertAfter: 2}
	d := gate.Decide(gate.Event{Kind: gate.Down, Failures: 1, NextFailure: noon.Add(time.Hour)}, policies, noon)
	fmt.Println(d.Action == gate.Wait, d.Until.Format("15:04"), d.Why)
	d = gate.Decide(gate.Event{Kind: gate.Down, Failures: 2}, policies, noon.Add(time.Hour))
	fmt.Println(d.Action == gate.Send)
	// Output:
	// true 13:00 alert_after
	// true
}
