package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

// errStart means that no command can be started on this machine.
var errStart = errors.New("the command could not be started")

const (
	// defaultTimeout bounds the run of a command.
	defaultTimeout = 30 * time.Second

	// maxOutput is the maximum length of the output to keep, in bytes.
	maxOutput = 64 << 10
	// maxLine is the maximum length of the output line in an error, in characters.
	maxLine = 200
	// waitDelay bounds the wait for the output after the process group is dead: a process that left the group may hold
	// the pipe open.
	waitDelay = time.Second
)

// kind describes the kind and its settings: command_down and command_up, at least one of which is needed.
func kind() channels.Type {
	return channels.Type{
		Kind: "shell", Title: "Shell command", Category: channels.CategoryCustom, Privileged: true,
		Doc: "Runs a command with /bin/sh -c when a check goes down, and one when it goes up again, as the user that the " +
			"server runs as. The alert is in environment variables such as CHECK_NAME, STATUS and REASON, and the body " +
			"of the last ping is the standard input.",
		Settings: []channels.Setting{
			{Name: "command_down", Doc: "The command to run when a check goes down.", Primary: true, Secret: true, Lines: true, Check: checkCommand},
			{Name: "command_up", Doc: "The command to run when a check goes up.", Primary: true, Secret: true, Lines: true, Check: checkCommand},
		},
		Preview: func(_ channels.Channel, n channels.Notification) string {
			own := slices.DeleteFunc(environment(n), func(v string) bool { return strings.HasPrefix(v, "PATH=") || strings.HasPrefix(v, "HOME=") })
			return strings.Join(own, "\n")
		},
		Check: func(settings map[string]string) *channels.SettingError {
			if settings["command_down"] == "" && settings["command_up"] == "" {
				return &channels.SettingError{Setting: "command_down", Reason: "and command_up are both missing"}
			}
			return nil
		},
	}
}

func checkCommand(value string) error {
	if strings.TrimSpace(value) == "" {
		return errors.New("is blank")
	}
	return nil
}

// Config configures the notifier. The zero value of a field means its default.
type Config struct {
	// Timeout bounds the run of a command. Default: 30 seconds.
	Timeout time.Duration
}

type notifier struct{ timeout time.Duration }

// New returns the kind "shell" with its notifier, which starts a process for each delivery. A nil config means the
// defaults.
func New(config *Config) channels.Type {
	n := &notifier{timeout: defaultTimeout}
	if config != nil && config.Timeout > 0 {
		n.timeout = config.Timeout
	}
	t := kind()
	t.Notifier = n
	return t
}

// Notify runs the command of c for n.Status, if there is one. No error is permanent, since a user can fix the command.
func (s *notifier) Notify(ctx context.Context, c channels.Channel, n channels.Notification) error {
	command := c.Settings["command_"+string(n.Status)]
	if command == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = "/"
	cmd.Env = environment(n)
	cmd.Stdin = bytes.NewReader(n.Ping.Body)
	cmd.WaitDelay = waitDelay
	output, err := run(cmd)
	return result(ctx, err, lastLine(output))
}

// run runs a command in its own process group, kills what it left there, and returns the beginning of the output.
func run(cmd *exec.Cmd) ([]byte, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd.Stdout, cmd.Stderr = w, w
	isolate(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return nil, errStart // the error may contain the command
	}
	var output head
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&output, r) })
	err = cmd.Wait()
	killGroup(cmd)
	_ = r.SetReadDeadline(time.Now().Add(waitDelay))
	reading.Wait()
	return output, err
}

// result returns the error for the end of a command.
func result(ctx context.Context, err error, line string) error {
	if err == nil {
		return nil
	}
	if line != "" {
		line = ": " + line
	}
	exit, found := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the command took too long and was killed%s: %w", line, ctx.Err())
	case ctx.Err() != nil:
		return fmt.Errorf("the command was killed%s: %w", line, ctx.Err())
	case errors.Is(err, errStart):
		return err
	case found && exit.ExitCode() >= 0:
		return fmt.Errorf("the command ended with exit status %d%s", exit.ExitCode(), line)
	case found:
		return fmt.Errorf("the command ended by %s%s", exit.ProcessState, line)
	}
	return fmt.Errorf("the command failed%s", line)
}

// head is a writer that keeps the first maxOutput bytes.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), maxOutput-len(*h))]...)
	return len(p), nil
}

// lastLine returns the last line that is not blank.
func lastLine(output []byte) string {
	text := strings.TrimSpace(string(output))
	return prose.Line(text[strings.LastIndexByte(text, '\n')+1:], maxLine)
}
