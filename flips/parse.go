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
	// MaxTimestamp is the largest value of the query parameters start and end, in seconds since 1970-01-01 UTC. It is
	// in November 2286.
	MaxTimestamp = 10_000_000_000
)

// A Problem says what is wrong with a query parameter.
type Problem int

const (
	// NotWhole means that the value is not a whole number in decimal digits.
	NotWhole Problem = iota
	// TooSmall means that the value is below the bound.
	TooSmall
	// TooLarge means that the value is above the bound.
	TooLarge
)

// A QueryError is the error of an invalid query parameter of server/API.md section 4.10. Its text may be shown to the
// client.
type QueryError struct {
	// Param is the name of the parameter: "seconds", "start" or "end".
	Param string
	// Value is the value as the client sent it.
	Value   string
	Problem Problem
	// Bound is the bound that the value exceeds: 0 for [TooSmall], [MaxSeconds] or [MaxTimestamp] for [TooLarge]. It is
	// unused for [NotWhole].
	Bound int64
}

// Error names the parameter, its value and the bound, such as "seconds is too large: 31536001, the maximum is
// 31536000". It cuts a long value.
func (e *QueryError) Error() string {
	switch e.Problem {
	case TooSmall:
		return fmt.Sprintf("%s is too small: %s, the minimum is %d", e.Param, cut(e.Value), e.Bound)
	case TooLarge:
		return fmt.Sprintf("%s is too large: %s, the maximum is %d", e.Param, cut(e.Value), e.Bound)
	}
	return fmt.Sprintf("%s is not a whole number: %q", e.Param, cut(e.Value))
}

func cut(value string) string {
	const most = 40
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}

// ParseWindow reads a [Window] from the query parameters seconds, start and end of server/API.md section 4.10.
//
// It calls get for each parameter; get returns the value and whether the parameter is present. An absent parameter sets
// no bound. For a [net/url.Values] q, get is
//
//	func(name string) (string, bool) { return q.Get(name), q.Has(name) }
//
// All three are whole numbers in decimal digits: seconds from 0 to [MaxSeconds], start and end UNIX timestamps from 0
// to [MaxTimestamp]. Any other value, including the empty one, is a [*QueryError]. The least duration, one nanosecond,
// stands for 0 seconds: it selects no flip in whole microseconds before now.
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
	w := Window{Start: instant(start), End: instant(end)}
	if seconds != nil {
		w.Last = max(time.Duration(*seconds)*time.Second, time.Nanosecond)
	}
	return w, nil
}

// parseParam reads one parameter. It returns nil if the parameter is absent.
func parseParam(get func(string) (string, bool), name string, maximum int64) (*int64, error) {
	text, present := get(name)
	if !present {
		return nil, nil
	}
	digits, negative := strings.CutPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, &QueryError{Param: name, Value: text, Problem: NotWhole}
	}
	// With digits only, the one possible error is a number beyond 64 bits.
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case negative && (err != nil || n > 0):
		return nil, &QueryError{Param: name, Value: text, Problem: TooSmall, Bound: 0}
	case err != nil || n > maximum:
		return nil, &QueryError{Param: name, Value: text, Problem: TooLarge, Bound: maximum}
	}
	return &n, nil
}

// instant returns the instant of a UNIX timestamp, or the zero time for nil.
func instant(timestamp *int64) time.Time {
	if timestamp == nil {
		return time.Time{}
	}
	return time.Unix(*timestamp, 0).UTC()
}
