package dbtest

import (
	"os"
	"syscall"
	"testing"
)

// How much room a file system in memory must have for the files of tests, in bytes.
const (
	memoryRoom  = 1 << 30 // for an SQLite file
	clusterRoom = 4 << 30 // for the data of a PostgreSQL server, of which several packages have one
)

// memory returns the directory of a file system in memory that has so much room, or "", which stands for the directory of temporary
// files. Tests commit more often than a disk likes.
func memory(room uint64) string {
	const dir = "/dev/shm"
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return dir
}

// tempDir returns a directory for an SQLite file until the test ends.
func tempDir(t testing.TB) string {
	t.Helper()
	dir := memory(memoryRoom)
	if dir == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(dir, "rollcall-test-")
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

// clusterDir creates a directory for the data of a PostgreSQL server. In memory the server needs half of the time.
func clusterDir() (string, error) {
	if dir := memory(clusterRoom); dir != "" {
		if dir, err := os.MkdirTemp(dir, "rollcall-pg-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "rollcall-pg-")
}
