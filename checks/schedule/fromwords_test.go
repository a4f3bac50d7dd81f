package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// Notes of phrases that leave something open.
const (
	noTime = "No time is named, so 00:00 was taken."
	noDay  = "No day is named, so every day was taken."
	first  = "No day is named, so the first was taken."
)

// meanings are phrases with their expressions, or intervals such as 1h30m0s.
var meanings = []struct{ phrase, expr, taken string }{
	// Days and times
	{"every day at 3", "0 3 * * *", "The time was read as 03:00, on a 24-hour clock; write pm for 15:00."},
	{"Every  Day ,  AT 3 O'Clock", "0 3 * * *", "The time was read as 03:00, on a 24-hour clock; write pm for 15:00."},
	{"every day at 3 o’clock", "0 3 * * *", "The time was read as 03:00, on a 24-hour clock; write pm for 15:00."},
	{"every day at 03", "0 3 * * *", ""},
	{"daily at 03:00", "0 3 * * *", ""},
	{"every day\n\tat 3:00.", "0 3 * * *", ""},
	{"3:00 every day", "0 3 * * *", ""},
	{"each day @ 3pm", "0 15 * * *", ""},
	{"every day at 3 p.m.", "0 15 * * *", ""},
	{"DAILY AT 3:05 PM", "5 15 * * *", ""},
	{"12 am every day", "0 0 * * *", ""},
	{"12 pm every day", "0 12 * * *", ""},
	{"every day at 12", "0 12 * * *", "The time was read as 12:00, after noon."},
	{"every day at 12 noon", "0 12 * * *", ""},
	{"every day at 12 midnight", "0 0 * * *", ""},
	{"every day at 15", "0 15 * * *", ""},
	{"every day at 0", "0 0 * * *", ""},
	{"every day at 0730", "30 7 * * *", ""},
	{"every day at 1900 hours", "0 19 * * *", ""},
	{"every day at 18 h", "0 18 * * *", ""},
	{"every day at 7.30", "30 7 * * *", ""},
	{"every day at seven am", "0 7 * * *", ""},
	{"half past seven pm every day", "30 19 * * *", ""},
	{"every day at quarter past 7 am", "15 7 * * *", ""},
	{"every day at quarter to 8 am", "45 7 * * *", ""},
	{"every day at quarter to 12 am", "45 23 * * *", ""},
	{"every day at 10 past 7 am", "10 7 * * *", ""},
	{"midnight", "0 0 * * *", noDay},
	{"noon", "0 12 * * *", noDay},
	{"at noon", "0 12 * * *", noDay},
	{"6am and 6pm", "0 6,18 * * *", noDay},
	{"daily at noon and midnight", "0 0,12 * * *", ""},
	{"every day", "0 0 * * *", noTime},
	{"nightly", "0 0 * * *", noTime},
	{"nightly at 2", "0 2 * * *", ""},
	{"nightly at 11", "0 23 * * *", ""},
	{"every night at 11:30 pm", "30 23 * * *", ""},
	{"every morning at 7", "0 7 * * *", ""},
	{"every evening at 7", "0 19 * * *", ""},
	{"at 3 in the afternoon every day", "0 15 * * *", ""},
	{"every day at 11 at night", "0 23 * * *", ""},
	{"every day at 6 and 18", "0 6,18 * * *", ""},
	{"every day at 6 and 7", "0 6,7 * * *", "Hours were read on a 24-hour clock; write am or pm with each for the other."},
	{"every day at 6:00, 14:00 & 22:00", "0 6,14,22 * * *", ""},
	{"every day at 6:00, 12:30 and 18:00", "6,18:00\n12:30", ""},
	{"once a day at 3:00", "0 3 * * *", ""},
	{"twice a day at 6:00 and 18:00", "0 6,18 * * *", ""},
	{"twice daily at 6am and 6pm", "0 6,18 * * *", ""},
	{"three times a day at 6:00, 14:00 and 22:00", "0 6,14,22 * * *", ""},
	{"2x per day at 6:00 and 18:00", "0 6,18 * * *", ""},
	{"every day of the week at 3:00", "0 3 * * *", ""},
	{"every day of the month at 3:00", "0 3 * * *", ""},
	// Weekdays
	{"weekdays 07:30", "30 7 * * MON-FRI", ""},
	{"every weekday at 7:30", "30 7 * * MON-FRI", ""},
	{"work days at 6:15", "15 6 * * MON-FRI", ""},
	{"on working days at 6:15", "15 6 * * MON-FRI", ""},
	{"business days 6:15", "15 6 * * MON-FRI", ""},
	{"workdays, 6:15", "15 6 * * MON-FRI", ""},
	{"weekends at noon", "0 12 * * SAT,SUN", ""},
	{"every weekend at 9:00", "0 9 * * SAT,SUN", ""},
	{"every Monday", "0 0 * * MON", noTime},
	{"every Monday and Thursday at 6pm", "0 18 * * MON,THU", ""},
	{"mon & thu @ 18:00", "0 18 * * MON,THU", ""},
	{"mon., wed., fri. 7:30", "30 7 * * MON,WED,FRI", ""},
	{"Mon Wed Fri at 7:30", "30 7 * * MON,WED,FRI", ""},
	{"Mondays, Tuesdays and Wednesdays 9:00", "0 9 * * MON-WED", ""},
	{"Tues and Thurs at 9:00", "0 9 * * TUE,THU", ""},
	{"every Mon and every Thu at 9:00", "0 9 * * MON,THU", ""},
	{"monday to friday at 9:00", "0 9 * * MON-FRI", ""},
	{"from Monday through Friday at 9:00", "0 9 * * MON-FRI", ""},
	{"mon – fri at 9:00", "0 9 * * MON-FRI", ""},
	{"Fri to Mon at 9:00", "0 9 * * MON,FRI,SAT,SUN", ""},
	{"Friday to Sunday at 9:00", "0 9 * * FRI,SAT,SUN", ""},
	{"at 9:00 on Mondays", "0 9 * * MON", ""},
	{"every Monday at midnight", "0 0 * * MON", "Midnight was read as 00:00, when the day begins."},
	{"every Monday morning at 7", "0 7 * * MON", ""},
	{"every day except Sunday at 3:00", "0 3 * * MON-SAT", ""},
	{"every day but not on weekends at 3:00", "0 3 * * MON-FRI", ""},
	{"weekdays except friday at 3:00", "0 3 * * MON-THU", ""},
	{"weekdays at 6:00 and 18:30", "Mon..Fri 06:00\nMon..Fri 18:30", ""},
	{"weekly on Friday at 5pm", "0 17 * * FRI", ""},
	{"every week on Monday at 9:00", "0 9 * * MON", ""},
	{"once a week on Monday at 9:00", "0 9 * * MON", ""},
	{"twice a week on Monday and Thursday at 3:00", "0 3 * * MON,THU", ""},
	{"every week", "0 0 * * MON", "No weekday is named, so Monday was taken. " + noTime},
	{"weekly at 3:00", "0 3 * * MON", "No weekday is named, so Monday was taken."},
	// Days of the month
	{"1st and 15th at 4:00", "0 4 1,15 * *", ""},
	{"on the 1st and the 15th at 4:00", "0 4 1,15 * *", ""},
	{"on the 15th of the month at 4 am", "0 4 15 * *", ""},
	{"every 15th at 4:00", "0 4 15 * *", ""},
	{"1st to 5th of each month at 4:00", "0 4 1-5 * *", ""},
	{"first day of the month at 4:00", "0 4 1 * *", ""},
	{"last day of the month at 23:30", "30 23 L * *", ""},
	{"15th and last day of every month at 3:00", "0 3 15,L * *", ""},
	{"every 31st at 3:00", "0 3 31 * *", "Months without a 31st have no run; write last day of the month for the end of each."},
	{"monthly on the 5th at 3:00", "0 3 5 * *", ""},
	{"once a month on the 5th at 3:00", "0 3 5 * *", ""},
	{"twice a month on the 1st and 15th at 3:00", "0 3 1,15 * *", ""},
	{"every month", "0 0 1 * *", first + " " + noTime},
	{"monthly at 3:00", "0 3 1 * *", first},
	{"first Monday of the month 9:00", "0 9 * * MON#1", ""},
	{"the second Tuesday of every month at 9:00", "0 9 * * TUE#2", ""},
	{"every second Friday of the month at 9:00", "0 9 * * FRI#2", ""},
	{"every first Monday at 9:00", "0 9 * * MON#1", ""},
	{"first and third monday of each month at 9:00", "0 9 * * MON#1,MON#3", ""},
	{"1st & 3rd Monday 8am", "0 8 * * MON#1,MON#3", ""},
	{"last friday of the month 17:00", "0 17 * * 5L", ""},
	{"fifth Monday of the month at 9:00", "0 9 * * MON#5", "Months without a fifth Monday have no run."},
	{"first workday of the month at 9:00", "Mon..Fri *-*-01 09:00\nMon *-*-02,03 09:00", ""},
	{"last working day of the month at 18:00", "0 18 LW * *", ""},
	{"last weekday of the month at 18:00", "0 18 LW * *", ""},
	{"first Monday of the month at 6:00 and 18:30", "Mon *-*-1..7 06:00\nMon *-*-1..7 18:30", ""},
	{"last Monday of the month at 6:00 and 18:30", "Mon *-*~07/1 06:00\nMon *-*~07/1 18:30", ""},
	{"last day of the month at 6:00 and 18:30", "*-*~01 06:00\n*-*~01 18:30", ""},
	// Months, quarters, years
	{"March 1st at 9:00", "0 9 1 3 *", ""},
	{"1 March at 9:00", "0 9 1 3 *", ""},
	{"on the 1st of March at 9:00", "0 9 1 3 *", ""},
	{"on the first of January, 6 am", "0 6 1 1 *", ""},
	{"Jan 1 at 0:00", "0 0 1 1 *", ""},
	{"1 January and 1 July at 6:00", "0 6 1 1,7 *", ""},
	{"1st Jan and 1st Jul at 6:00", "0 6 1 1,7 *", ""},
	{"24 Dec at 6pm", "0 18 24 12 *", ""},
	{"the 29th of february at noon", "0 12 29 2 *", "Only leap years have a 29 February."},
	{"every day in January at 3:00", "0 3 * 1 *", ""},
	{"every day from June to August at 3:00", "0 3 * 6-8 *", ""},
	{"every day from November to February at 3:00", "0 3 * 1,2,11,12 *", ""},
	{"Mondays in Sept. and Oct. at 3:00", "0 3 * 9,10 MON", ""},
	{"first Monday of January and July at 9:00", "0 9 * 1,7 MON#1", ""},
	{"every year on 1 March at 9:00", "0 9 1 3 *", ""},
	{"yearly on June 30 at 6pm", "0 18 30 6 *", ""},
	{"every year", "0 0 1 1 *", first + " " + noTime},
	{"last day of the year at noon", "0 12 L 12 *", ""},
	{"every quarter", "0 0 1 1,4,7,10 *", "The quarter was read as one of the year; write every 15 minutes for one of an hour. " + first + " " + noTime},
	{"quarterly at 6:00", "0 6 1 1,4,7,10 *", first},
	{"first day of the quarter at 6:00", "0 6 1 1,4,7,10 *", ""},
	{"last day of each quarter at 23:00", "0 23 L 3,6,9,12 *", ""},
	{"last Friday of the quarter at 17:00", "0 17 * 3,6,9,12 5L", ""},
	{"every 3 months on the 1st at 6:00", "0 6 1 1,4,7,10 *", "No month is named, so January, April, July and October were taken."},
	{"every other month on the 1st at 6:00", "0 6 1 1-11/2 *", "No month is named, so January, March, May, July, September and November were taken."},
	// Several times an hour or a day
	{"every minute", "* * * * *", ""},
	{"every 15 minutes", "*/15 * * * *", ""},
	{"every 15 min", "*/15 * * * *", ""},
	{"every fifteen minutes", "*/15 * * * *", ""},
	{"every quarter of an hour", "*/15 * * * *", ""},
	{"every half hour", "*/30 * * * *", ""},
	{"every hour", "0 * * * *", ""},
	{"once an hour", "0 * * * *", ""},
	{"every 60 minutes", "0 * * * *", ""},
	{"every 120 minutes", "0 */2 * * *", ""},
	{"every 2 hours", "0 */2 * * *", ""},
	{"every two hrs", "0 */2 * * *", ""},
	{"every other hour", "0 */2 * * *", ""},
	{"every third hour", "0 */3 * * *", ""},
	{"every 12 hours", "0 */12 * * *", ""},
	{"every second", "*:*:*", ""},
	{"every 30 seconds", "*:*:0/30", ""},
	{"15 minutes past every hour", "15 * * * *", ""},
	{"every hour at :15", "15 * * * *", ""},
	{"hourly at 15 minutes past the hour", "15 * * * *", ""},
	{"every 10 minutes on weekdays", "*/10 * * * MON-FRI", ""},
	{"every 3 hours on Sundays", "0 */3 * * SUN", ""},
	{"every 5 minutes in January", "*/5 * * 1 *", ""},
	{"every 15 minutes from 9:00 to 16:45 on weekdays", "*/15 9-16 * * MON-FRI", "The last run of a day is at 16:45."},
	{"every 15 minutes from 9:00 to 17:00", "9..16:0/15\n17:00", "The last run of a day is at 17:00."},
	{"every hour between 9 and 17", "0 9-17 * * *", "The last run of a day is at 17:00."},
	{"every hour 9am-5pm", "0 9-17 * * *", "The last run of a day is at 17:00."},
	{"every 2 hours from 8:30 to 19:00 Monday to Saturday", "30 8-18/2 * * MON-SAT", ""},
	{"every hour from 22:00 to 6:00", "0 0-6,22,23 * * *", "The last run of a day is at 06:00."},
	// Intervals
	{"every 90 minutes", "1h30m0s", ""},
	{"every 7 minutes", "7m0s", ""},
	{"every 7 seconds", "7s", ""},
	{"every 5 hours", "5h0m0s", ""},
	{"every 24 hours", "24h0m0s", ""},
	{"every 1.5 hours", "1h30m0s", ""},
	{"every 2 h 30 min", "2h30m0s", ""},
	{"every 1 hour and 30 minutes", "1h30m0s", ""},
	{"1h30m", "1h30m0s", ""},
	{"every 2 days", "48h0m0s", ""},
	{"every 2 weeks", "336h0m0s", ""},
	// Expressions come first.
	{"0 3 * * *", "0 3 * * *", ""},
	{"hourly", "hourly", ""},
	{"Weekly", "Weekly", ""},
	{"Mon-Fri 9:00", "Mon-Fri 9:00", ""},
	{"@daily", "@daily", ""},
	{"9-17", "9-17", ""},
	{"07:30", "07:30", ""},
}

