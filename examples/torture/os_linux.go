package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr lets a child end with this process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// freeze stops a process in the middle of whatever it does, and thaw lets it go on as if nothing had been.
func freeze(p *os.Process) { _ = p.Signal(syscall.SIGSTOP) }
func thaw(p *os.Process)   { _ = p.Signal(syscall.SIGCONT) }

// openFiles is how many files and connections this process may have open at once.
func openFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return commonFiles
	}
	return int(min(limit.Cur, 1<<20))
}
