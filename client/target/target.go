// Package target lets package declare manage the checks of a project through the API of a server:
//
//	c, err := client.New("https://rollcall.example.org", key, nil)
//	plan, err := declare.NewPlan(ctx, target.New(c), doc, nil)
//	_, err = plan.Apply(ctx, target.New(c), nil)
//
// The [API] (section 4) can create, update and delete the checks of the key's project. It can neither create
// projects nor create, update or delete channels. [declare.NewPlan] refuses a plan that needs that.
//
// The API hides the settings of channels, so a plan does not compare them. It also hides the name of the project:
// whatever project a file names, its checks go to the project of the key.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package target

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/client"
)

// New returns the project of a client's key as a target. The key must be a read-write one.
func New(c *client.Client) declare.Target { return remote{c} }

// remote is a project on a server.
type remote struct{ client *client.Client }

// Read returns the project of the key under the given name, because the API does not reveal its real one.
func (r remote) Read(ctx context.Context, project string) (declare.State, error) {
	state := declare.State{Project: checks.Project{Name: project}, SettingsHidden: true}
	var err error
	if state.Channels, err = r.client.Channels(ctx); err != nil {
		return declare.State{}, err
	}
	all, err := r.client.Checks(ctx, checks.Query{})
	if err != nil {
		return declare.State{}, err
	}
	for _, c := range all {
		if c.ID == uuid.Nil {
			return declare.State{}, errors.New("the API key is read-only, a read-write one is needed")
		}
		state.Checks = append(state.Checks, checks.Check{ID: c.ID, Settings: c.Settings, Channels: c.Channels})
	}
	return state, nil
}

// CreateCheck upserts, so that a retried request creates no second check.
func (r remote) CreateCheck(ctx context.Context, _ uuid.UUID, spec checks.Spec) error {
	_, _, err := r.client.Upsert(ctx, spec, checks.UniqueSlug)
	return err
}

func (r remote) UpdateCheck(ctx context.Context, _, id uuid.UUID, spec checks.Spec) error {
	_, err := r.client.Update(ctx, id, spec)
	return err
}

func (r remote) DeleteCheck(ctx context.Context, _, id uuid.UUID) error {
	if _, err := r.client.Delete(ctx, id); !errors.Is(err, checks.ErrNotFound) {
		return err
	}
	return nil
}
