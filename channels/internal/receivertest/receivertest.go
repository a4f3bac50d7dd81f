// Package receivertest runs real receivers of alerts for tests: a program with a temporary directory and an address on
// the loopback interface, which a test can stop, start again and pause.
//
//	program := receivertest.Find(t, "ntfy", "ROLLCALL_TEST_NTFY", "apt-get install ntfy")
//	receiver := receivertest.Start(t, program, func(addr, dir string) (args, env []string) {
//		return []string{"serve", "--listen-http", addr}, nil
//	})
//
// Where a program is missing, tests are skipped; with ROLLCALL_TEST_REQUIRE=all they fail instead.
package receivertest

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// patience bounds waits for a program. Only a failure reaches it.
const patience = 2 * time.Minute

// Find returns the path of a program: the value of the environment variable, or else the program of that name in PATH.
// If there is none, it skips the test with the hint, which says how to get the program.
func Find(t testing.TB, name, variable, hint string) string {
	t.Helper()
	if path := os.Getenv(variable); path != "" {
		return path
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	text := "there is no " + name + " to test with (" + hint + ", and have it in PATH or name it in " + variable + ")"
	if os.Getenv("ROLLCALL_TEST_REQUIRE") == "all" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// A Program is a running receiver. Only the goroutine of the test may call its methods.
type Program struct {
	// Addr is the address on which it listens, such as 127.0.0.1:40001.
	Addr string
	// Dir is a temporary directory for its files, and its working directory.
	Dir string

	path      string
	arguments func(addr, dir string) (args, env []string)
	cmd       *exec.Cmd
	output    *log
}

// Start runs a program until the test ends, and returns as soon as its address accepts connections. The function returns
// its arguments and what its environment has besides that of the test.
func Start(t testing.TB, path string, arguments func(addr, dir string) (args, env []string)) *Program {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	p := &Program{
		Addr: listener.Addr().String(), Dir: t.TempDir(),
		path: path, arguments: arguments, output: new(log),
	}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("%s printed:\n%s", path, p.output)
		}
	})
	p.Restart(t)
	return p
}

// Restart starts a stopped program at the same address with the same files.
func (p *Program) Restart(t testing.TB) {
	t.Helper()
	args, env := p.arguments(p.Addr, p.Dir)
	p.cmd = exec.Command(p.path, args...)
	p.cmd.Dir, p.cmd.Env = p.Dir, append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = childAttr()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not start: %v", p.path, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the program as a crash would. Its files stay.
func (p *Program) Stop() {
	if p.cmd != nil && p.cmd.Process != nil && p.cmd.ProcessState == nil {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	}
}

// log keeps the end of what a program prints.
type log struct {
	mu   sync.Mutex
	text []byte
}

func (l *log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, text...)
	l.text = l.text[max(0, len(l.text)-16<<10):]
	return len(text), nil
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.text))
}
