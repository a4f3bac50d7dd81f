package sqlstore_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore"
)

// TestSQLiteDSN opens files with names of all kinds and asks SQLite for its settings.
func TestSQLiteDSN(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, path := range []string{
		"a.db", "./b.db", filepath.Join(dir, "c.db"), "d?mode=ro#x.db", "%41.db", "e é 日.db", "f:g.db", "a&b=c.db", "/" + dir + "/h.db",
		filepath.Join(dir, "x?y", "..", "i%3f.db"),
	} {
		db, err := sql.Open("sqlite", sqlstore.SQLiteDSN(path, 1234*time.Millisecond))
		must(t, err)
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "synchronous": "2", "busy_timeout": "1234", "foreign_keys": "1", "wal_autocheckpoint": "16000",
			"cache_size": "-32000",
		} {
			var got any
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %s is %v, want %s; error %v", path, pragma, got, want, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Clean(path)); err != nil {
			t.Errorf("SQLite has created another file: %v", err)
		}
	}
}
