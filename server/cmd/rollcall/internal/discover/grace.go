package discover

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// bases are the grace of jobs whose shortest gap between two runs is under a limit.
var bases = []struct{ under, grace time.Duration }{
	{10 * time.Minute, 5 * time.Minute},
	{time.Hour, 10 * time.Minute},
	{6 * time.Hour, 30 * time.Minute},
	{7 * 24 * time.Hour, time.Hour},
	{28 * 24 * time.Hour, 3 * time.Hour},
	{math.MaxInt64, 6 * time.Hour},
}

// delay is by how much the start of a run may move.
type delay struct {
	by  time.Duration
	why string
}

// setGrace sets the grace time from the shortest gap and the delays of more than a minute.
func (j *Job) setGrace(gap time.Duration, delays []delay) {
	i := slices.IndexFunc(bases, func(b struct{ under, grace time.Duration }) bool { return gap < b.under })
	grace := bases[i].grace
	j.ShortestGap = int64(gap / time.Second)
	j.GraceWhy = []string{fmt.Sprintf("runs every %s at the shortest: %s", period(gap), period(grace))}
	if gap == never {
		j.ShortestGap, j.GraceWhy = 0, []string{"runs once: " + period(grace)}
	}
	for _, d := range delays {
		if d.by > time.Minute {
			grace += d.by
			j.GraceWhy = append(j.GraceWhy, "+"+period(d.by)+" "+d.why)
		}
	}
	grace = (grace + time.Minute - 1).Truncate(time.Minute)
	j.Grace = int64(grace / time.Second)
}

// never is the gap of a schedule that fires once.
const never = time.Duration(math.MaxInt64 - 1)

// period writes a duration in the largest unit that divides it, such as 90m.
func period(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if d >= unit.of && d%unit.of == 0 {
			return fmt.Sprintf("%d%s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

const (
	// gapYears is how far a schedule is followed, so that weekdays meet every day of the month in leap years, too.
	gapYears = 28
	// gapRuns bounds the runs that are followed. Schedules with more of them repeat their gaps every few days.
	gapRuns = 1500
)

// shortestGap returns the shortest time between two runs of an expression, by a clock that never changes.
func shortestGap(expr string, now time.Time) (gap time.Duration, err error) {
	s, err := schedule.Parse(withoutZone(expr))
	if err != nil {
		return 0, err
	}
	gap = never
	last := s.Next(now.UTC())
	for end, n := now.AddDate(gapYears, 0, 0), 0; n < gapRuns && !last.IsZero() && last.Before(end); n++ {
		next := s.Next(last)
		if next.IsZero() {
			break
		}
		gap, last = min(gap, next.Sub(last)), next
		if gap <= time.Minute && schedule.Detect(expr) == schedule.KindCron {
			break
		}
	}
	return gap, nil
}

// withoutZone removes the zone of the lines of an expression if all have the same, so that no change of its clock shortens a gap.
func withoutZone(expr string) string {
	lines := strings.Split(expr, "\n")
	zone := zoneOf(lines[0])
	for i, line := range lines {
		if zoneOf(line) != zone {
			return expr
		}
		lines[i] = strings.TrimSuffix(line, " "+zone)
	}
	return strings.Join(lines, "\n")
}

// zoneOf returns the zone at the end of a line, or "".
func zoneOf(line string) string {
	words := strings.Fields(line)
	if len(words) < 2 {
		return ""
	}
	last := words[len(words)-1]
	if _, err := schedule.LoadLocation(last); err != nil || isDigit(last[0]) || last[0] == '*' {
		return ""
	}
	return last
}

// fires reports whether an expression fires after now in a zone.
func fires(expr, zone string, now time.Time) (bool, error) {
	s, err := schedule.Parse(expr)
	if err != nil {
		return false, err
	}
	loc, err := schedule.LoadLocation(zone)
	if err != nil {
		return false, err
	}
	return !s.Next(now.In(loc)).IsZero(), nil
}
