package monitor_test

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/job"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
)

// verbs is a monitor for tests, which go to and fro between projects and look into the state machine: what is about a
// project takes it as an argument, and what returns a snapshot returns its check.
type verbs struct{ *monitor.Monitor }

func on(mon *monitor.Monitor) verbs { return verbs{mon} }

// of returns the project of a check.
func (v verbs) of(ctx context.Context, id uuid.UUID) *monitor.Project {
	c, _ := v.Check(ctx, id) // without one, the zero project finds nothing
	return v.Monitor.Project(c.ProjectID)
}

func whole(c checks.Snapshot, err error) (checks.Check, error) {
	if err != nil {
		return checks.Check{}, err
	}
	return *c.Check, nil
}

func (v verbs) Create(ctx context.Context, project uuid.UUID, spec checks.Spec) (checks.Check, error) {
	return whole(v.Monitor.Project(project).Create(ctx, spec))
}

func (v verbs) Upsert(ctx context.Context, project uuid.UUID, spec checks.Spec, unique ...checks.UniqueField) (checks.Check, bool, error) {
	snapshot, created, err := v.Monitor.Project(project).Upsert(ctx, spec, unique...)
	c, err := whole(snapshot, err)
	return c, created, err
}

func (v verbs) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Check, error) {
	return whole(v.of(ctx, id).Update(ctx, id, spec))
}

func (v verbs) UpdateFunc(ctx context.Context, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Check, error) {
	return whole(v.of(ctx, id).UpdateFunc(ctx, id, fn))
}

func (v verbs) Pause(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return whole(v.of(ctx, id).Pause(ctx, id))
}

func (v verbs) Resume(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return whole(v.of(ctx, id).Resume(ctx, id))
}

func (v verbs) Restore(ctx context.Context, id uuid.UUID, before checks.State, at time.Time) (checks.Check, error) {
	return whole(v.of(ctx, id).Restore(ctx, id, before, at))
}

func (v verbs) Delete(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return whole(v.of(ctx, id).Delete(ctx, id))
}

func (v verbs) Transfer(ctx context.Context, id, to uuid.UUID) (checks.Check, error) {
	return whole(v.of(ctx, id).Transfer(ctx, id, to))
}

func (v verbs) Checks(ctx context.Context, project uuid.UUID, q checks.Query) ([]checks.Check, error) {
	return checks.Stored(v.Project(project).Checks(ctx, q))
}

func (v verbs) CheckBySlug(ctx context.Context, project uuid.UUID, slug string) (checks.Check, error) {
	return whole(v.Monitor.Project(project).CheckBySlug(ctx, slug))
}

func (v verbs) CheckByUniqueKey(ctx context.Context, project uuid.UUID, key string) (checks.Check, error) {
	return whole(v.Monitor.Project(project).CheckByUniqueKey(ctx, key))
}

func (v verbs) Tags(ctx context.Context, project uuid.UUID) ([]string, error) {
	return v.Monitor.Project(project).Tags(ctx)
}

func (v verbs) Pings(ctx context.Context, id uuid.UUID) ([]pings.Ping, error) {
	return checks.Collect(v.of(ctx, id).Pings(ctx, id, checks.PingQuery{}))
}

func (v verbs) PingBody(ctx context.Context, id uuid.UUID, n int64) ([]byte, error) {
	return v.of(ctx, id).PingBody(ctx, id, n)
}

func (v verbs) Flips(ctx context.Context, id uuid.UUID, w flips.Range) ([]flips.Flip, error) {
	return checks.Collect(v.of(ctx, id).Flips(ctx, id, w))
}

func (v verbs) Downtime(ctx context.Context, id uuid.UUID, from, to time.Time) (flips.Times, error) {
	return v.of(ctx, id).Downtime(ctx, id, from, to)
}

