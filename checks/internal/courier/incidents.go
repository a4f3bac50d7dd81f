package courier

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/background"
	"github.com/rollcall-dev/rollcall/checks/internal/selection"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

const (
	// incidentEvery is how often Run looks for incidents that are due.
	incidentEvery = 5 * time.Second
	// incidentLook is how long after an attempt the courier looks whether an incident is still about a check that is down.
	incidentLook = 30 * time.Second
	// closeMost bounds the pause between attempts to close an incident. It doubles from incidentLook on.
	closeMost = 6 * time.Hour
	// orphanAttempts bounds the attempts to close the incident of a deleted check, over about two days.
	orphanAttempts = 16
	// incidentBatch bounds the incidents that one query returns, and incidentSends those handled at once.
	incidentBatch, incidentSends = 200, 100
)

// look returns the time between two looks at an open incident.
func look(keeper channels.IncidentNotifier) time.Duration {
	if every := keeper.Refresh(); every > 0 {
		return every
	}
	return incidentLook
}

// KeepIncidents refreshes the open incidents that are due and closes those of checks that are not down, unless an alert
// is about to do that. It returns how many it handled. The error is one of the store; errors of notifiers are logged.
func (c *Courier) KeepIncidents(ctx context.Context) (handled int, err error) {
	for {
		due, err := c.Store.DueIncidents(ctx, c.Now(), incidentBatch)
		if err != nil || len(due) == 0 {
			return handled, err
		}
		if err := c.keepAll(ctx, due, c.Now()); err != nil {
			return handled, err
		}
		handled += len(due)
		if len(due) < incidentBatch {
			return handled, nil
		}
	}
}

// CloseIncidents closes the open incidents of checks that are not down, whenever they are due, as KeepIncidents does. It
// handles up to incidentBatch, leaves those alone that it has tried to close before, and returns how many it has looked at.
func (c *Courier) CloseIncidents(ctx context.Context) (handled int, err error) {
	if !c.toChannels {
		return 0, nil
	}
	later := c.Now().Add(closeMost)
	list, err := c.Store.DueIncidents(ctx, later, incidentBatch)
	if err != nil {
		return 0, err
	}
	return len(list), c.keepAll(ctx, list, later)
}

// keepAll handles incidents that are due at an instant, some at once. It logs errors of notifiers and returns those of the
// store.
func (c *Courier) keepAll(ctx context.Context, due []store.Incident, at time.Time) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	var unsent []*sendError
	slots := make(chan struct{}, incidentSends)
	for _, i := range due {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			err := c.keep(ctx, i, at)
			mu.Lock()
			defer mu.Unlock()
			if e, ok := errors.AsType[*sendError](err); ok {
				unsent = append(unsent, e)
			} else {
				failed = cmp.Or(failed, err)
			}
		})
	}
	group.Wait()
	if len(unsent) > 0 && c.passes(&c.unreported) {
		c.Log.WarnContext(ctx, "open incidents cannot be reported to their receivers",
			"incidents", len(unsent), "error", unsent[0])
	}
	return failed
}

// An incidentStep is what to do about an open incident.
type incidentStep int

const (
	stepWait    incidentStep = iota // look again later
	stepRefresh                     // report it again
	stepClose                       // close it with a delivery
	stepOrphan                      // close it without one, because the check is gone
	stepForget                      // the channel does not want to hear of its end
)

// closes reports whether a step closes an incident at its receiver.
func (s incidentStep) closes() bool { return s == stepClose || s == stepOrphan }

// incidentView is what decides about an incident.
type incidentView struct {
	gone     bool // the check was deleted
	down     bool // the check is down
	assigned bool // the channel gets the alerts of the check
	waiting  bool // alerts to the channel are pending
	wantsUp  bool // the channel wants alerts about up
	refresh  bool // the notifier wants refreshes
}

// step decides what to do about an open incident.
func (v incidentView) step() incidentStep {
	over := v.gone || !v.down || !v.assigned
	switch {
	case v.waiting && !v.gone:
		return stepWait
	case over && !v.wantsUp:
		return stepForget
	case v.gone:
		return stepOrphan
	case over:
		return stepClose
	case v.refresh:
		return stepRefresh
	}
	return stepWait
}

// viewOf returns what decides about an incident, except refresh and waiting, and its check. It locks the check, so that no alert is
// raised until the commit.
func viewOf(ctx context.Context, tx store.CourierTx, i store.Incident) (v incidentView, check checks.Check, err error) {
	v.wantsUp = i.Channel.Wants(channels.Up)
	l, err := tx.LockCheck(ctx, i.CheckID)
	if errors.Is(err, checks.ErrNotFound) {
		v.gone = true
		return v, check, nil
	} else if err != nil {
		return v, check, err
	}
	v.down = l.Stored == checks.StatusDown
	v.assigned, err = assigned(ctx, tx, l.Check, i.ChannelID)
	return v, l.Check, err
}

