// Package message renders notifications as short plain text, for chats, push services and phones:
//
//	title := message.Title(n) // DOWN: nightly backup
//	text := message.Text(n)   // Down since 2026-03-15 04:00:00 UTC: no ping in time. …
//
// Text from users, such as the name of the check, is cut and stays on one line, so that it cannot fake another line. For
// a service with markup, such as <!channel>, [Render] escapes the text from users and nothing else.
//
// The package is pure.
package message

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels"
)

const (
	maxName    = 100 // characters, the maximum of a check's name
	maxValue   = 200 // characters
	maxVerdict = 600 // characters
	maxURL     = 500 // bytes; a longer address is left out
	maxEarlier = 5   // changes
)

// Title returns one line that says what happened to the check: "DOWN: nightly backup", "UP: nightly backup", "Still DOWN
// (reminder 2): nightly backup" or, if the check recovered before the alert could be sent, "Was DOWN: nightly backup".
// The title of a test begins with "[TEST] ".
func Title(n channels.Notification) string {
	title, _ := Render(n, nil)
	return title
}

// Text returns the lines below [Title]: the verdict, or else since when and why, the last ping, when pings are expected, the project, the
// tags, up to five earlier changes that were not reported, and the address of the check. Unknown values are left out.
// The body of the ping is not included.
func Text(n channels.Notification) string {
	_, text := Render(n, nil)
	return text
}

// Short returns since when and why in the fewest words, for a text with a bounded length.
func Short(n channels.Notification) string {
	r := renderer{func(text string) string { return text }}
	return r.change(n)
}

// Render returns title and text. It puts each text from users on one line, cuts it, and passes it through escape unless
// that is nil.
func Render(n channels.Notification, escape func(string) string) (title, text string) {
	if escape == nil {
		escape = func(text string) string { return text }
	}
	r := renderer{escape}
	return r.title(n), strings.Join(r.lines(n), "\n")
}

// Name returns the name of a check on one line, or else its slug, or else its UUID.
func Name(c channels.Check) string {
	for _, name := range []string{c.Name, c.Slug} {
		if name = Line(name, maxName); name != "" {
			return name
		}
	}
	return c.ID.String()
}

// Cut cuts text between characters to at most limit bytes, including a final "…".
func Cut(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	end := max(0, limit-len(mark))
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		return ""
	}
	return text[:end] + mark
}

// renderer renders notifications and escapes the text from users.
type renderer struct {
	escape func(string) string
}

func (r renderer) title(n channels.Notification) string {
	what := "DOWN"
	switch {
	case n.Status == channels.Up:
		what = "UP"
	case !n.Over.IsZero():
		what = "Was DOWN"
	case n.Reminder > 0:
		what = fmt.Sprintf("Still DOWN (reminder %d)", n.Reminder)
	}
	if n.Test {
		what = "[TEST] " + what
	}
	return what + ": " + r.escape(Name(n.Check))
}

func (r renderer) lines(n channels.Notification) []string {
	var lines []string
	add := func(label, value string, limit int) {
		if value = Line(value, limit); value != "" {
			lines = append(lines, label+": "+r.escape(value))
		}
	}
	if n.Test {
		lines = append(lines, "This is a test of the integration. The check and everything below are made up.")
	}
	lines = append(lines, r.verdict(n), r.ping(n.Ping))
	add("Expected", n.Check.Timing, maxValue)
	add("Project", n.Check.Project, maxName)
	add("Tags", strings.Join(n.Check.Tags, " "), maxValue)
	lines = append(lines, r.earlier(n.Earlier)...)
	if url := Line(n.Check.URL, maxURL+1); url != "" && len(url) <= maxURL {
		lines = append(lines, url)
	}
	return lines
}

// verdict returns the verdict, or else since when and why, on one line.
func (r renderer) verdict(n channels.Notification) string {
	if text := Line(n.Verdict, maxVerdict); text != "" {
		return r.escape(text)
	}
	return r.change(n)
}

// change returns since when and why, on one line.
func (r renderer) change(n channels.Notification) string {
	text := "Down since " + instant(n.At)
	if n.Status == channels.Up {
		text = "Up since " + instant(n.At)
		if n.DownFor > 0 {
			text += ", after " + Duration(n.DownFor)
		}
	}
	if reason := Line(n.Reason, maxValue); reason != "" {
		text += ": " + r.escape(reason)
	}
	if !n.Over.IsZero() {
		text += "; up again since " + instant(n.Over)
	}
	return strings.TrimSuffix(text, ".") + "."
}

func (r renderer) ping(p channels.Ping) string {
	if p.At.IsZero() {
		return "Last ping: none"
	}
	kinds := map[string]string{"fail": "failure", "ign": "ignored"}
	kind := kinds[p.Kind]
	if kind == "" {
		kind = r.escape(Line(p.Kind, maxName))
	}
	text := "Last ping: " + strings.TrimSpace(kind+" at "+instant(p.At))
	if p.ExitStatus != nil {
		text += fmt.Sprintf(", exit status %d", *p.ExitStatus)
	}
	return text
}

// earlier lists the latest of the changes that were not reported.
func (r renderer) earlier(changes []channels.Change) []string {
	if len(changes) == 0 {
		return nil
	}
	lines := []string{"Not reported before:"}
	if left := len(changes) - maxEarlier; left > 0 {
		lines[0] = fmt.Sprintf("Not reported before, the last %d of %d:", maxEarlier, len(changes))
		changes = changes[left:]
	}
	for _, c := range changes {
		text := fmt.Sprintf("%s since %s", c.Status, instant(c.At))
		if reason := Line(c.Reason, maxValue); reason != "" {
			text += ": " + r.escape(reason)
		}
		lines = append(lines, text)
	}
	return lines
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Duration returns the two largest units of a duration in English, rounded down, such as "2 hours 5 minutes".
func Duration(d time.Duration) string {
	units := []struct {
		name string
		size time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := count(int64(d/u.size), u.name)
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += " " + count(int64(rest), units[i+1].name)
			}
		}
		return text
	}
	return "less than a second"
}

func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// Line returns text on one line of at most limit characters, and "…" if it was cut. Runs of white space become one
// space. Line drops invisible characters: a change of writing direction could make the text look like another.
func Line(text string, limit int) string {
	var b strings.Builder
	length, blank := 0, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			blank = length > 0
			continue
		case r == utf8.RuneError || !unicode.IsPrint(r):
			continue
		}
		if blank {
			b.WriteByte(' ')
			length, blank = length+1, false
		}
		if length >= limit {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		length++
	}
	return b.String()
}
