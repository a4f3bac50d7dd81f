//go:build !linux

package postgresha

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
