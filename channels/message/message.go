// Package message renders notifications as short plain text, for chats, push services and phones:
//
//	title := message.Title(n) // DOWN: nightly backup
//	text := message.Text(n)   // Down since 2026-03-15 04:00:00 UTC: no ping in time. …
//
// Text from users, such as the name of the check, is cut and stays on one line, so that it cannot fake another line. The
// end of the last ping's body follows, each line after "> ". For a service with markup, such as <!channel>, [Render]
// escapes the text from users and nothing else.
//
// The package is pure.
package message

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	maxName    = 100 // characters, the maximum of a check's name
	maxValue   = 200 // characters
	maxVerdict = 600 // characters
	maxURL     = 500 // bytes; a longer address is left out
	maxEarlier = 5   // changes
)

// Title returns one line that says what happened to the check: "DOWN: nightly backup", "UP: nightly backup", "Still DOWN
// (reminder 2): nightly backup" or, if the check recovered before the alert could be sent, "Was DOWN: nightly backup". A
// notification that only closes an incident has the title "CLOSED: nightly backup".
// The title of a test begins with "[TEST] ". That of a combined notification counts its checks: "DOWN: 30 checks of Shop".
func Title(n channels.Notification) string {
	title, _ := Render(n, nil, 0)
	return title
}

// Text returns the lines below [Title]: the verdict, or else since when and why, the last ping and how long its run
// took, when pings are expected, the project, the tags, the first line of the description, up to five earlier changes
// that were not reported, the [Output] of the last ping, and the address of the check. Unknown values are left out. For a
// combined notification it has a line for each of the [Groups] of checks, with as many names as have room.
func Text(n channels.Notification) string {
	_, text := Render(n, nil, 0)
	return text
}

// Short returns since when and why in the fewest words, for a text with a bounded length. For several checks it names the first.
func Short(n channels.Notification) string {
	if len(n.Combined) > 0 {
		return renderer{}.short(n, maxValue)
	}
	return renderer{}.change(n, maxValue)
}

// Render returns title and text. It puts each text from users on one line, cuts it, and passes it through escape unless
// that is nil.
//
// Title and text have at most limit bytes together, a line break between them included; 0 is no limit. What has no room
// is left out, in this order: the output, from its beginning; earlier changes; the description, the tags, the project,
// when pings are expected; the last ping. The address of the check stays. A limit should be at least 200.
func Render(n channels.Notification, escape func(string) string, limit int) (title, text string) {
	if limit <= 0 {
		limit = math.MaxInt
	}
	r := renderer{escape}
	title = r.title(n, limit/2)
	return title, r.text(n, limit-len(title)-1)
}

// Name returns the name of a check on one line, or else its slug, or else its UUID.
func Name(c channels.Check) string {
	for _, name := range []string{c.Name, c.Slug} {
		if name = prose.Line(name, maxName); name != "" {
			return name
		}
	}
	return c.ID.String()
}

// renderer renders notifications and escapes the text from users.
type renderer struct {
	escape func(string) string // nil for plain text
}

// line returns text from users on one line, cut and escaped.
func (r renderer) line(text string, limit int) string {
	text = prose.Line(text, limit)
	if r.escape == nil {
		return text
	}
	return r.escape(text)
}

