package badges

import "unicode"

// Estimates of widths, in tenths of a pixel at a font size of 11 pixels.
const (
	widthLower = 68
	widthUpper = 78
	widthWide  = 110 // a character of East Asian writing fills a square
	widthEmoji = 138
)

const (
	joiner         = '\u200D' // joins the emoji on its two sides to one
	emojiSelection = '\uFE0F' // shows the character before it as an emoji
)

// textWidth estimates how wide a text is, in tenths of a pixel, in Verdana and
// the fonts that have its measures, at a font size of 11 pixels. The estimate
// for a text that is not empty is more than zero.
func textWidth(text string) int {
	total, last, joined := 0, 0, false
	for _, r := range text {
		switch {
		case r == emojiSelection:
			total += max(0, widthEmoji-last)
			last = max(last, widthEmoji)
		case isSkinTone(r) && last == widthEmoji:
		case isZeroWidth(r):
		case joined && isEmoji(r):
		default:
			last = runeWidth(r)
			total += last
		}
		joined = r == joiner
	}
	if total == 0 && text != "" {
		return widthLower // A combining mark without a letter, for example.
	}
	return total
}

// runeWidth estimates the width of a character that stands by itself.
func runeWidth(r rune) int {
	switch {
	case r < 0x7F:
		return asciiWidth(r)
	case isEmoji(r):
		return widthEmoji
	case isWide(r):
		return widthWide
	case unicode.IsUpper(r):
		return widthUpper
	}
	return widthLower
}

// isZeroWidth reports whether r is drawn over the character before it or not at
// all.
func isZeroWidth(r rune) bool {
	const jamoVowel, jamoLast = 0x1160, 0x11FF // the second and third part of a Korean syllable
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || jamoVowel <= r && r <= jamoLast
}

// isWide reports whether r fills a square, as East Asian characters do, and the
// replacement character.
func isWide(r rune) bool {
	switch {
	case 0xFF61 <= r && r <= 0xFFDC: // half-width forms
		return false
	case 0x3000 <= r && r <= 0x303F, // punctuation
		0xFF01 <= r && r <= 0xFF60, 0xFFE0 <= r && r <= 0xFFE6: // full-width forms
		return true
	}
	return r == unicode.ReplacementChar ||
		unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Yi)
}

// isEmoji reports whether r is in one of the ranges that are mostly emoji.
// The letters of which flags are made are not: two of them make one flag.
func isEmoji(r rune) bool {
	switch {
	case 0x1F1E6 <= r && r <= 0x1F1FF:
		return false
	case 0x1F000 <= r && r <= 0x1FAFF, 0x2600 <= r && r <= 0x27BF:
		return true
	}
	return false
}

// isSkinTone reports whether r colours the emoji before it.
func isSkinTone(r rune) bool { return 0x1F3FB <= r && r <= 0x1F3FF }

// asciiWidth returns the width of a printable ASCII character in Verdana.
func asciiWidth(r rune) int {
	switch r {
	case '\'', 'i', 'l':
		return 30
	case ' ', ',', '.', 'f', 'j':
		return 39
	case '!', 't':
		return 43
	case '"', '(', ')', '-', '/', ':', ';', 'I', 'J', '[', '\\', ']', 'r', '|':
		return 50
	case 'c', 's', 'z':
		return 57
	case '?', 'F', 'L':
		return 62
	case 'P', 'T', 'Y', 'a', 'e', 'k', 'o', 'v', 'x', 'y':
		return 66
	case 'A', 'B', 'C', 'K', 'R', 'S', 'V', 'X', 'Z':
		return 76
	case '&', 'N', 'U', 'H':
		return 82
	case 'D', 'G', 'O', 'Q':
		return 86
	case '#', '+', '<', '=', '>', '^', '~', 'M', 'w':
		return 91
	case '%', '@', 'W', 'm':
		return 110
	}
	return 69 // digits and the letters of medium width
}
