package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a new terminal. Writing to keys types on it, and line is the side of the programs.
func terminal(t *testing.T) (keys, line *os.File) {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal: ", err)
	}
	t.Cleanup(func() { keys.Close() })
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	line, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { line.Close() })
	mode, err := unix.IoctlGetTermios(int(line.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	mode.Lflag |= unix.NOFLSH // a key that sends a signal discards no output
	if err := unix.IoctlSetTermios(int(line.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	return keys, line
}

// The terminal sends Ctrl-C to the command, which must not get it a second time.
func TestKeyOfTheTerminalIsNotSentTwice(t *testing.T) {
	r := record(t)
	keys, line := terminal(t)
	cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--", "sh", "-c", waiting)
	cmd.Env = cleanEnv()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = line, line, line
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the command, too
	const late = "nothing comes any more"
	timer := time.AfterFunc(patience, func() { fmt.Fprintln(line, late) }) // ends the read
	defer timer.Stop()
	screen := bufio.NewReader(keys)
	var seen strings.Builder
	until := func(text string) {
		t.Helper()
		for {
			got, err := screen.ReadString('\n')
			seen.WriteString(got)
			if strings.Contains(got, text) {
				return
			}
			if err != nil || strings.Contains(got, late) {
				t.Fatalf("no %q after %q, %v", text, seen.String(), err)
			}
		}
	}
	until("ready")
	for range 3 {
		fmt.Fprint(keys, "\x03")
		until("INT")
	}
	cmd.Process.Signal(syscall.SIGTERM) // arrives after all earlier signals
	until("TERM")
	cmd.Wait()
	if got := r.last(); got != "9: ready\nINT\nINT\nINT\nTERM\n" {
		t.Errorf("last ping %q", got)
	}
}

// jobScript prints lines, then does its work: it creates a file.
const jobScript = `for i in 1 2 3; do echo step $i; sleep 0.01; done; echo >&2 warning; : > "$1"; exit 3`

// A command whose output cannot be written does its work, and the output is reported.
func TestRunWithUnwritableOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	gone, line := terminal(t)
	if err := gone.Close(); err != nil { // writing to the other end now fails with EIO
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		stdout, stderr *os.File // nil to read it
		said           string
	}{
		"stdout full": {full, nil, "written to standard output: no space left on device; the command runs on"},
		"stderr full": {nil, full, "written to standard error: no space left on device; the command runs on"},
		"both full":   {full, full, "no space left on device"},
		"gone":        {line, line, "input/output error"},
	} {
		t.Run(name, func(t *testing.T) {
			r := record(t)
			work := t.TempDir() + "/work"
			cmd := exec.Command("rollcall", "run", "--ping-url", r.URL+"/secret", "--", "sh", "-c", jobScript, "job", work)
			var stdout, stderr output
			cmd.Env, cmd.Stdout, cmd.Stderr = cleanEnv(), &stdout, &stderr
			if test.stdout != nil {
				cmd.Stdout = test.stdout
			}
			if test.stderr != nil {
				cmd.Stderr = test.stderr
			}
			_ = cmd.Run()
			if _, err := os.Stat(work); err != nil || cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("%v, %v", cmd.ProcessState, err)
			}
			if got := r.last(); got != "3: step 1\nstep 2\nstep 3\nwarning\n" {
				t.Errorf("last ping %q", got)
			}
			logged := ""
			for _, ping := range r.pings {
				if strings.HasPrefix(ping, "log: ") {
					logged += ping
				}
			}
			if said := stderr.String() + logged; !strings.Contains(said, test.said) || (logged != "") != (test.stderr != nil) {
				t.Errorf("standard error %q, log %q", stderr.String(), logged)
			}
		})
	}
}

// The first process of a container reaps orphans, and passes signals on.
func TestRunAsFirstProcess(t *testing.T) {
	unshare := []string{"--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if err := exec.Command(need(t, "unshare", "util-linux"), append(unshare, "true")...).Run(); err != nil {
		t.Skip("no process namespace: ", err)
	}
	r := record(t)
	cmd := exec.Command("unshare", append(unshare, "rollcall", "run", "--ping-url", r.URL+"/secret", "--", "sh", "-c", `
		for i in 1 2 3 4 5 6 7 8; do sh -c 'sh -c "echo \$\$; exit 5" &'; done > orphans
		while [ "$(wc -l < orphans)" != 8 ]; do sleep 0.01; done
		for pid in $(cat orphans); do while [ -e /proc/$pid ]; do sleep 0.01; done; done
		trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done`)...)
	var stderr output
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.SysProcAttr = cleanEnv(), t.TempDir(), &stderr, childAttr()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { cmd.Process.Kill() }) // only if zombies stay
	defer timer.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("%q, %v\n%s", line, err, stderr.String())
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var first int
	fmt.Sscan(string(children), &first)
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if got := r.last(); cmd.ProcessState.ExitCode() != 9 || got != "9: ready\n" {
		t.Errorf("%v, last ping %q\n%s", cmd.ProcessState, got, stderr.String())
	}
}
