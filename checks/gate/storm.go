package gate

import (
	"time"

	"github.com/google/uuid"
)

// Storm says when alerts leave together. It is a setting of a project. The zero value is off.
type Storm struct {
	// Checks is how many checks must go down, or come up, within Window for their alerts to leave together. 0 is off, and each
	// alert leaves alone.
	Checks int `json:"checks"`
	// Window is also the longest time that an alert waits for others.
	Window time.Duration `json:"window"`
}

// The bounds of the settings of a storm, and those that a new project has.
const (
	MinStormChecks, MaxStormChecks = 2, 1000
	MinStormWindow, MaxStormWindow = 10 * time.Second, time.Hour
)

// DefaultStorm returns the settings of a new project: 5 checks within a minute.
func DefaultStorm() Storm { return Storm{Checks: 5, Window: time.Minute} }

// On reports whether alerts may leave together.
func (s Storm) On() bool { return s.Checks > 0 && s.Window > 0 }

// Burst knows the alerts of one kind that wanted to leave to a channel within the last window. The zero value knows none.
type Burst struct {
	wanted map[uuid.UUID]time.Time // when the alert of a check wanted to leave
	left   time.Time               // when the last message left
	until  time.Time               // when those that wait leave
	window time.Duration
}

// Want notes that the alert of a check wants to leave now, and forgets those of before the window.
func (b *Burst) Want(s Storm, check uuid.UUID, now time.Time) {
	if b.window = s.Window; b.wanted == nil {
		b.wanted = make(map[uuid.UUID]time.Time)
	}
	for id, at := range b.wanted {
		if now.Sub(at) >= s.Window {
			delete(b.wanted, id)
		}
	}
	b.wanted[check] = now
}

// Left notes that a message leaves now, about one check or about several.
func (b *Burst) Left(now time.Time) { b.left, b.until = now, time.Time{} }

// Idle reports whether nothing is known any more that could keep an alert back.
func (b *Burst) Idle(now time.Time) bool {
	for _, at := range b.wanted {
		if now.Sub(at) < b.window {
			return false
		}
	}
	return now.Sub(b.left) >= b.window
}

// Decide decides about an alert that no other policy keeps back, after [Burst.Want] has noted all that want to leave now. ready
// is since when nothing else has kept it back.
//
// Alerts about fewer than [Storm].Checks checks leave at once, each alone. In a storm a channel gets a message a window: the
// alert waits until then, or leaves with all others that wait, which [Decision].Why says. It never waits longer than a window.
func (b *Burst) Decide(s Storm, ready, now time.Time) Decision {
	waiting := b.until.After(now) // others
	if !s.On() || len(b.wanted) < s.Checks && !waiting {
		return Decision{}
	}
	until := b.left.Add(s.Window)
	if waiting {
		until = b.until
	}
	if latest := ready.Add(s.Window); latest.Before(until) {
		until = latest
	}
	if !until.After(now) {
		return Decision{Action: Send, Why: ByStorm}
	}
	if !waiting {
		b.until = until
	}
	return Decision{Action: Wait, Until: until, Why: ByStorm}
}
