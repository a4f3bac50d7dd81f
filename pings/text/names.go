package text

import (
	"regexp"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// decoder converts text in a character set to UTF-8. Invalid bytes become U+FFFD.
type decoder func(text []byte) string

// codePage matches the squeezed name of a character set that is best known by a number.
var codePage = regexp.MustCompile(`^(?:microsoftcp|codepage|windows|cp|ibm|win|dos|ms|ccsid)?(\d+)$`)

// part8859 matches the squeezed name of a part of ISO 8859, perhaps with its year, such as ISO_8859-10:1992.
var part8859 = regexp.MustCompile(`^(?:iso)?(8859\d{1,2})(?:(?:19|20)\d\d)?$`)

// lookup finds a character set by one of its names, or returns nil. Punctuation and case do not count.
//
// ASCII counts as UTF-8: programs that declare it send anything.
func lookup(name string) decoder {
	name = strings.ToLower(strings.Trim(name, " \t\"'"))
	key := squeeze(name)
	if key == "" {
		return nil
	}
	for _, try := range []string{key, strings.TrimPrefix(key, "x"), strings.TrimPrefix(key, "cs")} {
		if m := part8859.FindStringSubmatch(try); m != nil {
			try = "iso" + m[1]
		} else if m := codePage.FindStringSubmatch(try); m != nil {
			try = m[1]
		}
		if d := alias(try); d != nil {
			return d
		}
		// The names of the web come first: mail in iso-8859-1 is Windows-1252 as often as web pages are.
		for _, label := range []string{name, strings.ReplaceAll(name, "_", "-"), try, "windows-" + try} {
			if charset, err := htmlindex.Get(label); err == nil && charset != encoding.Replacement {
				return from(charset)
			}
		}
		for _, label := range []string{name, "ibm" + try, try} {
			if charset, err := ianaindex.IANA.Encoding(label); err == nil && charset != nil {
				return from(charset)
			}
		}
	}
	return nil
}

// squeeze returns the letters and digits of a name.
func squeeze(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, name)
}

// alias finds a character set by a squeezed name that the indexes of golang.org/x/text do not have, or have for another
// character set. Variants of a character set are read as its largest one.
func alias(key string) decoder {
	switch key {
	case "ascii", "usascii", "us", "646", "367", "20127", "iso646us", "iso646irv1991", "ansix341968", "ansix341986", "isoir6",
		"utf8", "utf", "u8", "utf8mb4", "utf8sig", "utf8ucs2", "utf8ucs4", "utf8mac", "unicode11utf8", "65001", "1208":
		return UTF8
	case "utf7", "u7", "unicode11utf7", "65000":
		return utf7
	case "utf16", "u16", "ucs2", "iso10646ucs2", "unicode":
		return utf16
	case "utf16le", "unicodelittleunmarked", "1200":
		return from(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM))
	case "utf16be", "unicodebigunmarked", "1201":
		return from(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM))
	case "utf32", "u32", "ucs4", "iso10646ucs4":
		return utf32Guess
	case "utf32le", "12000":
		return from(utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM))
	case "utf32be", "12001":
		return from(utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM))
	case "932", "windows31j", "943", "sjis", "sjis2004", "sjisx0213", "shiftjis2004", "shiftjisx0213", "shiftjis", "mskanji", "macjapanese":
		return from(japanese.ShiftJIS)
	case "eucjis2004", "eucjisx0213", "jisx0213", "eucjp", "ujis", "ejis", "51932", "20932", "eucjpms":
		return from(japanese.EUCJP)
	case "iso2022jp", "iso2022jp1", "iso2022jp2", "iso2022jp2004", "iso2022jp3", "iso2022jpext", "iso2022jpms", "50220", "50221", "50222",
		"iso2022kr", "50225", "iso2022cn", "iso2022cnext", "50227":
		return iso2022
	case "949", "uhc", "euckr", "mackorean", "ksc5601", "ksc56011987", "ksc56011989", "ksx1001", "kscs5601", "51949", "970":
		return from(korean.EUCKR)
	case "johab", "1361":
		return johab
	case "936", "euccn", "eucgb2312cn", "gb23121980", "gb231280", "isoir58", "1386", "51936", "20936", "macsimpchinese":
		return from(simplifiedchinese.GBK)
	case "gb180302000", "gb180302005", "gb180302022", "54936":
		return from(simplifiedchinese.GB18030)
	case "hz", "hzgb", "hzgb2312", "52936":
		return from(simplifiedchinese.HZGB2312)
	case "950", "951", "big5tw", "hkscs", "big5hkscs", "big5hkscs2004", "mactradchinese", "eten":
		return from(traditionalchinese.Big5)
	case "819", "8859", "28591", "iso8859", "latin", "palmos": // Palm OS differs in four symbols
		return from(charmap.Windows1252)
	case "28605", "923", "latin9", "l9", "latin0", "iso885915euro":
		return from(charmap.ISO8859_15)
	case "latin7", "l7":
		return from(charmap.ISO8859_13)
	case "latin8", "l8", "isoceltic", "isoir199":
		return from(charmap.ISO8859_14)
	case "iso885916", "latin10", "isoir226":
		return from(charmap.ISO8859_16)
	case "elot928":
		return from(charmap.ISO8859_7)
	case "858":
		return from(charmap.CodePage858)
	case "1140":
		return from(charmap.CodePage1140)
	case "tis620", "tis6200", "tis62025290", "tis62025291", "isoir166", "thai":
		return from(charmap.Windows874)
	case "koi8", "koi8r", "20866", "878":
		return from(charmap.KOI8R)
	case "koi8u", "koi8ru", "21866", "1168":
		return from(charmap.KOI8U)
	case "37", "037", "039", "ebcdiccpca", "ebcdiccpnl", "ebcdiccpus", "ebcdiccpwt":
		return from(charmap.CodePage037)
	case "macroman", "10000":
		return from(charmap.Macintosh)
	case "maccyrillic", "macukrainian", "10007", "10017":
		return from(charmap.MacintoshCyrillic)
	}
	return table(key)
}

func from(charset encoding.Encoding) decoder {
	return func(text []byte) string {
		decoded, err := charset.NewDecoder().Bytes(text)
		if err != nil {
			return UTF8(text)
		}
		return string(decoded)
	}
}
