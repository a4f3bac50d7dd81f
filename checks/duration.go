package checks

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// durationUnits are the units of durations as people write them.
var durationUnits = map[string]time.Duration{
	"ns": time.Nanosecond, "us": time.Microsecond, "µs": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": week, "wk": week, "week": week, "weeks": week,
}

// maxDuration bounds what ParseDuration reads, far above the bounds of any setting.
const maxDuration = 100_000 * day

// ParseDuration reads a duration as people write it: 90s, 1h30m, 1d12h, 2w, "90 min", "1.5 hours", or a whole number of seconds.
// What [time.Duration.String] writes is read too, unless it is negative. The error completes a sentence that begins with the
// name of the value: "has an unknown unit: parsecs. …".
func ParseDuration(text string) (time.Duration, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	switch {
	case strings.HasPrefix(rest, "-"):
		return 0, errors.New("must not be negative")
	case rest != "" && strings.Trim(rest, "0123456789") == "":
		rest += "s"
	case rest == "":
		return 0, errNoDuration
	}
	var sum time.Duration
	seen := map[time.Duration]bool{}
	for rest != "" {
		number, name, next := cutPart(rest)
		part, unit, err := durationPart(number, name)
		switch {
		case number == "", name == "" && next != "":
			return 0, errNoDuration
		case err != nil:
			return 0, err
		case seen[unit]:
			return 0, fmt.Errorf("has a unit twice: %s", name)
		}
		seen[unit], rest = true, next
		if sum += part; sum > maxDuration {
			return 0, errors.New("is too long")
		}
	}
	return sum, nil
}

var errNoDuration = errors.New("is not a duration such as 90s, 30 min, 1h30m or 1 day")

// cutPart cuts a number and its unit from the start of a text.
func cutPart(text string) (number, name, rest string) {
	cut := func(in func(rune) bool) (part string) {
		end := strings.IndexFunc(text, func(r rune) bool { return !in(r) })
		if end < 0 {
			end = len(text)
		}
		part, text = text[:end], strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		return part
	}
	number = cut(func(r rune) bool { return r >= '0' && r <= '9' || r == '.' })
	return number, cut(unicode.IsLetter), text
}

// durationPart multiplies a number with its unit.
func durationPart(number, name string) (part, unit time.Duration, err error) {
	unit, known := durationUnits[name]
	switch {
	case name == "":
		return 0, 0, fmt.Errorf("has no unit: write %s min, %[1]s h or %[1]s days", prose.Brief(number, 20))
	case !known && (strings.HasPrefix(name, "mo") || strings.HasPrefix(name, "y")):
		return 0, 0, errors.New("has months or years, which differ in length: write days, such as 30 days")
	case !known:
		return 0, 0, fmt.Errorf("has an unknown unit: %s. Use s, min, h, days or weeks", prose.Brief(name, 20))
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("has a number that does not fit: %s", prose.Brief(number, 20))
	}
	if n*float64(unit) > float64(maxDuration) {
		return 0, 0, errors.New("is too long")
	}
	if unit < time.Microsecond {
		return time.Duration(n * float64(unit)), unit, nil
	}
	// To the microsecond, so that 0.1 min is 6 s.
	return time.Duration(n*float64(unit) + 0.5).Round(time.Microsecond), unit, nil
}
