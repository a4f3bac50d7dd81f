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

	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

const (
	// exitCannotRun and exitNoCommand are a shell's exit statuses for a command that it cannot run or find.
	exitCannotRun = 126
	exitNoCommand = 127
	// exitSignaled plus the signal number is a shell's exit status for a command that a signal killed.
	exitSignaled = 128

	// startWait is how long the command waits for the start ping, so that usually the server gets it before those of the
	// command itself.
	startWait = 500 * time.Millisecond
	// stopWait and stopTimeout replace a longer --output-timeout and --timeout after a signal, because what stops a job may
	// soon kill it.
	stopWait    = time.Second
	stopTimeout = 4 * time.Second
	// lineWait is how long a line of rollcall itself may take to be printed.
	lineWait = time.Second
)

// exitStatus is an error that sets the exit status and prints nothing.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

type runCmd struct {
	target   `embed:""`
	NoStart  bool `help:"Do not report the start of the command."`
	NoOutput bool `help:"Do not send the output of the command. The command then writes to the terminal itself."`
	Quiet    bool `short:"q" help:"Send the output of the command without printing it."`
	PassKeys bool `help:"Leave Rollcall's own keys in the environment of the command."`
	// OutputTimeout exists because a background process of the command may keep the output open forever.
	OutputTimeout time.Duration `default:"10s" placeholder:"DURATION" help:"How long to wait for the end of the output after the command has ended, at most 1s after a signal; 0s waits forever."`
	SuccessCodes  exitCodes     `default:"0" placeholder:"N,..." help:"Exit statuses that are a success, such as 0,1 for borg, whose 1 is a warning, or 0-7. rollcall passes on the exit status itself."`

	Command []string `arg:"" passthrough:"partial" help:"The command with its arguments, after --."`
}

func (runCmd) Help() string {
	return `rollcall reports the exit status of the command and its output: the beginning and the end of a long one, as much as
the server stores. It forwards signals to the command. It exits with the status of the command, 128 plus the signal number if
a signal killed the command, 127 if the command was not found, and 126 if it could not be run. A script without an
interpreter line is run by /bin/sh. As the first process of a container, rollcall reaps orphaned processes.

If the output cannot be written, as on a full disk, the command runs on: one line says so, and the output is still reported.
Only a closed pipe ends the command by SIGPIPE, as it does without rollcall. What rollcall cannot print on standard error, it
sends as a log entry.

The command inherits SIGINT and SIGHUP as ignored if rollcall does. For other signals, such as SIGTERM, it does not: rollcall
is written in Go, which handles them before the program can see that they were ignored. Let the command ignore them itself:
rollcall run -- sh -c 'trap "" TERM; exec backup.sh'.

rollcall always runs the command. Only wrong values of flags keep it from that, with exit status 2, and unknown flags if no --
precedes the command. If a ping fails, if a variable, the file of settings or that of a key is wrong, or if nothing says which
check it is, rollcall prints a line on standard error.
The command waits half a second for its start ping, not longer. After its end, rollcall retries both pings within --timeout,
after a signal at most 4 seconds.

With --success-codes, a success whose exit status is not 0 is reported without the status.

rollcall sets $ROLLCALL_RUN_ID, which makes a "rollcall ping log" in the command part of the same run. It removes the
variables that hold Rollcall's own keys, because a job may print its environment, and rollcall sends the output. These are
$ROLLCALL_PING_URL, $ROLLCALL_UUID, $ROLLCALL_PING_KEY, $ROLLCALL_API_KEY, $ROLLCALL_DATABASE, the variables of the other
secret flags, and the _FILE variants of all of them. --pass-keys keeps them.

Redirect the output of background processes, because rollcall stops reading it at the end of --output-timeout.

Examples:

    rollcall run --ping-url https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f -- backup.sh /home

In a crontab, with a line that finds rollcall where a package or "go install" puts it, and runs the job without it, too:

    ROLLCALL_PING_URL=https://rollcall.example.org/ping/5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f
    0 3 * * *  r=$(PATH=$PATH:/usr/local/bin:$HOME/go/bin; command -v rollcall) || echo "rollcall is missing, nothing is reported" >&2; ${r:+"$r" run -q --} /usr/local/bin/backup`
}

// Validate checks the command line. Kong calls it.
func (c *runCmd) Validate() error {
	if command := c.command(); len(command) == 0 || command[0] == "" {
		return errors.New("which command? Give it after --")
	}
	if c.OutputTimeout < 0 {
		return errors.New("--output-timeout: must not be negative")
	}
	return c.target.validate()
}

// command returns the command without the -- before it, which kong leaves there.
func (c *runCmd) command() []string {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		return c.Command[1:]
	}
	return c.Command
}

