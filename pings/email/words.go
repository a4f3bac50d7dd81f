package email

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// word is an encoded word (RFC 2047) with its text decoded into bytes, not yet into characters.
type word struct {
	charset string
	text    []byte
}

// decodeWords decodes the encoded words of a header field. Bytes outside of them that are not UTF-8 are taken for text
// in the fallback character set. Adjacent words in one character set are decoded together, because many programs split
// words within a character.
func decodeWords(value, fallback string) string {
	var out strings.Builder
	var pending word // what was decoded and not written yet
	flush := func() {
		out.WriteString(decodeCharset(pending.charset, pending.text))
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
			out.WriteString(decodeRaw(value[:start], fallback))
			value = value[start:]
			continue
		}
		// White space between two encoded words is not part of the text.
		between := value[:start]
		adjacent := pending.charset != "" && strings.TrimSpace(between) == ""
		if !adjacent || pending.charset != w.charset {
			flush()
		}
		if !adjacent {
			out.WriteString(decodeRaw(between, fallback))
		}
		pending.charset = w.charset
		pending.text = append(pending.text, w.text...)
		value = value[start+length:]
	}
	flush()
	out.WriteString(decodeRaw(value, fallback))
	return oneLine(out.String())
}

// oneLine puts blanks in place of line breaks, which a field can only have by mistake or by malice.
func oneLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return strings.TrimSpace(strings.Join(lines, " "))
}

// decodeRaw decodes text that should have been encoded and was not.
func decodeRaw(text, fallback string) string {
	const escape = "\x1b" // which begins another character set in text that looks like ASCII
	if utf8.ValidString(text) && !strings.Contains(text, escape) {
		return text
	}
	if charset, known := lookupCharset(fallback, nil); known && charset == unicode.UTF8 {
		fallback = "" // it is not that
	}
	return decodeCharset(fallback, []byte(text))
}

// maxWord bounds an encoded word, in bytes. RFC 2047 allows 75, and no line of a header has more than 998.
const maxWord = 2000

// parseWord reads the encoded word at the start of a text, and returns how long it is. The word may be longer than RFC
// 2047 allows and may have blanks in it.
func parseWord(text string) (w word, length int, ok bool) {
	text = text[:min(len(text), maxWord)]
	charset, rest, found := strings.Cut(text[len("=?"):], "?")
	encoding, rest, both := strings.Cut(rest, "?")
	encoded, rest, ended := strings.Cut(rest, "?=")
	charset, _, _ = strings.Cut(charset, "*") // the language of RFC 2231 section 5
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

// decodeQ decodes the encoding Q: quoted-printable with underscores for blanks.
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
