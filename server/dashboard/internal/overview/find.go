package overview

import (
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// awake are the statuses of checks that are not paused.
var awake = []checks.Status{checks.StatusDown, checks.StatusGrace, checks.StatusUp, checks.StatusNew}

// addNobody counts the checks that alert nobody.
func (v *view) addNobody(q *ui.Request, available []channels.Channel, reach map[uuid.UUID]verdict.Reach, now time.Time) error {
	reaching, everyone := ui.Reaching(available, reach)
	if everyone || v.Total == v.Paused {
		return nil
	}
	project := q.Mon.Project(q.Project.ID)
	reached, paused, err := project.CountReached(q.Ctx(), reaching)
	if err != nil {
		return err
	}
	if v.AllNobody = max(v.Total-v.Paused-(reached-paused), 0); v.AllNobody == 0 {
		return nil
	}
	list, err := project.List(q.Ctx(), checks.ListQuery{Now: now, Status: awake, Without: reaching, Order: checks.ListByAge, Limit: maxNames})
	if err != nil {
		return err
	}
	v.Nobody, err = q.Rows(list, now)
	return err
}

// read reads the checks that may have gone wrong, those that are down first, and those that are late. whole says that these are
// all, and not only the newest.
func (v *view) read(q *ui.Request, now time.Time) (list, late []checks.Check, whole bool, err error) {
	project := q.Mon.Project(q.Project.ID)
	if v.Down+v.Summary.Late > 0 {
		query := checks.ListQuery{Now: now, Status: []checks.Status{checks.StatusDown, checks.StatusGrace}, Limit: min(v.Down, maxRead) + maxRows}
		if list, err = project.List(q.Ctx(), query); err != nil {
			return nil, nil, false, err
		}
		if at := slices.IndexFunc(list, func(c checks.Check) bool { return c.Status(now) != checks.StatusDown }); at >= 0 {
			list, late = list[:at:at], list[at:]
		}
	}
	seen := make(map[uuid.UUID]bool, len(list))
	for _, c := range list {
		seen[c.ID] = true
	}
	flipped, err := project.List(q.Ctx(), checks.ListQuery{Now: now, Status: awake, FlippedSince: v.Night, Order: checks.ListBySince, Limit: maxRead})
	if err != nil {
		return nil, nil, false, err
	}
	whole = len(list) == v.Down && len(flipped) < maxRead
	for _, c := range flipped {
		if !seen[c.ID] {
			list = append(list, c)
		}
	}
	return list, late, whole, nil
}

// sort finds the checks that went wrong, first those that are down and that nobody has, the newest first, and those that are slow, late or
// due.
func (v *view) sort(q *ui.Request, now time.Time) (bad []row, err error) {
	list, late, whole, err := v.read(q, now)
	if err != nil {
		return nil, err
	}
	v.cut = !whole
	rows, err := q.Rows(list, now)
	if err != nil {
		return nil, err
	}
	if v.Late, err = q.Rows(late, now); err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(list))
	for i, c := range list {
		ids[i] = c.ID
	}
	transitions, err := q.Mon.Projects().Transitions(q.Ctx(), ids, v.Night)
	if err != nil {
		return nil, err
	}
	wrong := make(map[uuid.UUID]bool, len(list))
	for i, stored := range list {
		c, effects := stored.Settle(now)
		if rows[i].Status == checks.StatusDown && rows[i].Next.After(now) {
			v.Due = append(v.Due, rows[i])
		}
		t, ok := troubleOf(c, append(transitions[c.ID], effects.Transitions...), v.Night)
		if !ok {
			continue
		}
		r := row{Row: rows[i], trouble: t, Good: c.History.LastSuccess, check: c, Output: "/checks/" + rows[i].Key}
		r.Since, r.Why = c.StoredSince, flips.Overdue.Words()+"; expected "+r.Schedule
		if t.kind == timedOut {
			r.Why = flips.Overrun.Words() + " after " + prose.Period(c.RunLimit())
		}
		if c.Stored == checks.StatusUp {
			r.Back = upSince(c.StoredSince, t.at, c.History.LastSuccess)
		}
		wrong[c.ID], bad = true, append(bad, r)
	}
	slices.SortStableFunc(bad, func(a, b row) int {
		return cmp.Or(ui.TrueFirst(a.Status == checks.StatusDown, b.Status == checks.StatusDown), ui.TrueFirst(a.Owner == "", b.Owner == ""),
			b.at.Compare(a.at), cmp.Compare(a.Lower, b.Lower))
	})
	byNext := func(a, b ui.Row) int { return a.Next.Compare(b.Next) }
	slices.SortStableFunc(v.Late, byNext)
	v.Late = v.Late[:min(len(v.Late), maxRows)]
	if err := v.addSlow(q, wrong, now); err != nil {
		return nil, err
	}
	var due []checks.Check
	if v.Up > 0 {
		query := checks.ListQuery{Now: now, Status: []checks.Status{checks.StatusUp}, Order: checks.ListByNext, Limit: maxDue}
		if due, err = q.Mon.Project(q.Project.ID).List(q.Ctx(), query); err != nil {
			return nil, err
		}
	}
	if rows, err = q.Rows(due, now); err != nil {
		return nil, err
	}
	v.Due = slices.DeleteFunc(append(v.Due, rows...), func(r ui.Row) bool { return !r.Next.After(now) })
	slices.SortStableFunc(v.Due, byNext)
	v.Due = v.Due[:min(len(v.Due), maxDue)]
	return bad, nil
}

// addSlow adds the checks whose last run was slow and that did not go wrong.
func (v *view) addSlow(q *ui.Request, wrong map[uuid.UUID]bool, now time.Time) error {
	query := checks.ListQuery{Now: now, Status: awake, SlowSince: v.Night, Order: checks.ListBySlow, Limit: maxRead}
	list, err := q.Mon.Project(q.Project.ID).List(q.Ctx(), query)
	if err != nil {
		return err
	}
	rows, err := q.Rows(list, now)
	if err != nil {
		return err
	}
	for i, c := range list {
		if run, usual, slow := c.History.Slow(); slow && !wrong[c.ID] && rows[i].Status != checks.StatusDown {
			v.Slow = append(v.Slow, slowRow{rows[i], slowRun{run, usual}})
		}
	}
	return nil
}

// tally counts what went wrong: by its kind since the night began, and what is still down from before.
func (v *view) tally(q *ui.Request, bad []row, now time.Time) (counts map[kind]int, before int, err error) {
	counts = map[kind]int{}
	if !v.cut {
		for _, r := range bad {
			if r.at.Before(v.Night) {
				before++
			} else {
				counts[r.kind]++
			}
		}
		return counts, before, nil
	}
	project := q.Mon.Project(q.Project.ID)
	reasons, err := project.CountFailed(q.Ctx(), v.Night)
	if err != nil {
		return nil, 0, err
	}
	for reason, n := range reasons {
		counts[kindOf(reason)] += n
	}
	// The flips of the night explain the others; what nobody has recorded yet has none.
	down := []checks.Status{checks.StatusDown}
	recorded, err := project.Count(q.Ctx(), checks.ListQuery{Now: time.UnixMicro(1), Status: down})
	if err != nil {
		return nil, 0, err
	}
	since, err := project.Count(q.Ctx(), checks.ListQuery{Now: time.UnixMicro(1), Status: down, FlippedSince: v.Night})
	counts[missed] += max(v.Down-recorded[checks.StatusDown], 0)
	return counts, max(recorded[checks.StatusDown]-since[checks.StatusDown], 0), err
}
