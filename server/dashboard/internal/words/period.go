package words

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

const day = 24 * time.Hour

// ParsePeriod reads a period of whole seconds by the rules of [checks.ParseDuration], with a unit: people mean minutes or days by a
// bare number. The text of the error follows the name of the setting: "has no unit: …".
func ParsePeriod(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return 0, errors.New("is missing: write it like 90 min")
	case strings.Trim(text, "0123456789") == "":
		days := map[bool]string{true: "day", false: "days"}[text == "1"]
		return 0, fmt.Errorf("has no unit: write %s min, %[1]s h or %[1]s %s", Cut(text, 20), days)
	}
	d, err := checks.ParseDuration(text)
	if err == nil && d%time.Second != 0 {
		err = errors.New("is not a whole number of seconds")
	}
	return d, err
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
