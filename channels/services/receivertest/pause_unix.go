//go:build unix

package receivertest

import (
	"syscall"
	"testing"
)

// Pause stops the program without closing its connections: it seems infinitely slow.
func (p *Program) Pause(t testing.TB) { p.signal(t, syscall.SIGSTOP) }

// Resume lets the program go on after Pause.
func (p *Program) Resume(t testing.TB) { p.signal(t, syscall.SIGCONT) }

func (p *Program) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
