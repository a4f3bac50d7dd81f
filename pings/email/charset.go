package email

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// decodeCharset converts text in a character set to UTF-8. If the name is unknown or missing, valid UTF-8 is UTF-8 and
// anything else Windows-1252. A byte order mark overrides the name.
func decodeCharset(name string, text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return validUTF8(text[3:])
	case bytes.HasPrefix(text, []byte("\xff\xfe\x00\x00")) && len(text)%4 == 0:
		return convert(utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM), text)
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return convert(unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM), text)
	}
	charset, known := lookupCharset(name, text)
	switch {
	case known && charset == unicode.UTF8:
		return validUTF8(text)
	case known:
		return convert(charset, text)
	case utf8.Valid(text):
		return string(text)
	}
	return convert(charmap.Windows1252, text)
}

// lookupCharset finds a character set by one of its names. ASCII counts as unknown: programs that declare it send
// anything.
func lookupCharset(name string, text []byte) (charset encoding.Encoding, known bool) {
	name = strings.ToLower(strings.Trim(name, " \t\"'"))
	switch name {
	case "", "us-ascii", "ascii", "ansi_x3.4-1968", "iso-ir-6", "646":
		return nil, false
	case "utf8", "utf-8", "unicode-1-1-utf-8", "utf8mb4", "cp65001", "utf-8-sig":
		return unicode.UTF8, true
	case "hz-gb-2312", "hz":
		return simplifiedchinese.HZGB2312, true
	case "utf-16", "ucs-2", "iso-10646-ucs-2", "unicode":
		order := unicode.LittleEndian
		if len(text) > 0 && text[0] == 0 { // most texts begin with a Latin character or a space
			order = unicode.BigEndian
		}
		return unicode.UTF16(order, unicode.IgnoreBOM), true
	case "utf-32", "ucs-4":
		order := utf32.LittleEndian
		if len(text) > 0 && text[0] == 0 {
			order = utf32.BigEndian
		}
		return utf32.UTF32(order, utf32.UseBOM), true
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), true
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), true
	}
	// The names of the web come first: mail in iso-8859-1 is Windows-1252 as often as web pages are.
	if charset, err := htmlindex.Get(name); err == nil && charset != encoding.Replacement {
		return charset, true
	}
	for _, try := range []string{name, strings.Replace(name, "cp-", "cp", 1), strings.Replace(name, "x-", "", 1)} {
		if charset, err := ianaindex.MIME.Encoding(try); err == nil && charset != nil {
			return charset, true
		}
	}
	return nil, false
}

// convert decodes text. Invalid bytes become U+FFFD.
func convert(charset encoding.Encoding, text []byte) string {
	decoded, err := charset.NewDecoder().Bytes(text)
	if err != nil {
		return validUTF8(text)
	}
	return string(decoded)
}

func validUTF8(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }
