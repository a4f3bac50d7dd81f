package explain

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// newestDeliveries is how many deliveries to a channel are searched for one that ended by an attempt.
const newestDeliveries = 20

// Rehearse says for each of some checks of a project what happens if its job does not report any more, or, with failure,
// reports a failure now. It changes nothing and sends nothing. Besides the channels of the project, it reads the last
// deliveries of each that the checks use. Whether somebody sends to a kind it knows unless Config.DeliveredElsewhere is set. Error:
// [checks.ErrNotFound] if the project was deleted.
func Rehearse(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, failure bool, list ...checks.Check) ([]verdict.Rehearsal, error) {
	in := verdict.RehearseInput{
		Now: mon.Now(), Failure: failure, Undeliverable: mon.Views().Undeliverable, Last: make(map[uuid.UUID]verdict.Delivery),
	}
	project := mon.Project(projectID)
	var err error
	if in.Channels, err = project.Channels(ctx); err != nil {
		return nil, err
	}
	used := make(map[uuid.UUID]bool)
	for _, c := range list {
		for _, id := range c.Channels {
			used[id] = true
		}
	}
	for _, c := range in.Channels {
		if c.Kind == channels.Group && used[c.ID] {
			for _, id := range selection.Members(c) {
				used[id] = true
			}
		}
	}
	for _, c := range in.Channels {
		if !used[c.ID] || c.Kind == channels.Group {
			continue
		}
		for d, err := range project.Deliveries(ctx, monitor.DeliveryQuery{Channel: c.ID, Limit: newestDeliveries}) {
			if err != nil {
				return nil, err
			}
			if d.Close == "" && (d.State == monitor.DeliverySent || d.State == monitor.DeliveryFailed) {
				in.Last[c.ID] = alerts([]monitor.Delivery{d})[0]
				break
			}
		}
	}
	if mon.Views().Undeliverable(channels.Function) == nil {
		in.Channels = append(in.Channels, channels.Channel{Kind: channels.Function, Name: "OnAlert"})
	}
	rehearsals := make([]verdict.Rehearsal, len(list))
	for i, c := range list {
		if i%100 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		in.Check = c
		rehearsals[i] = verdict.Rehearse(in)
	}
	return rehearsals, nil
}
