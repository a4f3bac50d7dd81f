package verdict

import (
	"strings"
	"time"
)

// Time returns an instant in words for a reader at another instant, in a time zone: "03:04" on the same day, "yesterday
// 03:04", "tomorrow 03:04", "Fri 03:39" within six days, "3 Oct 03:00" in the same year, or "3 Oct 2025 03:00". A time
// that occurs twice on that day, because clocks are set back, has its abbreviation: "03:20 EEST".
func Time(t, now time.Time, zone *time.Location) string {
	return Part{At: t}.instant(now.In(zone), zone, false)
}

// instant returns the words for the time of a part.
func (p Part) instant(now time.Time, zone *time.Location, dated bool) string {
	t := p.At.In(zone)
	clock := t.Format("15:04")
	if p.precise {
		clock = t.Format("15:04:05")
	}
	if repeated(t) {
		clock += " " + abbreviation(t)
	}
	at, on := "", ""
	if p.adverbial {
		at, on = "at ", "on "
	}
	if !p.follows.IsZero() && days(p.follows.In(zone), t) == 0 {
		return clock
	}
	n := 0
	if !dated {
		n = days(now, t)
	}
	switch far := dated || n < -6 || n > 6; {
	case far && t.Year() != now.Year():
		return on + t.Format("2 Jan 2006 ") + clock
	case far:
		return on + t.Format("2 Jan ") + clock
	case n == 0:
		return at + clock
	case n == -1:
		return "yesterday " + clock
	case n == 1:
		return "tomorrow " + clock
	}
	return on + t.Format("Mon ") + clock
}

// days returns how many calendar days b is after a. Both are in the same zone.
func days(a, b time.Time) int {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return int(day(b).Sub(day(a)) / (24 * time.Hour))
}

// repeated reports whether another instant, before or after a clock change, has the same time of day.
func repeated(t time.Time) bool {
	_, offset := t.Zone()
	for _, far := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, other := t.Add(far).Zone()
		if other == offset {
			continue
		}
		twin := t.Add(time.Duration(offset-other) * time.Second)
		if _, o := twin.Zone(); o == other {
			return true
		}
	}
	return false
}

// abbreviation returns the abbreviation of the zone at an instant, such as EEST or UTC-03.
func abbreviation(t time.Time) string {
	name, _ := t.Zone()
	if strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-") {
		return "UTC" + name
	}
	return name
}
