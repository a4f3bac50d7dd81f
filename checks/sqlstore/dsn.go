package sqlstore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// SQLiteDSN returns the data source name of an SQLite file for the driver modernc.org/sqlite, which creates the file if
// necessary. It has the recommended settings: write-ahead logging, so that readers and the writer work at the same
// time; synchronous=FULL, without which a power failure can lose acknowledged pings; checkpoints after 64 MB of log; 32
// MB of page cache for each connection. The path may contain any character.
//
// busy is how long a statement waits for another process that writes to the file, in whole milliseconds; 10 seconds is
// a good choice.
func SQLiteDSN(path string, busy time.Duration) string {
	drive := filepath.VolumeName(path) != ""
	path = filepath.ToSlash(filepath.Clean(path))
	if drive {
		path = "/" + path
	}
	query := url.Values{
		"_busy_timeout": {fmt.Sprint(busy.Milliseconds())},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		// The store's transactions write. The driver applies this to explicit transactions only, so reads take no lock.
		"_txlock": {"immediate"},
		// In pages of 4 kB. Late checkpoints write fewer pages, because pings change the same ones again and again.
		"_pragma": {"wal_autocheckpoint(16000)", "cache_size(-32000)"},
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
