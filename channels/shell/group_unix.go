//go:build unix

package shell

import (
	"os/exec"
	"syscall"
)

// isolate gives a command its own process group, and kills the group when the command's context ends. Call it before
// Start.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills the processes that an ended command left in its group. A group with members keeps its number.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
