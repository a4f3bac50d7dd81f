package server

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

// flipRange reads the query parameters seconds, start and end of server/API.md section 4.10: whole numbers in decimal
// digits, of which an absent one sets no bound. Any other value is a *[checks.FieldError].
func flipRange(query url.Values) (r flips.Range, err error) {
	seconds, given, err := wholeNumber(query, "seconds", checks.MaxFlipSeconds)
	if err != nil {
		return flips.Range{}, err
	}
	if given {
		// The least duration stands for 0 seconds: it selects no flip before now.
		r.Last = max(time.Duration(seconds)*time.Second, time.Nanosecond)
	}
	start, given, err := wholeNumber(query, "start", checks.MaxFlipTimestamp)
	if err != nil {
		return flips.Range{}, err
	}
	if given { // only flips newer than this, and flips count microseconds
		r.From = time.Unix(start, 0).UTC().Add(time.Microsecond)
	}
	end, given, err := wholeNumber(query, "end", checks.MaxFlipTimestamp)
	if err != nil {
		return flips.Range{}, err
	}
	if given {
		r.Until = time.Unix(end, 0).UTC()
	}
	return r, nil
}

// wholeNumber reads a query parameter from 0 to a maximum.
func wholeNumber(query url.Values, name string, maximum int64) (n int64, given bool, err error) {
	if !query.Has(name) {
		return 0, false, nil
	}
	refuse := func(format string, args ...any) (int64, bool, error) {
		return 0, false, &checks.FieldError{Field: name, Reason: fmt.Sprintf(format, args...)}
	}
	text := query.Get(name)
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return refuse("is not a whole number: %q", cut(text))
	}
	// With digits only, the one possible error is a number beyond 64 bits.
	n, err = strconv.ParseInt(digits, 10, 64)
	switch {
	case negative && (err != nil || n > 0):
		return refuse("is too small: %s, the minimum is 0", cut(text))
	case err != nil || n > maximum:
		return refuse("is too large: %s, the maximum is %d", cut(text), maximum)
	}
	return n, true, nil
}

// cut shortens a value for the text of an error.
func cut(value string) string { return prose.Brief(value, 40) }
