package history

import "time"

// days returns the bounds of the days in UTC from the one of from to the one of to, for [flips.Split]: each midnight, and the
// midnight after the last day. If from is after to, there are no bounds.
func days(from, to time.Time) (list []time.Time) {
	if from.After(to) {
		return nil
	}
	for at := from.UTC().Truncate(24 * time.Hour); ; at = at.AddDate(0, 0, 1) {
		if list = append(list, at); at.After(to) {
			return list
		}
	}
}
