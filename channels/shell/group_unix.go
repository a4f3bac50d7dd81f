//go:build unix

package shell

import (
	"os/exec"
	"syscall"
)

// isolate gives a command its own process group, which is killed when the command's context ends. Call it before Start.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills the rest of a process group after its command ended. The group keeps its number while it has members.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
