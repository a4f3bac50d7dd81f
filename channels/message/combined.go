package message

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// maxGroups bounds the groups of a combined notification in a text, and maxNames the names of each.
const maxGroups, maxNames = 8, 20

// A Group has the checks of a combined notification that changed for the same reason.
type Group struct {
	// Reason is that of all, as [Reason] returns it; it may hold any markup. It is "" if the group has several.
	Reason string
	Checks []channels.Notification
}

// Groups returns the checks of a combined notification by their reasons and causes, the largest group first. There are at most
// most; the last of them takes those with further reasons.
func Groups(n channels.Notification, most int) (groups []Group) {
	for _, one := range n.Combined {
		reason := Reason(one)
		at := slices.IndexFunc(groups, func(g Group) bool { return g.Reason == reason })
		if at < 0 {
			at, groups = len(groups), append(groups, Group{Reason: reason})
		}
		groups[at].Checks = append(groups[at].Checks, one)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(len(b.Checks), len(a.Checks)) })
	if len(groups) > most {
		last := Group{}
		for _, g := range groups[most-1:] {
			last.Checks = append(last.Checks, g.Checks...)
		}
		groups = append(groups[:most-1], last)
	}
	return groups
}

// combined returns the lines about the checks of a combined notification, with as many names as have room.
func (r renderer) combined(n channels.Notification, room int) []string {
	first := r.span(n)
	for most := maxGroups; most > 0; most /= 2 {
		groups := Groups(n, most)
		text := longest(maxNames, room-1, func(names int) string { return strings.Join(append([]string{first}, r.groups(groups, names)...), "\n") })
		if text != "" {
			return []string{text}
		}
	}
	return []string{prose.Cut(first, max(0, room-1))}
}

// span says since when the checks are up or down.
func (r renderer) span(n channels.Notification) string {
	what := "Down since "
	if n.Status == channels.Up {
		what = "Up since "
	}
	text := what + instant(n.At, n.Check.TZ)
	if last := n.Combined[len(n.Combined)-1].At; last.After(n.At) {
		text += ", the last since " + instant(last, n.Check.TZ)
	}
	if !n.Over.IsZero() {
		text += "; up again since " + instant(n.Over, n.Check.TZ)
	}
	return text + "."
}

// groups returns a line for each group, such as "a run was missed (26): backup, cleanup and 24 more".
func (r renderer) groups(list []Group, names int) (lines []string) {
	for _, g := range list {
		reason := cmp.Or(r.line(g.Reason, maxValue), "other reasons")
		lines = append(lines, fmt.Sprintf("%s (%d): %s", reason, len(g.Checks), r.names(g.Checks, names)))
	}
	return lines
}

// names lists the first names of checks, and says how many more there are.
func (r renderer) names(list []channels.Notification, most int) string {
	var names []string
	for _, one := range list[:min(most, len(list))] {
		name := r.line(Name(one.Check), maxName)
		if !one.Over.IsZero() {
			name += " (up again)"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(list) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// short returns since when, and as many names as have room in limit bytes.
func (r renderer) short(n channels.Notification, limit int) string {
	names := longest(len(n.Combined), limit, func(most int) string { return r.names(n.Combined, most) })
	return strings.TrimSuffix(r.span(n), ".") + ": " + cmp.Or(names, r.names(n.Combined, 1)) + "."
}
