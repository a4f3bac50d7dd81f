package verdict

import (
	"fmt"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

// ForAlert says what an alert is about: since when the check is up or down, and why, with the date of each time. It leaves
// out who was notified. The check may have changed since; in.Transitions, in.Deliveries and in.Receivers do not matter.
// Reminder is that of the alert.
func ForAlert(in Input, flip Flip, reminder int) Verdict {
	in.Transitions, in.Deliveries, in.Receivers = nil, nil, nil
	b := newBuilder(in)
	b.v.Status, b.v.Since, b.v.Dated = flip.To, flip.At, true
	if flip.To == checks.StatusUp {
		b.alertUp(flip)
	} else {
		b.alertDown(flip, reminder)
	}
	b.v.nameZone()
	return b.v
}

func (b *builder) alertUp(flip Flip) {
	after := "."
	if down := flip.At.Sub(flip.DownAt); !flip.DownAt.IsZero() && down > 0 {
		after = ", after " + prose.Duration(down) + " down."
	}
	b.say(emphasis("Up"), plain(" since "), since(flip.At), plain(after))
	if next := b.Check.NextPing(b.Now); !next.IsZero() && b.Check.StoredSince.Equal(flip.At) {
		b.say(plain("Next run due "), expected(next), plain("."))
	}
}

func (b *builder) alertDown(flip Flip, reminder int) {
	switch {
	case !flip.UpAt.IsZero():
		b.say(emphasis("Was down"), plain(" from "), since(flip.At), plain(" to "), since(flip.UpAt),
			plain(", for "+prose.Duration(flip.UpAt.Sub(flip.At))+"."))
	case reminder > 0:
		b.say(emphasis(fmt.Sprintf("Still down after %s", prose.Duration(b.Now.Sub(flip.At)))), plain(", since "), since(flip.At), plain("."))
	default:
		b.say(emphasis("Down"), plain(" since "), since(flip.At), plain("."))
	}
	b.reason(flip.Transition)
	switch ack := b.Check.Ack; {
	case b.Unanswered <= 0 || !flip.UpAt.IsZero():
	case !ack.At.IsZero():
		b.say(emphasis("Its acknowledgement by "+prose.Line(ack.By, maxName)+" has ended"), plain(", and the escalation policy goes on."))
	default:
		b.say(emphasis("Nobody has acknowledged it for "+prose.Duration(b.Unanswered)), plain("."))
	}
	if b.Check.StoredSince.Equal(flip.At) && !b.Check.Ack.At.IsZero() {
		b.acknowledged()
	}
	if b.Waited != "" {
		b.say(plain("This alert has waited because " + prose.Line(b.Waited, maxName) + " was down or late."))
	}
}
