package overview

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// readDeliveries bounds the deliveries of the night that are read at once, and olderRows the checks whose deliveries are
	// read apart, because they went down before that.
	readDeliveries, olderRows = 500, 20
	// rowDeliveries bounds the deliveries of one check.
	rowDeliveries = 20
)

// addTold says in each row who was notified.
func (v *view) addTold(q *ui.Request, rows []row, sends func(checks.Check) bool, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	project := q.Mon.Project(q.Project.ID)
	alerts := map[uuid.UUID][]checks.Delivery{} // the newest alert of each check
	add := func(d checks.Delivery) {
		d = q.UnnamedAlert(d)
		list := alerts[d.CheckID]
		if d.Status == channels.Down && d.Close == "" && d.Reminder == 0 && (len(list) == 0 || list[0].CreatedAt.Equal(d.CreatedAt)) {
			alerts[d.CheckID] = append(list, d)
		}
	}
	for d, err := range project.Deliveries(q.Ctx(), checks.DeliveryQuery{Limit: readDeliveries}) {
		if err != nil {
			return err
		}
		if d.CreatedAt.Before(v.Night) {
			break
		}
		add(d)
	}
	apart := 0
	for i := range rows {
		r := &rows[i]
		if alerts[r.check.ID] == nil && apart < olderRows {
			apart++
			for d, err := range project.Deliveries(q.Ctx(), checks.DeliveryQuery{Check: r.check.ID, Limit: rowDeliveries}) {
				if err != nil {
					return err
				}
				if !d.CreatedAt.Before(r.check.StoredSince) || r.Back.After(d.CreatedAt) && !d.CreatedAt.Before(v.Night) {
					add(d)
				}
			}
		}
		r.Told, r.Untold = told(r.check, alerts[r.check.ID], sends(r.check), now, q.Clock())
	}
	return nil
}

// addWaiting says in the rows of checks that are down which checks wait for them with their alerts.
func addWaiting(q *ui.Request, rows []row) error {
	var down []checks.Check
	for _, r := range rows {
		if r.Status == checks.StatusDown {
			down = append(down, r.check)
		}
	}
	if len(down) == 0 {
		return nil
	}
	project := q.Mon.Project(q.Project.ID)
	followers, err := project.Followers(q.Ctx(), down)
	if err != nil || len(followers) == 0 {
		return err
	}
	var ids []uuid.UUID // of those that are named
	for _, list := range followers {
		ids = append(ids, list[:min(len(list), ui.GroupNames)]...)
	}
	list, err := project.List(q.Ctx(), checks.ListQuery{IDs: ids, Order: checks.ListByAge})
	if err != nil {
		return err
	}
	names := make(map[uuid.UUID]string, len(list))
	for _, c := range list {
		names[c.ID] = ui.NameOf(c)
	}
	for i := range rows {
		waiting := followers[rows[i].check.ID]
		if len(waiting) == 0 {
			continue
		}
		all := make([]string, len(waiting)) // those beyond the first are only counted
		for j, id := range waiting {
			all[j] = names[id]
		}
		rows[i].Waiting = words.Listed(all, ui.GroupNames) + map[bool]string{true: " waits", false: " wait"}[len(all) == 1] + " for it"
	}
	return nil
}

// failing is an integration whose alerts are not delivered.
type failing struct {
	verdict.Reach
	ID         uuid.UUID
	Name, Kind string
	Words      string
	Link       bool // the viewer may open its page
}

// failingChannels returns the integrations at which alerts do not arrive, or not all.
func failingChannels(q *ui.Request, available []channels.Channel, reach map[uuid.UUID]verdict.Reach) (list []failing) {
	for _, c := range available {
		r := reach[c.ID]
		if c.Kind == channels.Group || r.State != verdict.ReachFailing && r.State != verdict.ReachPartial && r.State != verdict.ReachUndeliverable {
			continue
		}
		list = append(list, failing{
			Reach: r, ID: c.ID, Name: ui.ChannelName(c), Kind: string(c.Kind), Words: q.Clock().Reach(r, q.Mon.Now()),
			Link: q.Right.Edits() && c.Kind != channels.Function,
		})
	}
	return list
}
