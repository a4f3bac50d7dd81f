package text

import (
	"bytes"
	"encoding/base64"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// utf16 decodes UTF-16 of unknown byte order. Most texts begin with a Latin character or a space.
func utf16(text []byte) string {
	order := unicode.LittleEndian
	if len(text) > 0 && text[0] == 0 {
		order = unicode.BigEndian
	}
	return from(unicode.UTF16(order, unicode.IgnoreBOM))(text)
}

// utf32Guess decodes UTF-32 of unknown byte order. No character has a first byte but 0.
func utf32Guess(text []byte) string {
	order := utf32.LittleEndian
	if len(text) > 0 && text[0] == 0 {
		order = utf32.BigEndian
	}
	return from(utf32.UTF32(order, utf32.UseBOM))(text)
}

// utf7 decodes UTF-7 (RFC 2152).
func utf7(text []byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	var out strings.Builder
	for {
		direct, rest, found := bytes.Cut(text, []byte("+"))
		out.WriteString(UTF8(direct))
		if !found {
			return out.String()
		}
		encoded := rest[:len(rest)-len(bytes.TrimLeft(rest, alphabet))]
		text = bytes.TrimPrefix(rest[len(encoded):], []byte("-"))
		if len(encoded) == 0 {
			out.WriteByte('+')
			continue
		}
		if len(encoded)%4 == 1 { // no base64 has this length
			encoded = encoded[:len(encoded)-1]
		}
		units, _ := base64.RawStdEncoding.AppendDecode(nil, encoded) // cannot fail: only letters of the alphabet
		out.WriteString(from(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM))(units[:len(units)&^1]))
	}
}

// set is a character set within ISO 2022.
type set struct {
	escape string            // selects it in ISO-2022-JP
	high   encoding.Encoding // or has its characters with the high bits set
}

// sets lists the sets that golang.org/x/text does not have within ISO 2022, by the escape sequence that selects them.
var sets = map[string]set{
	"$A": {high: simplifiedchinese.GBK}, "$(A": {high: simplifiedchinese.GBK}, "$)A": {high: simplifiedchinese.GBK},
	"$(C": {high: korean.EUCKR}, "$)C": {high: korean.EUCKR},
	"$(O": {escape: "\x1b$B"}, "$(Q": {escape: "\x1b$B"}, // JIS X 0213 contains JIS X 0208
	".A": {high: charmap.ISO8859_1}, ".F": {high: charmap.ISO8859_7},
}

// iso2022 decodes ISO-2022-JP with its extensions, ISO-2022-KR and ISO-2022-CN.
func iso2022(text []byte) string {
	var out strings.Builder
	var current, shifted, single set
	out1 := false // between the control characters SO and SI
	for len(text) > 0 {
		end := bytes.IndexAny(text, "\x1b\x0e\x0f")
		if end < 0 {
			end = len(text)
		}
		out.WriteString(current.with(shifted, out1).decode(text[:end]))
		if text = text[end:]; len(text) == 0 {
			break
		}
		control := text[0]
		if text = text[1:]; control != '\x1b' {
			out1 = control == '\x0e'
			continue
		}
		if len(text) > 1 && text[0] == 'N' { // one character of another set
			out.WriteString(single.decode(text[1:2]))
			text = text[2:]
			continue
		}
		name := escapeName(text)
		text = text[len(name):]
		s, known := sets[name]
		if !known {
			s = set{escape: "\x1b" + name}
		}
		switch {
		case strings.HasPrefix(name, "$)"):
			shifted = s
		case strings.HasPrefix(name, "."):
			single = s
		default:
			current = s
		}
	}
	return out.String()
}

// with returns the set that is selected.
func (s set) with(shifted set, out1 bool) set {
	if out1 {
		return shifted
	}
	return s
}

// escapeName returns an escape sequence at the start of a text, without the character ESC.
func escapeName(text []byte) string {
	for i, c := range text {
		if c < 0x20 || c > 0x2f && c != '$' {
			return string(text[:min(i+1, len(text))])
		}
	}
	return string(text)
}

func (s set) decode(text []byte) string {
	if s.high == nil {
		return from(japanese.ISO2022JP)(append([]byte(s.escape), text...))
	}
	high := bytes.Clone(text)
	for i, c := range high {
		if c > ' ' && c < 0x7f {
			high[i] = c | 0x80
		}
	}
	return from(s.high)(high)
}

// johab decodes Johab (KS X 1001, annex 3): syllables are composed, and other characters are those of EUC-KR, moved.
func johab(text []byte) string {
	// The position of a vowel and of a final consonant among the five bits that stand for it, or ' '.
	const (
		initials = "  ABCDEFGHIJKLMNOPQRS"
		vowels   = "   ABCDE  FGHIJK  LMNOPQ  RSTU"
		finals   = " ABCDEFGHIJKLMNOPQ RSTUVWXYZ[\\"
	)
	part := func(table string, bits int) int {
		if bits &= 31; bits < len(table) {
			return int(table[bits]) - 'A'
		}
		return -1
	}
	var out strings.Builder
	for len(text) > 0 {
		if text[0] < 0x80 || len(text) == 1 {
			out.WriteString(UTF8(text[:1]))
			text = text[1:]
			continue
		}
		code := int(text[0])<<8 | int(text[1])
		initial, vowel, final := part(initials, code>>10), part(vowels, code>>5), part(finals, code)
		lead, trail := text[0], text[1]
		text = text[2:]
		if initial >= 0 && vowel >= 0 && final >= 0 && lead < 0xd8 {
			out.WriteRune(rune(0xac00 + (initial*21+vowel)*28 + final))
			continue
		}
		row, cell := 2*(int(lead)-0xd9), int(trail)-0x31
		if lead >= 0xe0 {
			row = 2*int(lead) - 0x197
		}
		if trail >= 0x91 {
			cell = int(trail) - 0x43
		}
		if cell >= 0x5e {
			row, cell = row+1, cell-0x5e
		}
		if row < 0 || cell < 0 || row > 93 || cell > 93 {
			out.WriteRune('\uFFFD')
			continue
		}
		out.WriteString(from(korean.EUCKR)([]byte{byte(row + 0xa1), byte(cell + 0xa1)}))
	}
	return out.String()
}
