package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ParseUUID reads a UUID in its canonical form, in any case.
func ParseUUID(text string) (id uuid.UUID, ok bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && len(text) == len(id.String())
}

// AtLeast checks the value of a flag against its minimum.
func AtLeast[T cmp.Ordered](flag string, value, least T) error {
	if value < least {
		return fmt.Errorf("%s: is too small: %v, the minimum is %v", flag, value, least)
	}
	return nil
}

// Address is an http or https URL without a trailing slash. The zero value means that there is none.
type Address string

// UnmarshalText reads a URL to which paths can be appended.
func (a *Address) UnmarshalText(text []byte) error {
	u, err := url.Parse(string(text))
	switch {
	case err != nil:
		return errors.New("is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("has no host")
	case strings.Contains(u.Hostname(), "%"): // an IPv6 zone is only valid on its own machine
		return errors.New("must not have a zone in its host")
	case u.User != nil:
		return errors.New("must not have a user name or password")
	case u.RawQuery != "" || u.ForceQuery:
		return errors.New("must not have a query")
	case u.Fragment != "" || strings.HasSuffix(string(text), "#"):
		return errors.New("must not have a fragment")
	}
	*a = Address(strings.TrimRight(u.String(), "/"))
	return nil
}

// Instant is a time with its offset.
type Instant struct{ time.Time }

// UnmarshalText reads a time in the form of RFC 3339.
func (t *Instant) UnmarshalText(text []byte) (err error) {
	if t.Time, err = time.Parse(time.RFC3339, string(text)); err != nil {
		return fmt.Errorf("%q is not a time such as 2026-01-02T15:04:05Z or 2026-01-02T15:04:05+02:00", text)
	}
	return nil
}

// EnvPrefix begins the environment variable of every flag.
const EnvPrefix = "ROLLCALL_"