func (c *runCmd) Run(ctx context.Context, a *app) error {
	own := *a
	lines := &ownLines{to: a.stderr}
	own.stderr = lines
	p := c.reporter(&own)
	run := uuid.NullUUID{UUID: uuid.New(), Valid: true}
	// Catching SIGPIPE keeps a closed pipe from ending this process before the last ping. It does not affect the command:
	// a child process gets the default handling of caught signals.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	defer signal.Stop(pipes)
	starting, cancelStart := context.WithCancel(ctx)
	defer cancelStart()
	started := c.start(starting, p, run)
	// Only from here on, so that a signal during the start ping ends this process.
	signals := make(chan os.Signal, 16)
	for _, sig := range passedOn() {
		if !signal.Ignored(sig) { // the command inherits ignored signals, as under nohup
			signal.Notify(signals, sig)
		}
	}
	defer signal.Stop(signals)
	output := pings.NewEnds(p.BodyLimit())
	status, report, stopped := c.execute(a, lines, output, run.UUID, signals)
	s := c.signal(int(min(uint32(status), 255))) // Windows has larger ones
	s.RunID = run
	if s.Body, s.BodyCut = output.Body(); len(s.Body) == 0 {
		s.Body, s.BodyCut = []byte(report), 0
	}
	limit := c.Timeout
	if stopped {
		limit = min(limit, stopTimeout)
	}
	// A signal cancels the last ping but does not change the exit status.
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stop := relay(signals, func(os.Signal) { cancel() })
	defer stop()
	context.AfterFunc(ctx, cancelStart)
	<-started // it takes no longer than half of c.Timeout
	if unsaid := lines.unsaid(); len(unsaid) > 0 {
		p.ping(ctx, pings.Signal{Kind: pings.Log, RunID: run, Body: unsaid})
	}
	p.ping(ctx, s)
	for _, err := range p.finish(ctx) {
		console.Fail(lines, err)
	}
	return exitStatus(status)
}

// start sends the start ping, and waits for it, but no longer than startWait.
func (c *runCmd) start(ctx context.Context, p *sending, run uuid.NullUUID) (started chan struct{}) {
	started = make(chan struct{})
	go func() {
		defer close(started)
		if !c.NoStart {
			p.ping(ctx, pings.Signal{Kind: pings.Start, RunID: run})
		}
	}()
	select {
	case <-started:
	case <-time.After(startWait):
	}
	return started
}

// reporter returns what reports the run: nothing if the environment does not say how. A wrong variable must not stop the
// command, so one line says what is wrong.
func (c *runCmd) reporter(a *app) *sending {
	err := c.missing()
	p := &sending{}
	if err == nil {
		p, err = c.pinger(a, "rollcall run")
	}
	if err != nil {
		a.notes = append(a.notes, "nothing is reported: "+err.Error())
	}
	a.printNotes()
	return p
}

// signal returns the signal for an exit status. A ping with a status is a success only for 0.
func (c *runCmd) signal(status int) pings.Signal {
	switch s := exitSignal(status); {
	case c.SuccessCodes.has(status) == (status == 0):
		return s
	case status == 0:
		return pings.Signal{Kind: pings.Failure}
	}
	return pings.Signal{Kind: pings.Success}
}

// execute runs the command and returns its exit status as a shell would. The report says why the command did not start
// or which signal killed it, and is otherwise "". stopped reports whether a signal was passed on.
func (c *runCmd) execute(a *app, lines *ownLines, output *pings.Ends, run uuid.UUID, signals <-chan os.Signal) (status int, report string, stopped bool) {
	words := c.command()
	cmd := exec.Command(words[0], words[1:]...)
	if errors.Is(cmd.Err, exec.ErrDot) {
		cmd.Err = nil // the user put the current directory into $PATH
	}
	cmd.Env = append(c.environment(a), console.EnvPrefix+"RUN_ID="+run.String())
	cmd.Stdin = os.Stdin
	out := c.connect(cmd, a, lines, output)
	cmd, err := startCommand(cmd)
	out.started()
	if err != nil {
		status = exitCannotRun
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			status = exitNoCommand
		}
		err = fmt.Errorf("cannot run %s: %w", words[0], runReason(err))
		console.Fail(lines, err)
		return status, err.Error(), false
	}
	stopping := make(chan struct{}, 1)
	stop := relay(signals, func(sig os.Signal) {
		stopped = true
		if !alreadySent(sig) {
			_ = cmd.Process.Signal(sig) // fails if the command has ended
		}
		select {
		case stopping <- struct{}{}:
		default:
		}
	})
	status, report = ended(cmd)
	if waited, ended := out.wait(c.OutputTimeout, stopping); !ended {
		console.Fail(lines, fmt.Errorf("a process of the command keeps its output open; rollcall stopped reading it after %v", waited))
	}
	stop()
	return status, report, stopped
}

// environment returns the environment of the command, without the secret variables unless --pass-keys is set.
func (c *runCmd) environment(a *app) []string {
	if c.PassKeys {
		return slices.Clone(a.environ)
	}
	return slices.DeleteFunc(slices.Clone(a.environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(a.secrets, strings.ToUpper(name)) // Windows ignores case
	})
}

// startCommand starts a command and returns it. A script without an interpreter line is started by sh, as cron, env and
// nice do.
func startCommand(cmd *exec.Cmd) (*exec.Cmd, error) {
	err := cmd.Start()
	if !errors.Is(err, syscall.ENOEXEC) || !isText(cmd.Path) {
		return cmd, err
	}
	shell := exec.Command("/bin/sh", append([]string{cmd.Path}, cmd.Args[1:]...)...)
	shell.Env, shell.Stdin, shell.Stdout, shell.Stderr = cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr
	return shell, shell.Start()
}

// isText reports whether a file may be a script and not a program for another machine.
func isText(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 256)
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && !slices.Contains(head[:n], 0)
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
