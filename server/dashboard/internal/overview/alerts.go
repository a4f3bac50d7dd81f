package overview

import (
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
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