// title returns the title. It cuts the name of the check to at most room bytes in all.
func (r renderer) title(n channels.Notification, room int) string {
	what := "DOWN"
	switch {
	case n.Closed:
		what = "CLOSED"
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
	name := Name(n.Check)
	title := longest(maxName+1, room, func(size int) string { return what + ": " + r.line(name, size) })
	if title == "" {
		return prose.Cut(what, room)
	}
	return title
}

// longest returns the longest of render(1) to render(most) that has at most room bytes, or "".
func longest(most, room int, render func(size int) string) string {
	if most < 1 {
		return ""
	}
	if text := render(most); len(text) <= room {
		return text
	}
	size := sort.Search(most-1, func(i int) bool { return len(render(i+1)) > room })
	if size == 0 {
		return ""
	}
	return render(size)
}

// text returns the lines below the title, at most room bytes.
func (r renderer) text(n channels.Notification, room int) string {
	var link []string
	if url := prose.Line(n.Check.URL, maxURL+1); url != "" && len(url) <= min(maxURL, room) {
		link = []string{url}
	}
	if url := prose.Line(n.AckURL, maxURL); url != "" && len(url)+200 <= room-size(link) {
		link = append(link, "I have it: "+url)
	}
	room -= size(link)
	if len(n.Combined) > 0 {
		return strings.Join(append(r.combined(n, room), link...), "\n")
	}
	lines := r.facts(n)
	most := maxEarlier
	for most > 0 && size(lines)+size(r.earlier(n.Earlier, n.Check.TZ, most)) > room {
		most--
	}
	complete := most == maxEarlier
	lines = append(lines, r.earlier(n.Earlier, n.Check.TZ, most)...)
	for len(lines) > 1 && size(lines) > room {
		lines = lines[:len(lines)-1]
	}
	if size(lines) > room {
		lines = lines[:0]
		if text := longest(maxVerdict, room-1, func(size int) string { return r.verdict(n, size) }); text != "" {
			lines = append(lines, text)
		}
	}
	if len(link) > 0 {
		room-- // for a blank line: without it, markup would make the address a part of the quote
	}
	if quote := r.quote(n.Ping, room-size(lines)); complete && len(quote) > 0 {
		lines = append(lines, quote...)
		if len(link) > 0 {
			lines = append(lines, "")
		}
	}
	return strings.Join(append(lines, link...), "\n")
}

// size returns the length of lines in bytes, each with a line break.
func size(lines []string) (bytes int) {
	for _, line := range lines {
		bytes += len(line) + 1
	}
	return bytes
}

// facts returns the lines about the check and its last ping.
func (r renderer) facts(n channels.Notification) []string {
	var lines []string
	if n.Test {
		lines = append(lines, "This is a test of the integration. The check and everything below are made up.")
	}
	lines = append(lines, r.verdict(n, maxVerdict), r.ping(n.Ping, n.Check.TZ))
	desc, _, _ := strings.Cut(strings.TrimSpace(n.Check.Desc), "\n")
	for _, fact := range []struct {
		label, value string
		limit        int
	}{
		{"Expected", n.Check.Timing, maxValue},
		{"Project", n.Check.Project, maxName},
		{"Tags", strings.Join(n.Check.Tags, " "), maxValue},
		{"Description", desc, maxValue},
	} {
		if value := r.line(fact.value, fact.limit); value != "" {
			lines = append(lines, fact.label+": "+value)
		}
	}
	return lines
}

// verdict returns the verdict, or else since when and why, on one line. It cuts the text from users to limit characters.
func (r renderer) verdict(n channels.Notification, limit int) string {
	if text := r.line(n.Verdict, limit); text != "" {
		return text
	}
	return r.change(n, min(limit, maxValue))
}

// Reason returns why the status changed with the line of the output that says why, such as "the job reported a failure,
// exit status 2: disk full". It may hold any markup.
func Reason(n channels.Notification) string {
	if n.Cause == "" {
		return n.Reason
	}
	return n.Reason + ": " + n.Cause
}

// change returns since when and why, on one line.
func (r renderer) change(n channels.Notification, limit int) string {
	text := "Down since " + instant(n.At, n.Check.TZ)
	if n.Status == channels.Up {
		text = "Up since " + instant(n.At, n.Check.TZ)
		if n.Closed {
			text = "Closed at " + instant(n.At, n.Check.TZ)
		}
		if n.DownFor > 0 {
			text += ", after " + prose.LongDuration(n.DownFor)
		}
	}
	if reason := r.line(Reason(n), limit); reason != "" {
		text += ": " + reason
	}
	if !n.Over.IsZero() {
		text += "; up again since " + instant(n.Over, n.Check.TZ)
	}
	return strings.TrimSuffix(text, ".") + "."
}

func (r renderer) ping(p channels.Ping, tz string) string {
	if p.At.IsZero() {
		return "Last ping: none"
	}
	kinds := map[string]string{"fail": "failure", "ign": "ignored"}
	kind := kinds[p.Kind]
	if kind == "" {
		kind = r.line(p.Kind, maxName)
	}
	text := "Last ping: " + strings.TrimSpace(kind+" at "+instant(p.At, tz))
	if p.ExitStatus != nil {
		text += fmt.Sprintf(", exit status %d", *p.ExitStatus)
	}
	if p.Duration > 0 {
		text += ", took " + prose.Duration(p.Duration)
	}
	return text
}

// earlier lists the latest of the changes that were not reported.
func (r renderer) earlier(changes []channels.Change, tz string, most int) []string {
	if len(changes) == 0 || most == 0 {
		return nil
	}
	lines := []string{"Not reported before:"}
	if left := len(changes) - most; left > 0 {
		lines[0] = fmt.Sprintf("Not reported before, the last %d of %d:", most, len(changes))
		changes = changes[left:]
	}
	for _, c := range changes {
		text := fmt.Sprintf("%s since %s", c.Status, instant(c.At, tz))
		if reason := r.line(c.Reason, maxValue); reason != "" {
			text += ": " + reason
		}
		lines = append(lines, text)
	}
	return lines
}

func instant(t time.Time, tz string) string { return prose.Time(t, "2006-01-02 15:04:05", tz) }
