//go:build unix

package discover

import (
	"io/fs"
	"syscall"
)

const nonBlocking = syscall.O_NONBLOCK

// FileOwner returns the user ID of a file of [Root].
func FileOwner(info fs.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
