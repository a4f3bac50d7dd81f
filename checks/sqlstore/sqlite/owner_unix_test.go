//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// TestOwner: what root creates in the directory of a service belongs to the service, also the files of the log.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const uid, gid = 12345, 23456
	for _, owner := range []struct{ uid, gid int }{{uid, gid}, {0, gid}} {
		dir := t.TempDir()
		must(t, os.Chown(dir, owner.uid, owner.gid))
		path := filepath.Join(dir, "rollcall.db")
		for _, when := range []string{"a new file", "an old file without a log"} {
			store, err := sqlite.Open(t.Context(), path)
			must(t, err)
			for _, suffix := range []string{"", "-wal", "-shm"} {
				info, err := os.Stat(path + suffix)
				must(t, err)
				stat := info.Sys().(*syscall.Stat_t)
				if stat.Uid != uint32(owner.uid) || info.Mode().Perm() != 0o600 {
					t.Errorf("%s, %s: owner %d, mode %v, want owner %d", when, filepath.Base(path)+suffix, stat.Uid, info.Mode(), owner.uid)
				}
			}
			must(t, store.Close())
		}
	}
}
