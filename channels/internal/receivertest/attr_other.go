//go:build !linux

package receivertest

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
