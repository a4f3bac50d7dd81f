package overview

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

const (
	// readDeliveries bounds the deliveries of the night that are read at once, and olderRows the checks whose deliveries are
	// read apart, because they went down before that.
	readDeliveries, olderRows = 500, 20
	// rowDeliveries bounds the deliveries of one check.
	rowDeliveries = 20
	// readPending bounds the alerts that wait, and readChannels the integrations that are looked at closely.
	readPending, readChannels = 200, 10
)

// addTold says in each row who was notified.
func (v *view) addTold(q *ui.Request, rows []row, reaches map[uuid.UUID]bool, now time.Time) error {
	if len(rows) == 0 {
		return nil
	}
	project := q.Mon.Project(q.Project.ID)
	alerts := map[uuid.UUID][]monitor.Delivery{} // the newest alert of each check
	add := func(d monitor.Delivery) {
		list := alerts[d.CheckID]
		if d.Status == channels.Down && d.Close == "" && d.Reminder == 0 && (len(list) == 0 || list[0].CreatedAt.Equal(d.CreatedAt)) {
			alerts[d.CheckID] = append(list, d)
		}
	}
	for d, err := range project.Deliveries(q.Ctx(), monitor.DeliveryQuery{Limit: readDeliveries}) {
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
			for d, err := range project.Deliveries(q.Ctx(), monitor.DeliveryQuery{Check: r.check.ID, Limit: rowDeliveries}) {
				if err != nil {
					return err
				}
				if !d.CreatedAt.Before(r.check.StoredSince) || r.Back.After(d.CreatedAt) && !d.CreatedAt.Before(v.Night) {
					add(d)
				}
			}
		}
		reached := slices.ContainsFunc(r.check.Channels, func(id uuid.UUID) bool { return reaches[id] })
		r.Told, r.Untold = told(r.check, alerts[r.check.ID], reached, now, q.Clock())
	}
	return nil
}

// failing is an integration whose alerts are not delivered.
type failing struct {
	ID         uuid.UUID
	Name, Kind string
	// Lacks says why this server cannot send to it, or "".
	Lacks string
	// FailedAt is when the last alert was given up, or the zero time, and Sent when one was delivered last.
	FailedAt, Sent time.Time
	// Waiting counts the alerts that are not sent yet, the oldest of them since WaitingSince.
	Waiting      int
	WaitingSince time.Time
	Error        string
	Link         bool // the viewer may open its page
}

// failingChannels returns the integrations whose alerts are not delivered.
func failingChannels(q *ui.Request, available []channels.Channel) (list []failing, err error) {
	project := q.Mon.Project(q.Project.ID)
	waiting := map[uuid.UUID]failing{}
	for d, err := range project.Deliveries(q.Ctx(), monitor.DeliveryQuery{State: monitor.DeliveryPending, Limit: readPending}) {
		if err != nil {
			return nil, err
		}
		if d.Error == "" && q.Mon.Now().Sub(d.CreatedAt) <= soon {
			continue
		}
		f := waiting[d.ChannelID] // they come newest first
		if f.Waiting++; f.Error == "" {
			f.Error = d.Error
		}
		f.WaitingSince = d.CreatedAt
		waiting[d.ChannelID] = f
	}
	for _, c := range available {
		f := waiting[c.ID]
		if err := q.Mon.Views().Undeliverable(c.Kind); err != nil {
			f.Lacks = err.Error()
		}
		if f.Lacks == "" && f.Waiting == 0 && c.FailedAt.IsZero() {
			continue
		}
		f.ID, f.Name, f.Kind, f.FailedAt = c.ID, ui.ChannelName(c), string(c.Kind), c.FailedAt
		f.Link = q.Right.Edits() && c.Kind != channels.Function
		if f.Error == "" {
			f.Error = c.Error
		}
		f.Error = words.Name(words.Cut(f.Error, 200), "")
		if len(list) < readChannels {
			for d, err := range project.Deliveries(q.Ctx(), monitor.DeliveryQuery{Channel: c.ID, State: monitor.DeliverySent, Limit: 1}) {
				if err != nil {
					return nil, err
				}
				f.Sent = d.FinishedAt
			}
		}
		list = append(list, f)
	}
	return list, nil
}