// keep handles an incident that is due at an instant. Before the incident is due, keep only closes it. The error is a
// *sendError if the notifier failed.
func (c *Courier) keep(ctx context.Context, i store.Incident, at time.Time) error {
	keeper, _ := c.notifiers[i.Channel.Kind].(channels.IncidentNotifier)
	var step incidentStep
	var project uuid.UUID
	err := c.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		step = stepWait
		now := c.Now()
		view, check, err := viewOf(ctx, tx, i)
		if err != nil {
			return err
		}
		project, view.refresh = check.ProjectID, keeper != nil && keeper.Refresh() > 0
		current, err := tx.LockIncident(ctx, i.CheckID, i.ChannelID)
		if errors.Is(err, checks.ErrNotFound) || err == nil && current.Due.After(at) {
			return nil // another server has handled it
		} else if err != nil {
			return err
		}
		view.waiting = current.Waiting
		if current.Due.After(now) && (keeper == nil || current.Attempts > 0 || !view.step().closes()) {
			return nil
		}
		current.Due = now.Add(incidentLook)
		if keeper == nil { // another server may have the notifier
			return tx.SaveIncident(ctx, current)
		}
		switch step = view.step(); step {
		case stepWait, stepRefresh:
			current.Due, current.Attempts = now.Add(look(keeper)), 0
		case stepForget:
			current.Open = ""
		case stepClose, stepOrphan:
			current.Attempts++
			current.Due = now.Add(background.Backoff(incidentLook, closeMost, current.Attempts))
			if step == stepOrphan && current.Attempts > orphanAttempts {
				step, current.Open = stepWait, ""
			}
			if step == stepClose {
				current.Close, current.CloseAt = closeReason(view, check), now
			}
		}
		i.Open = current.Open // an alert may have changed it since the query
		return tx.SaveIncident(ctx, current)
	})
	if err != nil {
		return err
	}
	switch step {
	case stepClose:
		c.Wake()
		c.Changed(ctx, []Change{{project, i.CheckID}})
	case stepRefresh, stepOrphan:
		return c.report(ctx, keeper, i, step)
	}
	return nil
}

// report sends a notification about an incident without a delivery: a refresh, or the end of a check.
func (c *Courier) report(ctx context.Context, keeper channels.IncidentNotifier, i store.Incident, step incidentStep) error {
	n := channels.Notification{
		ID: uuid.NewString(), Incident: incidentID(i.CheckID, i.DownAt), Check: channels.Check{ID: i.CheckID, Name: i.CheckName},
		Status: channels.Down, At: i.DownAt,
	}
	if step == stepOrphan {
		n.Status, n.At, n.DownFor = channels.Up, c.Now(), max(0, c.Now().Sub(i.DownAt))
		n.Closed, n.Reason = true, "the check was deleted"
	} else {
		alerts, err := c.Store.Alerts(ctx, []store.QueuedDelivery{{ID: i.DeliveryID, CreatedAt: i.DownAt}})
		if err != nil {
			return err
		}
		if len(alerts) > 0 && !alerts[0].Flip.At.IsZero() && !alerts[0].Flip.Up {
			n = c.notification(ctx, alerts[0])
		}
	}
	open, err := c.reportTo(ctx, keeper, i, i.Open, n)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	closed := false
	saved := c.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error {
		current, err := tx.LockIncident(ctx, i.CheckID, i.ChannelID)
		closed = errors.Is(err, checks.ErrNotFound)
		if closed || err == nil && current.Open != i.Open { // an alert has changed it meanwhile
			return nil
		} else if err != nil || open == i.Open {
			return err
		}
		current.Open = open
		return tx.SaveIncident(ctx, current)
	})
	if closed && open != "" { // the refresh may have opened it again
		n.Status, n.Closed, n.Reason, n.Cause, n.Verdict = channels.Up, true, "the check is up", "", ""
		_, again := c.reportTo(ctx, keeper, i, open, n)
		err = cmp.Or(err, again)
	}
	switch {
	case saved != nil:
		return saved
	case err != nil:
		return &sendError{err: err, text: c.errorText(i.Channel, err)}
	}
	return nil
}

// reportTo sends a notification about an incident.
func (c *Courier) reportTo(
	ctx context.Context, keeper channels.IncidentNotifier, i store.Incident, open string, n channels.Notification,
) (nowOpen string, err error) {
	return c.notify(ctx, keeper, i.Channel, open, func(context.Context) channels.Notification { return n })
}

// assigned reports whether a channel gets the alerts of a check, directly or as a member of a group, by its settings or by the
// escalation policy.
func assigned(ctx context.Context, tx store.CourierTx, c checks.Check, channelID uuid.UUID) (bool, error) {
	policies, err := tx.Escalations(ctx, []uuid.UUID{c.ProjectID})
	if err != nil {
		return false, err
	}
	ids := slices.Clone(c.Channels)
	for _, step := range policies[c.ProjectID] {
		ids = append(ids, step.Channels...)
	}
	if slices.Contains(ids, channelID) {
		return true, nil
	}
	found, err := tx.Channels(ctx, store.ChannelFilter{ProjectID: &c.ProjectID})
	return slices.ContainsFunc(found, func(g channels.Channel) bool {
		return g.Kind == channels.Group && slices.Contains(ids, g.ID) && slices.Contains(selection.Members(g), channelID)
	}), err
}

// closeReason says why an incident closes.
func closeReason(v incidentView, c checks.Check) string {
	switch {
	case v.down:
		return "the integration does not get alerts about the check any more"
	case c.Stored == checks.StatusPaused:
		return "the check was paused"
	case c.Stored == checks.StatusNew:
		return "the check was paused and resumed"
	}
	return "the check is up"
}
