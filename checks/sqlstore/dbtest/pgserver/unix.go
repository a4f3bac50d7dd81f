//go:build unix

package pgserver

import (
	"os"
	"syscall"
)

// runAs makes a process run as a user and a group.
func runAs(attr *syscall.SysProcAttr, uid, gid uint32) {
	attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
}

// suspend stops a process from doing anything.
func suspend(p *os.Process) { _ = p.Signal(syscall.SIGSTOP) }
