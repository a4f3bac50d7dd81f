// Package schedule tells when runs of a job are expected: at a fixed period, by a
// cron expression as Debian's cron reads it, or by an OnCalendar expression as
// systemd does, in any time zone and across every change of its clocks.
//
//	s, err := schedule.Parse("0 3 * * MON-FRI")
//	if err != nil {
//		return err // an *Error: "hour: 25 is not in 0–23"
//	}
//	riga, err := schedule.LoadLocation("Europe/Riga")
//	if err != nil {
//		return err
//	}
//	next := s.Next(time.Now().In(riga))
//
// The wall clock is that of the location of the time given to Next. [Parse] finds
// out which language an expression is in (API-V3.md, 2.1, field schedule): a
// single line of five parts is cron, everything else is OnCalendar. [Explain]
// says in English what an expression means, and [Upcoming] lists the next runs
// with what changes of the clock do to them.
//
// # Cron
//
// An expression has five fields, with blanks between them:
//
//	field         values                       special
//	minute        0–59
//	hour          0–23
//	day of month  1–31                         L, LW
//	month         1–12 or JAN–DEC
//	weekday       0–7 or SUN–SAT (0 = 7 = SUN)  nL, n#k
//
// A field is a list of terms with commas between them:
//
//	term     meaning
//	*        every value
//	5        one value; names have three letters, in any case
//	1-5      a range, which must not run backwards
//	*/15     every 15th value of all, from the first: 0, 15, 30, 45
//	10-40/5  every 5th value of the range: 10, 15, …, 40
//	10/5     the same to the end of the field: 10, 15, …, 55; so is 10-10/5
//	L        in the day of month: the last day of the month
//	LW       in the day of month: its last day from Monday to Friday
//	5L       in the weekday: the last Friday of the month
//	FRI#2    in the weekday: the second Friday of the month; the number is 1–5
//
// A step may be larger than the field, which leaves the first value. Leading
// zeros do not matter. There are no fields for seconds or years, no words such as
// @daily, and no ?, W or ~.
//
// If the day of month or the weekday begins with a star, a day has to match both
// fields. Otherwise it is enough that it matches one of them: "0 0 13 * FRI"
// fires on every 13th and on every Friday, "0 0 */2 * MON" on Mondays with an odd
// date only.
//
// Days that none of the months has are refused, as in "0 0 30 2 *", even where
// the weekday could match.
//
// # OnCalendar
//
// An expression has one or more lines; a run is expected whenever one of them
// says so. A line has up to four parts in this order, with blanks between them:
//
//	Mon..Fri  2026-*-01  09:30:00  Europe/Riga
//	weekdays  date       time      zone
//
// At least one of weekdays, date and time is there. Without weekdays all of them
// match, without date every day, and without time midnight. A line without zone
// is read on the wall clock of the time given to Next.
//
//   - Weekdays are English names, short or full, in any case; lists (Mon,Wed) and
//     ranges (Mon..Fri or Mon-Fri, not beyond Sunday) of them; a comma may end
//     them.
//   - The date is year-month-day or month-day. Years are 1970–2199; two digits
//     mean 1970–2069. With ~ in place of the last hyphen the day counts from
//     the end of the month: *-02~01 is the last day of February.
//   - The time is hour:minute or hour:minute:second.
//   - The zone is UTC or another name of the IANA database, see [LoadLocation].
//
// Each number of the date and the time is a star for every value, or a list of
// terms with commas between them:
//
//	term      meaning
//	5         one value
//	1..5      a range, which must not run backwards
//	10/5      every 5th value to the end of the field: 10, 15, …, 55
//	10..40/5  every 5th value of the range: 10, 15, …, 40
//
// After ~ values are 1–28 (in ranges 1–31), and a step leads towards the end of
// the month: *-*~07/1 are the last seven days of each month, so Mon *-*~07/1 is
// the last Monday. A star is not allowed within a term: write *:0/5 for every five
// minutes.
//
// One word may stand for weekdays, date and time:
//
//	minutely      *-*-* *:*:00
//	hourly        *-*-* *:00:00
//	daily         *-*-* 00:00:00
//	weekly        Mon *-*-* 00:00:00
//	monthly       *-*-01 00:00:00
//	quarterly     *-01,04,07,10-01 00:00:00
//	semiannually  *-01,07-01 00:00:00
//	yearly        *-01-01 00:00:00, also annually
//
// Fractions of seconds, times such as @1700000000 and abbreviations of zones such
// as EEST, which systemd takes, are refused. Results end with the year 2199.
//
// # When clocks change
//
// When a clock is set forward there is a gap: times that it does not show on that
// day. When it is set back there is an overlap: times that it shows twice. In
// Riga, 03:00 to 03:59 are a gap on 30 March 2025, the clock going from 02:59
// EET to 04:00 EEST, and an overlap on 26 October 2025, from 03:59 EEST back to
// 03:00 EET.
//
// A cron expression has a wildcard if its minute or its hour begins with a star.
// Then it fires whenever the clock shows a matching minute: "*/30 * * * *" goes
// on every half hour of real time, through gap and overlap; it has no run at 03:30
// on the one day and two on the other.
//
// A cron expression without wildcard has fixed times, each of which comes once a
// day. One in a gap moves to the gap's end, and one in an overlap comes the first
// time only: "30 3 * * *" fires at 04:00 EEST on the one day and at 03:30 EEST on
// the other. Two that fall together are one run.
//
// An OnCalendar line skips what is in a gap, and in an overlap fires the first
// time only, with stars or without: "03:30" has no run on the one day and one at
// 03:30 EEST on the other. "*:0/30" fires at 03:00 and 03:30 EEST on the other day,
// and then, an hour and a half later, at 04:00 EET.
//
// A period made by [Period] is real time and knows no clocks.
//
// # Guarantees
//
// Next is strictly after its argument, whatever that is, and asking from any
// instant before that result gives the same one. Results of expressions have whole
// seconds and lie in the years 1 to 9999.
//
// An expression that never fires has the zero Time as its next. [Parse] accepts
// it; whether a check may have it is for others to say. An expression without
// years is taken not to fire any more if it does not in the next 100 years; the
// rarest dates, such as 29 February on a Monday, are at most 40 years apart.
//
// Parsing takes about a microsecond where no zone is named, and Next less than one,
// without allocation. In the worst expressions of 100 characters, seven lines each of
// which falls into a gap year after year, Next takes a third of a millisecond.
// Everything is safe for concurrent use.
//
// # Time zone data
//
// Zones come from the data that [time.LoadLocation] finds: those of the machine,
// or those that a program has in itself because it imports time/tzdata. This
// package does not import it, since it adds about 450 kB: a program that runs where
// there may be no data, such as in an empty container, has to:
//
//	import _ "time/tzdata"
package schedule
