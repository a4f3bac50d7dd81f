package email

import (
	"bytes"
	"mime"
	"strings"
)

// header holds the relevant fields of a message or of a part, unfolded but not decoded. If a field is repeated, the
// first one counts.
type header struct {
	subject, contentType, encoding, disposition string
	autoSubmitted, precedence, autoReply        string
	// stray holds header lines that are not fields, most likely text whose author forgot the empty line.
	stray string
}

// splitHeader separates header and body. If the first line is not a header field, the whole message is body. A line of
// blanks ends the header, too, unless it stands before a field that says how to read the body.
func splitHeader(raw []byte) (h header, body []byte) {
	indent := fieldIndent(raw)
	first := true
	var name string
	var value, stray strings.Builder
	flush := func() {
		h.set(name, value.String())
		name = ""
		value.Reset()
	}
	rest := raw
	for len(rest) > 0 {
		line, after := cutLine(rest)
		if isBlank(line) && (len(line) == 0 || !isMIME(after)) {
			rest = after
			break
		}
		if inner := bytes.TrimPrefix(line, indent); len(indent) > 0 {
			if _, _, ok := cutField(inner); ok {
				line = inner
			}
		}
		if line[0] == ' ' || line[0] == '\t' {
			if first {
				return header{}, raw
			}
			// Unfolding replaces the line break and the white space after it with one space.
			folded := &value
			if name == "" {
				folded = &stray
			}
			folded.WriteByte(' ')
			folded.Write(bytes.TrimLeft(line, " \t"))
			rest = after
			continue
		}
		field, text, ok := cutField(line)
		if !ok && first {
			return header{}, raw
		}
		flush()
		if name = field; ok {
			value.Write(text)
		} else {
			stray.WriteByte('\n')
			stray.Write(line)
		}
		first, rest = false, after
	}
	flush()
	h.stray = stray.String()
	return h, rest
}

// fieldIndent returns the blanks before the first line of a message, if that is a field of mail.
func fieldIndent(raw []byte) []byte {
	line, _ := cutLine(raw)
	inner := bytes.TrimLeft(line, " \t")
	if name, _, ok := cutField(inner); !ok || !isMailField(name) {
		return nil
	}
	return line[:len(line)-len(inner)]
}

func isBlank(line []byte) bool { return len(bytes.TrimLeft(line, " \t")) == 0 }

// isMIME reports whether a text begins with a field of MIME.
func isMIME(text []byte) bool {
	line, _ := cutLine(text)
	name, _, _ := cutField(line)
	return name == "mime-version" || strings.HasPrefix(name, "content-")
}

// isMailField reports whether a field is one that mail programs write, so that a line with it is no text.
func isMailField(name string) bool {
	switch name {
	case "from", "to", "cc", "bcc", "subject", "date", "sender", "reply-to", "return-path", "delivered-to", "received", "message-id", "mime-version":
		return true
	}
	return strings.HasPrefix(name, "content-") || strings.HasPrefix(name, "x-")
}

func (h *header) set(name, value string) {
	var field *string
	switch name {
	case "subject":
		field = &h.subject
	case "content-type":
		field = &h.contentType
	case "content-transfer-encoding":
		field = &h.encoding
	case "content-disposition":
		field = &h.disposition
	case "auto-submitted":
		field = &h.autoSubmitted
	case "precedence":
		field = &h.precedence
	case "x-autoreply", "x-autorespond":
		field = &h.autoReply
	default:
		return
	}
	if *field == "" {
		*field = strings.TrimSpace(value)
	}
}

// cutLine returns the first line without its line break, and the rest.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimRight(line, "\r"), rest
}

// cutField splits a line into the lower-case name of a field and its value.
func cutField(line []byte) (name string, value []byte, ok bool) {
	before, value, found := bytes.Cut(line, []byte(":"))
	before = bytes.TrimRight(before, " \t")
	if !found || !isName(before) {
		return "", nil, false
	}
	return strings.ToLower(string(before)), value, true
}

// isName reports whether a text is valid as the name of a field (RFC 5322 section 2.2).
func isName(text []byte) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return len(text) > 0
}

// automatic says what a message is that a mail program has written in answer to another one, or is "". Auto-generated ones
// (RFC 3834 section 5) are not among them: cron and backup programs mark theirs so.
func (h header) automatic() string {
	word, _, _ := strings.Cut(h.autoSubmitted, ";")
	word, _, _ = strings.Cut(word, "(") // a comment
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "auto-replied":
		return "an automatic reply"
	case "auto-notified":
		return "a notification about a message"
	}
	t := h.mediaType()
	switch {
	case t.name == "multipart/report" && strings.EqualFold(t.params["report-type"], "disposition-notification"), t.name == "message/disposition-notification":
		return "a read receipt"
	case strings.EqualFold(h.precedence, "auto_reply"), h.autoReply != "" && !strings.EqualFold(h.autoReply, "no"):
		return "an automatic reply"
	}
	return ""
}

// mediaType is a content type or a disposition.
type mediaType struct {
	name   string // lower case
	params map[string]string
}

func (h header) mediaType() mediaType { return parseMediaType(h.contentType) }

// parseMediaType parses a field of the form name; key=value. It keeps the valid pieces of a malformed one.
func parseMediaType(value string) mediaType {
	if value == "" {
		return mediaType{}
	}
	if name, params, err := mime.ParseMediaType(value); err == nil {
		return mediaType{name, params}
	}
	name := strings.TrimSpace(value)
	if end := strings.IndexAny(name, "; \t"); end >= 0 {
		name = name[:end]
	}
	m := mediaType{strings.ToLower(name), make(map[string]string)}
	for item := range strings.FieldsFuncSeq(value[len(name):], func(r rune) bool { return r == ';' }) {
		key, text, found := strings.Cut(item, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if _, twice := m.params[key]; found && !twice {
			m.params[key] = unquote(text)
		}
	}
	return m
}

// unquote returns the value of a parameter: the text within quotes, or up to the first white space.
func unquote(text string) string {
	text = strings.TrimSpace(text)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		quoted, _, _ = strings.Cut(quoted, `"`)
		return quoted
	}
	if end := strings.IndexAny(text, " \t"); end >= 0 {
		text = text[:end]
	}
	return strings.Trim(text, "'")
}
