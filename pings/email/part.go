package email

import (
	"bytes"
	"strings"

	"github.com/rollcall-dev/rollcall/pings/text"
)

// reader collects the text of the parts.
type reader struct {
	text, html strings.Builder
	unknown    string // the first unknown character set
}

// decode converts text in a character set to UTF-8, and notes an unknown one.
func (r *reader) decode(charset string, raw []byte) string {
	if charset != "" && r.unknown == "" && !text.Known(charset) {
		r.unknown = charset
	}
	return text.Decode(charset, raw)
}

// part reads a part, or the whole message at depth 0.
func (r *reader) part(h header, body []byte, depth int) {
	t := h.mediaType()
	if isAttachment(h, t, depth == 0 || r.text.Len()+r.html.Len() == 0) {
		return
	}
	family, kind, _ := strings.Cut(t.name, "/")
	if family == "multipart" {
		if boundary := strings.TrimRight(t.params["boundary"], " \t"); boundary != "" {
			if r.parts(body, boundary, depth+1) {
				return
			}
		}
		r.plain(text.Decode("", body)) // no parts: the body is plain text
		return
	}
	switch {
	case strings.HasSuffix(kind, "html"), t.name == "application/xhtml+xml":
		document := decodeTransfer(h.encoding, body)
		r.write(&r.html, htmlText(r.decode(htmlCharset(t.params["charset"], document), document)))
	case family == "text", family == "", kind == "":
		content := r.decode(t.params["charset"], decodeTransfer(h.encoding, body))
		if strings.EqualFold(t.params["format"], "flowed") {
			content = unflow(content, strings.EqualFold(t.params["delsp"], "yes"))
		}
		r.plain(content)
	}
}

// isAttachment reports whether a part is meant to be saved rather than read.
func isAttachment(h header, t mediaType, first bool) bool {
	if h.disposition != "" {
		disposition := parseMediaType(h.disposition).name
		return disposition != "inline" && disposition != ""
	}
	return t.params["name"] != "" && !first
}

// parts reads the parts of a multipart body, and reports whether there are any. It skips the preamble and the epilogue,
// which are for programs without MIME.
func (r *reader) parts(body []byte, boundary string, depth int) (found bool) {
	delimiter := []byte("--" + boundary)
	start, next, last := nextDelimiter(body, delimiter)
	for found = start >= 0; start >= 0; {
		// If two nested multiparts have the same boundary, the parts after the closing delimiter belong to the outer
		// one.
		between := last
		body = body[next:]
		start, next, last = nextDelimiter(body, delimiter)
		if between || depth > MaxDepth {
			continue
		}
		part := body
		if start >= 0 {
			part = trimLineBreak(body[:start])
		}
		h, content := splitHeader(part)
		r.part(h, content, depth)
	}
	return found
}

// nextDelimiter finds the next delimiter line and the start of the text after it. last reports whether it is the
// closing one. start is -1 if there is none.
func nextDelimiter(body, delimiter []byte) (start, next int, last bool) {
	for from := 0; ; {
		i := bytes.Index(body[from:], delimiter)
		if i < 0 {
			return -1, 0, false
		}
		start = from + i
		from = start + len(delimiter)
		if start > 0 && body[start-1] != '\n' {
			continue
		}
		line, rest := cutLine(body[from:])
		line = bytes.TrimRight(line, " \t")
		if last = string(line) == "--"; last || len(line) == 0 {
			return start, len(body) - len(rest), last
		}
	}
}

func trimLineBreak(text []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
}

func (r *reader) plain(text string) {
	r.write(&r.text, strings.ReplaceAll(text, "\r\n", "\n"))
}

func (r *reader) write(to *strings.Builder, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if to.Len() > 0 {
		to.WriteByte('\n')
	}
	to.WriteString(text)
}

// unflow joins the lines of a paragraph (RFC 3676): a line that ends with a space continues on the next of the same quote.
// deleteSpace removes that space.
func unflow(text string, deleteSpace bool) string {
	var out strings.Builder
	open := -1 // how deep the paragraph is quoted that goes on, or -1
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		depth := len(content) - len(strings.TrimLeft(content, ">"))
		quote, content := content[:depth], strings.TrimPrefix(content[depth:], " ") // space-stuffing
		if open >= 0 && open != depth {
			out.WriteByte('\n')
			open = -1
		}
		if open < 0 && depth > 0 {
			out.WriteString(quote + " ")
		}
		if open = depth; !strings.HasSuffix(content, " ") || content == "-- " {
			open = -1
			content += "\n"
		} else if deleteSpace {
			content = content[:len(content)-1]
		}
		out.WriteString(content)
	}
	return out.String()
}
