// Package program builds and runs the rollcall binary, for the programs and tests in this directory that need a real
// server and not its parts:
//
//	path, err := program.Build(ctx, dir)
//	server := &program.Server{Path: path, Args: []string{"--database", "sqlite:" + file}, Log: os.Stderr}
//	err = server.Start(ctx)
//	defer server.Kill()
package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const module = "github.com/rollcall-dev/rollcall"

// patience bounds how long a server may take to start or to exit. Only a broken one takes that long.
const patience = 2 * time.Minute

// Build compiles rollcall into a directory and returns the path of the binary. Flags are those of go build. It builds in
// the module of the binary, because a program of another module does not need all that the binary does.
func Build(ctx context.Context, dir string, flags ...string) (string, error) {
	path, err := filepath.Abs(filepath.Join(dir, "rollcall"))
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", append(append([]string{"build", "-o", path}, flags...), ".")...)
	if build.Dir, err = Source(ctx); err != nil {
		return "", err
	}
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build rollcall: %w\n%s", err, out)
	}
	return path, nil
}

// Source returns the directory with the source of the binary.
func Source(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", module, err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "server", "cmd", "rollcall"), nil
}

// Command returns a rollcall command that ignores the ROLLCALL_ variables of this process. On Linux it dies with this
// process.
func Command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "ROLLCALL_") {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.SysProcAttr = childAttr()
	return cmd
}

// Server is a "rollcall serve" process that can be killed and started again. It serves metrics, and its limits on
// requests and connections are out of the way. Its methods may be called concurrently, but only one of Start, Kill and Stop
// at a time.
type Server struct {
	Path string   // the binary
	Args []string // more flags of serve
	Env  []string // more environment variables, as NAME=value
	Log  *os.File // gets standard error

	process atomic.Pointer[process] // nil while the server is down
}

// process is one life of a server.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
	Greeting
}

// Greeting is what a server prints when it starts. It prints the keys only if it creates the first project.
type Greeting struct {
	URL        string
	MetricsURL string

	Key, ReadOnlyKey, PingKey string
}

// Start starts the server and returns once it listens. Every start uses new ports: while the server is down, a client
// may take the old ones.
func (s *Server) Start(ctx context.Context) error {
	// The server outlives ctx, which bounds only the start.
	cmd := Command(context.Background(), s.Path, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--rate-limit", "0",
		"--max-connections", "20000", "--max-connections-per-client", "20000",
	}, s.Args...)...)
	cmd.Env, cmd.Stderr = append(cmd.Env, s.Env...), s.Log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	listening, exited := make(chan Greeting, 1), make(chan struct{})
	go func() {
		defer close(exited)
		var text strings.Builder
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			fmt.Fprintln(&text, lines.Text())
			if strings.HasPrefix(lines.Text(), "rollcall: listening on ") {
				listening <- parseGreeting(text.String())
			}
		}
		_ = cmd.Wait() // ProcessState has the exit status
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case greeting := <-listening:
		s.process.Store(&process{cmd, exited, greeting})
		return nil
	case <-exited:
		return fmt.Errorf("rollcall serve did not start, see %s: %v", s.Log.Name(), cmd.ProcessState)
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-exited
		return fmt.Errorf("rollcall serve does not listen, see %s: %w", s.Log.Name(), ctx.Err())
	}
}

func parseGreeting(text string) Greeting {
	find := func(expr string) string {
		if match := regexp.MustCompile(expr).FindStringSubmatch(text); match != nil {
			return match[1]
		}
		return ""
	}
	return Greeting{
		URL: find(`: listening on (\S+)`), MetricsURL: find(`: metrics on (\S+)`),
		Key: find(`\b(rcw_\w+)`), ReadOnlyKey: find(`\b(rcr_\w+)`), PingKey: find(`(?m)^ *ping key +(\w+)$`),
	}
}

// Greeting returns what the server printed when it last started, or the zero value while it is down.
func (s *Server) Greeting() Greeting {
	if p := s.process.Load(); p != nil {
		return p.Greeting
	}
	return Greeting{}
}

// PID returns the process ID, or 0 while the server is down.
func (s *Server) PID() int {
	if p := s.process.Load(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Signal sends a signal to the server. It does nothing while the server is down.
func (s *Server) Signal(sig os.Signal) {
	if p := s.process.Load(); p != nil {
		_ = p.cmd.Process.Signal(sig) // fails only if the process has just died
	}
}

// Kill ends the server as a crash would. It does nothing while the server is down.
func (s *Server) Kill() {
	if p := s.process.Swap(nil); p != nil {
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// Stop sends a signal that ends the server, such as SIGTERM, and returns how long the server took to exit. It is an
// error if the exit status is not 0.
func (s *Server) Stop(sig os.Signal) (time.Duration, error) {
	p := s.process.Load()
	if p == nil {
		return 0, errors.New("rollcall serve is down")
	}
	began := time.Now()
	s.Signal(sig)
	select {
	case <-p.exited:
		s.process.Store(nil)
	case <-time.After(patience):
		s.Kill()
		return time.Since(began), fmt.Errorf("rollcall serve did not end after the signal %v", sig)
	}
	if !p.cmd.ProcessState.Success() {
		return time.Since(began), fmt.Errorf("rollcall serve: %v", p.cmd.ProcessState)
	}
	return time.Since(began), nil
}

// Metrics returns the metrics of the server by their names, as far as they have no labels.
func (s *Server) Metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Greeting().MetricsURL, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	metrics := make(map[string]float64)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if value, err := strconv.ParseFloat(text, 64); err == nil {
			metrics[name] = value
		}
	}
	return metrics, lines.Err()
}
