package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/hold"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// adminConfig configures an admin.
type adminConfig struct {
	Store store.Admin
	Now   func() time.Time
	// Types are the kinds of channels. Configured returns a *[channels.NotConfiguredError] for those to which this process
	// cannot send; Elsewhere says that another one does.
	Types      []channels.Type
	Configured func(kind channels.Kind) error
	Elsewhere  bool
	// Audit adds changes to the audit log.
	Audit bool
	// CreateRate is how many checks the pings of a project may create a minute, and MaxCreated from how many checks on they
	// create no more. 0 is no limit.
	CreateRate, MaxCreated int
	// Hold and Spooled hold back changes that would judge a deadline. Spooled returns the earlier of an instant and the time
	// of the oldest ping in this monitor's spool.
	Hold    hold.Rule
	Spooled func(upTo time.Time) time.Time
}

// admin changes and looks up what people set up. It is safe for concurrent use.
type admin struct {
	adminConfig
	creations  creations
	keys       lookups[keyID, checks.Key]
	byBadgeKey lookups[string, checks.Project]
	byID       lookups[uuid.UUID, checks.Project]
}

// newAdmin returns an admin.
func newAdmin(c adminConfig) *admin {
	a := &admin{adminConfig: c}
	a.creations.perMinute = c.CreateRate
	a.keys.read = a.findKey
	a.byBadgeKey.read = func(ctx context.Context, key string) (checks.Project, error) {
		return a.project(ctx, store.ProjectFilter{BadgeKey: &key})
	}
	a.byID.read = a.Project
	return a
}

// ProjectByBadgeKey returns the project with this badge key, from a cache.
func (a *admin) ProjectByBadgeKey(ctx context.Context, key string) (checks.Project, error) {
	return a.byBadgeKey.get(ctx, key, a.Now())
}

// CachedProject returns the project with this identifier, from a cache.
func (a *admin) CachedProject(ctx context.Context, id uuid.UUID) (checks.Project, error) {
	return a.byID.get(ctx, id, a.Now())
}

// PingLimit returns how many pings of a check are listed.
func (a *admin) PingLimit(ctx context.Context, projectID, id uuid.UUID) (int, error) {
	if _, err := a.CheckOf(ctx, projectID, id); err != nil {
		return 0, err
	}
	project, err := a.CachedProject(ctx, projectID)
	if err != nil {
		return 0, err
	}
	return store.PingLimit(project), nil
}

// Exists returns the error of a query about a project. If that is nil and nothing was found, it returns
// [checks.ErrNotFound] unless the project exists.
func (a *admin) Exists(ctx context.Context, projectID uuid.UUID, found int, err error) error {
	if err == nil && found == 0 {
		_, err = a.Project(ctx, projectID)
	}
	return err
}

// where returns the first item of a list that matches.
func where[T any](list []T, match func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i], true
	}
	return found, false
}

// one returns the first item of a list, or [checks.ErrNotFound]. It passes on the error of the query.
func one[T any](list []T, err error) (first T, _ error) {
	if err == nil && len(list) == 0 {
		err = checks.ErrNotFound
	}
	if err != nil {
		return first, err
	}
	return list[0], nil
}

// mayJudge returns [store.ErrUnavailable] if a change of a check would judge a deadline that must wait for pings in a spool.
func (a *admin) mayJudge(ctx context.Context, tx store.AdminTx, l *store.Locked, now time.Time) error {
	wake := l.Wake()
	err := a.Hold.Judge(ctx, tx, a.Now)(wake, now)
	if err == nil && !wake.IsZero() && !now.Before(wake) && a.Spooled(now).Before(wake) {
		err = hold.ErrHeld
	}
	if errors.Is(err, hold.ErrHeld) {
		return fmt.Errorf("%w for changes of this check: %w", store.ErrUnavailable, err)
	}
	return err
}
