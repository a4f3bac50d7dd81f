package email

import (
	"strings"
	"unicode/utf8"
)

// word is an encoded word (RFC 2047) after Q or base64 decoding, before character set decoding.
type word struct {
	charset string
	text    []byte
}

// decodeWords decodes the encoded words of a header field. It reads other text that is not UTF-8 in the fallback
// character set. It decodes adjacent words of one character set together, because many programs split words within a
// character.
func (r *reader) decodeWords(value, fallback string) string {
	var out strings.Builder
	var pending word // decoded, not written yet
	flush := func() {
		out.WriteString(r.decode(pending.charset, pending.text))
		pending = word{}
	}
	for value != "" {
		start := strings.Index(value, "=?")
		if start < 0 {
			break
		}
		w, length, ok := parseWord(value[start:])
		if !ok {
			start += len("=?")
			flush()
			out.WriteString(r.decodeRaw(value[:start], fallback))
			value = value[start:]
			continue
		}
		// White space between encoded words is not part of the text.
		between := value[:start]
		adjacent := pending.charset != "" && strings.TrimSpace(between) == ""
		if !adjacent || pending.charset != w.charset {
			flush()
		}
		if !adjacent {
			out.WriteString(r.decodeRaw(between, fallback))
		}
		pending.charset = w.charset
		pending.text = append(pending.text, w.text...)
		value = value[start+length:]
	}
	flush()
	out.WriteString(r.decodeRaw(value, fallback))
	return oneLine(out.String())
}

// oneLine replaces line breaks by spaces. A field has line breaks only by mistake or malice.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.TrimSpace(strings.Join(lines, " "))
}

// decodeRaw decodes text that should have been encoded.
func (r *reader) decodeRaw(text, fallback string) string {
	const escape = "\x1b" // switches the character set in text that looks like ASCII
	if utf8.ValidString(text) && !strings.Contains(text, escape) {
		return text
	}
	return r.decode(fallback, []byte(text))
}

// maxWord bounds an encoded word in bytes. RFC 2047 allows 75, and a header line has at most 998.
const maxWord = 2000

// parseWord parses the encoded word at the start of a text and returns its length. The word may be longer than RFC 2047
// allows, and may contain spaces.
func parseWord(text string) (w word, length int, ok bool) {
	text = text[:min(len(text), maxWord)]
	charset, rest, found := strings.Cut(text[len("=?"):], "?")
	encoding, rest, both := strings.Cut(rest, "?")
	encoded, rest, ended := strings.Cut(rest, "?=")
	charset, _, _ = strings.Cut(charset, "*") // drop the language (RFC 2231 section 5)
	if !found || !both || !ended || charset == "" {
		return word{}, 0, false
	}
	w.charset = strings.ToLower(charset)
	switch encoding {
	case "q", "Q":
		w.text = decodeQ(encoded)
	case "b", "B":
		w.text = decodeBase64([]byte(encoded))
	default:
		return word{}, 0, false
	}
	return w, len(text) - len(rest), true
}

// decodeQ decodes the Q encoding: quoted-printable with underscores for spaces.
func decodeQ(text string) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '_':
			out = append(out, ' ')
		case '=':
			if b, ok := hexByte(text[i+1:]); ok {
				out = append(out, b)
				i += 2
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}
