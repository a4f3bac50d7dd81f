//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package client

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed or the process ends. The error is errLocked if another open file has the lock.
func tryLock(f *os.File) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
