package email

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	mail "github.com/wneessen/go-mail"

	"github.com/rollcall-dev/rollcall/channels"
)

const (
	// maxSubject is how many characters of a check's name a subject has.
	maxSubject = 150
	// maxOutput is how many characters of a ping's body a message shows.
	maxOutput = 2000

	timeFormat = "Mon, 2 Jan 2006 15:04:05 MST"
)

// message makes the message for all addresses.
func (e *Notifier) message(c channels.Channel, n channels.Notification, to []*netmail.Address) (*mail.Msg, error) {
	v := newView(c, n)
	var page bytes.Buffer
	if err := e.page.Execute(&page, v); err != nil {
		return nil, err
	}
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	msg.FromMailAddress(e.from)
	msg.ToMailAddress(to...)
	msg.Subject(encodeSubject(v.Subject))
	msg.SetDateWithValue(e.config.Now())
	msg.SetMessageIDWithValue(e.identifier("alert", n.ID))
	if n.Incident != "" {
		thread := "<" + e.identifier("incident", n.Incident) + ">"
		msg.SetGenHeader(mail.HeaderInReplyTo, thread)
		msg.SetGenHeader(mail.HeaderReferences, thread)
	}
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetUserAgent("rollcall")
	msg.SetBodyString(mail.TypeTextPlain, v.text())
	msg.AddAlternativeString(mail.TypeTextHTML, page.String())
	return msg, nil
}

// encodeSubject encodes a subject that contains the mark of an encoded word, which mail programs would decode. All other
// subjects are the library's to encode.
func encodeSubject(text string) string {
	if !strings.Contains(text, "=?") {
		return text
	}
	const maxBytes = 45 // of text, so that a word has at most 75 characters (RFC 2047, section 2)
	var words []string
	for text != "" {
		end := min(len(text), maxBytes)
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(text[:end]))+"?=")
		text = text[end:]
	}
	return strings.Join(words, " ")
}

// identifier makes the identifier of a message from a text, which may have any
// characters.
func (e *Notifier) identifier(what, text string) string {
	sum := sha256.Sum256([]byte(text))
	domain := e.from.Address[strings.LastIndexByte(e.from.Address, '@')+1:]
	return "rollcall." + what + "." + hex.EncodeToString(sum[:16]) + "@" + domain
}

// view is what both parts of a message show.
type view struct {
	Subject string
	// Title is a sentence.
	Title string
	Down  bool
	Rows  []row
	Desc  string
	// Output is the beginning of the last ping's body.
	Output  string
	Earlier []string
	URL     string
	Footer  string
}

type row struct{ Label, Value string }

func newView(c channels.Channel, n channels.Notification) view {
	name := checkName(n.Check)
	subject, title := headline(n)
	v := view{
		Subject: subject + ": " + cut(name, maxSubject),
		Title:   fmt.Sprintf("“%s” %s.", name, title),
		Down:    n.Status == channels.Down && n.Over.IsZero(),
		Desc:    block(n.Check.Desc, maxOutput),
		Output:  block(string(n.Ping.Body), maxOutput),
		URL:     line(n.Check.URL),
		Footer:  "Sent by Rollcall.",
	}
	if c.Name != "" {
		v.Footer = fmt.Sprintf("Sent by Rollcall to the integration “%s”.", line(c.Name))
	}
	if n.Test {
		v.Subject = "[Test] " + v.Subject
		v.Title = "This is a test, asked for by a user. " + v.Title
	}
	v.Rows = rows(n)
	for _, change := range n.Earlier {
		text := strings.ToUpper(string(change.Status)) + " at " + formatTime(change.At)
		if change.Reason != "" {
			text += ": " + line(change.Reason)
		}
		v.Earlier = append(v.Earlier, text)
	}
	return v
}

// headline returns the beginning of the subject, and what the title says.
func headline(n channels.Notification) (subject, title string) {
	switch {
	case n.Status == channels.Up:
		return "UP", "is UP"
	case !n.Over.IsZero():
		return "Was DOWN", "was DOWN and is up again"
	case n.Reminder > 0:
		return fmt.Sprintf("Still DOWN (reminder %d)", n.Reminder), "is still DOWN"
	}
	return "DOWN", "is DOWN"
}

// rows returns the facts, without those that there are none of.
func rows(n channels.Notification) []row {
	list := []row{
		{"Reason", line(n.Reason)},
		{"Since", formatTime(n.At)},
		{"Up again", formatTime(n.Over)},
		{"Was down for", formatDuration(n.DownFor)},
		{"Last ping", lastPing(n.Ping)},
		{"Expected", line(n.Check.Timing)},
		{"Project", line(n.Check.Project)},
		{"Tags", line(n.Check.Tags)},
		{"Pings", fmt.Sprint(n.Check.NPings)},
	}
	kept := list[:0]
	for _, r := range list {
		if r.Value != "" {
			kept = append(kept, r)
		}
	}
	return kept
}

func lastPing(p channels.Ping) string {
	if p.At.IsZero() {
		return "none yet"
	}
	text := formatTime(p.At) + " (" + line(p.Kind)
	if p.ExitStatus != nil {
		text += fmt.Sprintf(", exit status %d", *p.ExitStatus)
	}
	return text + ")"
}

// text is the plain part.
func (v view) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", v.Title)
	for _, r := range v.Rows {
		fmt.Fprintf(&b, "%-13s %s\n", r.Label+":", r.Value)
	}
	if v.URL != "" {
		fmt.Fprintf(&b, "%-13s %s\n", "Check:", v.URL)
	}
	if v.Desc != "" {
		fmt.Fprintf(&b, "\n%s\n", v.Desc)
	}
	if v.Output != "" {
		fmt.Fprintf(&b, "\nBody of the last ping:\n\n%s\n", v.Output)
	}
	if len(v.Earlier) > 0 {
		b.WriteString("\nChanges before that, which were not told:\n\n")
		for _, change := range v.Earlier {
			fmt.Fprintf(&b, "- %s\n", change)
		}
	}
	fmt.Fprintf(&b, "\n-- \n%s\n", v.Footer)
	return b.String()
}

func checkName(c channels.Check) string {
	if name := line(c.Name); name != "" {
		return name
	}
	if slug := line(c.Slug); slug != "" {
		return slug
	}
	return c.ID.String()
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// formatDuration returns the two largest units, such as "3 h 20 min".
func formatDuration(d time.Duration) string {
	d = d.Round(time.Second)
	if d <= 0 {
		return ""
	}
	units := []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	var parts []string
	for _, unit := range units {
		count := d / unit.length
		d -= count * unit.length
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, unit.name))
		}
		if len(parts) == 2 || len(parts) == 1 && count == 0 {
			break
		}
	}
	return strings.Join(parts, " ")
}

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

// line returns a text on one line, without what cannot be seen, so that it can
// stand in a header.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.Join(strings.Fields(text), " ")
}

// block returns the beginning of a text of several lines.
func block(text string, length int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r):
			return '\ufffd'
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
	return cut(strings.TrimRight(text, " \t\n"), length)
}

func cut(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length]) + "…"
	}
	return text
}
