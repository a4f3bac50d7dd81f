package board

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// MaxWell is how many lanes of a board may be there before those of well checks collapse.
	MaxWell = 30
	// MaxLanes bounds the lanes of a page of a board.
	MaxLanes = 60
)

// Order is the order of healthy checks.
type Order string

// The orders.
const (
	ByName Order = ""
	ByTag  Order = "tag" // by their first tag, then by name
)

// Group is a part of the board.
type Group struct {
	// State is down, late or up, the last for checks that are up again since they were down within the past of the axis. In
	// the middle of an earlier instant, it is down for checks that were down on the axis. It is "" for all others.
	State checks.Status
	// Tag is the tag that the checks share, of those in the order ByTag.
	Tag    string
	Checks []checks.Check
}

// Arrangement is the order of the lanes.
type Arrangement struct {
	Groups []Group
	// Hidden counts the checks after the last lane. On the first page all of them are well, unless more than [MaxLanes] are not.
	Hidden int
	// Counts are the checks by their status now.
	Counts checks.Counts
}

// Shown returns the checks with a lane, in order.
func (a Arrangement) Shown() (list []checks.Check) {
	for _, g := range a.Groups {
		list = append(list, g.Checks...)
	}
	return list
}

// Arrange groups checks: those that are down first, then the late ones, those that came up within the past of the axis,
// and the others. If the middle of the axis is an earlier instant, those that were down on it come first, which was names.
// Unless all is set, others collapse when there would be more than [MaxWell] lanes. skip is how many lanes earlier pages have.
func Arrange(list []checks.Check, axis *Axis, was map[uuid.UUID]bool, order Order, all bool, skip int) Arrangement {
	var down, late, again, well []checks.Check
	a := Arrangement{Counts: make(checks.Counts)}
	for _, c := range list {
		status := c.Status(axis.Now)
		a.Counts[status]++
		switch {
		case axis.Past() && was[c.ID]:
			down = append(down, c)
		case axis.Past():
			well = append(well, c)
		case status == checks.StatusDown:
			down = append(down, c)
		case status == checks.StatusGrace:
			late = append(late, c)
		case status == checks.StatusUp && wasDown(c, axis):
			again = append(again, c)
		default:
			well = append(well, c)
		}
	}
	room := MaxLanes
	add := func(g Group) {
		before := min(len(g.Checks), skip)
		g.Checks, skip = g.Checks[before:], skip-before
		n := min(len(g.Checks), room)
		a.Hidden += len(g.Checks) - n
		if room -= n; n > 0 {
			g.Checks = g.Checks[:n]
			a.Groups = append(a.Groups, g)
		}
	}
	add(Group{State: checks.StatusDown, Checks: byName(down, false)})
	add(Group{State: checks.StatusGrace, Checks: byName(late, false)})
	add(Group{State: checks.StatusUp, Checks: byName(again, false)})
	collapse := !all && len(list) > MaxWell
	if collapse {
		room = min(room, max(0, MaxWell-(len(list)-len(well))))
	}
	for _, g := range groups(byName(well, collapse), order) {
		add(g)
	}
	return a
}

// wasDown reports whether a check that is up was down within the past of the axis.
func wasDown(c checks.Check, axis *Axis) bool {
	return c.StoredSince.After(axis.From) && c.StoredSince.Sub(c.CreatedAt) > 0 && c.NPings > 1
}

// groups groups healthy checks.
func groups(list []checks.Check, order Order) (parts []Group) {
	if order != ByTag {
		return []Group{{Checks: list}}
	}
	byTag := make(map[string][]checks.Check)
	for _, c := range list {
		byTag[firstTag(c)] = append(byTag[firstTag(c)], c)
	}
	for tag, list := range byTag {
		parts = append(parts, Group{Tag: tag, Checks: list})
	}
	slices.SortStableFunc(parts, func(a, b Group) int {
		if (a.Tag == "") != (b.Tag == "") { // those without a tag come last
			return cmp.Compare(b.Tag, a.Tag)
		}
		return strings.Compare(a.Tag, b.Tag)
	})
	return parts
}

func firstTag(c checks.Check) string {
	if tags := c.TagList(); len(tags) > 0 {
		return tags[0]
	}
	return ""
}

// byName returns checks in the order of their names. Those without runs, which have little to show, come last if idleLast is set.
func byName(list []checks.Check, idleLast bool) []checks.Check {
	type place struct {
		idle int // 1 for one that comes last
		name string
		at   int
	}
	places := make([]place, len(list)) // a check is too large to be moved about
	for i, c := range list {
		places[i] = place{0, strings.ToLower(c.DisplayName()), i}
		if idleLast && (c.Stored == checks.StatusPaused || c.Stored == checks.StatusNew) {
			places[i].idle = 1
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(a.idle-b.idle, strings.Compare(a.name, b.name), bytes.Compare(list[a.at].ID[:], list[b.at].ID[:]))
	})
	sorted := make([]checks.Check, len(list))
	for i, p := range places {
		sorted[i] = list[p.at]
	}
	return sorted
}

// Tonight returns the night that a person in the zone asks about: from 22:00 to 06:00, this one if it has begun. At the
// earliest it begins now.
func (a *Axis) Tonight() (from, to time.Time) {
	now := a.Now.In(a.Zone)
	at := func(days, hour int) time.Time {
		return time.Date(now.Year(), now.Month(), now.Day()+days, hour, 0, 0, 0, a.Zone)
	}
	if from, to = at(-1, 22), at(0, 6); !now.Before(to) {
		from, to = at(0, 22), at(1, 6)
	}
	if from.Before(now) {
		from = now
	}
	return from, to
}
