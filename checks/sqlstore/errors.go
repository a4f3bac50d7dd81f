package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// The primary result codes of SQLite that translate needs.
const (
	sqliteError      = 1
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteReadOnly   = 8
	sqliteInterrupt  = 9
	sqliteCorrupt    = 11
	sqliteFull       = 13
	sqliteCantOpen   = 14
	sqliteProtocol   = 15
	sqliteTooBig     = 18
	sqliteConstraint = 19
	sqliteMismatch   = 20
	sqliteNotADB     = 26

	// Extended codes of unique violations.
	sqliteConstraintPrimaryKey = 1555
	sqliteConstraintUnique     = 2067
)

// ErrNotMigrated means that the database lacks Rollcall's tables, or columns of this version: nobody has called
// [Store.Migrate]. [Open] does, and so do the functions Open of packages sqlite and postgres.
var ErrNotMigrated = errors.New("sqlstore: the database is not migrated: open the store with sqlstore.Open, or call its Migrate at each start")

// translate turns a driver's error, by its code, into an error of packages checks and store. All of them are outages but
// those that refuse the data of the transaction. It imports no driver: the errors of PostgreSQL drivers have a method
// SQLState, those of SQLite drivers a method Code.
func translate(err error) error {
	if err == nil {
		return nil
	}
	_, done := errors.AsType[*translatedError](err)
	if _, partly := errors.AsType[*partError](err); done || partly { // by a method within the transaction
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return checks.ErrNotFound
	}
	if !errors.Is(err, store.ErrUnavailable) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	if f := faultOf(err); f != "" {
		err = &translatedError{f, err}
	}
	switch state, _ := sqlState(err); {
	case away(err):
		return &translatedError{store.ErrUnavailable, err}
	case notUnique(err):
		return &translatedError{checks.ErrExists, &translatedError{store.ErrRefused, err}}
	case refused(err):
		return &translatedError{store.ErrRefused, err}
	case notMigrated(err):
		return &partError{ErrNotMigrated, err}
	case state == "26000" || state == "42P05": // missing, or there already
		err = fmt.Errorf("sqlstore: a connection pooler loses prepared statements; pgx needs default_query_exec_mode=cache_describe: %w", err)
	case !coded(err):
		return err
	}
	return &partError{err: err}
}

// translate is the function of that name, which knows that a newer version has migrated the database.
func (l lookup) translate(err error) error {
	err = translate(err)
	part, partly := errors.AsType[*partError](err)
	refusal, refused := errors.AsType[*translatedError](err)
	refused = refused && refusal.meaning == store.ErrRefused // such as of a new column that may not be null
	switch {
	case !partly && !refused || l.schema == nil || !l.schema.newer():
		return err
	case partly:
		part.meaning = ErrNewerSchema
		return err
	}
	return &partError{ErrNewerSchema, refusal.err}
}

// partError is a driver's error as a [store.ErrPartly], and what it may mean, or nil.
type partError struct{ meaning, err error }

func (e *partError) Error() string {
	if e.meaning == nil {
		return store.ErrPartly.Error() + ": " + e.err.Error()
	}
	return store.ErrPartly.Error() + ": " + e.meaning.Error() + ": " + e.err.Error()
}

func (e *partError) Unwrap() []error {
	if e.meaning == nil {
		return []error{store.ErrPartly, e.err}
	}
	return []error{store.ErrPartly, e.meaning, e.err}
}

// faultOf returns what is wrong with the database itself, or "".
func faultOf(err error) store.Fault {
	const damaged, full, readOnly = "is damaged: restore a backup", "cannot grow: the disk is full", "is read-only"
	switch state, _ := sqlState(err); state {
	case "XX001", "XX002":
		return damaged
	case "53100":
		return full
	case "25006":
		return readOnly
	}
	switch code, _ := sqliteCode(err); code & 0xff {
	case sqliteBusy, sqliteProtocol:
		return "is locked by another process"
	case sqliteCorrupt, sqliteNotADB:
		return damaged
	case sqliteFull:
		return full
	case sqliteReadOnly:
		return readOnly
	case sqliteCantOpen:
		return "cannot be opened"
	}
	return ""
}

