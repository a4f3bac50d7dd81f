// Package email reads what an inbound message says: its subject, its plain text and the text of its HTML.
//
// Jobs that cannot make an HTTP request often can send mail: cron does, and so do most backup programs and storage
// boxes. Such a message is a ping, and a check's keywords are looked for in its text (API-V3.md section 2.1.1). [Parse]
// finds that text, and [Message.Mail] hands it to a signal:
//
//	message := email.Parse(raw)
//	signal := pings.Signal{Scheme: "email", Body: raw, Mail: message.Mail()}
//	_, err := mon.Ping(ctx, checkID, signal)
//
// # What counts as text
//
// Encoded words of the subject are decoded, also where they are folded or split within a character. Transfer encodings
// and character sets are decoded into UTF-8. Of a message in parts, all parts of the types text/plain and text/html
// count, however deep they are, up to [MaxDepth]; other types of text count as plain text, as RFC 2046 section 4.1.4
// wants it. HTML becomes the text that a reader sees: without tags, comments, scripts, styles and titles, with entities
// replaced, runs of white space shortened to one blank and line breaks between blocks.
//
// Attachments are not text: parts with the disposition attachment, parts that only have a file name (unless they come
// first), messages within the message, and everything that is not text.
//
// # Broken messages
//
// [Parse] never fails. What programs send is often not quite a message: header fields are malformed, boundaries are
// missing, base64 is damaged, the character set is unknown or wrong. Whatever can be read then is read, in the worst
// case the bytes as they are. Its time grows with the length of the message only, and it takes a few times its length
// of memory.
//
// The package is pure: it does no input or output, and its functions may be called by many goroutines at once.
package email

import (
	"bytes"
	"strings"

	"github.com/rollcall-dev/rollcall/pings"
)

// MaxDepth is how deep the parts of a message may be nested. What lies deeper is not looked at.
const MaxDepth = 20

// Message is the text of an inbound message, in UTF-8 and with "\n" as line break. The zero value is an empty message.
type Message struct {
	// Subject is the decoded subject in one line, or "".
	Subject string
	// Text is the text of the plain parts, in their order.
	Text string
	// HTML is the text of the HTML parts, in their order.
	HTML string
}

// Mail returns the message in the form that keyword rules look at.
func (m Message) Mail() *pings.Mail {
	mail := &pings.Mail{Subject: m.Subject, Text: m.Text}
	if m.HTML != "" {
		mail.Text = join(m.Text, m.HTML)
	}
	return mail
}

// Parse reads a message: a header, an empty line and a body, with any kind of line break. A message that does not begin
// with a header field is all body. The bytes are neither changed nor kept.
func Parse(raw []byte) Message {
	if bytes.IndexByte(raw, '\n') < 0 {
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	if bytes.HasPrefix(raw, []byte("From ")) { // the line between the messages of a mailbox file
		if _, rest, found := bytes.Cut(raw, []byte("\n")); found {
			raw = rest
		}
	}
	h, body := splitHeader(raw)
	charset := h.mediaType().params["charset"]
	var r reader
	r.plain(decodeRaw(h.stray, charset))
	r.part(h, body, 0)
	return Message{
		Subject: decodeWords(h.subject, charset),
		Text:    strings.TrimSpace(r.text.String()),
		HTML:    strings.TrimSpace(r.html.String()),
	}
}

// join puts a line break between two texts, so that no keyword matches across the end of one and the start of the
// other.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
