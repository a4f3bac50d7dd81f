package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/rollcall-dev/rollcall/examples/internal/program"
	"github.com/rollcall-dev/rollcall/examples/tools/internal/loadgen"
)

// measureOverdue measures what a server costs that only watches, and how soon it takes down many checks.
func (o *options) measureOverdue(ctx context.Context, out io.Writer, t *target) error {
	memory, _ := program.Memory(t.servers[0].PID())
	fmt.Fprintf(out, "start-up: %v; memory: %.1f MB\n", t.startup.Round(time.Millisecond), float64(memory)/1e6)
	idle, err := t.spent(ctx, func() error { return wait(ctx, o.Duration) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "idle watcher: %.2f %% of a core\n", 100*float64(idle.CPU)/float64(o.Duration))
	before, err := t.usage(ctx)
	if err != nil {
		return err
	}
	if err := t.data.overdue(ctx, o.Overdue); err != nil {
		return err
	}
	began := time.Now()
	for time.Since(began) < loadgen.Timeout {
		now, err := t.usage(ctx)
		if err != nil {
			return err
		}
		if now.down >= float64(o.Overdue) {
			fmt.Fprintf(out, "%.0f checks that became overdue at once were down after %v, with %v of CPU\n",
				now.down, time.Since(began).Round(10*time.Millisecond), now.CPU-before.CPU)
			return nil
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("not all of %d overdue checks were down after %v", o.Overdue, loadgen.Timeout)
}

// wait waits for a time, or until ctx ends, and returns the error of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
