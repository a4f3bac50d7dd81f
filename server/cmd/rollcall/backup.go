package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
)

type backupCmd struct {
	File string `arg:"" completion:"file" help:"Path of the new file, which must not exist yet."`
	jsonFlag
}

func (backupCmd) Help() string {
	return `The backup is a consistent snapshot. When the file appears, it is complete, checked and synced to disk, and only its owner
can read it. It lacks only the ping bodies in object storage. The command does not migrate the database, so a new version
can back it up before the upgrade.

To restore a backup, stop the servers, remove the two files beside the database, and copy the backup over it:

    rm -f rollcall.db-wal rollcall.db-shm
    cp backup.db rollcall.db

For PostgreSQL, use its own programs:

    pg_dump --format=custom --file=backup.dump "$ROLLCALL_DATABASE"
    pg_restore --clean --if-exists --single-transaction --no-owner --dbname="$ROLLCALL_DATABASE" backup.dump

With --json: {"file", "bytes"}.

Example:

    rollcall backup --database sqlite:/var/lib/rollcall.db /backup/rollcall-$(date +%F).db`
}

func (c backupCmd) Run(ctx context.Context, a *app) error {
	d, err := parseDatabase(a.database)
	if err != nil {
		return err
	}
	if d.url != "" {
		return usagef("backup is for SQLite; make a backup of %s with pg_dump, as rollcall backup --help shows", d)
	}
	if err := d.mustExist(); err != nil {
		return err
	}
	db, err := sqlite.OpenDB(ctx, d.path)
	if err != nil {
		return d.explain(err)
	}
	defer db.Close()
	size, err := backUp(ctx, db, c.File)
	if err != nil {
		return fmt.Errorf("backup: %w", d.explain(err))
	}
	document := struct {
		File  string `json:"file"`
		Bytes int64  `json:"bytes"`
	}{c.File, size}
	return c.print(a.stdout, document, func(w io.Writer) {
		fmt.Fprintf(w, "Copied %s to %s: %d bytes.\n", d, printable(c.File), size)
	})
}

// backUp copies an SQLite database into a new file and returns its size in bytes. The file gets its name last, so that a
// crash leaves a complete backup or none.
func backUp(ctx context.Context, db *sql.DB, file string) (size int64, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'rollcall_schema'").Scan(&tables); err != nil {
		return 0, err
	} else if tables == 0 {
		return 0, errors.New("the database has no rollcall tables; check --database")
	}
	if _, err := os.Lstat(file); err == nil {
		return 0, fmt.Errorf("%s: the file exists already; choose another name", file)
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.tmp") // readable only by its owner
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, reason(err))
	}
	defer os.Remove(draft.Name())
	defer draft.Close()
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", draft.Name()); err != nil {
		return 0, err
	}
	if err := checkCopy(ctx, draft.Name()); err != nil {
		return 0, err
	}
	if err := draft.Sync(); err != nil {
		return 0, err
	}
	info, err := draft.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), publish(draft.Name(), file)
}

// checkCopy reads the whole copy and reports damage. Otherwise nobody would notice a damaged backup before the restore.
func checkCopy(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", "file://"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?mode=ro&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	var result string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("the database is damaged: %s", result)
	}
	return nil
}

// publish gives a finished file its name. It does not replace an existing file.
func publish(draft, file string) error {
	if err := os.Link(draft, file); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: the file exists already; choose another name", file)
	} else if err != nil { // the file system may have no links
		if err := os.Rename(draft, file); err != nil {
			return err
		}
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	defer dir.Close()
	_ = dir.Sync() // not all systems can sync a directory
	return nil
}
