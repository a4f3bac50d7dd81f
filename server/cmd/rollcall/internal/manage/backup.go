package manage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/rollcall-dev/rollcall/checks/sqlstore/sqlite"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/installation"
)

type BackupCmd struct {
	File  string `arg:"" completion:"file" help:"Path of the new file, which must not exist yet; with --keep, the directory of the backups."`
	Keep  int    `env:"-" placeholder:"N" help:"Write a file named by the time into the directory, then remove all but the newest N backups there."`
	Force bool   `env:"-" help:"Replace the file if it exists."`
	console.JSONFlag
	onlyDatabase
}

func (BackupCmd) Help() string {
	return `The backup is a consistent snapshot. When the file appears, it is complete, checked and synced to disk, and only its owner
can read it. It lacks only the ping bodies in object storage. The command does not migrate the database, so a new version
can back it up before the upgrade.

For a backup each night, --keep names each file by its time, such as rollcall-20261123T030000.000Z.db, and removes the oldest once
the new one is complete. It creates the directory if it is missing, and touches no file with another name. --force replaces the
file in one step: there is always a complete backup under its name. A backup that is killed leaves a file .rollcall-*.tmp, which the
next one in the same directory removes.

To restore a backup, stop the servers, remove the two files beside the database, and copy the backup over it:

    rm -f rollcall.db-wal rollcall.db-shm
    cp backup.db rollcall.db

For PostgreSQL, use its own programs:

    pg_dump --format=custom --file=backup.dump "$ROLLCALL_DATABASE"
    pg_restore --clean --if-exists --single-transaction --no-owner --dbname="$ROLLCALL_DATABASE" backup.dump

With --json: {"file", "bytes", "removed"}, where removed lists the files that --keep has removed.

Examples:

    rollcall backup --database sqlite:/var/lib/rollcall/rollcall.db --keep 14 /backup
    rollcall backup --force rollcall-backup.db`
}

// Validate checks the flags. Kong calls it.
func (c BackupCmd) Validate() error {
	if c.Keep != 0 && c.Force {
		return errors.New("--keep and --force exclude each other: --keep names each backup by its time")
	}
	return cmp.Or(c.onlyDatabase.Validate(), console.AtLeast("--keep", c.Keep, 0))
}

func (c BackupCmd) Run(ctx context.Context, a *App) error {
	d, err := a.database()
	if err != nil {
		return err
	}
	if d.URL != "" {
		return console.Usagef("backup is for SQLite; make a backup of %s with pg_dump, as rollcall backup --help shows", d)
	}
	if err := d.MustExist(); err != nil {
		return err
	}
	db, err := sqlite.OpenDB(ctx, d.Path)
	if err != nil {
		return d.Explain(err)
	}
	defer db.Close()
	document := struct {
		File    string   `json:"file"`
		Bytes   int64    `json:"bytes"`
		Removed []string `json:"removed"`
	}{File: c.File, Removed: []string{}}
	if c.Force && isPart(d, c.File) {
		return fmt.Errorf("backup: %s belongs to the database itself; choose another name", c.File)
	}
	if c.Keep > 0 {
		if err := os.Mkdir(c.File, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("backup: %s: %w", c.File, installation.Reason(err))
		}
		document.File = filepath.Join(c.File, time.Now().UTC().Format(backupName))
	}
	if document.Bytes, err = backUp(ctx, db, document.File, c.Force); err != nil {
		return fmt.Errorf("backup: %w", d.Explain(err))
	}
	if c.Keep > 0 {
		if document.Removed, err = rotate(c.File, filepath.Base(document.File), c.Keep); err != nil {
			return fmt.Errorf("backup: %s is complete, but older ones could not be removed: %w", document.File, err)
		}
	}
	return c.Print(a.Stdout, document, func(w io.Writer) {
		fmt.Fprintf(w, "Copied %s to %s: %d bytes.\n", d, console.Printable(document.File), document.Bytes)
		for _, file := range document.Removed {
			fmt.Fprintf(w, "Removed %s.\n", console.Printable(file))
		}
	})
}

// backupName is the layout of the names that --keep gives, in UTC. Their order is that of their times.
const backupName = "rollcall-20060102T150405.000Z.db"

