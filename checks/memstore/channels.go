package memstore

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// older orders channels by their age.
func older(a, b channels.Channel) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// cloneChannel returns a channel that shares no memory with c.
func cloneChannel(c channels.Channel) channels.Channel {
	c.Settings, c.Sources = maps.Clone(c.Settings), maps.Clone(c.Sources)
	return c
}

// Channels returns the channels of a project, oldest first.
func (s *Store) Channels(ctx context.Context, projectID uuid.UUID) (list []channels.Channel, err error) {
	err = s.view(ctx, func() { list = s.channelsOf(projectID) })
	return list, err
}

// Channels returns the channels of a project, oldest first.
func (t *transaction) Channels(_ context.Context, projectID uuid.UUID) ([]channels.Channel, error) {
	return t.s.channelsOf(projectID), nil
}

func (s *Store) channelsOf(projectID uuid.UUID) (list []channels.Channel) {
	for _, c := range s.channels {
		if c.ProjectID == projectID {
			list = append(list, cloneChannel(c))
		}
	}
	slices.SortFunc(list, older)
	return list
}

// channel returns a channel, which may be [store.OnAlert].
func (s *Store) channel(id uuid.UUID) channels.Channel {
	if id == store.OnAlert.ID {
		return store.OnAlert
	}
	return cloneChannel(s.channels[id])
}

// existing returns the channels that exist among ids, each once, oldest first.
func (s *Store) existing(ids []uuid.UUID) (found []uuid.UUID) {
	for _, id := range ids {
		if _, exists := s.channels[id]; exists && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b uuid.UUID) int { return older(s.channels[a], s.channels[b]) })
	return found
}

// SaveChannel adds a channel, or writes its name, its settings and their sources.
func (t *transaction) SaveChannel(_ context.Context, c channels.Channel) error {
	saved, found := t.s.channels[c.ID]
	if t.s.projects[c.ProjectID] == nil || found && saved.ProjectID != c.ProjectID {
		return checks.ErrNotFound
	}
	if !found {
		saved = c
		saved.FailedAt, saved.Error = time.Time{}, "" // only deliveries set them
	}
	saved.Name, saved.Settings, saved.Sources = c.Name, c.Settings, c.Sources
	put(t, t.s.channels, c.ID, cloneChannel(saved))
	return nil
}

// DeleteChannel removes a channel of a project, takes it from all checks and deletes its deliveries.
func (t *transaction) DeleteChannel(_ context.Context, projectID, id uuid.UUID) error {
	if c, found := t.s.channels[id]; !found || c.ProjectID != projectID {
		return checks.ErrNotFound
	}
	drop(t, t.s.channels, id)
	for _, c := range t.s.checks {
		if slices.Contains(c.Channels, id) {
			save(t, c)
			c.Channels = t.s.existing(c.Channels)
		}
	}
	t.removeDeliveries(func(d *delivery) bool { return d.ChannelID == id })
	t.removeIncidents(id)
	return nil
}
