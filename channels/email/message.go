package email

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	netmail "net/mail"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	mail "github.com/wneessen/go-mail"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	// maxText is the maximum length of one text in a message, in characters.
	maxText = 2000

	timeFormat = "Mon, 2 Jan 2006 15:04:05"
)

// message returns the message for one recipient, with the addresses of all in its header.
func (e *notifier) message(ctx context.Context, c channels.Channel, n channels.Notification, to []*netmail.Address, recipient *netmail.Address) ([]byte, error) {
	v := newView(c, n)
	var page bytes.Buffer
	if err := e.page.Execute(&page, v); err != nil {
		return nil, err
	}
	msg := e.header(v.Subject, to)
	msg.SetMessageIDWithValue(e.identifier("alert", n.ID))
	if n.Incident != "" {
		thread := "<" + e.identifier("incident", n.Incident) + ">"
		msg.SetGenHeader(mail.HeaderInReplyTo, thread)
		msg.SetGenHeader(mail.HeaderReferences, thread)
	}
	e.setUnsubscribe(ctx, msg, c, recipient)
	msg.SetBodyString(mail.TypeTextPlain, v.text())
	msg.AddAlternativeString(mail.TypeTextHTML, page.String())
	return e.write(msg)
}

// header begins a message.
func (e *notifier) header(subject string, to []*netmail.Address) *mail.Msg {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	setAddresses(msg, mail.HeaderFrom, e.from)
	setAddresses(msg, mail.HeaderTo, to...)
	msg.Subject(encode(subject))
	msg.SetDateWithValue(e.config.Now())
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetUserAgent("rollcall")
	return msg
}

// write returns the bytes of a message, signed if there is a key for that.
func (e *notifier) write(msg *mail.Msg) ([]byte, error) {
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return nil, err
	}
	return e.config.DKIM.sign(b.Bytes())
}

// setUnsubscribe sets the headers of RFC 8058.
func (e *notifier) setUnsubscribe(ctx context.Context, msg *mail.Msg, c channels.Channel, recipient *netmail.Address) {
	if e.config.Unsubscribe == nil {
		return
	}
	if url := e.config.Unsubscribe(ctx, c, recipient.Address); url != "" {
		msg.SetGenHeader(mail.HeaderListUnsubscribe, "<"+url+">")
		msg.SetGenHeader(mail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
	}
}

// setAddresses sets a header with addresses and their names.
func setAddresses(msg *mail.Msg, header mail.AddrHeader, list ...*netmail.Address) {
	texts := make([]string, len(list))
	for i, a := range list {
		if strings.ContainsFunc(a.Address, func(r rune) bool { return r > unicode.MaxASCII }) {
			msg.SetAddrHeaderFromMailAddress(header, list...) // must not be encoded
			return
		}
		texts[i] = a.String()
		if name := encode(a.Name); name != a.Name {
			texts[i] = name + " " + path(a)
		}
	}
	msg.SetGenHeader(mail.Header(header), texts...)
}

// encode encodes a subject or a name that is not ASCII, or contains the mark of an encoded word, so that mail programs show it
// literally. The library's first word would have no room on the line of the header's name, which would be left empty.
func encode(text string) string {
	if !strings.Contains(text, "=?") && !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
		return text
	}
	// The bytes of text in a word: it has at most 75 characters (RFC 2047, section 2), the first one 60.
	const maxBytes, firstBytes = 45, 36
	var words []string
	for text != "" {
		end := min(len(text), maxBytes)
		if len(words) == 0 {
			end = min(len(text), firstBytes)
		}
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(text[:end]))+"?=")
		text = text[end:]
	}
	return strings.Join(words, " ")
}

// identifier returns a Message-ID derived from any text.
func (e *notifier) identifier(what, text string) string {
	sum := sha256.Sum256([]byte(text))
	domain := e.from.Address[strings.LastIndexByte(e.from.Address, '@')+1:]
	return "rollcall." + what + "." + hex.EncodeToString(sum[:16]) + "@" + domain
}

// view is the content of both parts of a message.
type view struct {
	Subject string
	Title   string
	Down    bool
	Verdict string
	Rows    []row
	Groups  []group
	Desc    string
	// Output is the end of the last ping's body, and OutputTitle the line above it.
	Output, OutputTitle string
	Earlier             []string
	URL, AckURL         string
	Footer              string
}

type row struct{ Label, Value string }

// group is the checks of a combined notification that changed for the same reason.
type group struct {
	Reason string
	Checks []item
	More   int
}

// item is a check of a group.
type item struct{ Name, Since, URL string }

// maxReasons bounds the groups of a message, and maxItems the checks of each.
const maxReasons, maxItems = 20, 100

// groups returns the checks of a combined notification by their reasons.
func groups(n channels.Notification) (list []group) {
	for _, g := range message.Groups(n, maxReasons) {
		reason := cmp.Or(line(g.Reason), "other reasons")
		shown := group{Reason: fmt.Sprintf("%s (%d)", reason, len(g.Checks)), More: max(0, len(g.Checks)-maxItems)}
		for _, one := range g.Checks[:len(g.Checks)-shown.More] {
			since := formatTime(one.At, one.Check.TZ)
			if !one.Over.IsZero() {
				since += ", up again since " + formatTime(one.Over, one.Check.TZ)
			}
			shown.Checks = append(shown.Checks, item{message.Name(one.Check), since, line(one.Check.URL)})
		}
		list = append(list, shown)
	}
	return list
}

