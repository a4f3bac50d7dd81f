package flips

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxSeconds is the largest value of the query parameter seconds: 365 days.
	MaxSeconds = 31_536_000
	// MaxTimestamp is the largest value of the query parameters start and end,
	// in seconds since 1970-01-01 UTC. It lies in November 2286.
	MaxTimestamp = 10_000_000_000
)

// A Problem is what is wrong with a query parameter.
type Problem int

const (
	// NotWhole means that the value is not a whole number in decimal digits.
	NotWhole Problem = iota
	// TooSmall means that the value is below the bound.
	TooSmall
	// TooLarge means that the value is above the bound.
	TooLarge
)

// A QueryError tells which query parameter of API-V3.md section 4.10 is invalid
// and why. Its text is fit to be shown to the sender of the query.
type QueryError struct {
	// Param is the name of the parameter: "seconds", "start" or "end".
	Param string
	// Value is the value as it was given.
	Value string
	// Problem is what is wrong with the value.
	Problem Problem
	// Bound is the bound that the value exceeds: 0 for [TooSmall], [MaxSeconds]
	// or [MaxTimestamp] for [TooLarge]. It means nothing for [NotWhole].
	Bound int64
}

// Error names the parameter, its value and, where there is one, the bound, such
// as "seconds is too large: 31536001, the maximum is 31536000". A long value is
// cut.
func (e *QueryError) Error() string {
	switch e.Problem {
	case TooSmall:
		return fmt.Sprintf("%s is too small: %s, the minimum is %d", e.Param, cut(e.Value), e.Bound)
	case TooLarge:
		return fmt.Sprintf("%s is too large: %s, the maximum is %d", e.Param, cut(e.Value), e.Bound)
	}
	return fmt.Sprintf("%s is not a whole number: %q", e.Param, cut(e.Value))
}

// cut shortens a value for an error text.
func cut(value string) string {
	const most = 40
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}

// ParseWindow reads a [Window] from the query parameters of API-V3.md section
// 4.10. It asks get for the parameters seconds, start and end; get returns the
// value and whether the parameter is present. A parameter that is absent sets
// no bound. With a [net/url.Values] q, get is
//
//	func(name string) (string, bool) { return q.Get(name), q.Has(name) }
//
// All three are whole numbers in decimal digits: seconds from 0 to
// [MaxSeconds], start and end UNIX timestamps from 0 to [MaxTimestamp], in
// seconds. Anything else, the empty value included, is a [*QueryError].
func ParseWindow(get func(name string) (value string, present bool)) (Window, error) {
	seconds, err := parseParam(get, "seconds", MaxSeconds)
	if err != nil {
		return Window{}, err
	}
	start, err := parseParam(get, "start", MaxTimestamp)
	if err != nil {
		return Window{}, err
	}
	end, err := parseParam(get, "end", MaxTimestamp)
	if err != nil {
		return Window{}, err
	}
	return Window{Seconds: seconds, Start: instant(start), End: instant(end)}, nil
}

// parseParam reads one parameter: nil when it is absent.
func parseParam(get func(string) (string, bool), name string, maximum int64) (*int64, error) {
	text, present := get(name)
	if !present {
		return nil, nil
	}
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, &QueryError{Param: name, Value: text, Problem: NotWhole}
	}
	// Digits only: the one error left is a number beyond 64 bits.
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case negative && (err != nil || n > 0):
		return nil, &QueryError{Param: name, Value: text, Problem: TooSmall, Bound: 0}
	case err != nil || n > maximum:
		return nil, &QueryError{Param: name, Value: text, Problem: TooLarge, Bound: maximum}
	}
	return &n, nil
}

// instant returns the instant of a UNIX timestamp, the zero time for nil.
func instant(timestamp *int64) time.Time {
	if timestamp == nil {
		return time.Time{}
	}
	return time.Unix(*timestamp, 0).UTC()
}
