//go:build !linux

package pgserver

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
