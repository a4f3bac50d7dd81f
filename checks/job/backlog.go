package job

import (
	"fmt"
	"slices"
)

// Bounds of the pings that wait in one [Backlog], and of their bodies. The newest one is kept whatever its size.
const (
	MaxBacklog      = 10_000
	MaxBacklogBytes = 32 << 20
)

// Pending is a ping that waits in a [Backlog]. Size is the length of its body in bytes.
type Pending interface {
	comparable
	Size() int
}

// Backlog has the pings that wait in memory until their receiver takes them, oldest first, and counts those that were dropped. The
// pingers of package client and the jobs of package monitor keep theirs in one. The zero value is empty. It is not safe for concurrent
// use.
type Backlog[P Pending] struct {
	waiting []P
	bytes   int
	lost    int
}

// All returns the pings that wait. The caller must not modify the result.
func (l *Backlog[P]) All() []P { return l.waiting }

// Add adds a ping as the newest and drops the oldest ones until the bounds hold. The error says how many, if any.
func (l *Backlog[P]) Add(p P) error {
	l.waiting = append(l.waiting, p)
	l.bytes += p.Size()
	dropped := 0
	for len(l.waiting) > MaxBacklog || l.bytes > MaxBacklogBytes && len(l.waiting) > 1 {
		l.Drop(l.waiting[0])
		dropped++
	}
	if dropped > 0 {
		return fmt.Errorf("more than %d pings, or %d bytes, wait in memory; the oldest were dropped: %d", MaxBacklog, MaxBacklogBytes, dropped)
	}
	return nil
}

// Sent removes a ping that the receiver has taken. If it was dropped meanwhile, it is not lost after all.
func (l *Backlog[P]) Sent(p P) {
	if !l.remove(p) {
		l.lost--
	}
}

// Drop removes a ping that is lost, unless it was dropped before.
func (l *Backlog[P]) Drop(p P) {
	if l.remove(p) {
		l.lost++
	}
}

// TakeLost returns how many pings were dropped since the last call.
func (l *Backlog[P]) TakeLost() int {
	lost := l.lost
	l.lost = 0
	return lost
}

func (l *Backlog[P]) remove(p P) bool {
	i := slices.Index(l.waiting, p)
	if i < 0 {
		return false
	}
	l.bytes -= p.Size()
	if i > 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return true
	}
	var none P
	l.waiting[0] = none // so that its body can be freed
	l.waiting = l.waiting[1:]
	return true
}
