package words

import (
	"cmp"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Somebody is who has acknowledged an outage, for those who may not see it.
const Somebody = "somebody"

// LaterStep reports whether an alert waits for the turn of its integration in the escalation.
func LaterStep(d checks.Delivery) bool {
	return d.State == checks.DeliveryPending && d.Held == gate.ByStep
}

// Kept says why an alert waits or nobody gets it, such as "maintenance: new disks", for one that the gate keeps back or has dropped
// and one that its integration does not want. It is "" for others. parent is the state of the check that the alert waits for, or ""
// where nobody knows it.
func Kept(d checks.Delivery, parent string) string {
	switch {
	case d.State == checks.DeliveryPending && d.Held == gate.ByParent && parent != "":
		return "because " + Name(d.HeldBy, "another check") + " is " + parent
	case d.State == checks.DeliveryPending && d.Held != "":
		return d.Held.Words(Name(d.HeldBy, ""))
	case d.State != checks.DeliverySkipped:
		return ""
	case d.Status == "up":
		return cmp.Or(d.Error, "this integration does not send recovery alerts")
	}
	return cmp.Or(d.Error, "this integration does not send down alerts")
}
