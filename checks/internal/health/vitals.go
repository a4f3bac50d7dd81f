package health

import (
	"sync"
	"time"
)

// Vitals records signs of life of the watcher and of deliveries. Its times come straight from the monitor's clock and keep
// their monotonic reading, so setting the clock does not make a part look unhealthy.
type Vitals struct {
	Clock func() time.Time

	mu      sync.Mutex
	running int       // calls of Run in progress
	ended   bool      // a call of Run has returned
	pulse   time.Time // when a sweep last began or ended
	swept   time.Time // when a sweep last succeeded, or when Run began
	tried   time.Time // when an attempt to deliver an alert last ended
}

// Started records the beginning of a Run.
func (v *Vitals) Started() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.running == 0 {
		v.pulse = v.Clock()
		v.swept = v.pulse
	}
	v.running++
}

// Stopped records the end of a Run.
func (v *Vitals) Stopped() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running--
	v.ended = true
}

// Idle reports whether no Run is in progress.
func (v *Vitals) Idle() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.running == 0
}

// Swept records the beginning or the end of a sweep. ok reports a success.
func (v *Vitals) Swept(ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pulse = v.Clock()
	if ok {
		v.swept = v.pulse
	}
}

// Tried records the end of an attempt to deliver an alert.
func (v *Vitals) Tried() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.tried = v.Clock()
}
