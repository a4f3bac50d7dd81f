//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package manage

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a directory until it is closed or the process ends, exclusively or together with others. A lock of the draft itself
// would be in SQLite's way, on NFS and BSD.
func tryLock(dir *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		switch err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
