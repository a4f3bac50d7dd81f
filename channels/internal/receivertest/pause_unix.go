//go:build unix

package receivertest

import (
	"syscall"
	"testing"
)

// Pause stops the program without closing its connections: it seems infinitely slow. It returns once all threads of the
// program have stopped.
func (p *Program) Pause(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if err == nil && status.Stopped() {
			return
		}
		if err != syscall.EINTR {
			t.Fatalf("%s did not stop: %v, %v", p.path, status, err)
		}
	}
}

// Resume lets the program go on after Pause.
func (p *Program) Resume(t testing.TB) { p.signal(t, syscall.SIGCONT) }

func (p *Program) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
