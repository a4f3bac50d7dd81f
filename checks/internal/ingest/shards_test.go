package ingest

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
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
		front.nodes = &nodeQueues{sharder: nodes, timeout: time.Second, queues: make(map[int]*queue), skip: make(map[int]int), open: func(node int) *queue {
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
			if _, err := front.add(p); err != nil {
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

// TestNodesInStep has callers on two nodes, one twice as fast, who ping again as soon as they are answered. A batch of a node has
// nearly all callers of that node. Then a node goes down: it holds up the other one only now and then.
func TestNodesInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const callers = 2 * minCallers
		now, events := time.Now, Events{PingsFailed: func(int) {}, PingRefused: func() {}}
		var mu sync.Mutex
		sizes, down := make(map[int][]int), make(chan struct{})
		var isDown atomic.Bool
		front := &queue{maxBatch: 512, maxQueue: 512, now: now, stamp: stampNow, clock: now, events: events}
		front.nodes = &nodeQueues{sharder: new(moving), timeout: time.Second, queues: make(map[int]*queue), skip: make(map[int]int), open: func(node int) *queue {
			return &queue{maxBatch: 512, maxQueue: 512, now: now, clock: now, events: events, skip: math.MaxInt, commit: func(batch []*queued, _ func([]*queued, error)) {
				if node == 1 && isDown.Load() {
					<-down
				}
				time.Sleep(time.Duration(node) * time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				sizes[node] = append(sizes[node], len(batch))
			}}
		}}
		ctx, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for i := range 2 * callers {
			group.Go(func() {
				for ctx.Err() == nil {
					_, _ = front.submit(ctx, &queued{check: uuid.UUID{15: byte(1 + i%2)}})
				}
			})
		}
		time.Sleep(time.Second)
		for node := 1; node <= 2; node++ {
			mu.Lock()
			steady, sum := sizes[node][len(sizes[node])/2:], 0
			mu.Unlock()
			for _, n := range steady {
				sum += n
			}
			if mean := sum / len(steady); mean < callers*3/4 {
				t.Errorf("batches of node %d have %d pings on average, want about %d", node, mean, callers)
			}
		}
		isDown.Store(true)
		time.Sleep(time.Second)
		mu.Lock()
		before := len(sizes[2])
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		if got := len(sizes[2]) - before; got < 200 {
			t.Errorf("the node that is up commits %d batches a second, want 200 at least of 500", got)
		}
		mu.Unlock()
		close(down)
		stop()
		group.Wait()
		time.Sleep(time.Second) // until the queues end
	})
}
