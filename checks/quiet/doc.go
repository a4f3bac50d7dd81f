// Package quiet parses quiet hours, the windows of time in which alerts wait, and computes when they end.
//
//	riga, err := time.LoadLocation("Europe/Riga")
//	if err != nil {
//		return err
//	}
//	hours, err := quiet.Parse("22:00-06:00; Sat,Sun 00:00-24:00", riga)
//	if err != nil {
//		return err // an *Error, such as `"25:00-26:00": 25:00 is not a time of day`
//	}
//	if end, isQuiet := hours.Until(time.Now()); isQuiet {
//		// hold the alert back until end
//	}
//
// # Windows
//
// Quiet hours are a list of at most 20 windows, separated by semicolons or line breaks:
//
//	window                              meaning
//	22:00-06:00                         every day from 22:00 to 06:00 of the next day
//	Sat,Sun 00:00-24:00                 all of Saturday and Sunday
//	Mon..Fri 22:00-06:00                the nights that begin on Monday to Friday
//	2026-12-24 18:00/2026-12-27 06:00   once
//
// Days are English names, short or full, in any case. They are the days on which a window begins. A range may cross the
// end of the week, as Fri..Mon does. If a window's end is the earlier time of day, it is on the next day. 24:00 is the
// end of a day. A window includes its first instant but not its end.
//
// # When clocks change
//
// Times are those of the wall clock in a time zone. If the clock skips the begin or the end of a window, the window
// begins or ends at the change. A window that the clock skips completely does not occur. If the clock shows a time
// twice, a window begins at the first and ends at the second, so it is always one stretch of time.
//
// The package is pure: it never reads a clock.
package quiet
