package sqlstore_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/storetest/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// TestListsAreTheCallers changes checks that a list has returned. Later lists and pings do not see it.
func TestListsAreTheCallers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s, mon, c := withCheck(t, db)
		_, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Start})
		must(t, err)
		for range 3 {
			list, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &c.ProjectID})
			if err != nil || len(list) != 1 || len(list[0].Runs) != 1 || list[0].Runs[0].ID.Valid {
				t.Fatal(list, err)
			}
			list[0].Runs[0].ID = uuid.NullUUID{UUID: uuid.New(), Valid: true}
		}
		p, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success})
		if err != nil || p.Duration == nil {
			t.Errorf("the ping did not end the run: duration %v, error %v", p.Duration, err)
		}
	})
}

// TestListOfManyChecks lists more checks than one query looks up, while some are pinged and others deleted.
func TestListOfManyChecks(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s, mon, c := withCheck(t, db)
		want := []uuid.UUID{c.ID}
		must(t, s.Update(t.Context(), func(ctx context.Context, tx store.Tx) error {
			var locked []*store.Locked
			for range 600 {
				c, err := checks.New(c.ProjectID, checks.Spec{}, mon.Now())
				if err != nil {
					return err
				}
				locked = append(locked, &store.Locked{Check: c})
				want = append(want, c.ID)
			}
			return tx.SaveChecks(ctx, locked)
		}))
		for range 3 {
			var got []uuid.UUID
			list, err := s.Checks(t.Context(), store.CheckFilter{ProjectID: &c.ProjectID})
			must(t, err)
			for _, c := range list {
				got = append(got, c.ID)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("the list has %d of %d checks, or another order", len(got), len(want))
			}
			for i := 0; i < len(want); i += 50 {
				_, err := mon.Ping(t.Context(), want[i], pings.Signal{Kind: pings.Success})
				must(t, err)
			}
			_, err = mon.Delete(t.Context(), want[300])
			must(t, err)
			want = slices.Delete(want, 300, 301)
		}
	})
}
