//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn returns the signals that rollcall run forwards to its command.
func passedOn() []os.Signal {
	return []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}
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
