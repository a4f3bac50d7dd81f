package snippets

import (
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
)

// cron returns the schedule of a check if crontabs and Kubernetes can read it, or else "".
func cron(s checks.Settings) string {
	expr := schedule.Plain(s.Schedule)
	if s.IsCron() && schedule.Detect(expr) == schedule.KindCron && !strings.ContainsAny(expr, "#L\n") {
		return strings.Join(strings.Fields(expr), " ")
	}
	return ""
}

// zoneMatters reports whether the schedule of a crontab means other times in other time zones.
func zoneMatters(s checks.Settings) bool {
	fields := strings.Fields(cron(s))
	return len(fields) == 5 && (fields[1] != "*" || fields[2] != "*" || fields[3] != "*" || fields[4] != "*")
}

// onCalendar returns the schedule of a check as the value of one OnCalendar line of a systemd timer, with its time zone, or
// "" if one line cannot say it. skips reports whether the timer skips a run that the check expects, because a change of the
// clock leaves its time out.
func onCalendar(s checks.Settings) (expr string, skips bool) {
	expr = strings.TrimSpace(schedule.Plain(s.Schedule))
	zone, err := schedule.LoadLocation(s.TZ)
	if expr == "" || strings.Contains(expr, "\n") || err != nil {
		return "", false
	}
	if schedule.Detect(expr) == schedule.KindCron {
		if expr = calendarOf(strings.Fields(expr)); expr == "" || !same(s.Schedule, expr, time.UTC) {
			return "", false
		}
	}
	skips = !same(s.Schedule, expr, zone)
	if zoned := expr + " " + s.TZ; same(expr, zoned, zone) {
		return zoned, skips
	}
	return expr, skips // it names a zone
}

// same reports whether two expressions fire at the same times, for a year or 400 times.
func same(a, b string, zone *time.Location) bool {
	first, err := schedule.Read(a)
	if err != nil {
		return false
	}
	second, err := schedule.Parse(b)
	if err != nil {
		return false
	}
	at := time.Date(2029, 1, 1, 0, 0, 0, 0, zone)
	for range 400 {
		next := first.Next(at)
		if !next.Equal(second.Next(at)) {
			return false
		}
		if at = next; next.IsZero() {
			break
		}
	}
	return true
}

// calendarOf translates simple fields of cron, or returns "".
func calendarOf(fields []string) string {
	if len(fields) != 5 || fields[2] != "*" && fields[4] != "*" {
		return ""
	}
	date, ok := make([]string, 5), true
	for i, field := range fields {
		switch every, found := strings.CutPrefix(field, "*/"); {
		case field == "*":
			date[i] = "*"
		case found:
			date[i] = []string{"0", "0", "1", "1", ""}[i] + "/" + every
			ok = ok && i < 4
		case i == 4:
			date[i] = weekdays(field)
			ok = ok && date[i] != ""
		default:
			ok = ok && strings.Trim(field, "0123456789,-") == ""
			date[i] = strings.ReplaceAll(field, "-", "..")
		}
	}
	if !ok {
		return ""
	}
	text := "*-" + date[3] + "-" + date[2] + " " + padded(date[1]) + ":" + padded(date[0]) + ":00"
	if date[4] != "*" {
		text = date[4] + " " + text
	}
	return text
}

// padded writes a single number with two digits, as people write times.
func padded(text string) string {
	if len(text) == 1 && text != "*" {
		return "0" + text
	}
	return text
}

// weekdays translates a list or a range of weekdays, or returns "".
func weekdays(field string) string {
	names := []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}
	var parts []string
	for part := range strings.SplitSeq(field, ",") {
		from, to, isRange := strings.Cut(part, "-")
		var ends []string
		for _, end := range []string{from, to} {
			n, err := strconv.Atoi(end)
			switch {
			case end == "" && !isRange:
			case err == nil && n >= 0 && n <= 7:
				ends = append(ends, names[n])
			case len(end) == 3:
				ends = append(ends, strings.ToUpper(end[:1])+strings.ToLower(end[1:]))
			default:
				return ""
			}
		}
		parts = append(parts, strings.Join(ends, ".."))
	}
	return strings.Join(parts, ",")
}
