// Package backlog keeps pings in memory until their receiver takes them, within bounds. The pingers of package client and the
// jobs of package monitor share it.
package backlog

import (
	"fmt"
	"slices"
)

// Bounds of the pings that wait in one [List], and of their bodies. The newest one is kept whatever its size.
const (
	MaxPings = 10_000
	MaxBytes = 32 << 20
)

// Ping is a ping that waits. Size is the length of its body in bytes.
type Ping interface {
	comparable
	Size() int
}

// List has the pings that wait, oldest first, and counts those that were dropped. The zero value is empty. It is not safe for
// concurrent use.
type List[P Ping] struct {
	waiting []P
	bytes   int
	lost    int
}

// All returns the pings that wait. The caller must not modify the result.
func (l *List[P]) All() []P { return l.waiting }

// Add adds a ping as the newest and drops the oldest ones until the bounds hold. The error says how many, if any.
func (l *List[P]) Add(p P) error {
	l.waiting = append(l.waiting, p)
	l.bytes += p.Size()
	dropped := 0
	for len(l.waiting) > MaxPings || l.bytes > MaxBytes && len(l.waiting) > 1 {
		l.Drop(l.waiting[0])
		dropped++
	}
	if dropped > 0 {
		return fmt.Errorf("more than %d pings, or %d bytes, wait in memory; the oldest were dropped: %d", MaxPings, MaxBytes, dropped)
	}
	return nil
}

// Sent removes a ping that the receiver has taken. If it was dropped meanwhile, it is not lost after all.
func (l *List[P]) Sent(p P) {
	if !l.remove(p) {
		l.lost--
	}
}

// Drop removes a ping that is lost, unless it was dropped before.
func (l *List[P]) Drop(p P) {
	if l.remove(p) {
		l.lost++
	}
}

// TakeLost returns how many pings were dropped since the last call.
func (l *List[P]) TakeLost() int {
	lost := l.lost
	l.lost = 0
	return lost
}

func (l *List[P]) remove(p P) bool {
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
