// Package text reads the bytes of bodies and messages as text.
//
//	text.Decode("windows-1251", body)
//
// # Character sets
//
// [Decode] knows the character sets of the WHATWG, of IANA and of Python by their names and aliases, however they are
// punctuated. The name is often missing or wrong: a byte order mark overrides it, and so does UTF-8 where the text is no text
// in the character set that is named.
package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Decode converts text in a character set to UTF-8. A byte order mark overrides the name. A name that is missing or not
// [Known] means UTF-8, as [UTF8] reads it. Bytes that are invalid in another character set become U+FFFD, unless the text is
// valid UTF-8.
func Decode(name string, text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return UTF8(text[3:])
	case bytes.HasPrefix(text, []byte("\xff\xfe\x00\x00")) && len(text)%4 == 0:
		return from(utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM))(text)
	case bytes.HasPrefix(text, []byte("\x00\x00\xfe\xff")):
		return from(utf32.UTF32(utf32.BigEndian, utf32.ExpectBOM))(text)
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return from(unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM))(text)
	}
	decode := lookup(name)
	switch {
	case decode != nil:
	case bytes.Contains(text, []byte("\x1b$B")) || bytes.Contains(text, []byte("\x1b$@")): // no terminal knows these
		decode = iso2022
	default:
		return UTF8(text)
	}
	decoded := decode(text)
	if strings.ContainsRune(decoded, utf8.RuneError) && utf8.Valid(text) && bytes.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return string(text) // such as UTF-8 that is declared as a seven-bit character set
	}
	return decoded
}

// Known reports whether [Decode] knows a character set by this name.
func Known(name string) bool { return lookup(name) != nil }

// UTF8 returns text as valid UTF-8. Bytes that are not UTF-8 are read as Windows-1252.
func UTF8(text []byte) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			r = charmap.Windows1252.DecodeByte(text[0])
		}
		out.WriteRune(r)
		text = text[size:]
	}
	return out.String()
}
