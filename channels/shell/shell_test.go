//go:build unix

package shell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/shell"
)

func down() channels.Notification {
	at := time.Date(2026, 3, 15, 4, 0, 0, 0, time.UTC)
	return channels.Notification{
		ID: "n1", Incident: "i1", Status: channels.Down, At: at, Reason: "exit status 3", Cause: "disk full", Reminder: 2, Over: at.Add(time.Hour),
		Check: channels.Check{
			ID: uuid.MustParse("5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f"), Name: "nightly", Slug: "n", Tags: []string{"a", "b"}, Desc: "two\nlines",
			Project: "backups", Timing: "every hour", URL: "https://example.org/",
		},
		Ping: channels.Ping{At: at, Kind: "fail", ExitStatus: new(3), Duration: 41*time.Second + 20*time.Millisecond,
			Body: []byte("the \"body\"\x00\xff\n"), End: []byte("the $HOME\x00 end")},
		Test: true,
	}
}

// notify runs a command, and returns what it wrote to the file "out" in $HOME.
func notify(t *testing.T, n channels.Notification, command string) (string, error) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	settings, err := channels.Validate([]channels.Type{shell.New(nil)}, "shell", map[string]string{"command_" + string(n.Status): command}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = shell.New(nil).Notifier.Notify(t.Context(), channels.Channel{Kind: "shell", Settings: settings}, n)
	out, readErr := os.ReadFile(filepath.Join(home, "out"))
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		t.Fatal(readErr)
	}
	return string(out), err
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ROLLCALL_SECRET_KEY", "s3cret")
	const list = "for v in CHECK_NAME CHECK_SLUG CHECK_UUID CHECK_TAGS CHECK_DESC CHECK_TIMING CHECK_URL PROJECT STATUS REASON CAUSE AT DOWN_FOR " +
		"REMINDER OVER LAST_PING PING_KIND EXIT_STATUS DURATION BODY_END ALERT_ID INCIDENT TEST; do eval \"echo $v=\\\"\\${$v-unset}\\\"\"; done > $HOME/out; pwd >> $HOME/out"
	got, err := notify(t, down(), list)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "variables", got, `CHECK_NAME=nightly
CHECK_SLUG=n
CHECK_UUID=5c1ae2b0-0d6b-4b5c-8a44-4d0a4a0f0f0f
CHECK_TAGS=a b
CHECK_DESC=two
lines
CHECK_TIMING=every hour
CHECK_URL=https://example.org/
PROJECT=backups
STATUS=down
REASON=exit status 3
CAUSE=disk full
AT=2026-03-15T04:00:00+00:00
DOWN_FOR=0
REMINDER=2
OVER=2026-03-15T05:00:00+00:00
LAST_PING=2026-03-15T04:00:00+00:00
PING_KIND=fail
EXIT_STATUS=3
DURATION=41.02
BODY_END=the $HOME end
ALERT_ID=n1
INCIDENT=i1
TEST=1
/
`)
	up := channels.Notification{Status: channels.Up, DownFor: 90 * time.Minute}
	got, err = notify(t, up, `echo "$STATUS $DOWN_FOR [$EXIT_STATUS$LAST_PING$OVER] $TEST" > $HOME/out`)
	equal(t, "up", fmt.Sprint(got, err), "up 5400 [] 0\n<nil>")
	got, err = notify(t, up, "env > $HOME/out")
	if err != nil || strings.Contains(got, "s3cret") || !strings.Contains(got, "PATH="+os.Getenv("PATH")) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestStandardInput(t *testing.T) {
	got, err := notify(t, down(), "cat > $HOME/out")
	equal(t, "body", fmt.Sprintf("%q %v", got, err), fmt.Sprintf("%q <nil>", down().Ping.Body))
	n := down()
	n.Ping.Body = make([]byte, 1<<20) // which nobody reads
	if _, err := notify(t, n, "true"); err != nil {
		t.Error(err)
	}
}

// TestInjection checks that the alert never becomes part of the command.
func TestInjection(t *testing.T) {
	for _, name := range []string{"$(touch $HOME/evil)", "`touch $HOME/evil`", "\"; touch $HOME/evil; \"", "'; touch $HOME/evil; '", "a\x00b\nc", "$STATUS"} {
		n := down()
		n.Check.Name = name
		got, err := notify(t, n, `printf %s "$CHECK_NAME" > "$HOME/out"; ! test -e "$HOME/evil"`)
		if err != nil || got != strings.ReplaceAll(name, "\x00", "") {
			t.Errorf("%q became %q, %v", name, got, err)
		}
	}
}

func TestResults(t *testing.T) {
	tests := []struct{ command, want string }{
		{"true", ""},
		{"echo fine; exit 0", ""},
		{"exit 3", "the command ended with exit status 3"},
		{"echo one; echo two >&2; echo; exit 3", "the command ended with exit status 3: two"},
		{"printf 'a\\033[31mb\\tc\\377\\r\\n'; exit 1", "the command ended with exit status 1: a[31mb c"},
		{"nosuchcommand 2>/dev/null", "the command ended with exit status 127"},
		{"kill -TERM $$", "the command ended by signal: terminated"},
		{"if", "the command ended with exit status 2"},
		{"yes | head -c 1000000; exit 1", "the command ended with exit status 1: y"},
		{"printf '%0300d' 0; exit 1", "the command ended with exit status 1: " + strings.Repeat("0", 200) + "…"},
	}
	for _, tt := range tests {
		_, err := notify(t, down(), tt.command)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if tt.command == "if" { // shells word the error differently
			text, _, _ = strings.Cut(text, ":")
		}
		equal(t, tt.command, text, tt.want)
		if channels.IsPermanent(err) {
			t.Errorf("%s: permanent", tt.command)
		}
	}
	if err := shell.New(nil).Notifier.Notify(t.Context(), channels.Channel{Settings: map[string]string{"command_up": "exit 1"}}, down()); err != nil {
		t.Errorf("without a command: %v", err)
	}
}

// TestKilled checks that the time limit kills a command and all processes that it started.
func TestKilled(t *testing.T) {
	n := down()
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		want    error
	}{{"timeout", 100 * time.Millisecond, context.DeadlineExceeded}, {"cancelled", time.Hour, context.Canceled}} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.want == context.Canceled {
				cancel()
			}
			c := channels.Channel{Settings: map[string]string{"command_down": "trap '' TERM INT; sleep 3600 & sleep 3600"}}
			err := shell.New(&shell.Config{Timeout: tt.timeout}).Notifier.Notify(ctx, c, n)
			if !errors.Is(err, tt.want) || channels.IsPermanent(err) {
				t.Error(err)
			}
		})
	}
}

// TestBackground checks that background processes die with the command. They hold the fifo open while they live.
func TestBackground(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // both ends wait for each other to open it
		_, err := os.ReadFile(path)
		ended <- err
	}()
	n := down()
	n.Check.Name = path
	if _, err := notify(t, n, `exec 3> "$CHECK_NAME"; sleep 3600 & exit 0`); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestKind(t *testing.T) {
	kinds := []channels.Type{shell.New(nil)}
	for _, tt := range []struct {
		settings map[string]string
		want     string
	}{
		{nil, "shell: command_down and command_up are both missing"},
		{map[string]string{"command_up": " "}, "shell: command_up is malformed"},
		{map[string]string{"command": "x"}, "shell: command is not a setting of this kind, which has command_down, command_up, notify"},
		{map[string]string{"command_up": "true"}, "<nil>"},
	} {
		_, err := channels.Validate(kinds, "shell", tt.settings, nil)
		equal(t, "error", fmt.Sprint(err), tt.want)
	}
}
