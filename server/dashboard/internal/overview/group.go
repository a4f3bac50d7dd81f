package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// group is checks that went wrong alike, which the page shows as one row, or others.
type group struct {
	Title string // "" if the cause, which the row of the group quotes, says all
	Alike bool
	Rows  []row
	Shown []row  // those that the page shows
	key   string // the title, or the cause
}

// The titles of groups of checks that are not alike.
const stillDown, upAgain = "Down", "Up again"

// likeness is [ui.Alike] of a check that went wrong. The key is "" for one that is up again and has no cause.
func likeness(r row) (key string, least int, title string) {
	reason := r.Why
	switch {
	case r.kind == missed:
		reason = flips.Overdue.Words()
	case r.kind == timedOut:
		reason = flips.Overrun.Words()
	}
	if key, least, title = ui.Alike(reason, r.cause); r.cause == "" && r.Status != checks.StatusDown {
		key = ""
	}
	return key, least, title
}

// grouped puts checks together that went wrong alike, before those that are down for other reasons and those that are up again.
func grouped(rows []row) (groups []group) {
	alike := map[string][]row{}
	for _, r := range rows {
		key, _, _ := likeness(r)
		alike[key] = append(alike[key], r)
	}
	down, up := group{Title: stillDown, key: stillDown}, group{Title: upAgain, key: upAgain}
	for _, r := range rows {
		key, least, title := likeness(r)
		switch list := alike[key]; {
		case key != "" && len(list) >= least && list[0].Key == r.Key:
			groups = append(groups, group{Title: title, Alike: true, Rows: list, key: cmp.Or(title, r.cause)})
		case key != "" && len(list) >= least: // it is there already
		case r.Status == checks.StatusDown:
			down.Rows = append(down.Rows, r)
		default:
			up.Rows = append(up.Rows, r)
		}
	}
	for _, g := range []group{down, up} {
		if len(g.Rows) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// bound bounds the rows that the page shows, and counts the checks that are among them or in a group.
func (v *view) bound() (n int) {
	left := map[bool]int{true: maxRows, false: maxRows}
	for i := range v.Groups {
		g := &v.Groups[i]
		g.Shown = g.Rows[:min(len(g.Rows), left[g.Alike])]
		if left[g.Alike] -= len(g.Shown); g.Alike {
			n += len(g.Rows)
		} else {
			n += len(g.Shown)
		}
	}
	return n
}

// ID identifies the group on the page, so that an open page keeps it unfolded.
func (g group) ID() string { return ui.AlikeID(g.key) }

// First is the first check of the group: one that is down and that nobody has, if there is one.
func (g group) First() row { return g.Rows[0] }

// Down counts the checks that are down.
func (g group) Down() int { return g.count(func(r row) bool { return r.Status == checks.StatusDown }) }

// Free are the checks that are down and that nobody has.
func (g group) Free() (free []row) {
	for _, r := range g.Rows {
		if r.Status == checks.StatusDown && r.Owner == "" {
			free = append(free, r)
		}
	}
	return free
}

// Names names the first checks.
func (g group) Names() string {
	names := make([]string, len(g.Rows))
	for i, r := range g.Rows {
		names[i] = r.Name
	}
	return words.Listed(names, ui.GroupNames)
}

// From and To are when the first and the last check went wrong.
func (g group) From() time.Time { return slices.MinFunc(g.Rows, byTrouble).at }

func (g group) To() time.Time { return slices.MaxFunc(g.Rows, byTrouble).at }

func byTrouble(a, b row) int { return a.at.Compare(b.at) }

// Told says who was notified, if that is the same for all checks, and who follows for the first of them, or else about how many nobody
// was notified.
func (g group) Told() string {
	first := slices.MinFunc(g.Rows, byTrouble).Told
	told, _, _ := strings.Cut(first, thenSteps)
	same := func(r row) bool { now, _, _ := strings.Cut(r.Told, thenSteps); return now == told }
	switch untold := g.count(func(r row) bool { return r.Untold }); {
	case g.count(same) == len(g.Rows):
		return first
	case untold > 0:
		return fmt.Sprintf("nobody notified of %d", untold)
	}
	return ""
}

// thenSteps stands between who was notified and the later steps of an escalation.
const thenSteps = "; then "

// Untold reports that nobody was notified of some check.
func (g group) Untold() bool { return g.count(func(r row) bool { return r.Untold }) > 0 }

// Owners says who has acknowledged how many outages.
func (g group) Owners() string {
	rows := make([]ui.Row, len(g.Rows))
	for i, r := range g.Rows {
		rows[i] = r.Row
	}
	return ui.Owners(rows)
}

func (g group) count(is func(row) bool) (n int) {
	for _, r := range g.Rows {
		if is(r) {
			n++
		}
	}
	return n
}
