package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/admin"
)

// Create adds a check to a project. Errors: *[checks.FieldError] for an invalid setting, *[channels.SelectError],
// [checks.ErrCheckLimit], [checks.ErrNotFound] for an unknown project, [checks.ErrExists] for a Spec.ID in use.
func (m *Monitor) Create(ctx context.Context, projectID uuid.UUID, spec checks.Spec) (checks.Check, error) {
	return m.admin.Create(ctx, projectID, spec)
}

// Upsert updates the project's oldest check that equals the spec in the unique fields, or creates one. Created reports
// which. A unique field that the spec does not set matches no check. Without unique fields, Upsert always creates a
// check. Of concurrent upserts of the same check, one creates it and the others update it. Errors: those of
// [Monitor.Create].
func (m *Monitor) Upsert(ctx context.Context, projectID uuid.UUID, spec checks.Spec, unique ...checks.UniqueField) (c checks.Check, created bool, err error) {
	return m.admin.Upsert(ctx, projectID, spec, unique...)
}

// Update changes the settings that the spec sets (server/API.md section 4.4). With an error it changes nothing. Errors:
// *[checks.FieldError], *[channels.SelectError], [checks.ErrNotFound].
func (m *Monitor) Update(ctx context.Context, id uuid.UUID, spec checks.Spec) (checks.Check, error) {
	return m.admin.Update(ctx, id, spec)
}

// UpdateFunc changes the settings that fn returns for the check as it is, and lets nobody change it meanwhile. So fn can
// compare the check with what its caller has seen. UpdateFunc returns the error of fn as it is, and then changes nothing.
// fn must be quick and must not call the monitor. It may run several times. Errors: also those of [Monitor.Update].
func (m *Monitor) UpdateFunc(ctx context.Context, id uuid.UUID, fn func(checks.Check) (checks.Spec, error)) (checks.Check, error) {
	return m.admin.UpdateFunc(ctx, id, fn)
}

// Pause stops the monitoring of a check (server/API.md section 4.5). Error: [checks.ErrNotFound].
func (m *Monitor) Pause(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return m.admin.Pause(ctx, id)
}

// Resume makes a paused check new (server/API.md section 4.6). Errors: [checks.ErrNotFound], [checks.ErrNotPaused].
func (m *Monitor) Resume(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return m.admin.Resume(ctx, id)
}

// Restore undoes a pause or a resume of a check, as [checks.Check.Restore] does: the check is as if that had not been.
// Errors: [checks.ErrNotFound], [checks.ErrChanged].
func (m *Monitor) Restore(ctx context.Context, id uuid.UUID, before checks.State, at time.Time) (checks.Check, error) {
	return m.admin.Restore(ctx, id, before, at)
}

// Delete removes a check with its log, flips and deliveries, and returns it as it was (server/API.md section 4.7).
// Error: [checks.ErrNotFound].
func (m *Monitor) Delete(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return m.admin.Delete(ctx, id)
}

// Transfer moves a check to another project. It keeps its identifier, so that its ping address and its badge stay, its
// settings and state, and its log and flips. It loses its integrations with their deliveries, also those that wait to be
// sent, and gets all integrations of the other project. A slug that a check there has becomes ambiguous. If the check is
// in that project already, nothing changes. Errors: [checks.ErrNotFound] for the check and for the project,
// [checks.ErrCheckLimit] of another account.
func (m *Monitor) Transfer(ctx context.Context, id, projectID uuid.UUID) (checks.Check, error) {
	return m.admin.Transfer(ctx, id, projectID)
}

// Check returns a check; [checks.Check.Status] is its status at an instant. Error: [checks.ErrNotFound].
func (m *Monitor) Check(ctx context.Context, id uuid.UUID) (checks.Check, error) {
	return m.admin.Check(ctx, id)
}

// CheckByUniqueKey returns the check of a project that has this unique key (server/API.md section 2.1). Error:
// [checks.ErrNotFound].
func (m *Monitor) CheckByUniqueKey(ctx context.Context, projectID uuid.UUID, key string) (checks.Check, error) {
	return m.admin.CheckByUniqueKey(ctx, projectID, key)
}

// CheckByBadgeKey returns the check with this badge key, in any project. Error: [checks.ErrNotFound].
func (m *Monitor) CheckByBadgeKey(ctx context.Context, key uuid.UUID) (checks.Check, error) {
	return m.admin.CheckByBadgeKey(ctx, key)
}

// CheckQuery restricts a list of checks. The zero value allows all.
type CheckQuery struct {
	Slug *string  // only checks with this slug
	Tags []string // only checks with all of these tags, compared as whole words
}

// Checks returns the checks of a project that the query selects, oldest first. Error: [checks.ErrNotFound].
func (m *Monitor) Checks(ctx context.Context, projectID uuid.UUID, q CheckQuery) ([]checks.Check, error) {
	return m.admin.Checks(ctx, projectID, admin.CheckQuery(q))
}

// CheckBySlug returns the check of a project with a slug. Errors: [checks.ErrNotFound], also for an unknown project and
// the empty slug; [checks.ErrAmbiguousSlug] if several checks have it.
func (m *Monitor) CheckBySlug(ctx context.Context, projectID uuid.UUID, slug string) (checks.Check, error) {
	return m.admin.CheckBySlug(ctx, projectID, slug)
}

// Tags returns the tags of a project's checks, each once, sorted. Error: [checks.ErrNotFound].
func (m *Monitor) Tags(ctx context.Context, projectID uuid.UUID) ([]string, error) {
	list, err := m.Checks(ctx, projectID, CheckQuery{})
	var tags []string
	for _, c := range list {
		tags = append(tags, c.TagList()...)
	}
	slices.Sort(tags)
	return slices.Compact(tags), err
}

// ErrCreatedChecks means that the pings of a project may not create another check; see [Config].MaxCreated.
var ErrCreatedChecks = admin.ErrCreatedChecks

// CreateRateError means that the pings of a project create checks too fast; see [Config].CreateRate. PerMinute is the
// limit, checks a minute, and RetryAfter how long to wait before the next one.
type CreateRateError = admin.CreateRateError
