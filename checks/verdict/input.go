package verdict

import (
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
)

// Input is what a verdict is made of. Only Check and Now are required: what is missing is not said.
type Input struct {
	// Check is the check with its Channels. It may be overdue: the verdict says what the clock has done by Now.
	Check checks.Check
	// Now is the current time.
	Now time.Time
	// Transitions are the newest transitions and pauses of the check, oldest first. The newest two are enough.
	Transitions []checks.Transition
	// Pings are the newest pings of the check, newest first. The verdict looks for the last success, for the failure that
	// took the check down, and for the start of a run that took too long. Only that failure needs its Body.
	Pings []pings.Ping
	// Deliveries are those of the alert about the newest transition, and of its reminders, in any order. Those with a Close are
	// ignored.
	Deliveries []checks.Delivery
	// Unanswered is for how long nobody has taken on the outage that a later step of an escalation policy alerts, or 0. Only
	// [ForAlert] says so.
	Unanswered time.Duration
	// Windows are the maintenance windows and snoozes of the project.
	Windows []gate.Window
	// Receivers are the integrations that get the alerts of the check; see [Receivers].
	Receivers []Receiver
	// Parents are the checks that the check follows, and Lost the items of its After that mean no check, or several.
	Parents []gate.Parent
	Lost    []string
	// Following is what [Following] returns of each check that the check follows.
	Following []string
	// Waited names the parent because of which the alert of [ForAlert] has waited, or is "".
	Waited string
}

// Flip is the change of status that an alert is about.
type Flip struct {
	checks.Transition
	// DownAt is when the check went down before a flip up. UpAt is when it came up after a flip down. Each is the zero
	// time if that is unknown or has not happened, as after an outage that a pause has ended.
	DownAt, UpAt time.Time
}
