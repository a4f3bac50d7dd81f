package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds every wait for another process. It is only reached when something is broken.
const patience = 60 * time.Second

// server is a "rollcall serve" that is killed and started again. Every start has another port, because a client
// may take the old one meanwhile.
type server struct {
	program string
	args    []string
	log     string // the file that standard error goes to

	mu       sync.Mutex
	url      string // "" while it does not run
	cmd      *exec.Cmd
	exited   chan struct{}
	greeting string // what it has printed before
}

// start starts the server and returns when it listens.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.program, append([]string{"serve", "--listen", "127.0.0.1:0", "--rate-limit", "0",
		"--max-connections", "20000", "--max-connections-per-client", "20000"}, s.args...)...)
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = cleanEnv(), log, childAttr()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	listening, exited := make(chan [2]string, 1), make(chan struct{})
	go func() {
		defer close(exited)
		var greeting strings.Builder
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if url, found := strings.CutPrefix(lines.Text(), "rollcall: listening on "); found {
				listening <- [2]string{url, greeting.String()}
			}
			greeting.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait() // its status is in cmd.ProcessState
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case said := <-listening:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.url, s.greeting, s.cmd, s.exited = said[0], said[1], cmd, exited
		return nil
	case <-exited:
		return fmt.Errorf("the server did not start, see %s: %v", s.log, cmd.ProcessState)
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-exited
		return fmt.Errorf("the server does not listen, see %s: %w", s.log, ctx.Err())
	}
}

// address returns where the server listens, or "" while it does not run.
func (s *server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// running returns the process, or nil.
func (s *server) running() (*exec.Cmd, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.url == "" {
		return nil, nil
	}
	return s.cmd, s.exited
}

// kill ends the process as a crash would.
func (s *server) kill() {
	cmd, exited := s.running()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Kill()
	<-exited
	s.gone()
}

func (s *server) gone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.url = ""
}

// terminate asks the process to end and returns how long that took and its exit status.
func (s *server) terminate() (took time.Duration, exit int, err error) {
	cmd, exited := s.running()
	if cmd == nil {
		return 0, 0, errors.New("the server does not run")
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, 0, err
	}
	select {
	case <-exited:
		s.gone()
		return time.Since(began), cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		s.kill()
		return time.Since(began), 0, errors.New("the server did not end")
	}
}

// pid returns the process identifier, or 0.
func (s *server) pid() int {
	if cmd, _ := s.running(); cmd != nil {
		return cmd.Process.Pid
	}
	return 0
}

// cleanEnv is the environment without the variables of rollcall itself.
func cleanEnv() []string {
	var env []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "ROLLCALL_") {
			env = append(env, entry)
		}
	}
	return env
}