// Stats asks for as many days at once as it may.
func (v verbs) Stats(ctx context.Context, id uuid.UUID, from, to time.Time) (list []checks.DayStats, err error) {
	p := v.of(ctx, id)
	for ; from.AddDate(0, 0, 365).Before(to); from = from.AddDate(0, 0, 366) {
		part, err := p.Stats(ctx, id, from, from.AddDate(0, 0, 365))
		if err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	if !from.Truncate(24 * time.Hour).After(to) {
		part, err := p.Stats(ctx, id, from, to)
		return append(list, part...), err
	}
	return list, nil
}

func (v verbs) Events(ctx context.Context, id uuid.UUID, q monitor.EventQuery) (list []checks.Event, err error) {
	for e, err := range v.of(ctx, id).Events(ctx, id, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func (v verbs) Deliveries(ctx context.Context, project uuid.UUID, q checks.DeliveryQuery) (list []checks.Delivery, err error) {
	for d, err := range v.Monitor.Project(project).Deliveries(ctx, q) {
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func (v verbs) RetryDeliveries(ctx context.Context, project uuid.UUID, ids ...int64) (int, error) {
	return v.Monitor.Project(project).RetryDeliveries(ctx, ids)
}

func (v verbs) CreateChannel(ctx context.Context, project uuid.UUID, kind channels.Kind, name string, settings map[string]string) (channels.Channel, error) {
	return v.Monitor.Project(project).CreateChannel(ctx, channels.Channel{Kind: kind, Name: name, Settings: settings})
}

func (v verbs) UpsertChannel(ctx context.Context, project uuid.UUID, kind channels.Kind, name string, settings map[string]string) (channels.Channel, bool, error) {
	return v.Monitor.Project(project).UpsertChannel(ctx, channels.Channel{Kind: kind, Name: name, Settings: settings})
}

func (v verbs) UpdateChannel(ctx context.Context, project, id uuid.UUID, settings, sources map[string]string) (channels.Channel, error) {
	return v.Monitor.Project(project).UpdateChannel(ctx, id, func(c channels.Channel) (channels.Channel, error) {
		c.Settings, c.Sources = settings, sources
		return c, nil
	})
}

func (v verbs) Channels(ctx context.Context, project uuid.UUID) ([]channels.Channel, error) {
	return v.Monitor.Project(project).Channels(ctx)
}

func (v verbs) DeleteChannel(ctx context.Context, project, id uuid.UUID) error {
	return v.Monitor.Project(project).DeleteChannel(ctx, id)
}

func (v verbs) TestChannel(ctx context.Context, project, id uuid.UUID) error {
	return v.Monitor.Project(project).TestChannel(ctx, id)
}

func (v verbs) CreateProject(ctx context.Context, spec checks.ProjectSpec) (checks.Project, checks.ProjectKeys, error) {
	return v.Projects().Create(ctx, spec)
}

func (v verbs) OpenProject(ctx context.Context, name string) (checks.Project, error) {
	p, err := v.Monitor.OpenProject(ctx, name)
	if err != nil {
		return checks.Project{}, err
	}
	return v.Projects().ByID(ctx, p.ID())
}

func (v verbs) Registry(project uuid.UUID) job.Registry { return v.Monitor.Project(project) }

func (v verbs) CreateKey(ctx context.Context, project uuid.UUID, scope checks.Scope) (string, checks.Key, error) {
	return v.Monitor.Project(project).CreateKey(ctx, scope)
}

func (v verbs) Keys(ctx context.Context, project uuid.UUID) ([]checks.Key, error) {
	return v.Monitor.Project(project).Keys(ctx)
}

func (v verbs) DeleteKey(ctx context.Context, project, id uuid.UUID) error {
	return v.Monitor.Project(project).DeleteKey(ctx, id)
}

func (v verbs) StatusPages(ctx context.Context, project uuid.UUID) ([]checks.StatusPage, error) {
	return v.Monitor.Project(project).StatusPages(ctx)
}

func (v verbs) CreateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	return v.Monitor.Project(page.ProjectID).CreateStatusPage(ctx, page)
}

func (v verbs) UpdateStatusPage(ctx context.Context, page checks.StatusPage) (checks.StatusPage, error) {
	return v.Monitor.Project(page.ProjectID).UpdateStatusPage(ctx, page)
}

func (v verbs) DeleteStatusPage(ctx context.Context, project, id uuid.UUID) error {
	return v.Monitor.Project(project).DeleteStatusPage(ctx, id)
}
