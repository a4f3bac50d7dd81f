package hold

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

const (
	// beatEvery is how often Gaps looks at the clocks.
	beatEvery = 500 * time.Millisecond
	// minGap is the shortest gap, and the least by which the clock is set, that holds deadlines back.
	minGap = 2 * time.Second
	// afterGap is how long a process needs to take what waits in its sockets.
	afterGap = 5 * time.Second
	// afterStep is how long deadlines are held back after the clock was set forward: each job that reports as often as
	// possible has a turn.
	afterStep = checks.MinPeriod + afterGap
	// mostHeld bounds how long gaps in a row hold deadlines back.
	mostHeld = 2 * afterStep
)

// Gaps notices when this process did not run for a while, such as on a machine that was suspended or migrated, and when its
// clock was set. Pings that arrived meanwhile wait in sockets, and get a time after the gap. So for some seconds, or about a
// minute if the clock was set, no deadline after the beginning of the gap is judged.
//
// It notices while Run runs. A clock that does not run as fast as the monotonic one is moved on purpose, as tests do, and
// has no gaps. A Gaps is safe for concurrent use.
type Gaps struct {
	clock func() time.Time
	log   *slog.Logger

	mu sync.Mutex
	// beat is when Run last looked, with its monotonic reading, and wall what the clock said. beat is zero while Run does not run.
	beat, wall time.Time
	steady     bool // up to the last beat, the clock ran as fast as the monotonic one
	// since is when the last gap began, by the clock. Deadlines from then on are held back from began until end, which are
	// monotonic.
	since, began, end time.Time
	unlogged          []gap
}

// gap is a time in which the process did not run, or by which its clock was set.
type gap struct{ away, step time.Duration }

// NewGaps returns a Gaps for a clock. It logs each gap once.
func NewGaps(clock func() time.Time, log *slog.Logger) *Gaps { return &Gaps{clock: clock, log: log} }

// Run looks at the clocks until ctx ends.
func (g *Gaps) Run(ctx context.Context) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	g.start(time.Now())
	defer g.start(time.Time{})
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			g.tick(ctx)
		}
	}
}

// start sets the first beat, or ends the beats with the zero time.
func (g *Gaps) start(mono time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.beat, g.wall, g.steady = mono, g.read(), false
}

// tick looks at the clocks, and logs gaps that have been noticed since the last tick.
func (g *Gaps) tick(ctx context.Context) {
	g.mu.Lock()
	if wall, mono := g.look(); !g.beat.Equal(mono) {
		elapsed := mono.Sub(g.beat)
		drift := wall.Sub(g.wall) - elapsed
		g.steady = drift.Abs() <= elapsed/4
		g.beat, g.wall = mono, wall
	}
	found, since, left := g.unlogged, g.since, time.Until(g.end)
	g.unlogged = nil
	g.mu.Unlock()
	for _, f := range found {
		text := "this process did not run for a while; pings that waited are recorded before deadlines are judged"
		switch {
		case f.step < 0:
			text = "the clock was set back; deadlines from before, and alerts that are due later, come late by as much"
		case f.step > 0:
			text = "the clock was set forward, or the machine was suspended; deadlines wait for pings under the new time"
		}
		g.log.WarnContext(ctx, text, "not_running", f.away, "clock_set", f.step, "deadlines_wait_from", since, "deadlines_wait_for", max(left, 0))
	}
}

func (g *Gaps) read() time.Time { return g.clock().UTC().Truncate(time.Microsecond) }

// look returns the time of the clock and the monotonic time. It notices a gap, which begins at the last beat. The caller
// holds the lock.
func (g *Gaps) look() (wall, mono time.Time) {
	wall, mono = g.read(), time.Now()
	found := gap{away: mono.Sub(g.beat)}
	found.step = wall.Sub(g.wall) - found.away
	set := found.step.Abs() >= minGap
	after := afterGap
	switch {
	case g.beat.IsZero() || set && !g.steady || !set && found.away < minGap:
		return wall, mono
	case !set:
		found.step = 0
	case found.step > 0:
		after = afterStep
	}
	if !g.beat.Before(g.end) || mono.Sub(g.began) >= mostHeld {
		g.since, g.began = g.wall, mono
	}
	if wall.Before(g.since) {
		g.since = wall
	}
	left := min(max(after, g.end.Sub(mono)), g.began.Add(mostHeld).Sub(mono))
	g.end = mono.Add(left)
	g.unlogged = append(g.unlogged, found)
	g.beat, g.wall = mono, wall
	return wall, mono
}

// Now returns the time and, while deadlines are held back, the instant from which on they are. It is the zero time
// otherwise.
func (g *Gaps) Now() (now, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	wall, mono := g.look()
	if mono.Before(g.end) {
		since = g.since
	}
	return wall, since
}

// Settled returns the earlier of an instant, which was read before, and the one from which on deadlines are held back.
func (g *Gaps) Settled(upTo time.Time) time.Time {
	if _, since := g.Now(); !since.IsZero() && since.Before(upTo) {
		return since
	}
	return upTo
}
