//go:build !linux

package program

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
