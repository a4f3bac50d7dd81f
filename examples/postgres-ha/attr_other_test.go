//go:build !linux && release

package postgresha

import "syscall"

func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
