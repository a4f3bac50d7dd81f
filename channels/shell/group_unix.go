//go:build unix

package shell

import (
	"os/exec"
	"syscall"
)

// isolate gives a command that is not started yet a process group of its own,
// all of which is killed when its context ends.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills what is left of the group of a command that has ended. The
// group keeps its number while it has members.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
