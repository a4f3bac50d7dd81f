//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
)

// giveToOwnerOfDirectory changes the owner of a file that root has created. Otherwise the service, which runs as the user
// that owns the directory, could not open a database that its administrator made. Like SQLite, it ignores that a file
// system refuses the change.
func giveToOwnerOfDirectory(file *os.File) {
	info, err := os.Stat(filepath.Dir(file.Name()))
	if os.Geteuid() != 0 || err != nil {
		return
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && owner.Uid != 0 {
		_ = file.Chown(int(owner.Uid), int(owner.Gid))
	}
}
