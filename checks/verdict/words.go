package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

const day = 24 * time.Hour

// Schedule says in words when a check expects to be pinged: "every 2 hours", "at 03:00 every day, in Europe/Riga". It
// begins in lower case and has no full stop. If the schedule cannot be read, it is the expression and the zone.
func Schedule(s checks.Settings) string {
	if !s.IsCron() {
		return every(s.Timeout)
	}
	parsed, err := schedule.Read(s.Schedule)
	zone, zoneErr := schedule.LoadLocation(s.TZ)
	if err != nil || zoneErr != nil {
		return fmt.Sprintf("%s (%s)", strings.Join(strings.Fields(s.Schedule), " "), s.TZ)
	}
	return schedule.Explain(parsed, zone)
}

// every returns "every 2 hours", "every day" or "every 1 h 30 min".
func every(d time.Duration) string {
	for _, unit := range []struct {
		name string
		size time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch {
		case d == unit.size:
			return "every " + unit.name
		case d > 0 && d%unit.size == 0:
			if n := int64(d / unit.size); n < 60 || unit.size == day {
				return "every " + prose.Count(n, unit.name)
			}
		}
	}
	return "every " + prose.Period(d)
}
