//go:build !unix

package receivertest

import "testing"

// Pause skips the test: it needs signals of Unix.
func (p *Program) Pause(t testing.TB) { t.Skip("a program cannot be paused on this system") }

// Resume does nothing.
func (p *Program) Resume(testing.TB) {}
