package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// advise returns the error of an expression in the dialect of another program, which says what to write instead, or err.
func advise(expr string, err *Error) *Error {
	text := strings.TrimSpace(expr)
	reason := ""
	switch entry, isEntry := ReadEntry(text); {
	case isEntry && entry.TZ != "":
		reason = fmt.Sprintf("a cron expression has no time zone: write %s as the time zone and %s as the schedule",
			quote(entry.TZ), quote(entry.Schedule))
	case isEntry:
		reason = fmt.Sprintf("this is a line of a crontab with a command: write %s alone", quote(entry.Schedule))
	default:
		for _, d := range dialects {
			if found := d.form.FindStringSubmatch(text); found != nil {
				reason = d.advice(found)
				break
			}
		}
	}
	if reason == "" {
		return adviseFields(expr, err)
	}
	return &Error{Field: "schedule", Reason: reason, Offset: strings.Index(expr, text)}
}

// dialects are the expressions of other programs that differ as a whole.
var dialects = []struct {
	form   *regexp.Regexp
	advice func(found []string) string
}{
	{regexp.MustCompile(`(?is)^(?:cron\((.*)\))$`), func(found []string) string {
		fields := strings.Fields(found[1])
		if len(fields) == cronParts+1 {
			fields = withoutYear(fields)
		}
		return "cron(…) is the form of AWS: " + write(standard(fields, true))
	}},
	{regexp.MustCompile(`(?i)^rate\((.*)\)$`), func(found []string) string { return interval(found[0], found[1]) }},
	{regexp.MustCompile(`(?i)^@every\s+(.+)$`), func(found []string) string { return interval(found[0], found[1]) }},
	{regexp.MustCompile(`(?i)^(?:every|each)\s+(\d.*|minute|hour)$`), func(found []string) string { return interval(found[0], found[1]) }},
	{regexp.MustCompile(`^On(?:Active|Boot|Startup|UnitActive|UnitInactive)Sec\s*=\s*(.*)$`), func(found []string) string {
		return interval(found[0], found[1])
	}},
	{regexp.MustCompile(`(?i)^@reboot\b`), func([]string) string {
		return "@reboot names no time, so no run can be expected: give the check a timeout instead of a schedule"
	}},
	{regexp.MustCompile(`(?s)^(["'` + "`" + `])(.*)(["'` + "`" + `])$`), func(found []string) string {
		if !readable(found[2]) {
			return ""
		}
		return "the expression is in quotation marks: write " + bareExpr(found[2])
	}},
	{regexp.MustCompile(`^\S+$`), func(found []string) string {
		if _, err := time.ParseDuration(found[0]); err != nil {
			return ""
		}
		return interval(found[0], found[0])
	}},
}

// interval advises against a period where an expression belongs.
func interval(text, period string) string {
	return fmt.Sprintf("%s is an interval, not a schedule: give the check a timeout of %s instead", bareExpr(text), bareExpr(period))
}

// bareExpr returns a piece of user input for an error, without quotation marks if it is printable ASCII.
func bareExpr(s string) string {
	if len(s) > 2*quotedLimit || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return quote(s)
	}
	return s
}

// write says what to write: an expression, or for "" what it needs.
func write(expr string) string {
	if expr == "" {
		return "write five fields without seconds and years, and weekdays by their names"
	}
	return "write " + expr
}

// adviseFields is [advise] for expressions that differ in their fields.
func adviseFields(expr string, err *Error) *Error {
	parts := part{expr, 0}.split()
	several := strings.Contains(strings.TrimSpace(expr), "\n")
	if n := len(parts); !several && (n == cronParts+1 || n == cronParts+2) && looksLikeCron(parts) {
		fields := make([]string, n)
		for i, p := range parts {
			fields[i] = p.text
		}
		return parts[0].fail("schedule", "a cron expression has %d parts, this one has %d: %s", cronParts, n, shorter(fields))
	}
	if len(parts) != cronParts || several || err.Offset < 0 {
		return err
	}
	for _, p := range parts {
		if err.Offset < p.offset || err.Offset >= p.offset+len(p.text) {
			continue
		}
		switch {
		case p.text == "?":
			err.Reason = "? is the form of Quartz: write *"
		case p.text == "H" || strings.HasPrefix(p.text, "H/") || strings.HasPrefix(p.text, "H("):
			err.Reason = bare(p.text) + " leaves the choice to Jenkins: write a number, and a grace time that covers the others"
		case strings.Contains(p.text, "~"):
			err.Reason = bare(p.text) + " is a random time: write its first value, and a grace time that covers the others"
		case strings.Contains(p.text, "W") && err.Field == "day of month":
			err.Reason = bare(p.text) + " is not supported: W only follows L, as in LW, the last workday of the month"
		}
		break
	}
	return err
}

// looksLikeCron reports whether all parts have the form of fields of cron.
func looksLikeCron(parts []part) bool {
	for _, p := range parts {
		if strings.Trim(strings.ToUpper(p.text), "0123456789*?,-/#ABCDEFGHIJLMNOPRSTUVWY") != "" {
			return false
		}
	}
	return !isDate(parts[0].text)
}

// shorter says how to write an expression of six or seven fields in five.
func shorter(fields []string) string {
	if len(fields) == cronParts+2 {
		return write(standard(withoutYear(withoutSeconds(fields)), true))
	}
	bySeconds, byYear := standard(withoutSeconds(fields), false), standard(withoutYear(fields), false)
	switch {
	case bySeconds == "" || bySeconds == byYear:
		return write(byYear)
	case byYear == "":
		return write(bySeconds) + ", without the seconds"
	}
	return write(bySeconds) + ", without the seconds, or " + byYear + ", without the year"
}

// withoutSeconds returns the fields after the first, or nil if that is not one of seconds.
func withoutSeconds(fields []string) []string {
	if _, err := cronSet(&cronMinute, part{fields[0], 0}, nil); err != nil {
		return nil
	}
	return fields[1:]
}

// withoutYear returns the fields before the last, or nil if that asks for certain years or is no field of years.
func withoutYear(fields []string) []string {
	last := len(fields) - 1
	if last < 0 || fields[last] != "*" && fields[last] != "?" {
		return nil
	}
	return fields[:last]
}

// weekdayNumber is a weekday in the field of weekdays, but for the number after # or a step.
var weekdayNumber = regexp.MustCompile(`(^|[,-])([1-7])`)

// standard returns the expression of five fields with * for ?, or "" if it is not valid. From programs that count weekdays
// from 1 for Sunday it takes their names. Others that know ? count in either way.
func standard(fields []string, fromSunday bool) string {
	if len(fields) != cronParts {
		return ""
	}
	days := fields[cronParts-1]
	switch hasNumber := weekdayNumber.MatchString(days); {
	case hasNumber && fromSunday && !strings.ContainsAny(days, "Ll"):
		days = weekdayNumber.ReplaceAllStringFunc(days, func(found string) string {
			last := len(found) - 1
			return found[:last] + cronWeekday.names[found[last]-'1']
		})
	case hasNumber && (fromSunday || strings.Contains(strings.Join(fields, " "), "?")):
		return ""
	}
	expr := strings.ReplaceAll(strings.Join(append(slices.Clone(fields[:cronParts-1]), days), " "), "?", "*")
	if _, err := parseCron(expr); err != nil {
		return ""
	}
	return expr
}
