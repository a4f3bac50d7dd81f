//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn returns the signals that rollcall run forwards to its command: all but those that report a fault of rollcall, that
// its output or its children cause, or that control jobs at a terminal.
func passedOn() (list []os.Signal) {
	for sig := syscall.Signal(1); sig < 65; sig++ {
		switch sig {
		case syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS:
		case syscall.SIGPIPE, syscall.SIGXFSZ, syscall.SIGCHLD:
		case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU, syscall.SIGCONT, syscall.SIGWINCH:
		case syscall.SIGKILL, syscall.SIGSTOP: // cannot be caught
		case syscall.SIGURG, syscall.SIGPROF, 32, 33: // belong to the runtime of Go and of C
		default:
			list = append(list, sig)
		}
	}
	return list
}

// alreadySent reports whether a signal may come from a key such as Ctrl-C, which the terminal also sends to the command.
// Many programs abandon their cleanup at a second signal.
func alreadySent(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

// ended waits for the end of a command, and returns its exit status as a shell would. The report says which signal killed it,
// and is otherwise "".
func ended(cmd *exec.Cmd) (status int, report string) {
	var ws syscall.WaitStatus
	var err error
	if os.Getpid() == 1 {
		ws, err = reap(cmd.Process.Pid)
		_ = cmd.Process.Release() // no signal reaches another process that gets its number
		go reap(0)                // the processes that end while the output and the last ping are on their way
	} else if err = cmd.Wait(); cmd.ProcessState != nil {
		ws, err = cmd.ProcessState.Sys().(syscall.WaitStatus), nil
	}
	if err != nil {
		return exitCannotRun, fmt.Sprintf("rollcall cannot tell how the command ended: %v", err)
	}
	if !ws.Signaled() {
		return ws.ExitStatus(), ""
	}
	report = "signal: " + ws.Signal().String()
	if ws.CoreDump() {
		report += " (core dumped)"
	}
	return exitSignaled + int(ws.Signal()), report
}

// reap waits for each child that ends, until that is a certain one or there is none. The first process of a container is the
// parent of all orphans in it.
func reap(last int) (ws syscall.WaitStatus, err error) {
	for {
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) || err == nil && pid == last {
			return ws, err
		}
	}
}

// isClosedPipe reports whether nobody can read any more what a program writes.
func isClosedPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// readLocked reads from a pipe, and holds the lock from a read that got something to the end of took.
func readLocked(pipe *os.File, buf []byte, mu *sync.Mutex, took func(n int)) (n int, err error) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := conn.Read(func(fd uintptr) bool {
		mu.Lock()
		defer mu.Unlock()
		for {
			if n, err = syscall.Read(int(fd), buf); !errors.Is(err, syscall.EINTR) {
				break
			}
		}
		n = max(n, 0)
		if n > 0 {
			took(n)
		} else if err == nil {
			err = io.EOF
		}
		return !errors.Is(err, syscall.EAGAIN)
	})
	return n, errors.Join(err, closed)
}

// unread returns how many bytes are in a pipe, and 0 if it is closed or the system does not tell.
func unread(pipe *os.File) (n int) {
	fionread := uint(0x4004667f) // package unix has no name for it
	if runtime.GOOS == "linux" {
		fionread = 0x541b
	}
	if conn, err := pipe.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), fionread) })
	}
	return n
}

// signalNumber returns the number of a signal such as TERM, or 0.
func signalNumber(name string) int { return int(unix.SignalNum("SIG" + name)) }
