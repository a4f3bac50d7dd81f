package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// patience bounds every wait for another process. Only a broken test reaches it.
const patience = 2 * time.Minute

// process is a running "rollcall serve".
type process struct {
	url    string // of the service
	cmd    *exec.Cmd
	stdout output
	stderr output
	exited chan struct{}
}

// output keeps the output of a process.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// startProcess runs "rollcall serve" on a free port, and returns when it listens. The caller must kill it in the end.
func startProcess(env []string, dir string, args ...string) (*process, error) {
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command("rollcall", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = env, dir, childAttr()
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	listening := make(chan string, 1)
	go func() {
		defer close(p.exited)
		lines := bufio.NewScanner(io.TeeReader(stdout, &p.stdout))
		for lines.Scan() {
			if url, found := strings.CutPrefix(lines.Text(), "rollcall: listening on "); found {
				listening <- url
			}
		}
		p.cmd.Wait() // its status is in cmd.ProcessState
	}()
	select {
	case p.url = <-listening:
		return p, nil
	case <-p.exited:
		return nil, fmt.Errorf("the server did not start: %v\n%s", p.cmd.ProcessState, p.stderr.String())
	case <-time.After(patience):
		p.kill()
		return nil, errors.New("the server did not say that it listens")
	}
}

// kill ends the process as a crash would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// stop sends a signal, and returns the state in which the process ended.
func (p *process) stop(sig os.Signal) (*os.ProcessState, error) {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return nil, err
	}
	return p.wait()
}

func (p *process) wait() (*os.ProcessState, error) {
	select {
	case <-p.exited:
		return p.cmd.ProcessState, nil
	case <-time.After(patience):
		p.kill()
		return nil, errors.New("the server did not end")
	}
}

// start runs "rollcall serve" for a test.
func start(t *testing.T, database string, args ...string) *process {
	t.Helper()
	p, err := startProcess(cleanEnv(), t.TempDir(), append([]string{"--database", database}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

// cleanEnv returns the environment without the variables of rollcall.
func cleanEnv() []string {
	env := []string{"GORACE=" + raceOptions}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, console.EnvPrefix) && !strings.HasPrefix(entry, "GORACE=") {
			env = append(env, entry)
		}
	}
	return env
}

// eventually polls until a condition holds.
func eventually(limit time.Duration, condition func() bool) bool {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	return condition()
}
