package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// measureOverdue measures what a Rollcall server costs that only watches, and how soon it has taken many checks down.
func (m *measurement) measureOverdue(ctx context.Context, out io.Writer, p *process) error {
	u, err := p.tell("collect")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "start-up: %v with an open database; heap: %.1f MB, %.0f bytes a check\n",
		ms(p.Started), float64(u.Heap)/1e6, float64(u.Heap)/float64(m.Checks))

	select {
	case <-time.After(m.Duration):
	case <-ctx.Done():
		return ctx.Err()
	}
	idle, err := p.tell("usage")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "idle watcher: %.2f %% of a core\n", 100*float64(idle.CPU-u.CPU)/float64(m.Duration))

	if _, err := p.tell(fmt.Sprint("overdue ", m.Overdue)); err != nil {
		return err
	}
	begin := time.Now()
	for begin.Add(exchangeTimeout).After(time.Now()) {
		if u, err = p.tell("usage"); err != nil {
			return err
		}
		if u.Down >= int64(m.Overdue) {
			_, err := fmt.Fprintf(out, "%d checks that were overdue at once are down after %v, with %v of CPU\n",
				u.Down, ms(time.Since(begin)), ms(u.CPU-idle.CPU))
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("only %d of %d overdue checks are down after %v", u.Down, m.Overdue, exchangeTimeout)
}
