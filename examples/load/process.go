package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks/storetest/pgserver"
)

// process is a child that was started.
type process struct {
	ready
	pid      int
	database *pgserver.Server // whose CPU time and writes count as the child's own, or nil

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts this program once more, as a server. Without a database that is the ceiling.
func start(ctx context.Context, s settings) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "child", "--database="+s.Database, "--checks="+strconv.Itoa(s.Checks),
		"--projects="+strconv.Itoa(s.Projects), "--channels="+strconv.Itoa(s.Channels))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{pid: cmd.Process.Pid, cmd: cmd, in: in, out: bufio.NewReader(out)}
	if err := p.read(&p.ready); err != nil {
		p.stop()
		return nil, fmt.Errorf("a server did not start: %w", err)
	}
	return p, nil
}

// stop ends a child and waits for it.
func (p *process) stop() {
	p.in.Close()
	_ = p.cmd.Wait() // it was asked to end, and has nothing more to tell
}

func (p *process) read(document any) error {
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, document)
}

// tell sends a command to a child and returns what it has used so far, together with its database.
func (p *process) tell(command string) (u usage, err error) {
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		return usage{}, err
	}
	if err := p.read(&u); err != nil {
		return usage{}, fmt.Errorf("a server did not answer %q: %w", command, err)
	}
	if p.database != nil {
		cpu, written := familyUsage(p.database.PID())
		u.CPU += cpu
		u.Written += written
	}
	return u, nil
}
