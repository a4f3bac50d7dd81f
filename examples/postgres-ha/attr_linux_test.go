//go:build release

package postgresha

import "syscall"

// childAttr ends a program with this process, however that ends.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
