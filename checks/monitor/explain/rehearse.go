package explain

import (
	"context"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/verdict"
)

// Rehearse says for each of some checks of a project what happens if its job does not report any more, or, with failure,
// reports a failure now. It changes nothing and sends nothing. Besides the channels of the project, it reads the last
// deliveries to each. Whether somebody sends to a kind it knows unless Config.DeliveredElsewhere is set. Error:
// [checks.ErrNotFound] if the project was deleted.
func Rehearse(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, failure bool, list ...checks.Check) ([]verdict.Rehearsal, error) {
	in := verdict.RehearseInput{Now: mon.Now(), Failure: failure}
	var err error
	if in.Channels, in.Reach, err = Channels(ctx, mon, projectID, true); err != nil {
		return nil, err
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

// Channels returns the channels of a project, Config.OnAlert among them, and whether alerts arrive at each. With last, it is
// known of all when an alert arrived last, and otherwise of those that fail. [verdict.Receivers] says which of them a check
// notifies.
func Channels(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, last bool) ([]channels.Channel, map[uuid.UUID]verdict.Reach, error) {
	list, err := mon.Project(projectID).Channels(ctx)
	if err != nil {
		return nil, nil, err
	}
	if function, ok := mon.Views().OnAlert(); ok {
		if function, err = marked(ctx, mon, projectID, function); err != nil {
			return nil, nil, err
		}
		list = append(list, function)
	}
	reach, err := mon.Views().Reach(ctx, projectID, list, last)
	return list, reach, err
}

// newestDeliveries is how many deliveries to OnAlert are searched for one that ended by an attempt.
const newestDeliveries = 20

// marked returns the channel of Config.OnAlert with the mark that the database keeps of all other channels.
func marked(ctx context.Context, mon *monitor.Monitor, projectID uuid.UUID, c channels.Channel) (channels.Channel, error) {
	for d, err := range mon.Project(projectID).Deliveries(ctx, checks.DeliveryQuery{Channel: c.ID, Limit: newestDeliveries}) {
		if err != nil || d.State == checks.DeliverySent {
			return c, err
		}
		if d.State == checks.DeliveryFailed {
			c.FailedAt, c.Error = d.FinishedAt, d.Error
			break
		}
	}
	return c, nil
}
