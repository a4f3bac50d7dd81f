// Package quiet reads quiet hours, the windows of time in which alerts are held back, and tells when they end.
//
//	riga, err := schedule.LoadLocation("Europe/Riga")
//	h, err := quiet.Parse("22:00-06:00; Sat,Sun 00:00-24:00; 2026-12-24 18:00/2026-12-27 06:00", riga)
//	end, isQuiet := h.Until(time.Now())
//
// The text is a list of windows with semicolons or line breaks between them, at most [MaxWindows]:
//
//	window                              meaning
//	22:00-06:00                         every day from 22:00 to 06:00 of the next day
//	Sat,Sun 00:00-24:00                 all of Saturday and Sunday
//	Mon..Fri 22:00-06:00                the nights that begin on Monday to Friday
//	2026-12-24 18:00/2026-12-27 06:00   once
//
// Days are English, short or in full, in any case, and a range may run over the end of the week, as in Fri..Mon. They
// are the days on which a window begins. A window whose end is the earlier time of the day ends on the next day. 24:00 is
// the end of a day. A window has its first instant and not its last.
//
// # Changes of the clocks
//
// Times are those of the wall clock of a zone. Where the clocks are set forward over the begin or the end of a window,
// it begins or ends with that change, and a window that is skipped altogether does not take place. Where they are set
// back, so that a time comes twice, a window begins at the first of the two and ends at the second, so that it is
// never in two pieces.
//
// The package is pure: nothing in it reads a clock.
package quiet
