package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
)

// ordeal kills and starts servers until ctx ends, with random pauses of about calm. When it returns, all servers run.
type ordeal func(s *site, ctx context.Context, seed uint64, calm time.Duration)

// under runs work while servers die. When it returns, all servers run.
func (s *site) under(ctx context.Context, seed uint64, calm time.Duration, work func(context.Context)) {
	dying, stop := context.WithCancel(ctx)
	var chaos sync.WaitGroup
	chaos.Go(func() { s.ordeal(s, dying, seed, calm) })
	work(ctx)
	stop()
	chaos.Wait()
}

// chaos kills and freezes servers and restarts PostgreSQL at random until ctx ends. Between two events it waits half of
// calm to one and a half.
func (s *site) chaos(ctx context.Context, seed uint64, calm time.Duration) {
	rng := rand.New(rand.NewPCG(seed, 1<<63))
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d) + 1)) }
	for sleep(ctx, calm/2+upTo(calm)) {
		one := s.servers[rng.IntN(len(s.servers))]
		switch dice := rng.IntN(10); {
		case dice < 2 && s.pg != nil:
			s.count.restarts.Add(1)
			s.pg.Stop()
			sleep(ctx, upTo(300*time.Millisecond))
			if err := s.pg.Start(context.WithoutCancel(ctx)); err != nil {
				s.problem("%v", err)
				return
			}
		case dice == 2:
			s.count.freezes.Add(1)
			one.Signal(syscall.SIGSTOP)
			sleep(ctx, upTo(time.Second))
			one.Signal(syscall.SIGCONT)
		case dice < 5:
			s.restart(ctx, upTo(300*time.Millisecond), s.servers...)
		default:
			s.restart(ctx, upTo(300*time.Millisecond), one)
		}
	}
}

// restart kills servers and starts them again after a pause.
func (s *site) restart(ctx context.Context, pause time.Duration, servers ...*program.Server) {
	s.count.kills.Add(int64(len(servers)))
	for _, server := range servers {
		server.Kill()
	}
	sleep(ctx, pause)
	var group sync.WaitGroup
	for _, server := range servers {
		group.Go(func() {
			if err := server.Start(context.WithoutCancel(ctx)); err != nil {
				s.problem("%v", err)
			}
		})
	}
	group.Wait()
}
