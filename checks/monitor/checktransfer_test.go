package monitor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

func (s setup) addProject(t *testing.T, spec checks.ProjectSpec) checks.Project {
	t.Helper()
	p, _, err := s.CreateProject(t.Context(), spec)
	must(t, err)
	return p
}

func TestTransfer(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "old", map[string]string{"token": "1"})
		other := o.addProject(t, checks.ProjectSpec{Name: "other"})
		c := o.create(t, checks.Spec{Name: new("job"), Slug: new("job"), Channels: new("*")})
		o.ping(t, c.ID, pings.Failure)
		theirs, err := o.CreateChannel(t.Context(), other.ID, "pager", "theirs", map[string]string{"token": "2"})
		must(t, err)
		_, err = o.Create(t.Context(), other.ID, checks.Spec{Slug: new("job")})
		must(t, err)

		moved, err := o.Transfer(t.Context(), c.ID, other.ID)
		must(t, err)
		read, err := o.Check(t.Context(), c.ID)
		must(t, err)
		if moved.ProjectID != other.ID || !slices.Equal(moved.Channels, []uuid.UUID{theirs.ID}) || !moved.Equal(read) || moved.BadgeKey != c.BadgeKey {
			t.Errorf("moved %+v, read %+v", moved, read)
		}
		if _, err := o.CheckBySlug(t.Context(), other.ID, "job"); !errors.Is(err, checks.ErrAmbiguousSlug) {
			t.Errorf("two checks with one slug: error %v", err)
		}
		if _, err := o.CheckBySlug(t.Context(), o.project.ID, "job"); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("the slug in the old project: error %v", err)
		}
		o.deliver(t, "theirs: job down") // the alert to the old channel is gone
		o.clock.Advance(time.Minute)
		o.ping(t, c.ID, pings.Success)
		o.deliver(t, "theirs: job up")
		if log, err := o.Pings(t.Context(), c.ID); err != nil || len(log) != 2 {
			t.Errorf("%d pings, error %v", len(log), err)
		}
		again, err := o.Transfer(t.Context(), c.ID, other.ID)
		if err != nil || again.NPings != 2 {
			t.Errorf("to the same project: %+v, error %v", again, err)
		}
	})
}

// TestTransferAlerted moves a check whose alert was sent: the new integration gets it, and both hear of the end.
func TestTransferAlerted(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "old", nil)
		other := o.addProject(t, checks.ProjectSpec{Name: "other"})
		_, err := o.CreateChannel(t.Context(), other.ID, "pager", "theirs", nil)
		must(t, err)
		c := o.watched(t, "job")
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, "old: job down")
		_, err = o.Transfer(t.Context(), c.ID, other.ID)
		must(t, err)
		o.deliver(t, "theirs: job down")
		o.clock.Advance(time.Minute)
		o.ping(t, c.ID, pings.Success)
		_, err = o.Deliver(t.Context())
		must(t, err)
		got := o.received()
		slices.Sort(got)
		equal(t, "at the end", got, []string{"old: job up", "theirs: job up"})
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, "theirs: job down")
	})
}

// TestTransferRecovered moves a check that has come up, before the courier tells so those who know of the outage.
func TestTransferRecovered(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "old", nil)
		other := o.addProject(t, checks.ProjectSpec{Name: "other"})
		_, err := o.CreateChannel(t.Context(), other.ID, "pager", "theirs", nil)
		must(t, err)
		c, unheard := o.watched(t, "job"), o.watched(t, "unheard")
		o.ping(t, c.ID, pings.Failure)
		o.deliver(t, "old: job down")
		o.ping(t, unheard.ID, pings.Failure)
		for _, c := range []checks.Check{c, unheard} {
			o.ping(t, c.ID, pings.Success)
			_, err = o.Transfer(t.Context(), c.ID, other.ID)
			must(t, err)
		}
		o.deliver(t, "old: job up")
	})
}

// TestNamedInPause names an integration after the alert while the check is paused: it hears of no end of what it does not know.
func TestNamedInPause(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		p.set(t, step(0, p.mail), step(time.Minute, p.pager))
		c := p.down(t)
		p.after(t, time.Minute, "pager: job down")
		p.ping(t, c.ID, pings.Success)
		p.after(t, time.Minute, "mail: job up", "pager: job up")
		p.set(t, step(0, p.mail))
		p.ping(t, c.ID, pings.Failure)
		p.after(t, time.Minute, "mail: job down")
		_, err := p.Pause(t.Context(), c.ID)
		must(t, err)
		p.set(t, step(0, p.mail), step(time.Minute, p.pager))
		p.ping(t, c.ID, pings.Success)
		p.after(t, 2*time.Minute, "mail: job up")
	})
}

