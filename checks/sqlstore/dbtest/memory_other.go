//go:build !linux

package dbtest

import "testing"

// tempDir returns a directory for a database until the test ends.
func tempDir(t testing.TB) string { return t.TempDir() }
