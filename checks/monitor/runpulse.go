package monitor

import (
	"sync"
	"time"
)

// pulse records signs of life of the watcher and of deliveries. Its times come straight from the monitor's clock and keep
// their monotonic reading, so setting the clock does not make a part look unhealthy.
type pulse struct {
	clock func() time.Time

	mu      sync.Mutex
	running int       // runs in progress
	ended   bool      // a run has ended
	last    time.Time // when a sweep or a look for one last began or ended
	swept   time.Time // when one last succeeded, or when a run began
	tried   time.Time // when an attempt to deliver an alert last ended
}

// started records the beginning of a run.
func (p *pulse) started() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == 0 {
		p.last = p.clock()
		p.swept = p.last
	}
	p.running++
}

// stopped records the end of a run.
func (p *pulse) stopped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.ended = true
}

// idle reports whether no run is in progress.
func (p *pulse) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running == 0
}

// sweep records the beginning or the end of a sweep or of a look for one. ok reports a success.
func (p *pulse) sweep(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.clock()
	if ok {
		p.swept = p.last
	}
}

// attempt records the end of an attempt to deliver an alert.
func (p *pulse) attempt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried = p.clock()
}
