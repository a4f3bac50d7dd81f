//go:build !unix

package pgserver

import (
	"os"
	"syscall"
)

// Windows has no root, and nothing there looks for PostgreSQL's programs.

func runAs(*syscall.SysProcAttr, uint32, uint32) {}
func suspend(*os.Process)                        {}
