package console

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// Exit statuses.
const (
	ExitOK    = 0
	ExitError = 1 // the command failed
	ExitUsage = 2 // the command line is wrong
)

// usageError is the error of a wrong command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage makes an error one of a wrong command line, whose exit status is [ExitUsage].
func Usage(err error) error { return usageError{err} }

// Usagef formats the error of a wrong command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Fail prints an error on one line and returns its exit status.
func Fail(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "rollcall: %s\n", OneLine(err.Error()))
	if IsUsage(err) {
		return ExitUsage
	}
	return ExitError
}

// IsUsage reports whether the command line is wrong, whatever is in the database.
func IsUsage(err error) bool {
	return errors.As(err, new(usageError)) || errors.As(err, new(*checks.FieldError)) ||
		errors.As(err, new(*channels.KindError)) || errors.As(err, new(*channels.SettingError))
}

// Missing replaces [checks.ErrNotFound] by an error that names the missing object. It returns any other error unchanged.
func Missing(err error, format string, args ...any) error {
	if errors.Is(err, checks.ErrNotFound) {
		return fmt.Errorf(format+" does not exist", args...)
	}
	return err
}

// PlainError removes the name of the package from an error of the client.
func PlainError(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "client: ")) }

// NetReason returns the cause of a network error, without the address.
func NetReason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		err = call.Err
	}
	return err
}
