package flips

import "time"

// Days returns the bounds of the days of a zone from the one of from to the one of to, for [Split]: each midnight, and the
// midnight after the last day. A day has 23 or 25 hours where clocks change. If from is after to, there are no bounds.
func Days(from, to time.Time, zone *time.Location) []time.Time {
	year, month, day := from.In(zone).Date()
	return bounds(from, to, func(i int) time.Time { return midnight(year, month, day+i, zone) })
}

// Months returns the bounds of the months of a zone, as [Days] does for its days.
func Months(from, to time.Time, zone *time.Location) []time.Time {
	year, month, _ := from.In(zone).Date()
	return bounds(from, to, func(i int) time.Time { return midnight(year, month+time.Month(i), 1, zone) })
}

// bounds returns the starts of periods, which start gives by their number, up to the first one after to.
func bounds(from, to time.Time, start func(i int) time.Time) (list []time.Time) {
	if from.After(to) {
		return nil
	}
	for i := 0; ; i++ {
		at := start(i)
		if len(list) == 0 || at.After(list[len(list)-1]) { // a zone can have skipped a day
			list = append(list, at)
		}
		if at.After(to) {
			return list
		}
	}
}

// midnight returns the first instant of a day. Clocks can change at midnight.
func midnight(year int, month time.Month, day int, zone *time.Location) time.Time {
	t := time.Date(year, month, day, 0, 0, 0, 0, zone)
	start, end := t.ZoneBounds()
	switch hour, minute, second := t.Clock(); {
	case hour >= 12: // midnight is skipped, and t lies before the change
		return end
	case hour+minute+second > 0:
		return start
	case !start.IsZero():
		_, after := start.Zone()
		_, before := start.Add(-1).Zone()
		if first := t.Add(time.Duration(after-before) * time.Second); first.Before(start) {
			return first // midnight comes twice
		}
	}
	return t
}
