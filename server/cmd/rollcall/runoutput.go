package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// outputs copies the output of a command. Package exec does that too, but its time limit is fixed at the start.
type outputs struct {
	lines          *ownLines
	own, ofCommand []*os.File // the ends of the pipes
	copying        sync.WaitGroup
	text           transcript
}

// connect connects the output streams of a command, with pipes where rollcall reads them.
func (c *runCmd) connect(cmd *exec.Cmd, a *app, lines *ownLines, output *pings.Ends) *outputs {
	o := &outputs{lines: lines, text: transcript{Ends: output}}
	switch {
	case c.NoOutput && c.Quiet:
	case c.NoOutput:
		cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
	case c.Quiet:
		cmd.Stdout = o.pipe("", io.Discard, nil)
		cmd.Stderr = cmd.Stdout
	case sameFile(a.stdout, a.stderr): // as under cron, whose mail has both in their order
		cmd.Stdout = o.pipe("standard output", a.stdout, a.stdout)
		cmd.Stderr = cmd.Stdout
	default:
		cmd.Stdout = o.pipe("standard output", a.stdout, a.stdout)
		cmd.Stderr = o.pipe("standard error", a.stderr, a.stderr)
	}
	return o
}

// sameFile reports whether both are the same file, pipe or terminal.
func sameFile(a, b io.Writer) bool {
	first, ok := a.(*os.File)
	second, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	infoFirst, err := first.Stat()
	infoSecond, errSecond := second.Stat()
	return err == nil && errSecond == nil && os.SameFile(infoFirst, infoSecond)
}

// pipe returns the end of a pipe whose content goes to the transcript and to w, which has a name. Without files for it, the
// command writes to instead.
func (o *outputs) pipe(name string, w, instead io.Writer) io.Writer {
	own, ofCommand, err := os.Pipe()
	if err != nil {
		console.Fail(o.lines, fmt.Errorf("the output of the command cannot be reported: %w", err))
		return instead
	}
	before := o.own // standard output, if this is standard error
	o.own, o.ofCommand = append(o.own, own), append(o.ofCommand, ofCommand)
	o.copying.Go(func() {
		o.text.copy(w, func(err error) {
			console.Fail(o.lines, fmt.Errorf("the output of the command cannot be written to %s: %w; the command runs on", name, runReason(err)))
		}, own, before...)
		own.Close() // if w is a closed pipe, the command gets SIGPIPE, as without rollcall
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
			o.text.finish()
			return limit, true
		case <-stopping:
			if limit == 0 || limit > stopWait {
				limit, over = stopWait, time.After(stopWait)
			}
		case <-over:
			for _, file := range o.own {
				file.Close()
			}
			o.text.finish()
			return limit, false
		}
	}
}

// ownLines prints the lines of rollcall itself on standard error, and keeps those that cannot be written there. A reader that
// hangs does not keep it for longer than lineWait.
type ownLines struct {
	to   io.Writer
	mu   sync.Mutex
	kept []byte
}

// Write prints a line or keeps it. It never fails.
func (l *ownLines) Write(line []byte) (int, error) {
	text := bytes.Clone(line)
	printed := make(chan error, 1)
	go func() {
		_, err := l.to.Write(text)
		printed <- err
	}()
	select {
	case err := <-printed:
		if err == nil {
			return len(line), nil
		}
	case <-time.After(lineWait):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, line...)
	return len(line), nil
}

// unsaid returns the lines that were not printed.
func (l *ownLines) unsaid() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.kept)
}

// transcript is the output for the last ping, as far as possible in the order in which the command wrote it. A failed job
// often ends with its reason on standard error; if that stood before what is still in the pipe of standard output, it could be
// lost in the middle of a long output.
type transcript struct {
	*pings.Ends

	mu   sync.Mutex // is held while something is read from a pipe
	out  int64      // how much of standard output has been read
	held []held     // of standard error
	size int        // of all that is held
}

// held is what follows the first after bytes of standard output.
type held struct {
	after int64
	text  []byte
}

// maxHeld bounds what a transcript holds back while nobody reads what rollcall writes to standard output.
const maxHeld = 1 << 20

// copy copies a pipe to the transcript and to w until its end, or until w is a closed pipe. It passes any other failure of w,
// such as a full disk, to failed once, and goes on, because it must not end the command. The command wrote to the pipe before,
// if there is one, what is unread there when something arrives.
func (t *transcript) copy(w io.Writer, failed func(error), pipe *os.File, before ...*os.File) {
	buf := make([]byte, 32<<10)
	told := false
	for {
		n, err := readLocked(pipe, buf, &t.mu, func(n int) {
			if len(before) == 0 {
				t.out += int64(n)
				_, _ = t.Write(buf[:n])
			} else {
				t.held = append(t.held, held{t.out + int64(unread(before[0])), bytes.Clone(buf[:n])})
				t.size += n
			}
			t.release(t.out)
		})
		if n > 0 {
			switch _, unwritten := w.Write(buf[:n]); {
			case isClosedPipe(unwritten):
				return
			case unwritten != nil && !told:
				told = true
				failed(unwritten)
			}
		}
		if err != nil {
			return
		}
	}
}

// release writes what follows the first out bytes of standard output.
func (t *transcript) release(out int64) {
	for len(t.held) > 0 && (t.held[0].after <= out || t.size > maxHeld) {
		_, _ = t.Write(t.held[0].text)
		t.size -= len(t.held[0].text)
		t.held = t.held[1:]
	}
}

// finish writes what is still held.
func (t *transcript) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.release(math.MaxInt64)
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
