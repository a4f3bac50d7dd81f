package lists

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// addReasons says in the rows of checks that are down why they are. It returns the causes in the outputs of those that have one.
func addReasons(q *ui.Request, rows []ui.Row, list []checks.Check) (causes map[uuid.UUID]string, err error) {
	byID := make(map[uuid.UUID]checks.Check, len(list))
	for _, c := range list {
		byID[c.ID] = c
	}
	var failed []checks.Check
	for i := range rows {
		if rows[i].Status != checks.StatusDown {
			continue
		}
		c := byID[rows[i].ID]
		if rows[i].Why = plainReason(c, rows[i]); rows[i].Why == "" {
			failed = append(failed, c)
		}
	}
	causes = map[uuid.UUID]string{}
	failures, err := q.Failures(failed)
	for i := range rows {
		if r := &rows[i]; r.Status == checks.StatusDown && r.Why == "" {
			r.Why, causes[r.ID] = failures[r.ID].Why(), failures[r.ID].Cause
		}
	}
	return causes, err
}

// maxAlike is how many checks that are down, the newest, the list groups by reason: as many as a page reads outputs of.
const maxAlike = 300

// alike is checks that are down for the same reason, which the list shows as one row.
type alike struct {
	id, why string
	rows    []ui.Row
}

// downAlike reads the checks that are down, of a list in the order that nobody has chosen. It returns the groups, the rows that are in
// none, and how many checks it has read.
func (v *checksView) downAlike(q *ui.Request) (groups []alike, single []ui.Row, read int, err error) {
	list := v.list
	if list.Limit = min(v.down, maxAlike); list.Limit == 0 {
		return nil, nil, 0, nil
	}
	rows, causes, err := v.reasoned(q, list)
	groups, single = grouped(rows, causes)
	return groups, single, len(rows), err
}

// reasoned reads rows with the reasons of those that are down, and the causes in their outputs.
func (v *checksView) reasoned(q *ui.Request, list checks.ListQuery) ([]ui.Row, map[uuid.UUID]string, error) {
	found, err := q.Mon.Project(q.Project.ID).List(q.Ctx(), list)
	if err != nil {
		return nil, nil, err
	}
	rows, err := v.rows(q, found)
	if err != nil {
		return nil, nil, err
	}
	causes, err := addReasons(q, rows, found)
	return rows, causes, err
}

// onlyAlike leaves the checks that are down for the reason of the query, however few they are by now.
func (v *checksView) onlyAlike(q *ui.Request) error {
	list := v.list
	list.Order, list.Reverse, list.Limit = checks.ListUrgent, false, maxAlike
	rows, causes, err := v.reasoned(q, list)
	v.list.IDs = []uuid.UUID{}
	for _, r := range rows {
		if key, _, _ := likeness(r, causes); ui.AlikeID(key) == v.Query.Alike {
			v.list.IDs = append(v.list.IDs, r.ID)
		}
	}
	v.matching = len(v.list.IDs)
	return err
}

// likeness is [ui.Alike] of a row. The key is "" unless the check is down.
func likeness(r ui.Row, causes map[uuid.UUID]string) (key string, least int, title string) {
	if r.Status != checks.StatusDown {
		return "", 0, ""
	}
	return ui.Alike(r.Why, causes[r.ID])
}

// grouped puts rows together that are down for the same reason. Groups and the other rows stay in their order.
func grouped(rows []ui.Row, causes map[uuid.UUID]string) (groups []alike, single []ui.Row) {
	byKey := map[string][]ui.Row{}
	for _, r := range rows {
		key, _, _ := likeness(r, causes)
		byKey[key] = append(byKey[key], r)
	}
	for _, r := range rows {
		key, least, title := likeness(r, causes)
		switch list := byKey[key]; {
		case key == "" || len(list) < least:
			single = append(single, r)
		case list[0].Key == r.Key:
			groups = append(groups, alike{ui.AlikeID(key), cmp.Or(title, r.Why), list})
		}
	}
	return groups, single
}

// ids are the identifiers of the checks: of all, or of those that nobody has.
func (a alike) ids(free bool) (ids []string) {
	for _, r := range a.rows {
		if !free || r.Owner == "" {
			ids = append(ids, r.ID.String())
		}
	}
	return ids
}

// row is the group as one row. It shows the names where a check has its schedule, and the tags that all of its checks have.
func (a alike) row() ui.Row {
	sum := a.rows[0]
	sum.Hold, sum.Runs, sum.Took = ui.Hold{}, nil, 0
	names := make([]string, len(a.rows))
	for i, r := range a.rows {
		sum.Nobody, sum.RecordOnly = sum.Nobody && r.Nobody, sum.RecordOnly && r.RecordOnly
		names[i] = r.Name
		sum.Tags = slices.DeleteFunc(slices.Clone(sum.Tags), func(tag string) bool { return !slices.Contains(r.Tags, tag) })
		if r.Since.Before(sum.Since) {
			sum.Since = r.Since
		}
		if r.Last.After(sum.Last) {
			sum.Last = r.Last
		}
	}
	slices.Sort(names)
	sum.Owner = ui.Owners(a.rows)
	sum.Key, sum.Why, sum.Schedule = a.id, a.why, words.Listed(names, ui.GroupNames)
	sum.Name = prose.Count(len(a.rows), "check") + " fail the same way"
	return sum
}

// plainReason says why a check is down if no output says it: "" if the job reported a failure.
func plainReason(c checks.Check, row ui.Row) string {
	if c.Stored == checks.StatusDown && len(row.Runs) > 0 && row.Runs[len(row.Runs)-1].Result == checks.RunFailure {
		return ""
	}
	if slices.ContainsFunc(c.Runs, func(run checks.OpenRun) bool { return run.StartedAt.Add(c.RunLimit()).Equal(row.Since) }) {
		return flips.Overrun.Words()
	}
	return flips.Overdue.Words()
}