// TestPausedAlerted pauses checks that are down. After an undone pause, what waited for its step comes at its step; after another one,
// those who know of the outage hear of the end.
func TestPausedAlerted(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		p := newPolicy(t, o)
		c := p.down(t)
		p.clock.Set(noon.Add(5 * time.Minute))
		before, err := p.Check(t.Context(), c.ID)
		must(t, err)
		paused, err := p.Pause(t.Context(), c.ID)
		must(t, err)
		p.after(t, 16*time.Minute)
		_, err = p.Restore(t.Context(), c.ID, before.Check.State, paused.Check.StoredSince)
		must(t, err)
		p.after(t, 16*time.Minute, "pager: job down")
		_, err = p.Pause(t.Context(), c.ID)
		must(t, err)
		p.after(t, 2*time.Hour)
		p.ping(t, c.ID, pings.Success)
		p.after(t, 2*time.Hour, "mail: job up", "pager: job up")
	})
}

func TestTransferInFlight(t *testing.T) {
	eachOutbox(t, nil, func(t *testing.T, o outbox) {
		o.channel(t, "pager", "old", map[string]string{"token": "1"})
		other := o.addProject(t, checks.ProjectSpec{Name: "other"})
		c := o.watched(t, "job")
		o.ping(t, c.ID, pings.Failure)
		o.set(func(ctx context.Context, _ channels.Channel, _ channels.Notification) error {
			if _, err := o.Transfer(ctx, c.ID, other.ID); err != nil {
				t.Error(err)
			}
			return errors.New("try again")
		})
		_, err := o.Deliver(t.Context())
		must(t, err)
		o.set(nil)
		o.clock.Advance(time.Hour)
		o.deliver(t)
	})
}

func TestTransferLimit(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		spec := checks.ProjectSpec{Name: "small", Account: "small", MaxChecks: 1}
		small := s.addProject(t, spec)
		sibling := s.addProject(t, checks.ProjectSpec{Name: "sibling", Account: "small"})
		ids := []uuid.UUID{s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID}
		errs := make([]error, len(ids))
		together(len(ids), func(i int) { _, errs[i] = s.Transfer(t.Context(), ids[i], small.ID) })
		moved := slices.Index(errs, nil)
		if moved < 0 || !errors.Is(errs[1-moved], checks.ErrCheckLimit) {
			t.Fatalf("errors %v, want ErrCheckLimit once", errs)
		}
		if c, err := s.Check(t.Context(), ids[1-moved]); err != nil || c.ProjectID != s.project.ID {
			t.Errorf("the check that had no room is in %v, error %v", c.ProjectID, err)
		}
		if c, err := s.Transfer(t.Context(), ids[moved], sibling.ID); err != nil || c.ProjectID != sibling.ID {
			t.Errorf("within the account: %+v, error %v", c, err)
		}
	})
}

// TestTransfersTogether moves checks back and forth between accounts while they are pinged and updated.
func TestTransfersTogether(t *testing.T) {
	each(t, func(t *testing.T, s setup) {
		projects := []checks.Project{s.project, s.addProject(t, checks.ProjectSpec{Name: "b", Account: "b"}), s.addProject(t, checks.ProjectSpec{Name: "c", Account: "a"})}
		ids := []uuid.UUID{s.create(t, checks.Spec{}).ID, s.create(t, checks.Spec{}).ID}
		const each, workers = 4, 9
		together(workers, func(i int) {
			for n := range each {
				id := ids[(i/3+n)%2]
				err := checks.ErrNotFound
				for errors.Is(err, checks.ErrNotFound) { // somebody else has moved it meanwhile
					if i%3 < 2 {
						_, err = s.Transfer(t.Context(), id, projects[(i+n)%3].ID)
					} else {
						_, err = s.Update(t.Context(), id, checks.Spec{Channels: new("*")})
					}
				}
				if i%3 == 2 {
					s.ping(t, id, pings.Success)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		found, pinged := 0, int64(0)
		for _, p := range projects {
			list, err := s.Checks(t.Context(), p.ID, checks.Query{})
			must(t, err)
			found += len(list)
			for _, c := range list {
				pinged += c.NPings
			}
		}
		if found != 2 || pinged != workers/3*each {
			t.Errorf("%d checks with %d pings, want 2 with %d", found, pinged, workers/3*each)
		}
	})
}
