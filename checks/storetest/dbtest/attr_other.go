//go:build !linux

package dbtest

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
