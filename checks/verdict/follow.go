package verdict

import (
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// waits says which parent keeps the alert back.
func (b *builder) waits() {
	i := slices.IndexFunc(b.Deliveries, func(d checks.Delivery) bool { return d.State == checks.DeliveryPending && d.Held == gate.ByParent })
	if i < 0 {
		return
	}
	because := blocking(b.Parents)
	if because == "" { // it was so when the gate was asked
		because = gate.ByParent.Words(prose.Line(b.Deliveries[i].HeldBy, maxName))
	}
	b.say(plain("Its alert waits because " + because + "."))
}

// follows says of a check that is not down that its alert would wait, and of each which parents it does not have.
func (b *builder) follows() {
	because := blocking(b.Parents)
	if because != "" && !b.Check.RecordOnly && (b.v.Status == checks.StatusUp || b.v.Status == checks.StatusGrace) {
		b.say(plain("If it goes down, its alert waits because " + because + "."))
	}
	if len(b.Lost) > 0 {
		names := make([]string, len(b.Lost))
		for i, name := range cut(b.Lost) {
			names[i] = prose.Line(name, maxName)
		}
		b.say(plain("It follows " + strings.Join(cut(names), ", ") + ", which is not one check of this project, so no alert waits for that."))
	}
}

// blocking says which parents keep an alert back: "nightly-dump is down". It is "" if none does.
func blocking(parents []gate.Parent) string {
	var all []string
	for _, p := range parents {
		switch name := prose.Line(p.Name, maxName); {
		case p.Down:
			all = append(all, name+" is down")
		case !p.Late.IsZero():
			all = append(all, name+" is late")
		}
	}
	return strings.Join(cut(all), ", ")
}
