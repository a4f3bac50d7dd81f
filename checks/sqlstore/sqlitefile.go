package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// checkFileEvery is how often a transaction checks that the files of SQLite are still at their paths.
const checkFileEvery = time.Second

// sqliteFile tells whether the database file that is open, its log and its index are still those at their paths. If somebody
// has replaced or removed one, SQLite goes on with the open file, and all that it writes is gone at the next start.
// Store.writing guards the fields, except path, known[0], which do not change, and gone.
type sqliteFile struct {
	path     string
	known    [3]os.FileInfo // by the order of sqliteSuffixes; nil for one that is not there
	reserved int            // of sqliteWriter, when the log and the index were noted
	checked  time.Time
	gone     atomic.Bool // the last check failed
}

var sqliteSuffixes = [3]string{"", "-wal", "-shm"}

// noteFile notes which file is open. A database in memory, or in a file system of the driver, has none.
func (s *database) noteFile(ctx context.Context) error {
	if s.d.postgres {
		return nil
	}
	path, err := s.sqlitePath(ctx)
	if err != nil || path == "" {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		s.file = &sqliteFile{path: path, known: [3]os.FileInfo{info}}
	}
	return nil
}

// inPlace returns [store.ErrReplaced] if another file, or none, is at the path of one that is open. Store.writing guards it,
// and a transaction is open: without one, SQLite may remove its log. As long as one connection writes, the log and the index
// stay the same.
func (f *sqliteFile) inPlace(w *sqliteWriter) error {
	same := w.conn != nil && w.reserved == f.reserved
	for i, suffix := range sqliteSuffixes {
		info, err := os.Stat(f.path + suffix)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case missing && f.known[i] != nil, err == nil && f.known[i] != nil && (i == 0 || same) && !os.SameFile(info, f.known[i]):
			f.gone.Store(true)
			return &translatedError{store.ErrUnavailable, fmt.Errorf("%s%s: %w", f.path, suffix, store.ErrReplaced)}
		case err == nil && i > 0:
			f.known[i] = info
		}
	}
	f.reserved = w.reserved
	f.checked = time.Now()
	f.gone.Store(false)
	return nil
}

// probe is inPlace outside of a transaction: it looks at the database file alone, and repeats what the last transaction found.
func (f *sqliteFile) probe() error {
	info, err := os.Stat(f.path)
	if f.gone.Load() || errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, f.known[0]) {
		return &translatedError{store.ErrUnavailable, fmt.Errorf("%s: %w", f.path, store.ErrReplaced)}
	}
	return nil
}
