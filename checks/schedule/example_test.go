package schedule_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

func ExampleParse() {
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		log.Fatal(err)
	}
	s, err := schedule.Parse("0 3 * * MON-FRI")
	if err != nil {
		log.Fatal(err)
	}
	// A Friday.
	t := time.Date(2026, 1, 2, 12, 0, 0, 0, riga)
	for range 3 {
		t = s.Next(t)
		fmt.Println(t.Format("Mon 2 Jan 15:04 MST"))
	}
	// Output:
	// Mon 5 Jan 03:00 EET
	// Tue 6 Jan 03:00 EET
	// Wed 7 Jan 03:00 EET
}

func ExampleParse_onCalendar() {
	s, err := schedule.Parse("Mon..Fri 09:00 Europe/Riga\nSat 12:00 America/New_York")
	if err != nil {
		log.Fatal(err)
	}
	t := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	for range 3 {
		t = s.Next(t)
		fmt.Println(t.Format("Mon 2 Jan 15:04 MST"))
	}
	// Output:
	// Sat 3 Jan 17:00 UTC
	// Mon 5 Jan 07:00 UTC
	// Tue 6 Jan 07:00 UTC
}

func ExampleError() {
	for _, expr := range []string{"0 25 * * *", "Mon..Fri 09:00\nFri..Mon 10:00", "12:00 riga"} {
		_, err := schedule.Parse(expr)
		var e *schedule.Error
		if errors.As(err, &e) {
			fmt.Printf("%s (byte %d)\n", e, e.Offset)
		}
	}
	// Output:
	// hour: 25 is not in 0–23 (byte 2)
	// line 2: weekday: the range Fri..Mon runs backwards: the week ends on Sunday (byte 15)
	// tz: "riga" is not a time zone of the IANA database; did you mean Europe/Riga? (byte 6)
}

func ExampleDetect() {
	fmt.Println(schedule.Detect("*/5 9-17 * * 1-5"))
	fmt.Println(schedule.Detect("Mon..Fri 9..17:0/5"))
	// Output:
	// cron
	// oncalendar
}

func ExampleExplain() {
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		log.Fatal(err)
	}
	for _, expr := range []string{"*/5 9-17 * * 1-5", "0 0 13 * FRI", "0 0 */2 * MON", "Mon *-*~07/1 10:00"} {
		s, err := schedule.Parse(expr)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(schedule.Explain(s, riga))
	}
	// Output:
	// every five minutes from 09:00 to 17:59, Monday to Friday, in Europe/Riga
	// at 00:00 on the 13th of every month and every Friday, in Europe/Riga
	// at 00:00 when a Monday falls on an odd day of the month, in Europe/Riga
	// at 10:00 on the last Monday of every month, in Europe/Riga
}

// The clocks of Riga went forward at 03:00 on 30 March 2025.
func ExampleUpcoming() {
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		log.Fatal(err)
	}
	for _, expr := range []string{"30 3 * * *", "03:30", "*/30 2-4 * * *"} {
		s, err := schedule.Parse(expr)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(expr)
		for _, o := range schedule.Upcoming(s, time.Date(2025, 3, 30, 2, 15, 0, 0, riga), 2) {
			fmt.Println(o.Time.Format("  2 Jan 15:04 MST"))
			if o.Note != "" {
				fmt.Println("   ", o.Note)
			}
		}
	}
	// Output:
	// 30 3 * * *
	//   30 Mar 04:00 EEST
	//     03:30 does not exist: the run is expected when the gap ends, at 04:00; clocks go forward from 03:00 to 04:00
	//   31 Mar 03:30 EEST
	// 03:30
	//   31 Mar 03:30 EEST
	//     03:30 is skipped; clocks go forward from 03:00 to 04:00 on 30 March 2025
	//   1 Apr 03:30 EEST
	// */30 2-4 * * *
	//   30 Mar 02:30 EET
	//   30 Mar 04:00 EEST
	//     03:00 to 03:30 are skipped; clocks go forward from 03:00 to 04:00
}

// The clocks of Riga went back from 04:00 to 03:00 on 26 October 2025.
func ExampleUpcoming_overlap() {
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		log.Fatal(err)
	}
	for _, expr := range []string{"30 3 * * *", "30 */3 * * *"} {
		s, err := schedule.Parse(expr)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(expr)
		for _, o := range schedule.Upcoming(s, time.Date(2025, 10, 26, 0, 0, 0, 0, riga).Add(time.Hour), 3) {
			fmt.Println(o.Time.Format("  2 Jan 15:04 MST"))
			if o.Note != "" {
				fmt.Println("   ", o.Note)
			}
		}
	}
	// Output:
	// 30 3 * * *
	//   26 Oct 03:30 EEST
	//     03:30 comes twice, the run is expected the first time only
	//   27 Oct 03:30 EET
	//     clocks go back from 04:00 to 03:00 on 26 October 2025
	//   28 Oct 03:30 EET
	// 30 */3 * * *
	//   26 Oct 03:30 EEST
	//     03:30 comes twice, this is the first time
	//   26 Oct 03:30 EET
	//     03:30 for the second time; clocks go back from 04:00 to 03:00
	//   26 Oct 06:30 EET
}

func ExampleLoadLocation() {
	for _, name := range []string{"Europe/Kiev", "UTC", "localtime"} {
		loc, err := schedule.LoadLocation(name)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(loc)
	}
	// Output:
	// Europe/Kyiv
	// UTC
	// tz: "localtime" is not a time zone of the IANA database
}

func ExampleFromWords() {
	for _, text := range []string{"weekdays 7:30", "every day at 3", "every 90 minutes", "0 3 * * *", "every other day"} {
		switch u, err := schedule.FromWords(text); {
		case err != nil:
			fmt.Println(err)
		case u.Every != 0:
			fmt.Println("an interval of", u.Every)
		default:
			fmt.Printf("%q, taken: %q\n", u.Expression, u.Taken)
		}
	}
	// Output:
	// "30 7 * * MON-FRI", taken: ""
	// "0 3 * * *", taken: "The time was read as 03:00, on a 24-hour clock; write pm for 15:00."
	// an interval of 1h30m0s
	// "0 3 * * *", taken: ""
	// schedule: days cannot be counted from one month into the next: write "every 2 days" for the time since the last ping, or name the weekdays
}
