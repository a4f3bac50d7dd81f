package prose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Duration returns a measured duration as people say it, rounded down: "0.32 s", "41 s", "1 min 40 s", "41 min",
// "2 h 14 min", "1 day 4 h", "3 days". A negative one counts as 0.
func Duration(d time.Duration) string {
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
			words = append(words, Count(n, unit.name))
		default:
			words = append(words, fmt.Sprintf("%d %s", n, unit.name))
		}
	}
	if words == nil {
		return "0 s"
	}
	return strings.Join(words, " ")
}

// LongDuration returns the two largest units of a duration in English, rounded down, such as "2 hours 5 minutes".
func LongDuration(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := Count(int64(d/u.size), u.name)
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += " " + Count(int64(rest), units[i+1].name)
			}
		}
		return text
	}
	return "less than a second"
}

// Count returns a number with its noun, which takes an s in the plural: "1 check", "2 checks".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Time returns an instant as the clocks of a time zone show it, in a layout of package time, with the IANA name of the zone. An
// unknown zone, or "", is UTC. A time of day that comes twice, because clocks are set back, has its abbreviation too.
func Time(t time.Time, layout, tz string) string {
	zone, err := time.LoadLocation(tz)
	if err != nil {
		zone = time.UTC
	}
	t = t.In(zone)
	for _, change := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
		if t.Add(change).Format(time.TimeOnly) == t.Format(time.TimeOnly) {
			layout += " MST"
			break
		}
	}
	return t.Format(layout) + " " + zone.String()
}