// rotated matches the names of backups.
var rotated = regexp.MustCompile(`^rollcall-\d{8}T\d{6}\.\d{3}Z\.db$`)

// rotate removes all but the newest backups of a directory. It keeps the latest backup even if the clock has gone back. It returns
// the backups that it has removed.
func rotate(dir, latest string, keep int) ([]string, error) {
	removed := []string{}
	entries, err := os.ReadDir(dir) // by name
	if err != nil {
		return removed, err
	}
	kept := 1 // the latest
	for _, entry := range slices.Backward(entries) {
		if !rotated.MatchString(entry.Name()) || entry.Name() == latest || !entry.Type().IsRegular() {
			continue
		}
		if kept++; kept <= keep {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		switch err := os.Remove(path); {
		case errors.Is(err, fs.ErrNotExist): // another backup has removed it
		case err != nil:
			return removed, err
		default:
			removed = append(removed, path)
		}
	}
	return removed, nil
}

// drafts matches the names of unfinished backups, and draft is the pattern of [os.CreateTemp].
var drafts = regexp.MustCompile(`^\.rollcall-.*\d\.tmp$`)

const draft = ".rollcall-*.tmp"

const (
	// draftAge is the age of a draft that no backup writes any more, where directories cannot be locked.
	draftAge = 24 * time.Hour
	// cleanTime bounds the wait for another backup that removes drafts.
	cleanTime = 2 * time.Second
)

// enter removes the drafts of killed backups from a directory, and locks it until it is closed, together with other backups. Nobody
// else removes drafts from then on. It is no failure if the directory cannot be locked, or drafts of another user stay.
func enter(ctx context.Context, path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() { // to open a named pipe is to wait for its writer
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	alone := tryLock(dir, true) == nil
	entries, _ := os.ReadDir(path)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && drafts.MatchString(entry.Name()) && (alone || time.Since(info.ModTime()) > draftAge) {
			_ = os.Remove(filepath.Join(path, entry.Name()))
		}
	}
	for begin := time.Now(); tryLock(dir, false) == errLocked && time.Since(begin) < cleanTime && ctx.Err() == nil; {
		time.Sleep(10 * time.Millisecond)
	}
	return dir, nil
}

// errLocked is the error of tryLock if another backup has the lock.
var errLocked = errors.New("the directory is locked")

// isPart reports whether a file is the database itself, or one of the files beside it.
func isPart(d installation.Database, file string) bool {
	info, err := os.Stat(file)
	if err != nil {
		return false
	}
	return slices.ContainsFunc([]string{"", "-wal", "-shm"}, func(suffix string) bool {
		part, err := os.Stat(d.Path + suffix)
		return err == nil && os.SameFile(info, part)
	})
}

// backUp copies an SQLite database into a file and returns its size in bytes. The file gets its name last, so that a crash leaves a
// complete backup or none. It replaces an existing file only with force.
func backUp(ctx context.Context, db *sql.DB, file string, force bool) (size int64, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = 'rollcall_schema'").Scan(&tables); err != nil {
		return 0, err
	} else if tables == 0 {
		return 0, errors.New("the database has no rollcall tables; check --database")
	}
	if info, err := os.Lstat(file); err == nil && (!force || info.IsDir()) {
		return 0, fmt.Errorf("%s: the file exists already; %s", file, existsAdvice)
	}
	file, err = filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	dir, err := enter(ctx, filepath.Dir(file))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, installation.Reason(err))
	}
	defer dir.Close()
	draft, err := os.CreateTemp(dir.Name(), draft) // readable only by its owner
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, installation.Reason(err))
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
	return info.Size(), publish(draft.Name(), file, force)
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

// existsAdvice says what to do if the file of a backup exists.
const existsAdvice = "choose another name, --force to replace a backup, or --keep with a directory"

// publish gives a finished file its name. It replaces an existing file only with force.
func publish(draft, file string, force bool) error {
	var err error
	if !force {
		err = os.Link(draft, file)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: the file exists already; %s", file, existsAdvice)
	} else if err != nil || force { // the file system may have no links
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
