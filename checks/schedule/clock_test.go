package schedule_test

import (
	"fmt"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// In Riga, 2026-03-29 03:30 does not exist, and 2026-10-25 03:30 exists twice.
func ExampleShown() {
	riga, err := time.LoadLocation("Europe/Riga")
	if err != nil {
		panic(err)
	}
	for _, day := range []time.Time{time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)} {
		at, skipped := schedule.Shown(riga, day.Add(3*time.Hour+30*time.Minute))
		fmt.Println(at, skipped)
		for _, c := range schedule.ClockChanges(riga, day, day.AddDate(0, 0, 1)) {
			fmt.Println("from", c.Before, "to", c.After, "at", c.At)
		}
	}
	// Output:
	// 2026-03-29 04:00:00 +0300 EEST true
	// from 2h0m0s to 3h0m0s at 2026-03-29 04:00:00 +0300 EEST
	// 2026-10-25 03:30:00 +0300 EEST false
	// from 3h0m0s to 2h0m0s at 2026-10-25 03:00:00 +0200 EET
}
