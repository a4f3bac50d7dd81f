package monitor_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
)

// sharded puts checks into shards by the last byte of their IDs, and keeps which ones each transaction has locked.
type sharded struct {
	store.Store

	mu      sync.Mutex
	batches [][]uuid.UUID
}

func (s *sharded) Sharder() store.Sharder { return s }

func (s *sharded) Nodes(_ context.Context, checks []uuid.UUID) ([]int, int64, error) {
	list := make([]int, len(checks))
	for i, id := range checks {
		list[i] = shardOf(id)
	}
	return list, 0, nil
}

func shardOf(id uuid.UUID) int { return int(id[15] % 4) }

func (s *sharded) Update(ctx context.Context, fn func(ctx context.Context, tx store.Tx) error) error {
	return s.Store.Update(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, shardedTx{tx, s}) })
}

type shardedTx struct {
	store.Tx

	s *sharded
}

func (t shardedTx) LockChecks(ctx context.Context, ids []uuid.UUID) ([]*store.Locked, error) {
	t.s.mu.Lock()
	t.s.batches = append(t.s.batches, ids)
	t.s.mu.Unlock()
	return t.Tx.LockChecks(ctx, ids)
}

func TestBatchesByShard(t *testing.T) {
	s := &sharded{Store: dbtest.Memory(t).Contract().(store.Store)}
	mon, err := monitor.New(database{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	project, err := on(mon).OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	var callers sync.WaitGroup
	for i := range 50 {
		c, err := on(mon).Create(t.Context(), project.ID, checks.Spec{Name: new(fmt.Sprint(i))})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			callers.Go(func() {
				if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Success}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	callers.Wait()
	for _, ids := range s.batches {
		for _, id := range ids {
			if shardOf(id) != shardOf(ids[0]) {
				t.Fatalf("one transaction locks checks of shards %d and %d", shardOf(ids[0]), shardOf(id))
			}
		}
	}
}
