package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
)

// Following returns what is likely not meant where a check follows a parent, whose receivers are those of [Receivers]: a parent of whose
// outage nobody is notified holds no alert back, and one with quiet hours or an AlertAfter holds none back until somebody is.
func Following(parent checks.Check, receivers []Receiver) (list []string) {
	name := prose.Line(parent.DisplayName(), maxName)
	switch {
	case parent.RecordOnly:
		return []string{name + " never alerts, so no alert waits for it"}
	case !slices.ContainsFunc(receivers, Receiver.Reached):
		return []string{name + " alerts nobody, so no alert waits for it"}
	}
	if parent.QuietHours != "" {
		list = append(list, "no alert waits for "+name+" in its quiet hours")
	}
	if parent.AlertAfter > 1 {
		list = append(list, fmt.Sprintf("no alert waits for %s before it has failed %d times in a row", name, parent.AlertAfter))
	}
	return list
}

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
	if !b.Check.RecordOnly {
		for _, text := range b.Following {
			b.say(plain("It follows others, but " + text + "."))
		}
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
