//go:build !unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// passedOn returns the signals that rollcall run forwards to its command.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// alreadySent reports whether the command already has the signal. An interrupt goes to every process of the console.
func alreadySent(os.Signal) bool { return true }

// ended waits for the end of a command, and returns its exit status. There is no report, because no signal kills a process here.
func ended(cmd *exec.Cmd) (status int, report string) {
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return exitCannotRun, fmt.Sprintf("rollcall cannot tell how the command ended: %v", err)
	}
	return cmd.ProcessState.ExitCode(), ""
}

// isClosedPipe reports whether nobody can read any more what a program writes. Windows has two errors for it,
// ERROR_BROKEN_PIPE and ERROR_NO_DATA.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.Errno(109)) || errors.Is(err, syscall.Errno(232))
}

// readLocked reads from a pipe, and holds the lock during took.
func readLocked(pipe *os.File, buf []byte, mu *sync.Mutex, took func(n int)) (int, error) {
	n, err := pipe.Read(buf)
	mu.Lock()
	defer mu.Unlock()
	took(n)
	return n, err
}

// unread returns 0, because nothing here tells how many bytes are in a pipe.
func unread(*os.File) int { return 0 }

// signalNumber returns 0, because no signals kill a service here.
func signalNumber(string) int { return 0 }
