//go:build unix

package spool

import "golang.org/x/sys/unix"

// limited reports whether the size of the process's files has a limit (ulimit -f).
func limited() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(limit.Cur) < 1<<62
}
