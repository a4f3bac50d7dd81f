package dbtest

import (
	"os"
	"syscall"
	"testing"
)

// memoryRoom is how much room a file system in memory must have for the files of tests.
const memoryRoom = 1 << 30 // bytes

// tempDir returns a directory for a database until the test ends. If it can, it returns one in memory: tests commit more often than a
// disk likes.
func tempDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < memoryRoom {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "rollcall-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
