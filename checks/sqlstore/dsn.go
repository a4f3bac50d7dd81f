package sqlstore

import (
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// SQLiteDSN returns the data source name with which the driver modernc.org/sqlite opens an SQLite file, making it if
// need be, with the settings that a [Store] is made for: write-ahead logging, so that readers and the writer work at the
// same time; synchronous=FULL, without which the last commits, and with them pings that were acknowledged, can be lost
// with the power; up to 64 MB of log between two checkpoints, and 32 MB of cache for each connection. Any path works,
// with characters that mean something in a URI, too.
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
		// Transactions of the store write. The driver applies this to explicit transactions only, so reads take
		// no lock.
		"_txlock": {"immediate"},
		// In pages of 4 kB: fewer of them are written when the same ones change again and again.
		"_pragma": {"wal_autocheckpoint(16000)", "cache_size(-32000)"},
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}
