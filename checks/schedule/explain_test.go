package schedule_test

import (
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// A sentence is an expression and its explanation without the zone.
type sentence struct{ expr, want string }

func TestExplain(t *testing.T) {
	riga := mustZone(t, "Europe/Riga")
	for _, test := range append(cronSentences(), calendarSentences()...) {
		s, err := schedule.Parse(test.expr)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.expr, err)
			continue
		}
		if got := schedule.Explain(s, nil); got != test.want {
			t.Errorf("Explain(%q, nil)\n got %s\nwant %s", test.expr, got, test.want)
		}
		if got, want := schedule.Explain(s, riga), test.want+", in Europe/Riga"; schedule.Detect(test.expr) == schedule.KindCron && got != want {
			t.Errorf("Explain(%q, Europe/Riga)\n got %s\nwant %s", test.expr, got, want)
		}
	}
}

func TestExplainZones(t *testing.T) {
	tokyo := mustZone(t, "Asia/Tokyo")
	for _, test := range []sentence{
		{"Mon 09:00", "at 09:00 every Monday, in Asia/Tokyo"},
		{"Mon 09:00 UTC", "at 09:00 every Monday, in UTC"},
		{"Mon 09:00\nFri 17:00", "at 09:00 every Monday; and at 17:00 every Friday, in Asia/Tokyo"},
		{"Mon 09:00 Europe/Riga\nFri 17:00 Europe/Riga", "at 09:00 every Monday; and at 17:00 every Friday, in Europe/Riga"},
		{"Mon 09:00 Europe/Kiev\nFri 17:00 Europe/Kyiv", "at 09:00 every Monday; and at 17:00 every Friday, in Europe/Kyiv"},
		{"Mon 09:00 UTC\nFri 17:00", "at 09:00 every Monday, in UTC; and at 17:00 every Friday, in Asia/Tokyo"},
	} {
		s, err := schedule.Parse(test.expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := schedule.Explain(s, tokyo); got != test.want {
			t.Errorf("Explain(%q)\n got %s\nwant %s", test.expr, got, test.want)
		}
	}
}

func TestExplainPeriod(t *testing.T) {
	for _, test := range []struct {
		period time.Duration
		want   string
	}{
		{time.Minute, "every minute"},
		{5 * time.Minute, "every five minutes"},
		{90 * time.Minute, "every 1 hour and 30 minutes"},
		{time.Hour, "every hour"},
		{36 * time.Hour, "every 1 day and 12 hours"},
		{24 * time.Hour, "every day"},
		{14 * 24 * time.Hour, "every two weeks"},
		{365 * 24 * time.Hour, "every 365 days"},
		{time.Hour + time.Second + time.Millisecond, "every 1 hour, 1 second and 1ms"},
		{30 * time.Second, "every 30 seconds"},
		{0, "never"},
		{-time.Hour, "never"},
	} {
		if got := schedule.Explain(schedule.Period(test.period), time.UTC); got != test.want {
			t.Errorf("Explain(Period(%v)) = %q, want %q", test.period, got, test.want)
		}
	}
}

// foreign is a Schedule of another package.
type foreign struct{ schedule.Schedule }

func (foreign) String() string { return "at high tide" }

func TestExplainForeign(t *testing.T) {
	if got := schedule.Explain(foreign{}, time.UTC); got != "at high tide" {
		t.Errorf("Explain is %q", got)
	}
}

func cronSentences() []sentence {
	return []sentence{
		{"0 0 */2 * 1,5L", "at 00:00 when a Monday or the last Friday falls on an odd day of the month"},
		{"0 0 2-31/2 * 2", "at 00:00 on even days of every month and every Tuesday"},
		{"0 0 2-31/2,LW * *", "at 00:00 on even days and the last weekday (Monday to Friday) of every month"},
		{"0 0 3/3 * *", "at 00:00 on every third day from the 3rd to the 30th of every month"},
		{"* * * * *", "every minute"},
		{"*/5 * * * *", "every five minutes"},
		{"*/15 * * * *", "every 15 minutes"},
		{"*/7 * * * *", "every seven minutes from minute 0 to minute 56 of every hour"},
		{"3-59/5 * * * *", "every five minutes from minute 3 to minute 58 of every hour"},
		{"0 * * * *", "every hour"},
		{"17 * * * *", "at 17 minutes past every hour"},
		{"1 * * * *", "at 1 minute past every hour"},
		{"0,30 * * * *", "every 30 minutes"},
		{"15,45 * * * *", "at 15 and 45 minutes past every hour"},
		{"5,20,40 * * * *", "at 5, 20 and 40 minutes past every hour"},
		{"*/5 9-17 * * 1-5", "every five minutes from 09:00 to 17:59, Monday to Friday"},
		{"* 9-17 * * *", "every minute from 09:00 to 17:59"},
		{"* 9 * * *", "every minute from 09:00 to 09:59"},
		{"0 9-17 * * 1-5", "every hour from 09:00 to 17:00, Monday to Friday"},
		{"30 9-17 * * *", "every hour from 09:30 to 17:30"},
		{"0 */2 * * *", "every two hours"},
		{"0 */6 * * *", "every six hours"},
		{"0 */12 * * *", "at 00:00 and 12:00 every day"},
		{"15 */6 * * *", "every six hours from 00:15 to 18:15"},
		{"0 */5 * * *", "every five hours from 00:00 to 20:00"},
		{"0 0 * * *", "at 00:00 every day"},
		{"0 3 * * *", "at 03:00 every day"},
		{"30 4 * * *", "at 04:30 every day"},
		{"0 3,15 * * *", "at 03:00 and 15:00 every day"},
		{"0 6,12,18 * * *", "at 06:00, 12:00 and 18:00 every day"},
		{"30 6,18 * * 6,0", "at 06:30 and 18:30 every Saturday and Sunday"},
		{"0,30 8 * * 1", "at 08:00 and 08:30 every Monday"},
		{"0 9 * * 1", "at 09:00 every Monday"},
		{"0 9 * * 1-5", "at 09:00, Monday to Friday"},
		{"0 9 * * MON,WED,FRI", "at 09:00 every Monday, Wednesday and Friday"},
		{"0 9 * * 0-4", "at 09:00, Sunday to Thursday"},
		{"0 9 * * 1-6", "at 09:00, Monday to Saturday"},
		{"0 9 * * 6,0", "at 09:00 every Saturday and Sunday"},
		{"0 22 * * 5-7", "at 22:00, Friday to Sunday"},
		{"0 0 1 * *", "at 00:00 on the 1st of every month"},
		{"0 0 1,15 * *", "at 00:00 on the 1st and 15th of every month"},
		{"0 0 L * *", "at 00:00 on the last day of every month"},
		{"0 0 LW * *", "at 00:00 on the last weekday (Monday to Friday) of every month"},
		{"0 0 L,15 * *", "at 00:00 on the 15th and the last day of every month"},
		{"0 0 1-7 * *", "at 00:00 from the 1st to the 7th of every month"},
		{"0 0 */2 * *", "at 00:00 on odd days of every month"},
		{"0 0 */10 * *", "at 00:00 on the 1st, 11th, 21st and 31st of every month"},
		{"0 0 1 1 *", "at 00:00 on 1 January every year"},
		{"0 0 25 12 *", "at 00:00 on 25 December every year"},
		{"0 0 29 2 *", "at 00:00 on 29 February in leap years"},
		{"0 0 1 */3 *", "at 00:00 on the 1st of January, April, July and October"},
		{"0 0 1 1,7 *", "at 00:00 on the 1st of January and July"},
		{"0 0 1 6-8 *", "at 00:00 on the 1st of every month from June to August"},
		{"0 9 * 6-8 *", "at 09:00 every day from June to August"},
		{"0 9 * 1 1-5", "at 09:00, Monday to Friday, in January"},
		{"0 0 * * 5L", "at 00:00 on the last Friday of every month"},
		{"0 0 * * 2#2", "at 00:00 on the second Tuesday of every month"},
		{"0 0 * * MON#1,FRI#3", "at 00:00 on the first Monday and third Friday of every month"},
		{"0 0 * * 1,5L", "at 00:00 every Monday and on the last Friday of every month"},
		{"0 0 13 * FRI", "at 00:00 on the 13th of every month and every Friday"},
		{"0 0 1,15 * 1-5", "at 00:00 on the 1st and 15th of every month and every day from Monday to Friday"},
		{"0 0 */2 * MON", "at 00:00 when a Monday falls on an odd day of the month"},
		{"0 0 */5 * 1-5", "at 00:00 when a day from Monday to Friday falls on the 1st, 6th, 11th, 16th, 21st, 26th or 31st of the month"},
		{"0 0 1-31 * MON", "at 00:00 every day"},
		{"0 0 * * */2", "at 00:00 every Tuesday, Thursday, Saturday and Sunday"},
		{"0 0 */31 * 5L", "at 00:00 when the last Friday falls on the 1st of the month, which never happens"},
		{"0 0 29 2 MON", "at 00:00 on the 29th of February and every Monday in February"},
		{"0 0 13 6 FRI", "at 00:00 on the 13th of June and every Friday in June"},
		{"*/10 * * * 6", "every ten minutes, on Saturdays"},
		{"*/10 * 1 * *", "every ten minutes, on the 1st of every month"},
		{"*/10 * * 12 *", "every ten minutes, in December"},
		{"*/20 8-11,14-17 * * *", "every 20 minutes from 08:00 to 11:59 and from 14:00 to 17:59"},
		{"*/5 */2 * * *", "every five minutes during every second hour"},
		{"*/5 1-23/2 * * *", "every five minutes during every second hour from 01:00"},
		{"*/5 1,5,9,14 * * *", "every five minutes during the hours of 01, 05, 09 and 14"},
		{"10-20 * * * *", "every minute from minute 10 to minute 20 of every hour"},
		{"10-20 8 * * *", "every minute from 08:10 to 08:20"},
		{"10-20 8-10 * * *", "every minute from minute 10 to minute 20 of every hour from 08:00 to 10:59"},
		{"1,2,5,7 1,2,5 * * *", "at 1, 2, 5 and 7 minutes past the hours of 01, 02 and 05"},
		{"0 1,2,4,5,7,9,11,12,14 * * *", "at 01:00, 02:00, 04:00, 05:00, 07:00, 09:00, 11:00, 12:00 and 14:00 every day"},
		{"7 1,2,4,5,7,9,11,12,14 * * *", "at 01:07, 02:07, 04:07, 05:07, 07:07, 09:07, 11:07, 12:07 and 14:07 every day"},
		{"59 23 31 12 *", "at 23:59 on 31 December every year"},
		{"0 0 L 2 *", "at 00:00 on the last day of February"},
		{"0 12 1-15 4,10 *", "at 12:00 from the 1st to the 15th of April and October"},
		{"0 8 28-31 * 1", "at 08:00 from the 28th to the 31st of every month and every Monday"},
		{"*/2 * * * *", "every two minutes"},
		{"*/30 * * * *", "every 30 minutes"},
		{"0 0 15 * 3#3", "at 00:00 on the 15th of every month and on the third Wednesday"},
		{"0 4 8-14 * *", "at 04:00 from the 8th to the 14th of every month"},
		{"5 4 * * sun", "at 04:05 every Sunday"},
		{"0 22 * * 1-5", "at 22:00, Monday to Friday"},
		{"23 0-20/2 * * *", "every two hours from 00:23 to 20:23"},
		{"0 0,12 1 */2 *", "at 00:00 and 12:00 on the 1st of January, March, May, July, September and November"},
		{"*/20 8 * * *", "at 08:00, 08:20 and 08:40 every day"},
		{"*/15 8 * * *", "at 08:00, 08:15, 08:30 and 08:45 every day"},
		{"0,15,30,45 * * * *", "every 15 minutes"},
		{"0-30 * * * *", "every minute from minute 0 to minute 30 of every hour"},
		{"0-30/10 9 * * *", "at 09:00, 09:10, 09:20 and 09:30 every day"},
		{"5-55/10 * * * *", "every ten minutes from minute 5 to minute 55 of every hour"},
		{"*/45 * * * *", "at 0 and 45 minutes past every hour"},
		{"50 23 * * 5", "at 23:50 every Friday"},
		{"0 0 2-30/2 * *", "at 00:00 on even days of every month"},
		{"0 0 2-31/2 * *", "at 00:00 on even days of every month"},
		{"0 0 1,2,3,10,20 * *", "at 00:00 on the 1st to 3rd, 10th and 20th of every month"},
		{"0 0 1-5,10-15,L * *", "at 00:00 on the 1st to 5th, 10th to 15th and the last day of every month"},
		{"0 0 1-7 * MON", "at 00:00 from the 1st to the 7th of every month and every Monday"},
		{"0 0 8-14 * */7", "at 00:00 on the second Sunday of every month"},
		{"0 0 * 1,3,5 *", "at 00:00 every day in January, March and May"},
		{"*/5 0-5,22-23 * * *", "every five minutes from 22:00 to 05:59"},
		{"*/5 0-5,22-23 * * MON", "every five minutes from 00:00 to 05:59 and from 22:00 to 23:59, on Mondays"},
		{"0 12 * * 7", "at 12:00 every Sunday"},
		{"0 12 * * 2-6", "at 12:00, Tuesday to Saturday"},
		{"0 12 * * 1,2,4,5", "at 12:00 every Monday, Tuesday, Thursday and Friday"},
		{"0 12 * * 6-7", "at 12:00 every Saturday and Sunday"},
		{"0 0 28 2 *", "at 00:00 on 28 February every year"},
		{"0 0 1 4-9 *", "at 00:00 on the 1st of every month from April to September"},
		{"15 10 L * 1-5", "at 10:15 on the last day of every month and every day from Monday to Friday"},
		{"0 0 1 * 1L", "at 00:00 on the 1st of every month and on the last Monday"},
		{"30 7 1-5 1 *", "at 07:30 from 1 to 5 January every year"},
		{"*/5 * 1-7 * *", "every five minutes, from the 1st to the 7th of every month"},
		{"*/5 * * 6-8 1-5", "every five minutes, Monday to Friday, from June to August"},
		{"*/5 * * * 1-5", "every five minutes, Monday to Friday"},
		{"*/5 * 24 12 *", "every five minutes, on 24 December every year"},
		{"10,40 8-18 * * *", "at 10 and 40 minutes past every hour from 08:00 to 18:59"},
		{"0 */3 * * 1-5", "every three hours, Monday to Friday"},
		{"0 8-20/2 * * *", "every two hours from 08:00 to 20:00"},
		{"0 8-18/5 * * *", "at 08:00, 13:00 and 18:00 every day"},
		{"0 7,8,9 * * *", "at 07:00, 08:00 and 09:00 every day"},
		{"0 3 * * SUN#1", "at 03:00 on the first Sunday of every month"},
		{"0 0 5 1-3,12 *", "at 00:00 on the 5th of January to March and December"},
		{"0,20,40 6-9 * * SAT", "every 20 minutes from 06:00 to 09:59, on Saturdays"},
		{"2/3 * * * *", "every three minutes from minute 2 to minute 59 of every hour"},
		{"45 */4 * * *", "every four hours from 00:45 to 20:45"},
	}
}

func calendarSentences() []sentence {
	return []sentence{
		{"*-*~*", "at 00:00 every day"},
		{"Mon..Fri 2027-*-* 09:00", "at 09:00, Monday to Friday, in 2027"},
		{"Mon 2027..2029-06..08-* 09:00", "at 09:00 every Monday from June to August, from 2027 to 2029"},
		{"Mon *-*-2/2", "at 00:00 when a Monday falls on an even day of the month"},
		{"Mon *-9-24..30", "at 00:00 on the last Monday of September"},
		{"Mon *-8,9-24..30", "at 00:00 when a Monday falls on the 24th to 30th of August or September"},
		{"minutely", "every minute"},
		{"hourly", "every hour"},
		{"daily", "at 00:00 every day"},
		{"weekly", "at 00:00 every Monday"},
		{"monthly", "at 00:00 on the 1st of every month"},
		{"quarterly", "at 00:00 on the 1st of January, April, July and October"},
		{"semiannually", "at 00:00 on the 1st of January and July"},
		{"yearly", "at 00:00 on 1 January every year"},
		{"Mon..Fri 09:00", "at 09:00, Monday to Friday"},
		{"Mon,Wed 08:30", "at 08:30 every Monday and Wednesday"},
		{"Sat,Sun 10:00", "at 10:00 every Saturday and Sunday"},
		{"Mon..Fri 8..17:0/30", "every 30 minutes from 08:00 to 17:59, Monday to Friday"},
		{"*:0/5", "every five minutes"},
		{"*:0/10", "every ten minutes"},
		{"*:*", "every minute"},
		{"*:*:*", "every second"},
		{"*:*:0/10", "every ten seconds"},
		{"*:*:30", "at 30 seconds past every minute"},
		{"*:*:5,35", "at 5 and 35 seconds past every minute"},
		{"12:00:30", "at 12:00:30 every day"},
		{"08:05:40", "at 08:05:40 every day"},
		{"3:*:*", "every second from 03:00 to 03:59"},
		{"*:0/15:*", "every second in minutes 0, 15, 30 and 45 of every hour"},
		{"*:0/15:30", "at 30 seconds past minutes 0, 15, 30 and 45 of every hour"},
		{"*-*-1 04:00", "at 04:00 on the 1st of every month"},
		{"*-*~1", "at 00:00 on the last day of every month"},
		{"*-*~3", "at 00:00 on the third-to-last day of every month"},
		{"*-*~1..7", "at 00:00 on the last seven days of every month"},
		{"*-*~7/1", "at 00:00 on the last seven days of every month"},
		{"*-*~3,1", "at 00:00 on the last and third-to-last days of every month"},
		{"Mon *-*-1..7 10:00", "at 10:00 on the first Monday of every month"},
		{"Mon *-*~7/1 10:00", "at 10:00 on the last Monday of every month"},
		{"Sat *-*-8..14 10:30", "at 10:30 on the second Saturday of every month"},
		{"Fri *-*-13", "at 00:00 every Friday the 13th"},
		{"Sat,Sun *-*-13", "at 00:00 when a Saturday or Sunday falls on the 13th of the month"},
		{"Mon..Fri *-*~1..3", "at 00:00 when a day from Monday to Friday falls on the last three days of the month"},
		{"2031-07-04 12:00", "at 12:00 on 4 July 2031"},
		{"2024..2026-06-15", "at 00:00 on 15 June from 2024 to 2026"},
		{"2020/4-02-29", "at 00:00 on 29 February every four years from 2020"},
		{"*-12-25 08:00", "at 08:00 on 25 December every year"},
		{"*-02-29", "at 00:00 on 29 February in leap years"},
		{"2025-*-* 09:00", "at 09:00 every day in 2025"},
		{"Wed *-1", "at 00:00 every Wednesday the 1st"},
		{"*-1,4,7,10-1", "at 00:00 on the 1st of January, April, July and October"},
		{"*-6..8-* 09:00", "at 09:00 every day from June to August"},
		{"05-01..07 09:00", "at 09:00 from 1 to 7 May every year"},
		{"Mon 09:00\nFri 17:00", "at 09:00 every Monday; and at 17:00 every Friday"},
		{"Mon..Fri 08:00 Europe/Riga\nSat,Sun 10:00 Europe/Riga", "at 08:00, Monday to Friday; and at 10:00 every Saturday and Sunday, in Europe/Riga"},
		{"12:34 Europe/London\n00:00 UTC", "at 12:34 every day, in Europe/London; and at 00:00 every day, in UTC"},
		{"Mon 08:00 UTC", "at 08:00 every Monday, in UTC"},
		{"2027,2029-*-1", "at 00:00 on the 1st of every month in 2027 and 2029"},
		{"*-*-* 6,18:00", "at 06:00 and 18:00 every day"},
		{"0/4:00", "every four hours"},
		{"1/4:30", "every four hours from 01:30 to 21:30"},
		{"*-02-30", "at 00:00 on 30 February every year, which never happens"},
		{"Thu,Fri 2012-*-1,5 11:12:13", "at 11:12:13 when a Thursday or Friday falls on the 1st or 5th of the month in 2012"},
		{"*-3-25..31 01:00", "at 01:00 from 25 to 31 March every year"},
		{"Mon *-5,10-1..7", "at 00:00 on the first Monday of May and October"},
		{"22..23,0..5:0/20", "every 20 minutes from 22:00 to 05:59"},
		{"*:15,45", "at 15 and 45 minutes past every hour"},
		{"Mon..Fri *:0/15", "every 15 minutes, Monday to Friday"},
		{"Sat *-*-* 00:00:00", "at 00:00 every Saturday"},
		{"Thu,Fri *-*-* 11:12:13", "at 11:12:13 every Thursday and Friday"},
		{"*-*-1,15 12:00", "at 12:00 on the 1st and 15th of every month"},
		{"2025-01..03-15 12:00", "at 12:00 on the 15th of every month from January to March in 2025"},
		{"*-01,07-01 00:00", "at 00:00 on the 1st of January and July"},
		{"2030-*-01", "at 00:00 on the 1st of every month in 2030"},
		{"*-10-25..31 02:30", "at 02:30 from 25 to 31 October every year"},
		{"Sun *-10-25..31 02:30", "at 02:30 on the last Sunday of October"},
		{"*-*-2/2", "at 00:00 on even days of every month"},
		{"*-*~2", "at 00:00 on the second-to-last day of every month"},
		{"*-*~1,2,3", "at 00:00 on the last three days of every month"},
		{"*-*~10..20", "at 00:00 on the tenth-to-last to 20th-to-last days of every month"},
		{"9..17:*", "every minute from 09:00 to 17:59"},
		{"9..17:0/10:30", "at 30 seconds past every tenth minute of every hour from 09:00 to 17:59"},
		{"Mon *:0/10:0/20", "every 20 seconds in every tenth minute of every hour, on Mondays"},
		{"*-*-* 0,12:0/30", "at 00:00, 00:30, 12:00 and 12:30 every day"},
		{"*:*:1..10", "at 1 to 10 seconds past every minute"},
		{"10:00:0/5", "every five seconds from 10:00:00 to 10:00:59"},
		{"2199-12-31 23:59:59", "at 23:59:59 on 31 December 2199"},
		{"Sun *-6,9-24..30 08:00", "at 08:00 on the last Sunday of June and September"},
		{"Mon *-*-1..7 10:00 UTC", "at 10:00 on the first Monday of every month, in UTC"},
	}
}
