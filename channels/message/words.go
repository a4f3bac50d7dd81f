package message

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Took returns a measured duration as people say it, rounded down: "0.32 s", "41 s", "1 min 40 s", "41 min",
// "2 h 14 min", "1 day 4 h", "3 days". A negative one counts as 0.
func Took(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return strconv.FormatFloat(d.Truncate(10*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d < 10*time.Minute:
		return Period(d.Truncate(time.Second))
	case d < day:
		return Period(d.Truncate(time.Minute))
	case d < 3*day:
		return Period(d.Truncate(time.Hour))
	}
	return Period(d.Truncate(day))
}

// Period returns a duration of whole seconds exactly, such as a grace time: "20 min", "1 h 30 min", "7 days".
func Period(d time.Duration) string {
	var words []string
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", day}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		n := int64(d / unit.size)
		d -= time.Duration(n) * unit.size
		switch {
		case n == 0:
		case unit.size == day:
			words = append(words, count(n, unit.name))
		default:
			words = append(words, fmt.Sprintf("%d %s", n, unit.name))
		}
	}
	if words == nil {
		return "0 s"
	}
	return strings.Join(words, " ")
}
