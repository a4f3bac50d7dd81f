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
