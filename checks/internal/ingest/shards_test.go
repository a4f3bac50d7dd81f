package ingest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// moving is a database on nodes: each check is on the node of its last byte, plus moved.
type moving struct {
	moved int
	err   error
}

func (m *moving) Nodes(_ context.Context, checks []uuid.UUID) (nodes []int, layout int64, err error) {
	for _, id := range checks {
		nodes = append(nodes, int(id[15])+m.moved)
	}
	return nodes, int64(m.moved), m.err
}

// TestNodeQueues blocks the commits of one node. Those of another go on; a check that has moved waits for its earlier pings.
func TestNodeQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now, events := time.Now, Events{PingsFailed: func(int) {}, PingRefused: func() {}}
		gate, nodes := make(chan struct{}), new(moving)
		var committed []int64
		front := &queue{maxBatch: 9, maxQueue: 99, now: now, stamp: stampNow, clock: now, events: events}
		front.nodes = &nodeQueues{sharder: nodes, timeout: time.Second, queues: make(map[int]*queue), open: func(node int) *queue {
			return &queue{maxBatch: 9, maxQueue: 2, now: now, clock: now, events: events, commit: func(batch []*queued, _ func([]*queued, error)) {
				if node == 1 {
					<-gate
				}
				for _, p := range batch {
					committed = append(committed, p.number)
				}
			}}
		}}
		ping := func(node byte, number int64) *queued {
			p := &queued{check: uuid.UUID{15: node}, number: number, done: make(chan struct{})}
			if err := front.add(p); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return p
		}
		began := now()
		first := ping(1, 1)
		time.Sleep(time.Second)
		<-ping(2, 2).done
		if at, oldest := front.oldest(); !oldest.Equal(began) || front.silence() != at.Sub(began) {
			t.Errorf("the oldest ping is of %v, silence %v; want %v, 1s", oldest, front.silence(), began)
		}
		ping(1, 3)
		ping(1, 4)
		if refused := ping(1, 5); !errors.Is(refused.err, store.ErrUnavailable) || front.length() != 2 {
			t.Errorf("a ping beyond the limit of its node: error %v; %d wait, want 2", refused.err, front.length())
		}
		nodes.moved = 1 // to a node that commits at once
		last := ping(1, 6)
		if slices.Contains(committed, 6) {
			t.Error("a ping overtakes those of its check on the node where the check was")
		}
		close(gate)
		<-first.done
		<-last.done
		if want := []int64{2, 1, 3, 4, 6}; !slices.Equal(committed, want) {
			t.Errorf("committed are %v, want %v", committed, want)
		}
		nodes.err = errors.New("no answer")
		if failed := ping(1, 7); !errors.Is(failed.err, store.ErrUnavailable) || len(front.waiting()) != 0 {
			t.Errorf("without an answer about nodes: error %v, %d wait", failed.err, len(front.waiting()))
		}
	})
}
