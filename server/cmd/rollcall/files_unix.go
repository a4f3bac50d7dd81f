//go:build unix

package main

import "golang.org/x/sys/unix"

// openFiles returns the maximum number of files and connections that the process may have open.
func openFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // the usual limit
	}
	return int(min(uint64(limit.Cur), 1<<30))
}
