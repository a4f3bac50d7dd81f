// Package email extracts the text of an inbound message: its subject, its plain text and the text of its HTML.
//
// Jobs that cannot make an HTTP request can often send mail: cron does, and so do most backup programs and storage
// boxes. Such a message is a ping, and its text decides the outcome by the keywords of the check (section 2.1.1 of the
// [API]). [Parse] extracts the text, and [Message.Mail] puts it into a signal:
//
//	message := email.Parse(raw)
//	signal := pings.FromMail(sender, raw, message.Mail())
//	_, err := mon.Ping(ctx, checkID, signal)
//
// # What counts as text
//
// Encoded words in the subject are decoded, even if they are folded or split within a character. Transfer encodings and
// character sets are decoded to UTF-8. In a multipart message, all parts of type text/plain and text/html count, nested
// up to [MaxDepth]. Other types of text count as plain text (RFC 2046 section 4.1.4).
//
// A character set that is missing, unknown or wrong is found out if possible: package text has the rules. An HTML part may
// name its own.
//
// HTML becomes the text that a reader sees: without tags, comments, scripts, styles and titles, with entities replaced,
// runs of white space as one space, and line breaks between blocks.
//
// Attachments do not count: parts with the disposition attachment, parts with a file name and no disposition (unless
// they come first), enclosed messages, and everything that is not text.
//
// # Mail about mail
//
// A job's message can come back: as a bounce, as the reply of somebody who is out of office, as a read receipt. Parse knows them
// by Auto-Submitted (RFC 3834; auto-replied and auto-notified), by their types (RFC 6522, RFC 8098), and by X-Autoreply,
// X-Autorespond and Precedence: auto_reply of older programs.
//
// # Broken messages
//
// [Parse] never fails. Real messages have malformed header fields, missing boundaries, damaged base64, and unknown or
// wrong character sets. Parse extracts what it can, at worst the raw bytes. Its time is linear in the length of the
// message, and its memory a few times that length.
//
// The package is pure and safe for concurrent use. It has its own reader of MIME, because libraries stop at the first fault:
// github.com/emersion/go-message 0.18.2 takes 28 of the 149 messages in testdata for something else, and seconds for a message
// of 1 MB that has many small parts; github.com/jhillyerd/enmime 2.3.0 takes 41, and does not end on one.
//
// [API]: https://github.com/rollcall-dev/rollcall/blob/main/server/API.md
package email

import (
	"bytes"
	"strings"

	"github.com/rollcall-dev/rollcall/pings"
)

// MaxDepth is the maximum nesting depth of parts. Parse ignores deeper ones.
const MaxDepth = 20

// Message is the text of an inbound message, in UTF-8 with "\n" as line break. The zero value is an empty message.
type Message struct {
	// Subject is the decoded subject on one line.
	Subject string
	// Text is the text of the plain parts in order.
	Text string
	// HTML is the text of the HTML parts in order.
	HTML string
	// Unknown is the first character set that the message names and that package text does not know, or "". Bytes that are
	// not UTF-8 were read as Windows-1252.
	Unknown string
	// Automatic and Report are those of [pings.Mail].
	Automatic string
	Report    bool
}

// Mail returns the texts to search for keywords.
func (m Message) Mail() *pings.Mail {
	mail := &pings.Mail{Subject: m.Subject, Text: m.Text, Automatic: m.Automatic, Report: m.Report}
	if m.HTML != "" {
		mail.Text = join(m.Text, m.HTML)
	}
	return mail
}

// join joins two texts with a line break.
func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// Parse parses a message: a header, an empty line and a body, with any kind of line break. A message that does not
// start with a header field is all body. Parse does not change or keep the bytes.
func Parse(raw []byte) Message {
	raw = bytes.TrimPrefix(unifyBreaks(raw), []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(raw, []byte("From ")) { // the separator line of a mailbox file
		if _, rest, found := bytes.Cut(raw, []byte("\n")); found {
			raw = rest
		}
	}
	h, body := splitHeader(raw)
	charset := h.mediaType().params["charset"]
	var r reader
	r.plain(r.decodeRaw(h.stray, charset))
	r.part(h, body, 0)
	return Message{
		Subject: r.decodeWords(h.subject, charset),
		Text:    strings.TrimSpace(r.text.String()),
		HTML:    strings.TrimSpace(r.html.String()),
		Unknown: r.unknown,

		Automatic: h.automatic(),
		Report:    h.mediaType().name == "multipart/report",
	}
}

// unifyBreaks returns a message in which a carriage return alone is a line break, if its header has such breaks. Relays and
// the end of an SMTP message add proper ones.
func unifyBreaks(raw []byte) []byte {
	if !alone(raw) {
		return raw
	}
	unified := bytes.Clone(raw)
	proper := false // before a line feed, there may be several carriage returns
	for i := len(unified) - 1; i >= 0; i-- {
		if proper = unified[i] == '\n' || proper && unified[i] == '\r'; unified[i] == '\r' && !proper {
			unified[i] = '\n'
		}
	}
	return unified
}

// alone reports whether carriage returns alone separate the fields of a header.
func alone(raw []byte) bool {
	for len(raw) > 0 {
		var line []byte
		line, raw = cutLine(raw)
		if len(line) == 0 {
			return false
		}
		_, next, found := bytes.Cut(line, []byte("\r"))
		if found && len(raw) == 0 {
			return true
		}
		for found {
			var piece []byte
			piece, next, found = bytes.Cut(next, []byte("\r"))
			if _, _, field := cutField(piece); field || len(piece) == 0 {
				return true
			}
		}
	}
	return false
}
