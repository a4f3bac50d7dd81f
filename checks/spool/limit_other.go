//go:build !unix

package spool

// limited reports whether the size of the process's files has a limit.
func limited() bool { return false }
