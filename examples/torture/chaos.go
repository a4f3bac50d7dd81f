package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// chaos kills and freezes servers and restarts PostgreSQL, at random, until ctx ends. Then everything runs. Between two
// events half of calm passes, up to one and a half.
func (s *site) chaos(ctx context.Context, seed uint64, calm time.Duration, t *tally) {
	rng := rand.New(rand.NewPCG(seed, 1<<63))
	for sleep(ctx, calm/2+time.Duration(rng.Int64N(int64(calm)+1))) {
		switch dice := rng.IntN(10); {
		case dice < 2 && s.pg != nil:
			t.restarts.Add(1)
			s.pg.Stop()
			sleep(ctx, between(rng, 0, 300))
			if err := s.pg.Start(context.WithoutCancel(ctx)); err != nil {
				s.problem("%v", err)
				return
			}
		case dice == 2:
			t.freezes.Add(1)
			s.freeze(ctx, between(rng, 0, 1000), s.servers[rng.IntN(len(s.servers))])
		case dice < 5:
			t.kills.Add(int64(len(s.servers)))
			s.restart(ctx, rng, s.servers...)
		default:
			t.kills.Add(1)
			s.restart(ctx, rng, s.servers[rng.IntN(len(s.servers))])
		}
	}
}

// freeze lets a server stand still for a while, as a machine does that is short of memory or moved elsewhere.
func (s *site) freeze(ctx context.Context, lasts time.Duration, srv *server) {
	if cmd, _ := srv.running(); cmd != nil {
		freeze(cmd.Process)
		sleep(ctx, lasts)
		thaw(cmd.Process)
	}
}

// restart kills servers and starts them again after a while.
func (s *site) restart(ctx context.Context, rng *rand.Rand, servers ...*server) {
	pause := between(rng, 0, 300)
	var wg sync.WaitGroup
	for _, srv := range servers {
		srv.kill()
	}
	sleep(ctx, pause)
	for _, srv := range servers {
		wg.Go(func() {
			if err := srv.start(context.WithoutCancel(ctx)); err != nil {
				s.problem("%v", err)
			}
		})
	}
	wg.Wait()
}

// between returns a random time from a to b milliseconds.
func between(rng *rand.Rand, a, b int) time.Duration {
	return time.Duration(a+rng.IntN(b-a+1)) * time.Millisecond
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