// coded reports whether an error has a code of a database.
func coded(err error) bool {
	_, postgres := sqlState(err)
	_, sqlite := sqliteCode(err)
	return postgres || sqlite
}

// refused reports whether the database refuses the data: a value, or a row that breaks a constraint.
func refused(err error) bool {
	if state, ok := sqlState(err); ok {
		return state[:2] == "22" || state[:2] == "23"
	}
	code, _ := sqliteCode(err)
	switch code & 0xff {
	case sqliteTooBig, sqliteConstraint, sqliteMismatch:
		return true
	}
	return false
}

// translatedError is a driver's error with its meaning.
type translatedError struct{ meaning, err error }

func (e *translatedError) Error() string { return e.meaning.Error() + ": " + e.err.Error() }

func (e *translatedError) Unwrap() []error { return []error{e.meaning, e.err} }

// notMigrated reports whether the database does not know a table or a column. SQLite has no codes for that.
func notMigrated(err error) bool {
	if state, ok := sqlState(err); ok {
		return state == "42P01" || state == "42703"
	}
	if code, ok := sqliteCode(err); !ok || code != sqliteError {
		return false
	}
	text := err.Error()
	return strings.Contains(text, "no such table: ") || strings.Contains(text, "no such column: ") || strings.Contains(text, "has no column named ")
}

// notUnique reports whether an error is a unique violation.
func notUnique(err error) bool {
	if state, ok := sqlState(err); ok {
		return state == "23505"
	}
	code, ok := sqliteCode(err)
	return ok && (code == sqliteConstraintPrimaryKey || code == sqliteConstraintUnique)
}

// away reports whether an error concerns the whole database, and not just some of its rows.
func away(err error) bool {
	if errors.Is(err, store.ErrUnavailable) { // a driver that knows
		return !errors.Is(err, store.ErrPartly)
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if unsent(err) {
		return true
	}
	if state, ok := sqlState(err); ok {
		switch state[:2] {
		case "08", "28", "3D", "53", "57": // connection, authorization, no such database, resources, operator intervention
			return true
		}
		return retryable(err)
	}
	if code, ok := sqliteCode(err); ok {
		switch code & 0xff {
		case sqliteBusy, sqliteLocked, sqliteReadOnly, sqliteInterrupt, sqliteFull, sqliteCantOpen, sqliteProtocol, sqliteNotADB:
			return true
		}
	}
	return false
}

// locked reports whether another process kept SQLite's file locked for longer than the busy timeout.
func locked(err error) bool {
	code, _ := sqliteCode(err)
	return code&0xff == sqliteBusy
}

// retryable reports whether the transaction had no effect and may succeed if it is run again.
func retryable(err error) bool {
	switch state, _ := sqlState(err); state {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "25006": // read-only, such as a former primary: package postgres connects to another
		return true
	}
	return false
}

// disconnected reports whether an open connection turned out to be dead. A failure to connect does not count, because
// an immediate retry would not help.
func disconnected(err error) bool {
	if network, ok := errors.AsType[*net.OpError](err); ok {
		return network.Op != "dial" && !network.Timeout()
	}
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || unsent(err) {
		return true
	}
	state, ok := sqlState(err)
	return ok && (state == "57P01" || state == "57P02") // ended by an administrator, or by a crash of the server
}

// unsent reports whether a PostgreSQL driver failed before it sent the query, because the connection was closed.
func unsent(err error) bool {
	var safe interface{ SafeToRetry() bool }
	return errors.As(err, &safe) && safe.SafeToRetry()
}

func sqlState(err error) (string, bool) {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && len(coded.SQLState()) == 5 {
		return coded.SQLState(), true
	}
	return "", false
}

func sqliteCode(err error) (int, bool) {
	var coded interface{ Code() int }
	if errors.As(err, &coded) {
		return coded.Code(), true
	}
	return 0, false
}