func newView(c channels.Channel, n channels.Notification) view {
	plain := n
	plain.Test = false
	v := view{
		Subject: message.Title(plain),
		Title:   title(n),
		Down:    n.Status == channels.Down && n.Over.IsZero(),
		Verdict: line(n.Verdict),
		Rows:    rows(n),
		Groups:  groups(n),
		Desc:    block(n.Check.Desc),
		URL:     line(n.Check.URL),
		AckURL:  line(n.AckURL),
		Footer:  "Sent by Rollcall.",
	}
	output, whole := message.Output(n.Ping)
	v.Output, v.OutputTitle = strings.Join(output, "\n"), "End of the last ping's body:"
	switch {
	case n.Ping.BodyCut > 0:
		v.OutputTitle = fmt.Sprintf("End of the last ping's body, of whose middle %d bytes were left out:", n.Ping.BodyCut)
	case whole:
		v.OutputTitle = "Body of the last ping:"
	}
	if c.Name != "" {
		v.Footer = fmt.Sprintf("Sent by Rollcall to the integration “%s”.", line(c.Name))
	}
	if n.Test {
		v.Subject = "[Test] " + v.Subject
		v.Title = "This is a test sent by a user. " + v.Title
	}
	for _, change := range n.Earlier {
		text := strings.ToUpper(string(change.Status)) + " at " + formatTime(change.At, n.Check.TZ)
		if change.Reason != "" {
			text += ": " + line(change.Reason)
		}
		v.Earlier = append(v.Earlier, text)
	}
	return v
}

// title returns the sentence at the top.
func title(n channels.Notification) string {
	if len(n.Combined) > 0 {
		return fmt.Sprintf("%s %s.", message.Name(n.Check), verb(n, "are", "were"))
	}
	return fmt.Sprintf("“%s” %s.", message.Name(n.Check), verb(n, "is", "was"))
}

// verb returns the verb phrase of the title.
func verb(n channels.Notification, is, was string) string {
	switch {
	case n.Status == channels.Up:
		return is + " UP"
	case !n.Over.IsZero():
		return was + " DOWN and " + is + " up again"
	case n.Reminder > 0:
		return is + " still DOWN"
	}
	return is + " DOWN"
}

// rows returns the known facts.
func rows(n channels.Notification) []row {
	if len(n.Combined) > 0 {
		return nil
	}
	var downFor string
	if n.DownFor > 0 {
		downFor = prose.LongDuration(n.DownFor)
	}
	list := []row{
		{"Reason", line(message.Reason(n))},
		{"Since", formatTime(n.At, n.Check.TZ)},
		{"Up again", formatTime(n.Over, n.Check.TZ)},
		{"Was down for", downFor},
		{"Last ping", lastPing(n.Ping, n.Check.TZ)},
		{"Expected", line(n.Check.Timing)},
		{"Project", line(n.Check.Project)},
		{"Tags", line(strings.Join(n.Check.Tags, " "))},
		{"Pings", fmt.Sprint(n.Check.NPings)},
	}
	return slices.DeleteFunc(list, func(r row) bool { return r.Value == "" })
}

func lastPing(p channels.Ping, tz string) string {
	if p.At.IsZero() {
		return "none yet"
	}
	text := formatTime(p.At, tz) + " (" + line(p.Kind)
	if p.ExitStatus != nil {
		text += fmt.Sprintf(", exit status %d", *p.ExitStatus)
	}
	if p.Duration > 0 {
		text += ", took " + prose.Duration(p.Duration)
	}
	return text + ")"
}

func (v view) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", v.Title)
	if v.Verdict != "" {
		fmt.Fprintf(&b, "%s\n\n", v.Verdict)
	}
	for _, r := range v.Rows {
		fmt.Fprintf(&b, "%-13s %s\n", r.Label+":", r.Value)
	}
	for _, g := range v.Groups {
		fmt.Fprintf(&b, "%s:\n\n", g.Reason)
		for _, c := range g.Checks {
			fmt.Fprintf(&b, "- %s, since %s\n", c.Name, c.Since)
		}
		if g.More > 0 {
			fmt.Fprintf(&b, "- and %d more\n", g.More)
		}
		b.WriteString("\n")
	}
	if v.URL != "" && v.Groups == nil {
		fmt.Fprintf(&b, "%-13s ", "Check:")
	}
	if v.URL != "" {
		fmt.Fprintf(&b, "%s\n", v.URL)
	}
	if v.AckURL != "" {
		fmt.Fprintf(&b, "%-13s %s\n", "I have it:", v.AckURL)
	}
	if v.Desc != "" {
		fmt.Fprintf(&b, "\n%s\n", v.Desc)
	}
	if v.Output != "" {
		quote := strings.ReplaceAll(v.Output, "\n", "\n> ") // so that no line of it looks like one of ours
		fmt.Fprintf(&b, "\n%s\n\n> %s\n", v.OutputTitle, quote)
	}
	if len(v.Earlier) > 0 {
		b.WriteString("\nChanges not reported before:\n\n")
		for _, change := range v.Earlier {
			fmt.Fprintf(&b, "- %s\n", change)
		}
	}
	fmt.Fprintf(&b, "\n-- \n%s\n", v.Footer)
	return b.String()
}

func formatTime(t time.Time, tz string) string {
	if t.IsZero() {
		return ""
	}
	return prose.Time(t, timeFormat, tz)
}

func hasControl(text string) bool { return strings.ContainsFunc(text, unicode.IsControl) }

func line(text string) string { return prose.Line(text, maxText) }

// block returns the beginning of a text of several lines, without control characters.
func block(text string) string {
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
	text = strings.TrimRight(text, " \t\n")
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText]) + "…"
	}
	return text
}