func TestFromWords(t *testing.T) {
	if len(meanings) < 120 {
		t.Errorf("%d phrases", len(meanings))
	}
	for _, m := range meanings {
		got, err := schedule.FromWords(m.phrase)
		if err != nil {
			t.Errorf("%q: %v", m.phrase, err)
			continue
		}
		expr := got.Expression
		if got.Every != 0 {
			expr += got.Every.String()
		}
		if expr != m.expr || got.Taken != m.taken {
			t.Errorf("%q is read as %q, want %q\n taken %q\n want  %q", m.phrase, expr, m.expr, got.Taken, m.taken)
		}
	}
}

// TestFromWordsAsks: what can mean several things is asked, and the error of what cannot be read says what can be written.
func TestFromWordsAsks(t *testing.T) {
	for phrase, want := range map[string]string{
		"3/4":                                    "may be a day and a month or the reverse",
		"every day on 3/4/2027":                  "may be a day and a month or the reverse",
		"every other day":                        `write "every 2 days" for the time since the last ping`,
		"every other day at 3":                   "days cannot be counted from one month into the next",
		"every 2 days at 3:00":                   "every 2 days is an interval",
		"every second day of the month":          "may count or be the 2nd alone",
		"every second Monday at 9:00":            "weeks cannot be counted",
		"every other week":                       "weeks cannot be counted",
		"fortnightly":                            "has no fixed days",
		"bi-weekly on Monday":                    "has no fixed days",
		"every 3 months in January":              "follows other months",
		"minutes":                                "how many minutes?",
		"every days at 3:00":                     "how many days?",
		"hour":                                   "is not understood here",
		"second":                                 "the second what?",
		"minute 15 of every hour":                "is not understood here",
		"sun 15":                                 "is 15 an hour? Write at 15:00",
		"every 5 months":                         "a year is not a multiple of 5 months",
		"every 2 years":                          "years cannot be counted",
		"every 7 minutes on weekdays":            "cannot be limited to days or times",
		"at 6 and 9 pm":                          "is 6 am or pm?",
		"every hour from 9 to 5":                 "5 is before 9: write am or pm",
		"every hour from 9 to 5 pm":              "is 9 am or pm?",
		"weekdays every hour from 22:00 to 6:00": "the hours after midnight belong to the next day",
		"every hour from 9:00":                   "until when?",
		"every 45 minutes from 9:00 to 17:00":    "every 45 minutes is an interval",
		"daily from 9:00 to 17:00":               "how often from 9:00 to 17:00?",
		"every hour at 15":                       "is 15 the hour or the minute?",
		"every hour at 15 minutes":               `Write "15 minutes past every hour"`,
		"15 minutes past":                        "past which hour?",
		"Monday 9":                               "is 9 an hour? Write at 9:00, or at 9 pm",
		"Monday at 6 and Tuesday at 8":           `"tuesday" follows other days`,
		"Friday the 13th at 9:00":                `"13th" follows other days`,
		"every day on Monday at 3:00":            "not both",
		"twice a day":                            "which 2 of a day? Write times, such as at 6:00 and 18:00",
		"twice a day at 6:00":                    "2 a day, but 1 named",
		"twice an hour":                          "Write every 30 minutes",
		"twice a week at 3:00":                   "Write days, such as Monday and Thursday",
		"twice at 3:00":                          "2 times in which time?",
		"every morning":                          "at which time of the morning?",
		"every morning at 15:00":                 "15:00 is not in the morning",
		"in January at 3:00":                     "on which days of January?",
		"every month on Monday at 9:00":          "which Monday of the month?",
		"15th of the year at 3:00":               "of which month?",
		"first day of the week at 3:00":          "days of a week are weekdays",
		"the last of the month at 3:00":          "the last what?",
		"second workday of the month 9:00":       "only the first and the last can be written",
		"sixth Monday of the month 9:00":         "there is no 6th",
		"30 February at 3:00":                    "no month of the expression has a day 30",
		"32nd at 3:00":                           "is no day of a month",
		"1 January 2027 at 3:00":                 "a phrase has no year: leave out 2027",
		"every day at 25:00":                     `"25:00" is not a time of day`,
		"every day at 24:00":                     "write 0:00, and the day that begins then",
		"every day at 7:5":                       "write it like 7:30",
		"every day at 13 pm":                     "write hours from 1 to 12 with am and pm",
		"every day at":                           "at which time? Write it like 3:00 or 3 pm",
		"every day at dawn":                      "is not a time of day",
		"every day at 3 UTC":                     "a phrase has no time zone",
		"every day at 3:00 Europe/Riga":          "a phrase has no time zone",
		"between Monday and Friday 9:00":         "write it like Monday to Friday",
		"every":                                  `something is missing after "every"`,
		"every Monday and":                       `something is missing after "and"`,
		"every 5":                                "5 what? Write a unit, such as 5 minutes",
		"every 90 minutse":                       "did you mean minute?",
		"every 0 minutes":                        "is no interval",
		"every 0.1 seconds":                      "is not a whole number of seconds",
		"every 9999 weeks 9999 weeks 9999 weeks": "is too long",
		"daily daily":                            "is a second frequency",
		"evry day at 3":                          `"evry" is not understood: did you mean every?`,
		"every tuseday":                          "did you mean tuesday?",
		"hello":                                  `write it like "every day at 3:00"`,
		"jeden Tag um 3":                         `write it like "every day at 3:00"`,
		"毎日3時":                                   `write it like "every day at 3:00"`,
		"every " + strings.Repeat("x", 200):      "the phrase is too long",
		// An error about an expression stays one.
		"0 25 * * *":      "hour: 25 is not in 0–23",
		"12:00 riga":      "did you mean Europe/Riga?",
		"0 3 * * MON,FOO": "FOO is neither a number nor a name",
		"rate(5 minutes)": "is an interval, not a schedule",
		"":                "the expression is empty",
	} {
		got, err := schedule.FromWords(phrase)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, %v\nwant an error with %s", phrase, got, err, want)
		}
	}
}

