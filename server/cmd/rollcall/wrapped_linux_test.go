package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/discover"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/wrap"
)

// wrapCase is a line of wrap.jsonl: a command in a crontab, and what it prints and returns.
type wrapCase struct {
	ID, Shell, Command string
	Expect             outcome
	Cronie             *outcome `json:"expect_cronie"`
}

// expect returns what a command prints and returns. BusyBox's crond has other rules of % and #, so there it is what happens.
func (c wrapCase) expect(t *testing.T, kind discover.Cron) outcome {
	got, want := asCron(t, kind, c.Shell, c.Command), c.Expect
	switch {
	case kind == discover.Busybox:
		want = got
	case kind == discover.Cronie && c.Cronie != nil:
		want = *c.Cronie
	}
	if got != want {
		t.Errorf("%s: unwrapped: %+v, want %+v", kind, got, want)
	}
	return want
}

type outcome struct {
	Stdout string
	Status int
}

// TestWrappedCommands runs commands as cron does, alone and wrapped, with rollcall, without it, and with another program in its
// place: they print and return the same.
func TestWrappedCommands(t *testing.T) {
	text, err := os.ReadFile("internal/wrap/testdata/wrap.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	server := record(t)
	dir := t.TempDir()
	settings := filepath.Join(dir, "ping.env")
	write(t, settings, "ROLLCALL_PING_BASE_URL="+server.URL+"\nROLLCALL_PING_KEY=aaaaaaaaaaaaaaaaaaaaaa\n")
	stub := filepath.Join(dir, "stub")
	write(t, stub, "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n")
	if err := os.Chmod(stub, 0o700); err != nil {
		t.Fatal(err)
	}
	real, err := exec.LookPath("rollcall")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var c wrapCase
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(c.Shell); err != nil {
				t.Skip(err)
			}
			for _, kind := range []discover.Cron{discover.Debian, discover.Cronie, discover.Busybox} {
				want := c.expect(t, kind)
				for _, binary := range []string{real, stub, filepath.Join(dir, "missing")} {
					command := wrapped(t, kind, c, wrap.Form{Binary: binary, Settings: settings, Slug: c.ID})
					if got := asCron(t, kind, c.Shell, command); got != want {
						t.Errorf("%s: %s\n%+v, want %+v", kind, command, got, want)
					}
				}
			}
		})
	}
	t.Cleanup(func() {
		if len(server.pings) == 0 {
			t.Error("nothing was reported")
		}
	})
}

// wrapped returns a command after it was found in a crontab and wrapped, and asserts that it can be restored.
func wrapped(t *testing.T, kind discover.Cron, c wrapCase, form wrap.Form) string {
	t.Helper()
	line := "0 3 * * * " + c.Command
	const file = "var/spool/cron/crontabs/ines"
	place := file
	if kind == discover.Cronie {
		place = "var/spool/cron/ines"
	}
	machine := discover.Machine{Cron: kind, Now: time.Unix(1e9, 0), FS: fstest.MapFS{
		"etc/passwd": {Data: []byte("ines:x:1000:1000::/home/ines:/bin/sh\n")},
		place:        {Data: []byte("SHELL=" + c.Shell + "\n" + line + "\n"), Mode: 0o600},
	}}
	found := machine.Read()
	if len(found.Jobs) != 1 {
		t.Fatalf("%q: %+v", line, found)
	}
	at := found.Jobs[0].Wrap
	end := byte('%')
	if kind == discover.Busybox {
		end = '#'
	}
	out, err := form.Wrap([]byte(line), wrap.Command{At: at.InsertAt, Shell: at.Shell, End: end})
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if again, slug, ok := wrap.Unwrap(out); !ok || string(again) != line || slug != form.Slug {
		t.Errorf("%q became %q", line, again)
	}
	return string(out[at.InsertAt:])
}

// asCron runs a command as cron does: up to the first # for BusyBox's, else with what stands behind the first % as standard input,
// and in a poor environment.
func asCron(t *testing.T, kind discover.Cron, shell, command string) outcome {
	t.Helper()
	if kind == discover.Busybox {
		command, _, _ = strings.Cut(command, "#")
		return runAsCron(t, shell, strings.TrimRight(command, " \t"), "")
	}
	var text, input strings.Builder
	out, escaped := &text, false
	for _, b := range []byte(command) {
		switch {
		case escaped && (b == '%' || b == '\\' && kind == discover.Debian && out == &text):
			out.WriteByte(b)
			escaped = false
		case escaped:
			out.WriteByte('\\')
			out.WriteByte(b)
			escaped = false
		case b == '\\':
			escaped = true
		case b == '%' && out == &text:
			out = &input
		case b == '%':
			out.WriteByte('\n')
		default:
			out.WriteByte(b)
		}
	}
	if escaped {
		out.WriteByte('\\')
	}
	if out == &input && !strings.HasSuffix(input.String(), "\n") {
		input.WriteByte('\n')
	}
	return runAsCron(t, shell, text.String(), input.String())
}

func runAsCron(t *testing.T, shell, text, input string) outcome {
	t.Helper()
	cmd := exec.Command(shell, "-c", text)
	cmd.Env = []string{"SHELL=" + shell, "PATH=/usr/bin:/bin", "LOGNAME=ines", "GORACE=" + raceOptions}
	cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(input)
	stdout, err := cmd.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	status := cmd.ProcessState.ExitCode()
	return outcome{string(stdout), status}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(fmt.Errorf("write: %w", err))
	}
}
