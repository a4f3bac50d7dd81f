package schedule

import (
	"regexp"
	"strings"
)

// cronWords are the words of crontabs that stand for an expression.
var cronWords = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *", "@every_minute": "* * * * *",
}

// pasted is a schedule that was given in another form than [Parse] reads.
type pasted struct {
	Schedule
	expr string
}

func (p pasted) String() string { return p.expr }

// Read parses an expression as [Parse] does, and also what people paste if it can mean only one thing:
//
//   - @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every_minute, which mean what they mean in a crontab
//   - OnCalendar= in front of a line, as in the file of a systemd timer
//   - a comment on a line of its own, or at the end of a line after a blank and #
//
// The String of the Schedule returns the expression as it was given.
func Read(expr string) (Schedule, error) {
	text := Plain(expr)
	s, err := Parse(text)
	switch {
	case err != nil:
		return nil, err
	case text != expr:
		return pasted{s, expr}, nil
	}
	return s, nil
}

// readable reports whether [Read] accepts an expression.
func readable(expr string) bool {
	_, err := parse(Plain(expr))
	return err == nil
}

var (
	onCalendarKey = regexp.MustCompile(`(?m)^[ \t]*OnCalendar[ \t]*=`)
	// comment does not match #2 after a blank, which may belong to the weekday before it.
	comment = regexp.MustCompile(`(?m)^[ \t]*#.*$|[ \t]+#([^0-9\n].*)?$`)
)

// Plain returns the expression that [Parse] reads for one that [Read] takes. Except for words, all that remains stays in its
// place.
func Plain(expr string) string {
	blanks := func(s string) string { return strings.Repeat(" ", len(s)) }
	text := comment.ReplaceAllStringFunc(onCalendarKey.ReplaceAllStringFunc(expr, blanks), blanks)
	if long, ok := cronWords[strings.ToLower(strings.TrimSpace(text))]; ok {
		return long
	}
	return text
}

// An Entry is a line of a crontab.
type Entry struct {
	// Schedule is the expression, which [Read] accepts.
	Schedule string
	// TZ is the zone of TZ= or CRON_TZ= in front of the expression, which may be unknown, or a known one behind it, or "".
	TZ string
	// Command is the rest of the line. A user before the command is part of it.
	Command string
}

var zoneInFront = regexp.MustCompile(`^(?:CRON_)?TZ=(\S+)\s+`)

// ReadEntry splits a line of a crontab that has a command, a time zone, or both. It reports whether
// the line is one. An expression alone, which [Read] accepts, is none.
func ReadEntry(line string) (e Entry, ok bool) {
	rest := strings.TrimSpace(line)
	if found := zoneInFront.FindStringSubmatch(rest); found != nil {
		e.TZ, rest = strings.Trim(found[1], `"'`), rest[len(found[0]):]
	} else if readable(rest) {
		return e, false
	}
	if strings.Contains(rest, "\n") {
		return e, false
	}
	parts, n := part{rest, 0}.split(), cronParts
	if strings.HasPrefix(rest, "@") {
		n = 1
	}
	if len(parts) < n {
		return e, false
	}
	last := parts[n-1]
	end := last.offset + len(last.text)
	e.Schedule, e.Command = rest[:end], strings.TrimSpace(comment.ReplaceAllString(rest[end:], ""))
	if _, err := LoadLocation(e.Command); err == nil && e.TZ == "" && strings.Contains(e.Command, "/") {
		e.TZ, e.Command = e.Command, ""
	}
	if !readable(e.Schedule) || len(parts) > n && n == cronParts && mayBeField(parts[n].text) {
		return Entry{}, false
	}
	return e, e.TZ != "" || e.Command != ""
}

// mayBeField reports whether the part after five fields may be a sixth field instead of the first word of a command.
func mayBeField(text string) bool {
	if _, err := cronSet(&cronWeekday, part{text, 0}, new(dayRule).cronWeekdayTerm); err == nil {
		return true
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789*?,-/#LW", r) })
}
