package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/pings"
)

const (
	// exitCannotRun and exitNoCommand are the exit statuses of a shell for a command that it cannot run or find.
	exitCannotRun = 126
	exitNoCommand = 127
	// exitSignaled is what a shell adds the number of a signal to, for a command that the signal has killed.
	exitSignaled = 128
)

// exitStatus is an error that only says with which status to exit. Nothing is printed for it.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

type runCmd struct {
	target   `embed:""`
	NoStart  bool `help:"Do not report the start of the command."`
	NoOutput bool `help:"Do not send the output of the command. It then writes to the terminal itself."`
	Quiet    bool `short:"q" help:"Do not pass on the output of the command, only send it."`
	PassKeys bool `help:"Let the command see Rollcall's own keys. Without it, the variables that hold them are taken from its environment."`
	// A process that the command has left in the background may keep the output open for good.
	OutputTimeout time.Duration `default:"10s" placeholder:"DURATION" help:"How long the end of the output is waited for once the command has ended; 0s is for good."`

	Command []string `arg:"" passthrough:"partial" help:"The command with its arguments, after --."`
}

func (runCmd) Help() string {
	return `The start of the command is reported, and its end with its exit status and the end of its output, as much as the
server keeps. Signals are passed on to the command, and the exit status is its own: 128 and the number of the signal
that has killed it, 127 when it was not found, and 126 when it could not be run.

A ping that fails is mentioned on standard error and changes nothing else; the command runs in any case. Only when the
command line is wrong it does not, and the exit status is 2.

The command has $ROLLCALL_RUN_ID in its environment, so that a "rollcall ping log" within belongs to the same run. It does
not have the variables that hold Rollcall's own keys, such as $ROLLCALL_PING_URL, $ROLLCALL_UUID, $ROLLCALL_PING_KEY,
$ROLLCALL_API_KEY, $ROLLCALL_DATABASE, and their _FILE variants: a job may print its environment, and its output is
sent. --pass-keys leaves them in.

A process that the command leaves in the background should have its output redirected: it is cut off at
--output-timeout.

Examples:

    rollcall run --ping-url https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f -- backup.sh /home
    0 3 * * *  ROLLCALL_PING_KEY_FILE=/etc/rollcall.key rollcall run -q --slug backup --create -- backup.sh /home`
}

// Validate checks the command line. Kong calls it.
func (c *runCmd) Validate() error {
	if command := c.command(); len(command) == 0 || command[0] == "" {
		return errors.New("which command? Give it after --")
	}
	if c.OutputTimeout < 0 {
		return errors.New("--output-timeout: must not be negative")
	}
	return c.target.Validate()
}

// command returns the words of the command. Kong leaves the -- before them.
func (c *runCmd) command() []string {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		return c.Command[1:]
	}
	return c.Command
}

func (c *runCmd) Run(ctx context.Context, a *app) error {
	p, err := c.pinger("rollcall run")
	if err != nil {
		return err
	}
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	ping := func(ctx context.Context, s pings.Signal) {
		s.RunID = run
		if err := p.Ping(ctx, s); err != nil {
			fail(a.stderr, pingError(err))
		}
	}
	// A write to an output that nobody reads any more must not end this process before the last ping. Caught signals,
	// other than ignored ones, are as usual in the command.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	if !c.NoStart {
		ping(ctx, pings.Signal{Kind: pings.Start})
	}
	// Only now: until the command runs, a signal ends this process, as it would end the command.
	signals := make(chan os.Signal, 16)
	for _, sig := range passedOn() {
		if !signal.Ignored(sig) { // as under nohup: then the command is to ignore it as well
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	tail := client.NewTail(p.BodyLimit())
	status, report := c.execute(a, tail, run.UUID, signals)
	s := exitSignal(min(status, 255))
	if s.Body = tail.Bytes(); len(s.Body) == 0 {
		s.Body = []byte(report)
	}
	// A signal that comes now is in a hurry. The exit status stays that of the command.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := relay(signals, func(os.Signal) { cancel() })
	defer stop()
	ping(ctx, s)
	return exitStatus(status)
}

// execute runs the command and returns its exit status as a shell tells it, with a report where that has no reason in
// the output.
func (c *runCmd) execute(a *app, tail *client.Tail, run uuid.UUID, signals <-chan os.Signal) (status int, report string) {
	words := c.command()
	cmd := exec.Command(words[0], words[1:]...)
	if errors.Is(cmd.Err, exec.ErrDot) {
		cmd.Err = nil // the directory is in $PATH, which is for the user to decide
	}
	cmd.Env = append(c.environment(a.secrets), envPrefix+"RUN_ID="+run.String())
	cmd.Stdin = os.Stdin
	cmd.Stdout, cmd.Stderr = c.output(a.stdout, tail), c.output(a.stderr, tail)
	cmd.WaitDelay = c.OutputTimeout
	if err := cmd.Start(); err != nil {
		status = exitCannotRun
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			status = exitNoCommand
		}
		err = fmt.Errorf("cannot run %s: %w", words[0], runReason(err))
		fail(a.stderr, err)
		return status, err.Error()
	}
	stop := relay(signals, func(sig os.Signal) {
		if !alreadySent(sig) {
			_ = cmd.Process.Signal(sig) // an error means that the command has ended
		}
	})
	err := cmd.Wait()
	stop()
	if errors.Is(err, exec.ErrWaitDelay) {
		fail(a.stderr, fmt.Errorf("the command has left a process that keeps its output open, which was cut off after %v", c.OutputTimeout))
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return exitSignaled + int(ws.Signal()), cmd.ProcessState.String()
	}
	return cmd.ProcessState.ExitCode(), ""
}

// environment returns the variables for the command. It needs no key of Rollcall, and may print its environment.
func (c *runCmd) environment(secrets []string) []string {
	if c.PassKeys {
		return os.Environ()
	}
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(secrets, strings.ToUpper(name)) // in any case, for Windows
	})
}

// output returns what the command writes one of its streams to. A stream that goes to one file only is given to the
// command as it is.
func (c *runCmd) output(own io.Writer, tail *client.Tail) io.Writer {
	switch {
	case c.NoOutput && c.Quiet:
		return nil
	case c.NoOutput:
		return own
	case c.Quiet:
		return tail
	}
	return io.MultiWriter(tail, own) // in this order, to have what was not taken any more
}

// runReason returns why a command could not be started, without its name.
func runReason(err error) error {
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("command not found")
	}
	return err
}

// relay calls handle for every signal until stop is called.
func relay(signals <-chan os.Signal, handle func(os.Signal)) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case sig := <-signals:
				handle(sig)
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}
