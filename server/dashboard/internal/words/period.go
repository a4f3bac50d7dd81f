package words

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rollcall-dev/rollcall/checks"
)

const day = 24 * time.Hour

// periodUnits are the units of periods as people write them.
var periodUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": day, "day": day, "days": day,
	"w": 7 * day, "wk": 7 * day, "week": 7 * day, "weeks": 7 * day,
}

// longestPeriod bounds what ParsePeriod reads, far above the bounds of any setting.
const longestPeriod = 100_000 * day

// ParsePeriod reads a period as people write it: "90 min", "1 day", "2h30m", "1.5 h", "1 h 30 min". It has whole seconds.
// The text of
// the error follows the name of the setting: "has no unit: …".
func ParsePeriod(text string) (time.Duration, error) {
	rest := strings.ToLower(strings.TrimSpace(text))
	if rest == "" {
		return 0, errors.New("is missing: write it like 90 min")
	}
	var sum time.Duration
	seen := map[time.Duration]bool{}
	for rest != "" {
		end := strings.IndexFunc(rest, func(r rune) bool { return !(r >= '0' && r <= '9' || r == '.') })
		if end < 0 {
			days := map[bool]string{true: "day", false: "days"}[rest == "1"]
			return 0, fmt.Errorf("has no unit: write %s min, %[1]s h or %[1]s %s", Cut(rest, 20), days)
		}
		number := rest[:end]
		rest = strings.TrimLeftFunc(rest[end:], unicode.IsSpace)
		end = strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) })
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		rest = strings.TrimLeftFunc(rest[end:], unicode.IsSpace)
		part, unit, err := periodPart(number, name)
		if err != nil {
			return 0, err
		}
		if seen[unit] {
			return 0, fmt.Errorf("has a unit twice: %s", name)
		}
		seen[unit] = true
		if sum += part; sum > longestPeriod {
			return 0, errors.New("is too long")
		}
	}
	if sum%time.Second != 0 {
		return 0, errors.New("is not a whole number of seconds")
	}
	return sum, nil
}

// periodPart multiplies a number with its unit.
func periodPart(number, name string) (part, unit time.Duration, err error) {
	if number == "" || name == "" {
		return 0, 0, errors.New("is not a period: write it like 90 min, 2 h 30 min or 1 day")
	}
	unit, ok := periodUnits[name]
	if strings.HasPrefix(name, "mo") || strings.HasPrefix(name, "y") {
		return 0, 0, errors.New("has months or years, which differ in length: write days, such as 30 days")
	}
	if !ok {
		return 0, 0, fmt.Errorf("has an unknown unit: %s. Use s, min, h, days or weeks", Cut(name, 20))
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n > float64(longestPeriod/time.Second) {
		return 0, 0, fmt.Errorf("has a number that does not fit: %s", Cut(number, 20))
	}
	if n*float64(unit) > float64(longestPeriod) {
		return 0, 0, errors.New("is too long")
	}
	// To the microsecond, so that 0.1 min is 6 s.
	return time.Duration(n*float64(unit) + 0.5).Round(time.Microsecond), unit, nil
}

// SpellPeriod writes a period of whole seconds exactly, in a form that ParsePeriod reads: "1 h 30 min", "7 days".
func SpellPeriod(d time.Duration) string {
	if d == 0 {
		return "0 s"
	}
	var parts []string
	for _, u := range []struct {
		size time.Duration
		name string
	}{{day, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if n := d / u.size; n > 0 {
			name := u.name
			if n == 1 && u.size == day {
				name = "day"
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
			d %= u.size
		}
	}
	return strings.Join(parts, " ")
}

// Period reads the period of a setting as people write it. The error is a *[checks.FieldError] that names bounds in the same
// way.
func Period(s checks.Setting, text string) (time.Duration, error) {
	if s.Optional && strings.TrimSpace(text) == "" {
		return 0, nil
	}
	d, err := ParsePeriod(text)
	if err != nil {
		return 0, &checks.FieldError{Field: s.Name, Reason: err.Error()}
	}
	switch {
	case d == 0 && s.Optional:
	case d < checks.MinPeriod:
		return 0, &checks.FieldError{Field: s.Name, Reason: "is too short: " + SpellPeriod(d) + ", the minimum is " + SpellPeriod(checks.MinPeriod)}
	case d > checks.MaxPeriod:
		return 0, &checks.FieldError{Field: s.Name, Reason: "is too long: " + SpellPeriod(d) + ", the maximum is " + SpellPeriod(checks.MaxPeriod)}
	}
	return d, nil
}
