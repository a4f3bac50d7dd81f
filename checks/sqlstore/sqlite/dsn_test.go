package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

// TestFileNames opens files with names of all kinds and asks SQLite for its settings.
func TestFileNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, path := range []string{
		"a.db", "./b.db", filepath.Join(dir, "c.db"), "d?mode=ro#x.db", "%41.db", "e é 日.db", "f:g.db", "a&b=c.db", "/" + dir + "/h.db",
		filepath.Join(dir, "x?y", "..", "i%3f.db"),
	} {
		db, err := sqlite.OpenWithin(t.Context(), path, 1234*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "busy_timeout": "1234", "foreign_keys": "1", "wal_autocheckpoint": "16000",
			"cache_size": "-2000",
		} {
			var got any
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %s is %v, want %s; error %v", path, pragma, got, want, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(filepath.Clean(path))
		if err != nil || info.Size() == 0 {
			t.Errorf("SQLite has created another file: %v", err)
		} else if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
	}
}
