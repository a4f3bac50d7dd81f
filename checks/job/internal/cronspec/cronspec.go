// Package cronspec turns schedules of github.com/robfig/cron/v3 into settings of checks, for the packages that report the
// jobs of a scheduler. It does not import the scheduler, which would come into the graph of every program on Rollcall.
package cronspec

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Schedule is a cron.Schedule.
type Schedule interface {
	// Next returns the next time after t, or the zero time.
	Next(t time.Time) time.Time
}

// fields are those of a cron.SpecSchedule: sets of numbers, with the bit star.
type fields = struct {
	Second, Minute, Hour, Dom, Month, Dow uint64
	Location                              *time.Location
}

// Of returns the settings of a check for a schedule of the scheduler: Schedule and TZ for an expression, or Timeout
// for a constant delay ("@every 1h"). S is cron.SpecSchedule. The location is that of the scheduler, cron.Cron.Location; the
// zone of an expression (CRON_TZ=) has precedence.
//
// Seconds are left out: a run is due within its minute. A delay below a minute counts as one minute. Of supports any
// schedule of constant delay, and else only what the scheduler's parsers make. The error says what is not supported.
func Of[S ~fields](s Schedule, location *time.Location) (checks.Spec, error) {
	parsed, ok := any(s).(*S)
	if !ok {
		delay, ok := constantDelay(s)
		if !ok {
			return checks.Spec{}, fmt.Errorf("a schedule of the type %T cannot be expressed by a check", s)
		}
		return checks.Spec{Timeout: new(Period(delay))}, nil
	}
	spec := fields(*parsed)
	if spec.Location != time.Local { // the parser's value for no zone
		location = spec.Location
	}
	zone, err := Zone(location)
	if err != nil {
		return checks.Spec{}, err
	}
	expression := strings.Join([]string{
		field(spec.Minute, 0, 59), field(spec.Hour, 0, 23), field(spec.Dom, 1, 31), field(spec.Month, 1, 12), field(spec.Dow, 0, 6),
	}, " ")
	return checks.Spec{Schedule: &expression, TZ: &zone}, nil
}

// Period returns the period of a check for a job that runs at an interval: whole seconds, and at least a minute.
func Period(interval time.Duration) time.Duration {
	return max((interval + time.Second - 1).Truncate(time.Second), checks.MinPeriod)
}

// constantDelay returns the delay between the runs of a schedule, if it is always the same.
func constantDelay(s Schedule) (delay time.Duration, ok bool) {
	t := s.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for range 400 { // more than the days of a year
		next := s.Next(t)
		if next.IsZero() || !next.After(t) || delay != 0 && next.Sub(t) != delay {
			return 0, false
		}
		delay, t = next.Sub(t), next
	}
	return delay, true
}

// star is the bit of a field that was given as * or ?. It decides how the days of month and week combine, in the
// scheduler as in a check.
const star = 1 << 63

// field returns a set of numbers as a field of an expression.
func field(set uint64, low, high int) string {
	if set&star != 0 {
		return "*"
	}
	var parts []string
	for n := low; n <= high; n++ {
		length := bits.TrailingZeros64(^(set >> n)) // of the range that begins here
		switch {
		case length == 1:
			parts = append(parts, strconv.Itoa(n))
		case length > 1:
			parts = append(parts, fmt.Sprintf("%d-%d", n, n+length-1))
		}
		n += length
	}
	return strings.Join(parts, ",")
}

// Zone returns the IANA name of a location. For [time.Local] it is that of [schedule.LocalZone]. The error asks for a
// location with a name.
func Zone(location *time.Location) (string, error) {
	if location == nil {
		return "UTC", nil
	}
	if location != time.Local {
		return location.String(), nil
	}
	name, err := schedule.LocalZone()
	if err != nil {
		return "", fmt.Errorf("%w: give the scheduler a location, or set TZ", err)
	}
	return name, nil
}
