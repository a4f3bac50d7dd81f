package dbtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// migrated creates a migrated SQLite file unless there is a file. The first is migrated, others are copies of it.
func migrated(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := migratedFile()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

var migratedFile = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "rollcall-sqlite-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rollcall.db")
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
