package check

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

// calendarDays is how many days the calendar of a check shows.
const calendarDays = 91

// calendar shows a square for each of the last days, one week a column.
type calendar struct {
	SVG  template.HTML
	Text string
}

// newCalendar draws the last days of a check. Days of which nothing is known stay empty.
func newCalendar(days []checks.DayStats, now time.Time) calendar {
	byDate := map[time.Time]checks.DayStats{}
	for _, d := range days {
		byDate[d.Date] = d
	}
	today := now.UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-calendarDays)
	monday := first.AddDate(0, 0, -(int(first.Weekday())+6)%7)
	var out strings.Builder
	bad, watched, column := 0, 0, 0
	var squares strings.Builder
	for date := monday; !date.After(today); date = date.AddDate(0, 0, 1) {
		row := (int(date.Weekday()) + 6) % 7
		if date.Before(first) {
			continue
		}
		column = int(date.Sub(monday).Hours()/24) / 7
		class, words := dayWords(byDate[date])
		if class == "bad" || class == "some" {
			bad++
		}
		if class != "none" {
			watched++
		}
		fmt.Fprintf(&squares, `<rect class="%s" x="%d" y="%d" width="11" height="11" rx="2"><title>%s: %s</title></rect>`,
			class, 28+column*14, row*14, date.Format("Mon 2 Jan"), words)
	}
	text := fmt.Sprintf("Of the last %d days, %d were monitored, and the check was down on %d of them.", calendarDays, watched, bad)
	fmt.Fprintf(&out, `<svg class="days" viewBox="0 0 %d 98" role="img" aria-label="%s">`, 28+(column+1)*14, text)
	for i, name := range []string{"Mon", "Wed", "Fri", "Sun"} {
		fmt.Fprintf(&out, `<text x="0" y="%d">%s</text>`, 2*i*14+10, name)
	}
	out.WriteString(squares.String())
	out.WriteString("</svg>")
	return calendar{SVG: template.HTML(out.String()), Text: text}
}

// dayWords returns the class and the words of a day.
func dayWords(d checks.DayStats) (class, words string) {
	if d.Times.Up+d.Times.Down+d.Times.Maintenance == 0 {
		return "none", "not monitored"
	}
	runs := ""
	if d.Times.Maintenance > 0 {
		runs = ", down for maintenance " + prose.Duration(d.Times.Maintenance)
	}
	if d.Runs > 0 {
		runs += ", " + prose.Count(d.Runs, "run")
		if d.Failures > 0 {
			runs += fmt.Sprintf(", %d failed", d.Failures)
		}
	}
	switch {
	case d.Times.Down >= 6*time.Hour:
		return "bad", "down " + prose.Duration(d.Times.Down) + runs
	case d.Times.Down > 0:
		return "some", "down " + prose.Duration(d.Times.Down) + runs
	case d.Times.Up == 0:
		return "none", strings.TrimPrefix(runs, ", ")
	}
	return "good", "up" + runs
}

// monthStats are the totals of a month.
type monthStats struct {
	Name      string
	Available string
	Down      string
	// Maintenance is the time down within maintenance, which is not in Down, or "".
	Maintenance string
	Runs        int64
	Failures    int64
	Average     string
}

// monthsOf sums days up by month, the newest first, for the current month and the two before it.
func monthsOf(days []checks.DayStats, now time.Time) []monthStats {
	var list []monthStats
	for back := range 3 {
		begin := time.Date(now.UTC().Year(), now.UTC().Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		end := begin.AddDate(0, 1, 0)
		var of []checks.DayStats
		for _, d := range days {
			if !d.Date.Before(begin) && d.Date.Before(end) {
				of = append(of, d)
			}
		}
		totals, times := checks.SumDays(of)
		if len(of) == 0 || times.Up+times.Down+times.Maintenance == 0 && totals.Runs == 0 {
			continue
		}
		m := monthStats{Name: begin.Format("January"), Available: cmp.Or(times.Percent(), "–"), Down: "–", Runs: totals.Runs, Failures: totals.Failures, Average: "–"}
		if times.Down > 0 {
			m.Down = prose.Duration(times.Down)
		}
		if times.Maintenance > 0 {
			m.Maintenance = prose.Duration(times.Maintenance)
		}
		if totals.Timed > 0 {
			m.Average = prose.Duration(totals.Sum / time.Duration(totals.Timed))
		}
		list = append(list, m)
	}
	return list
}
