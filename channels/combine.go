package channels

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// Combine returns one notification about several of the same status, each about another check of a project, for a channel
// whose [Type] combines them. id is its idempotency key, and url the address of a page about all of them, or "".
//
// Combined has them, in the order of their instants. Check stands for all: its Name counts them, and its ID is that of no check.
// At is the earliest instant. Reminder is the lowest number of all, so it is 0 if one of them is no reminder. Reason is that of all,
// or says that there are several. Over is set if all have recovered.
func Combine(id, url string, list []Notification) Notification {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Notification) int { return a.At.Compare(b.At) })
	first := list[0]
	n := Notification{
		ID: id, Incident: id, Status: first.Status, At: first.At, Reason: first.Reason, Over: first.Over, Combined: list,
		Check: Check{ID: uuid.NewSHA1(uuid.NameSpaceOID, []byte(id)), Project: first.Check.Project, URL: url},
		Done:  first.Done, Recipient: first.Recipient, Reminder: first.Reminder,
	}
	if !slices.ContainsFunc(list, func(one Notification) bool { return one.Check.TZ != first.Check.TZ }) {
		n.Check.TZ = first.Check.TZ
	}
	n.Check.Name = fmt.Sprintf("%d checks of %s", len(list), cmp.Or(first.Check.Project, "a project"))
	for _, one := range list {
		n.Reminder = min(n.Reminder, one.Reminder)
		if one.Reason != first.Reason {
			n.Reason = "several reasons"
		}
		switch {
		case one.Over.IsZero():
			n.Over = one.Over
		case !n.Over.IsZero() && one.Over.After(n.Over):
			n.Over = one.Over
		}
	}
	return n
}
