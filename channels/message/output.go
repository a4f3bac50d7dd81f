package message

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/pings/text"
)

// maxOutput is the maximum length of the output in an alert, in characters.
const maxOutput = 1000

// Output returns the last lines of the body of a ping: plain text of at most 1,000 characters in all, without the
// control sequences of terminals, control characters, invisible characters and blank lines. A line that carriage returns
// overwrite, such as a progress bar, is what was written last. whole reports whether the lines are all of the body.
// Output returns nothing if the body is not text.
func Output(p channels.Ping) (lines []string, whole bool) {
	if len(p.End) == 0 {
		return nil, true
	}
	whole = len(p.End) < channels.MaxEnd && p.BodyCut == 0
	content, ok := text.Read("", p.End[max(0, len(p.End)-channels.MaxEnd):])
	if !ok {
		return nil, false
	}
	content = strings.ReplaceAll(prose.WithoutSequences(content), "\r\n", "\n")
	all := strings.Split(content, "\n")
	if !whole && len(all) > 1 {
		all = all[1:] // its beginning is missing
	}
	for _, line := range all {
		if line = outputLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lastLines(lines, whole)
}

// outputLine returns a line as a terminal shows it. It keeps the blanks at its beginning, and a tab becomes four.
func outputLine(text string) string {
	var shown string
	for part := range strings.SplitSeq(prose.Visible(text), "\r") {
		var b strings.Builder
		for _, r := range part {
			switch {
			case r == '\t':
				b.WriteString("    ")
			case unicode.IsSpace(r):
				b.WriteByte(' ')
			default:
				b.WriteRune(r)
			}
		}
		if line := strings.TrimRight(b.String(), " "); line != "" {
			shown = line
		}
	}
	return shown
}

// lastLines returns as many of the last lines as have room. If the last one is too long, it returns the end of that.
func lastLines(lines []string, whole bool) ([]string, bool) {
	room := maxOutput
	for i := len(lines) - 1; i >= 0; i-- {
		length := utf8.RuneCountInString(lines[i])
		switch {
		case length <= room:
			room -= length
			continue
		case i == len(lines)-1:
			return []string{lineEnd(lines[i], maxOutput)}, false
		}
		return lines[i+1:], false
	}
	return lines, whole
}

// lineEnd returns the last characters of a line after "…".
func lineEnd(line string, limit int) string {
	characters := []rune(line)
	if len(characters) <= limit {
		return line
	}
	return "…" + string(characters[len(characters)-limit:])
}

// quote returns the output as lines that begin with "> ", below a heading. It leaves out what has no room, from the
// beginning.
func (r renderer) quote(p channels.Ping, room int) []string {
	const (
		all, some = "Body of the last ping:", "End of the last ping's body:"
		least     = 20 // bytes; less would say nothing
	)
	lines, whole := Output(p)
	if room -= len(some) + 1; room < least {
		return nil
	}
	kept := len(lines)
	for kept > 0 && len(r.quoted(lines[kept-1]))+1 <= room {
		kept--
		room -= len(r.quoted(lines[kept])) + 1
	}
	heading := some
	switch {
	case p.BodyCut > 0:
		heading = fmt.Sprintf("End of the last ping's body, of whose middle %d bytes were left out:", p.BodyCut)
	case whole && kept == 0:
		heading = all
	}
	quote := []string{heading}
	if kept > 0 && kept == len(lines) {
		last := lines[kept-1]
		cut := longest(utf8.RuneCountInString(last), room-1, func(size int) string { return r.quoted(lineEnd(last, size)) })
		if cut == "" {
			return nil
		}
		quote = append(quote, cut)
	}
	for _, line := range lines[kept:] {
		quote = append(quote, r.quoted(line))
	}
	if len(quote) == 1 {
		return nil
	}
	return quote
}

// listItem matches the beginning of an item of a numbered list.
var listItem = regexp.MustCompile(`^ *\d+[.)]`)

// quoted returns a line of output after "> ". For services with markup it keeps the line from being a list, a heading,
// a rule or a block of code: blanks at its beginning do not break, and a sign that could begin markup follows a
// zero-width space.
func (r renderer) quoted(line string) string {
	if r.escape == nil {
		return "> " + line
	}
	text := strings.TrimLeft(line, " ")
	indent := strings.Repeat("\u00a0", len(line)-len(text))
	if first, _ := utf8.DecodeRuneInString(text); !unicode.IsLetter(first) && !unicode.IsDigit(first) || listItem.MatchString(text) {
		indent += "\u200b"
	}
	return "> " + indent + r.escape(text)
}
