package memstore

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// cloneMonth returns a month that shares no memory with m.
func cloneMonth(m store.Month) store.Month {
	m.Days = slices.Clone(m.Days)
	return m
}

// saveMonths adds the days and the folds of a locked check.
func (c *check) saveMonths(l *store.Locked) {
	for _, d := range l.Days {
		c.changeMonth(d.Date, func(m *store.Month) { m.Add(d) })
	}
	for _, f := range l.Folds {
		c.changeMonth(f.Start, func(m *store.Month) { m.Fold(f) })
	}
}

// changeMonth replaces the month of an instant by a changed copy.
func (c *check) changeMonth(at time.Time, change func(*store.Month)) {
	start := store.MonthStart(at)
	i, found := slices.BinarySearchFunc(c.months, start, func(m store.Month, t time.Time) int { return m.Start.Compare(t) })
	months := slices.Clone(c.months)
	if !found {
		months = slices.Insert(months, i, store.Month{Start: start})
	}
	months[i] = cloneMonth(months[i])
	change(&months[i])
	c.months = months
}

// Months returns the months of a check between two instants, by time.
func (s *Store) Months(ctx context.Context, checkID uuid.UUID, from, to time.Time) (list []store.Month, err error) {
	err = s.view(ctx, func() {
		c := s.checks[checkID]
		if c == nil {
			return
		}
		for _, m := range c.months {
			if !m.Start.Before(store.MonthStart(from)) && !m.Start.After(to) {
				list = append(list, cloneMonth(m))
			}
		}
	})
	return list, err
}

// Unfolded returns the checks that existed in a month and have no fold of it, in the order of their IDs.
func (s *Store) Unfolded(ctx context.Context, month time.Time, after uuid.UUID, limit int) (ids []uuid.UUID, err error) {
	start := store.MonthStart(month)
	err = s.view(ctx, func() {
		for id, c := range s.checks {
			folded := slices.ContainsFunc(c.months, func(m store.Month) bool { return m.Folded && m.Start.Equal(start) })
			if !folded && c.CreatedAt.Before(start.AddDate(0, 1, 0)) && bytes.Compare(id[:], after[:]) > 0 {
				ids = append(ids, id)
			}
		}
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids[:min(limit, len(ids))], err
}
