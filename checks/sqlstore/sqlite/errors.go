package sqlite

import (
	"errors"

	"modernc.org/sqlite"

	"github.com/rollcall-dev/rollcall/checks/internal/store"
)

// Primary result codes of SQLite that Explain translates.
const (
	busy     = 5
	readOnly = 8
	corrupt  = 11
	full     = 13
	cantOpen = 14
	notADB   = 26
)

// fileError is an error of this package about a file.
type fileError struct {
	path, reason string
	err          error
}

func (e *fileError) Error() string { return "sqlite: " + e.path + " " + e.reason }

func (e *fileError) Unwrap() error { return e.err }

// Is reports that the database is unavailable if the system, or SQLite, said so: that may pass.
func (e *fileError) Is(target error) bool { return target == store.ErrUnavailable && e.err != nil }

// Explain returns what is wrong with the database, for the people who run the program: "is locked by another process",
// "is read-only", "is damaged". It takes the errors of this package, of a store and of the driver, and returns "" for
// any other.
func Explain(err error) string {
	if e, ok := errors.AsType[*fileError](err); ok {
		return e.reason
	}
	code, _ := codeOf(err)
	switch code {
	case busy:
		return "is locked by another process"
	case readOnly:
		return "is read-only"
	case corrupt:
		return "is damaged"
	case full:
		return "cannot grow: the disk is full"
	case cantOpen:
		return "cannot be opened"
	case notADB:
		return "is not an SQLite database"
	}
	return ""
}

// explained turns SQLite's code in an error into words about the file. It returns other errors unchanged.
func explained(path string, err error) error {
	if reason := Explain(err); reason != "" {
		return &fileError{path: path, reason: reason, err: err}
	}
	return err
}

// codeOf returns the primary result code of a driver's error.
func codeOf(err error) (code int, ok bool) {
	coded, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	return coded.Code() & 0xff, true
}
