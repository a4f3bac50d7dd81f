package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/checks/job"
)

// outputs copies the output of a command. Package exec does that too, but its time limit is fixed at the start.
type outputs struct {
	own, ofCommand []*os.File // the ends of the pipes
	copying        sync.WaitGroup
}

// connect connects the output streams of a command, with pipes where rollcall reads them.
func (c *runCmd) connect(cmd *exec.Cmd, a *app, output *job.Ends) *outputs {
	o := &outputs{}
	switch {
	case c.NoOutput && c.Quiet:
	case c.NoOutput:
		cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
	case c.Quiet:
		cmd.Stdout = o.pipe(output, nil, a.stderr)
		cmd.Stderr = cmd.Stdout
	default: // output first, so that it gets what the other fails to write
		cmd.Stdout = o.pipe(io.MultiWriter(output, a.stdout), a.stdout, a.stderr)
		cmd.Stderr = o.pipe(io.MultiWriter(output, a.stderr), a.stderr, a.stderr)
	}
	return o
}

// pipe returns the end of a pipe whose content goes to w. Without files for it, the command writes to instead.
func (o *outputs) pipe(w, instead, stderr io.Writer) io.Writer {
	own, ofCommand, err := os.Pipe()
	if err != nil {
		fail(stderr, fmt.Errorf("the output of the command cannot be reported: %w", err))
		return instead
	}
	o.own, o.ofCommand = append(o.own, own), append(o.ofCommand, ofCommand)
	o.copying.Go(func() {
		_, _ = io.Copy(w, own)
		own.Close() // if w fails, the command gets SIGPIPE, as without rollcall
	})
	return ofCommand
}

// started closes the command's ends of the pipes here, so that they end with the command.
func (o *outputs) started() {
	for _, file := range o.ofCommand {
		file.Close()
	}
}

// wait waits for the end of the output: no longer than limit unless that is 0, and no longer than stopWait after a signal.
// It returns how long that is, and whether the output has ended.
func (o *outputs) wait(limit time.Duration, stopping <-chan struct{}) (time.Duration, bool) {
	ended := make(chan struct{})
	go func() {
		o.copying.Wait()
		close(ended)
	}()
	var over <-chan time.Time
	if limit > 0 {
		over = time.After(limit)
	}
	for {
		select {
		case <-ended:
			return limit, true
		case <-stopping:
			if limit == 0 || limit > stopWait {
				limit, over = stopWait, time.After(stopWait)
			}
		case <-over:
			for _, file := range o.own {
				file.Close()
			}
			return limit, false
		}
	}
}

// exitCodes are the exit statuses in a list such as "0,1,100-127".
type exitCodes struct{ ranges [][2]int }

// UnmarshalText reads a list.
func (e *exitCodes) UnmarshalText(text []byte) error {
	e.ranges = nil
	for part := range strings.SplitSeq(string(text), ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 8)
		last, errLast := strconv.ParseUint(to, 10, 8)
		if err != nil || errLast != nil || first > last {
			return fmt.Errorf("must be exit statuses of 0 to 255, such as 0,1 or 0-7: %q", text)
		}
		e.ranges = append(e.ranges, [2]int{int(first), int(last)})
	}
	return nil
}

// has reports whether the list has a status.
func (e exitCodes) has(status int) bool {
	for _, r := range e.ranges {
		if r[0] <= status && status <= r[1] {
			return true
		}
	}
	return false
}
