//go:build !linux

package dbtest

import (
	"os"
	"testing"
)

// tempDir returns a directory for a database until the test ends.
func tempDir(t testing.TB) string { return t.TempDir() }

func clusterDir() (string, error) { return os.MkdirTemp("", "rollcall-pg-") }
