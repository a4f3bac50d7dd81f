// Package schedule computes when runs of a job are expected. It reads cron expressions like Debian's cron and OnCalendar
// expressions like systemd, in any time zone and across every change of its clock.
//
//	s, err := schedule.Parse("0 3 * * MON-FRI")
//	if err != nil {
//		return err // an *Error, such as "hour: 25 is not in 0–23"
//	}
//	riga, err := schedule.LoadLocation("Europe/Riga")
//	if err != nil {
//		return err
//	}
//	next := s.Next(time.Now().In(riga))
//
// Next reads the expression on the wall clock of the location of its argument. [Parse] detects the language (section 2.1
// of the [API], field schedule): a single line of five parts is cron, everything else is OnCalendar. [Explain] describes
// an expression in English, and [Upcoming] lists the next runs and how changes of the clock affect them.
//
// # Cron
//
// An expression has five fields, separated by blanks:
//
//	field         values                       special
//	minute        0–59
//	hour          0–23
//	day of month  1–31                         L, LW
//	month         1–12 or JAN–DEC
//	weekday       0–7 or SUN–SAT (0 = 7 = SUN)  nL, n#k
//
// A field is a list of terms, separated by commas:
//
//	term     meaning
//	*        every value
//	5        one value; names have three letters, in any case
//	1-5      a range, which must not run backwards
//	*/15     every 15th value of all, from the first: 0, 15, 30, 45
//	10-40/5  every 5th value of the range: 10, 15, …, 40
//	10/5     the same to the end of the field: 10, 15, …, 55; 10-10/5 means 10/5
//	L        in the day of month: the last day of the month
//	LW       in the day of month: its last day from Monday to Friday
//	5L       in the weekday: the last Friday of the month
//	FRI#2    in the weekday: the second Friday of the month; the number is 1–5
//
// A step larger than the field leaves only the first value. Leading zeros are allowed. There are no fields for seconds or
// years, no words such as @daily, and no ?, W or ~. [Read] takes @daily and its kin, and more that people paste; the error
// of other dialects says what to write instead.
//
// If the day of month or the weekday begins with a star, a day must match both fields. Otherwise it must match one of
// them: "0 0 13 * FRI" fires on every 13th and on every Friday, "0 0 */2 * MON" on Mondays with an odd date only.
//
// Parse refuses a day that does not exist in any of the months, as in "0 0 30 2 *", even if the weekday could match.
//
// # OnCalendar
//
// An expression has one or more lines, and fires whenever one of them does. A line has up to four parts in this order,
// separated by blanks:
//
//	Mon..Fri  2026-*-01  09:30:00  Europe/Riga
//	weekdays  date       time      zone
//
// A line needs weekdays, a date or a time. Without weekdays every weekday matches, without a date every day matches, and
// without a time the line fires at midnight. Without a zone, the line uses the location of the argument of Next.
//
//   - Weekdays are English names, short or full, in any case. They may form lists (Mon,Wed) and ranges (Mon..Fri or
//     Mon-Fri, not beyond Sunday). A comma may follow them.
//   - The date is year-month-day or month-day. Years are 1970–2199, and two digits mean 1970–2069. With ~ instead of the
//     last hyphen, the day counts from the end of the month: *-02~01 is the last day of February.
//   - The time is hour:minute or hour:minute:second.
//   - The zone is UTC or another name of the IANA database, see [LoadLocation].
//
// Each number of the date and the time is a star for every value, or a list of terms, separated by commas:
//
//	term      meaning
//	5         one value
//	1..5      a range, which must not run backwards
//	10/5      every 5th value to the end of the field: 10, 15, …, 55
//	10..40/5  every 5th value of the range: 10, 15, …, 40
//
// After ~, values are 1–28 (1–31 in ranges), and a step leads towards the end of the month: *-*~07/1 is the last seven
// days of each month, so that Mon *-*~07/1 is the last Monday. A term cannot contain a star: for every five minutes,
// write *:0/5.
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
// Parse refuses some of what systemd accepts: fractions of seconds, timestamps such as @1700000000, and zone
// abbreviations such as EEST. The last year of a result is 2199.
//
// # Words
//
// [FromWords] reads what people type, such as "every day at 3" or "1st and 15th of the month at 6 pm", and returns an expression
// or an interval. What is an expression already stays one: "weekly" and "Mon 07:30" are OnCalendar. Case does not matter, nor do
// blanks; "and", "&" and commas are the same. A phrase has parts in any order, each at most once:
//
//	part       forms
//	how often  every minute, hour, day, week, month, quarter, year; hourly, daily, nightly, weekly, monthly, quarterly, yearly
//	           every 15 minutes, every 2 h 30 min, every half hour, every other hour, every 3 months
//	           once a day, twice a day, 3 times a week: with as many times or days
//	days       Monday, mondays, mon., Monday to Friday, Mon-Fri; weekdays, work days, weekends; every day except Sunday
//	           1st and 15th, last day, first Monday, 1st & 3rd Monday, last Friday, first or last workday, each of the month
//	           1 March, March 1st, last day of the quarter
//	months     in January, of March and September, from June to August
//	times      at 3, at 3:00, 7.30, 0730, 3 pm, 12 o'clock, noon, midnight, half past 7, at 7 in the evening; several of them
//	minute     15 minutes past every hour, every hour at :15
//	from, to   every 15 minutes from 9:00 to 17:00, every hour between 9 and 17, 9am-5pm
//
// Numbers may be words up to twelve, and 15, 20, 30 and on. Without a frequency, days or times repeat for ever: "noon" is every noon.
//
// An interval follows where no expression says the same: "every 90 minutes" and "every 7 minutes" (a step of 7 in cron starts again
// each hour), "every 2 days", "every 2 weeks". It counts from the last ping, and takes no days and no times.
//
// Where a phrase leaves something open that has a usual reading, [Understood.Taken] says which one it got: 3 is 03:00, a missing time
// 00:00, a missing day the first of the month or Monday. Where it has none, the error asks: "every other day", "3/4", "at 6 and 9 pm",
// "biweekly", a part of the day from 9 to 5.
//
// # When clocks change
//
// A clock that is set forward leaves a gap: times that it does not show on that day. A clock that is set back makes an
// overlap: times that it shows twice. In Riga, 03:00 to 03:59 is a gap on 30 March 2025, when the clock goes from 02:59
// EET to 04:00 EEST, and an overlap on 26 October 2025, when it goes from 03:59 EEST back to 03:00 EET.
//
// A cron expression whose minute or hour begins with a star has a wildcard. It fires whenever the clock shows a matching
// minute. "*/30 * * * *" fires every half hour of real time: never at 03:30 in March, and twice in October.
//
// Any other cron expression has fixed times, which occur once on each matching day. A time in a gap moves to the end of
// the gap, and a time in an overlap occurs only the first time: "30 3 * * *" fires at 04:00 EEST in March and at 03:30
// EEST in October. Times that move to the same instant are one run.
//
// An OnCalendar line, with stars or without, skips times in a gap, and fires only the first time in an overlap. "03:30"
// does not fire in March, and fires at 03:30 EEST in October. "*:0/30" fires at 03:30 EEST in October and then, an hour
// and a half later, at 04:00 EET.
//
// # Guarantees
//
// The result of Next is strictly after its argument, and Next returns the same result for every instant in between.
// Results have whole seconds and lie in the years 1 to 9999.
//
// [Parse] accepts an expression that never fires; its Next returns the zero Time. Next also returns the zero Time if no
// run is expected in the next 100 years, unless the expression names years. The rarest dates, such as 29 February on a
// Monday, are at most 40 years apart.
//
// Everything in this package is safe for concurrent use and reads no clock.
//
// # How it works
//
// This package parses and validates both languages. [github.com/gorhill/cronexpr] finds the wall clock times that match
// a cron expression; this package finds those that match an OnCalendar line, and maps both to instants.
//
// Parsing a cron expression takes some 10 µs, and Next 1 to 5 µs, or 10 µs if both the day of month and the weekday must
// match. For an OnCalendar line, both take about 1 µs. The slowest expressions of 100 characters, whose times never
// occur or fall into a gap year after year, take about a millisecond.
//
// # Time zone data
//
// The rules of a zone change several times a year, somewhere. [LoadLocation] reads the newer one of two releases of the IANA
// database: the one that is embedded here, in 190 kB, and the one of the system, if its files say which release they are.
// The data that Go itself embeds are those of its last release. [Zoneinfo] names the release in use, [UseZoneinfo] sets
// another one, and [ZoneData.Outdated] says when it is time for an update.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package schedule