// TestFromWordsKeepsExpressions: whatever Read accepts is returned as it is.
func TestFromWordsKeepsExpressions(t *testing.T) {
	for _, file := range []string{"cron.jsonl", "oncalendar.jsonl"} {
		for _, v := range readVectors(t, file) {
			if _, err := schedule.Read(v.Expr); err != nil {
				continue
			}
			if got, err := schedule.FromWords(v.Expr); err != nil || got != (schedule.Understood{Expression: v.Expr}) {
				t.Errorf("%q is read as %+v, %v", v.Expr, got, err)
			}
		}
	}
}

// TestFromWordsIsLinear compares the memory of a phrase with that of one twice as long.
func TestFromWordsIsLinear(t *testing.T) {
	for _, piece := range []string{"mon,", "1st,", "at 3:00 ", "every ", "2 h ", "and ", "of the ", "january ", "x "} {
		cost := func(n int) float64 {
			text := "every day at " + strings.Repeat(piece, n)
			return testing.AllocsPerRun(10, func() { _, _ = schedule.FromWords(text) })
		}
		n := 90 / len(piece)
		if short, long := cost(n), cost(2*n); long > 3*short+20 {
			t.Errorf("%q: %v allocations, then %v", piece, short, long)
		}
	}
}

// FuzzFromWords checks that the result can be used, and that an expression stays what it is.
func FuzzFromWords(f *testing.F) {
	for _, m := range meanings {
		f.Add(m.phrase)
	}
	f.Add("every 9999.9 weeks")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := schedule.FromWords(text)
		if _, readErr := schedule.Read(text); readErr == nil && (err != nil || got != schedule.Understood{Expression: text}) {
			t.Fatalf("%q is an expression, and read as %+v, %v", text, got, err)
		}
		if err != nil {
			e, ok := errors.AsType[*schedule.Error](err)
			if !ok || e.Field == "" || e.Reason == "" || !utf8.ValidString(e.Error()) || len(e.Error()) > 400 || e.Offset < -1 || e.Offset > len(text) {
				t.Fatalf("%q: %#v", text, err)
			}
			return
		}
		if (got.Expression == "") == (got.Every == 0) || got.Every < 0 || got.Every%time.Second != 0 || len(got.Taken) > 1000 {
			t.Fatalf("%q is read as %+v", text, got)
		}
		if got.Every != 0 {
			return
		}
		s, err := schedule.Read(got.Expression)
		if err != nil || got.Expression != text && len(got.Expression) > 2000 {
			t.Fatalf("%q is read as %+v: %v", text, got, err)
		}
		checkNext(t, s, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	})
}
