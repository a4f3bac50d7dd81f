package cause

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// scanner reads the lines of an output, and keeps those that may say why.
type scanner struct {
	found   []candidate
	gap     bool // noise or a blank line was just read
	lines   int  // lines that are not blank
	headers bool // in the headers of a mail
	trace   int  // in a traceback that begins at this column + 1; 0 if in none
	stack   bool // in the stack of a goroutine, which ends with a blank line
}

func (s *scanner) blank() {
	s.gap, s.headers, s.stack = true, false, false
}

func (s *scanner) noise() { s.gap = true }

func (s *scanner) add(text string, score int) {
	s.found = append(s.found, candidate{text, score, s.gap})
	s.gap = false
}

// mailHeader matches headers that begin a mail, and header all of them.
var (
	mailHeader = regexp.MustCompile(`^(?:From |(?i:return-path|received|from|to|subject|date|message-id|mime-version|delivered-to|envelope-to): )`)
	header     = regexp.MustCompile(`^(?:[A-Za-z][A-Za-z0-9-]*:|[ \t]+\S)`)
)

// line reads a line that is not blank.
func (s *scanner) line(text string) {
	s.lines++
	if s.lines == 1 && mailHeader.MatchString(text) {
		s.headers = true
		return
	}
	if s.headers {
		if s.headers = header.MatchString(text); s.headers {
			return
		}
	}
	text, stamped := withoutStamp(text)
	indent := len(text) - len(strings.TrimLeft(text, " \t"))
	text = strings.TrimLeft(strings.TrimPrefix(strings.TrimSpace(text), "---> "), "│┃╷╵ ") // .NET's inner exception; a frame
	if text == "" {
		s.noise()
		return
	}
	lower := strings.ToLower(text)
	if s.traceback(text, lower, indent) || s.frame(text, lower, indent) || s.stack || isNoise(text, lower) {
		s.noise()
		return
	}
	if text, score, ok := object(text); ok {
		s.add(text, score)
		return
	}
	if stamped {
		text, lower = lineAfterProgram(text, lower)
	}
	s.add(text, score(text, lower))
}

// traceback follows a traceback of Python: a heading, indented lines, and the exception. It reports whether the line is
// noise.
func (s *scanner) traceback(text, lower string, indent int) bool {
	switch {
	case strings.HasPrefix(lower, "traceback (most recent call last)"):
		s.trace = indent + 1
		return true
	case s.trace == 0 && strings.HasPrefix(text, `File "`) && strings.Contains(text, `", line `):
		s.trace = indent // a SyntaxError has no heading
		return true
	case s.trace == 0:
		return false
	case indent >= s.trace:
		return true
	}
	s.trace = 0
	if strings.HasPrefix(lower, "during handling of") || strings.HasPrefix(lower, "the above exception") {
		return true
	}
	s.add(text, exception)
	return true
}

// frames matches a stack frame: of Java, JavaScript, .NET, Ruby and PHP, and what stands around them. Go's have a state.
var frames = regexp.MustCompile(`^(?:at [^ ]+(?:\(| in | \[| \(|:\d)|at (?:async|new) |from \S+:\d+:in |#\d+ |\d+: .*::|\.\.\. \d+ more|stack trace:|stack backtrace:|--- end of )`)

// frame reports whether the line is a stack frame or a heading of stack frames. What stands just before the first one is
// the exception.
func (s *scanner) frame(text, lower string, indent int) bool {
	switch {
	case strings.HasPrefix(text, "goroutine ") && strings.HasSuffix(text, "]:"):
		s.stack = true
		return true
	case !frames.MatchString(lower):
		return false
	}
	if n := len(s.found); n > 0 && !s.gap && s.found[n-1].score > 0 {
		s.found[n-1].score = exception
	}
	return true
}

// stamp matches a time at the beginning of a line: 2026-11-22 03:00:01.5, [22/Nov/2026:03:00:01 +0200], 03:00:01, the
// [471104.114870] of a kernel; syslog that of syslog, with the host and the program.
var (
	stamp = regexp.MustCompile(`^[\[(<]? *(?:\d+\.\d{6}|(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]\s?|\d\d?[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d{4}[: ])?\d\d:\d\d:\d\d(?:[.,]\d+)?` +
		`(?:Z| ?[+-]\d\d:?\d\d| UTC| E?[A-Z]{2,3}T)?)[\])>]?[:,]?(?: - )?`)
	syslog  = regexp.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) [\w.:-]+ [\w./@():-]+(?:\[\d+\])?: `)
	program = regexp.MustCompile(`^[\w./@-]+\[\d+\]: `)
)

// withoutStamp returns a line without the time at its beginning, and reports whether it had one.
func withoutStamp(text string) (string, bool) {
	if first := strings.TrimLeft(text, "[(<"); first == "" || (first[0] < '0' || first[0] > '9') && (first[0] < 'A' || first[0] > 'Z') {
		return text, false
	}
	for _, form := range []*regexp.Regexp{syslog, stamp} {
		if at := form.FindStringIndex(text); at != nil {
			rest := text[at[1]:]
			if form == stamp { // one space separates; more are an indentation
				rest = strings.TrimPrefix(rest, " ")
			}
			if strings.TrimSpace(rest) != "" {
				return rest, true
			}
			return text, false
		}
	}
	return text, false
}

// lineAfterProgram removes the name of a program with its process, which stands after a time.
func lineAfterProgram(text, lower string) (string, string) {
	if at := program.FindStringIndex(text); at != nil && len(text) == len(lower) {
		return text[at[1]:], lower[at[1]:]
	}
	return text, lower
}

// object returns what a JSON object in a log says, and its score.
func object(text string) (line string, points int, ok bool) {
	if text[0] != '{' || text[len(text)-1] != '}' {
		return "", 0, false
	}
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return "", 0, false
	}
	field := func(names ...string) string {
		for _, name := range names {
			switch v := fields[name].(type) {
			case string:
				return v
			case float64:
				return fmt.Sprint(v)
			case map[string]any:
				if s, ok := v["message"].(string); ok {
					return s
				}
			}
		}
		return ""
	}
	words := field("msg", "message", "@m", "event", "text", "MESSAGE")
	if reason := field("error", "err", "exception", "reason", "cause"); reason != "" && !strings.Contains(words, reason) {
		words = strings.TrimPrefix(words+": "+reason, ": ")
	}
	if strings.TrimSpace(words) == "" {
		return "", 0, false
	}
	lower := strings.ToLower(words)
	level := cmp.Or(field("level", "severity", "lvl", "levelname", "@l", "log.level"), "none")
	points = score(words, lower)
	switch numbered[level] + levels[strings.ToUpper(level)] {
	case levelInfo:
		points = 0
	case levelWarning:
		points = warning
	case levelError:
		points = max(points, weak) + weak
	case levelFatal:
		points = max(points, weak) + weak + fatal
	}
	return words, points, true
}
