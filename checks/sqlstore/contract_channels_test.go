package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/pings"
)

// itsChannels selects the channels of the fixture's project.
func (f fixture) itsChannels() store.ChannelFilter {
	return store.ChannelFilter{ProjectID: &f.project.ID}
}

// channels returns the channels of the fixture's project.
func (f fixture) channels(t *testing.T) []channels.Channel {
	t.Helper()
	found, err := f.Channels(t.Context(), f.itsChannels())
	must(t, err)
	return found
}

// testChannels: channels come back with their settings and sources, oldest first. Only their own project can change or
// delete them.
func testChannels(t *testing.T, f fixture) {
	second := f.addChannel(t, "second", noon.Add(time.Second))
	first := f.addChannel(t, `a "name", with signs`, noon)
	same(t, "all, oldest first", f.channels(t), []channels.Channel{first, second})
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		found, err := tx.Channels(ctx, f.itsChannels())
		same(t, "all, in a transaction", found, []channels.Channel{first, second})
		return err
	})
	for name, test := range map[string]struct {
		filter store.ChannelFilter
		want   []channels.Channel
	}{
		"kinds":        {store.ChannelFilter{NotKinds: []channels.Kind{"webhook"}}, []channels.Channel{first, second}},
		"its kind":     {store.ChannelFilter{NotKinds: []channels.Kind{"webhook", "email"}}, nil},
		"limit":        {store.ChannelFilter{Limit: 1}, []channels.Channel{first}},
		"IDs":          {store.ChannelFilter{IDs: []uuid.UUID{second.ID, uuid.New()}}, []channels.Channel{second}},
		"of a project": {store.ChannelFilter{ProjectID: new(uuid.New())}, nil},
	} {
		found, err := f.Channels(t.Context(), test.filter)
		must(t, err)
		same(t, name, found, test.want)
	}

	changed, foreign := first, first
	changed.Name, changed.Settings = "renamed", map[string]string{"to": "other@example.org"}
	changed.Sources = map[string]string{"to": "$OPS"}
	foreign.ProjectID = uuid.New()
	f.update(t, func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, changed) })
	for what, fn := range map[string]func(ctx context.Context, tx store.Tx) error{
		"SaveChannel": func(ctx context.Context, tx store.Tx) error { return writer(ctx, tx).SaveChannel(ctx, foreign) },
		"DeleteChannel": func(ctx context.Context, tx store.Tx) error {
			return writer(ctx, tx).DeleteChannel(ctx, foreign.ProjectID, first.ID)
		},
	} {
		if err := f.Update(t.Context(), fn); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("%s of another project's channel: error %v, want ErrNotFound", what, err)
		}
	}
	same(t, "after a change", f.channels(t), []channels.Channel{changed, second})
}

// testAssignedChannels: the channels of a check come back oldest first, without those that were deleted.
func testAssignedChannels(t *testing.T, f fixture) {
	second := f.addChannel(t, "second", noon.Add(time.Second))
	first := f.addChannel(t, "first", noon)
	c := f.create(t, checks.Spec{})
	f.assign(t, c.ID, second.ID, first.ID)
	same(t, "assigned, oldest first", f.check(t, c.ID).Channels, []uuid.UUID{first.ID, second.ID})
	must(t, f.edit(t.Context(), c.ID, func(l *store.Locked) error {
		same(t, "assigned, under the lock", l.Channels, []uuid.UUID{first.ID, second.ID})
		return nil
	}))
	f.ping(t, c.ID, pings.Signal{Kind: pings.Failure}, noon) // an alert refers to them, too

	f.update(t, func(ctx context.Context, tx store.Tx) error {
		return writer(ctx, tx).DeleteChannel(ctx, f.project.ID, first.ID)
	})
	same(t, "assigned, after one was deleted", f.check(t, c.ID).Channels, []uuid.UUID{second.ID})
	f.assign(t, c.ID)
	same(t, "assigned none", f.check(t, c.ID).Channels, []uuid.UUID(nil))
}

// testChannelsOfManyChecks: a list of checks has the channels of each, however long it is.
func testChannelsOfManyChecks(t *testing.T, f fixture) {
	channel := f.addChannel(t, "ops", noon)
	f.update(t, func(ctx context.Context, tx store.Tx) error {
		for i := range 150 {
			c, err := checks.New(f.project.ID, checks.Spec{}, noon)
			if err != nil {
				return err
			}
			if i%2 == 0 {
				c.Channels = []uuid.UUID{channel.ID}
			}
			if err := insertCheck(ctx, tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	list := f.list(t)
	if len(list) != 150 {
		t.Fatalf("found %d checks, want 150", len(list))
	}
	for i, c := range list {
		if len(c.Channels) != 1-i%2 {
			t.Fatalf("check %d has %d channels, want %d", i, len(c.Channels), 1-i%2)
		}
	}
}
