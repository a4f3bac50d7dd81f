package badges

import "unicode"

// Estimated widths in tenths of a pixel, for a font size of 11 pixels.
const (
	widthLower = 68
	widthUpper = 78
	widthWide  = 110 // East Asian characters fill a square
	widthEmoji = 138
)

const (
	joiner         = '\u200D' // joins two emoji to one
	emojiSelection = '\uFE0F' // shows the character before it as an emoji
)

// textWidth estimates the width of a text in tenths of a pixel, for a font size of 11 pixels in Verdana or a similar
// font. A non-empty text has a positive width.
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
		return widthLower // such as a combining mark without a letter
	}
	return total
}

// runeWidth estimates the width of a character on its own.
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

// isZeroWidth reports whether r is invisible or drawn over the character before it.
func isZeroWidth(r rune) bool {
	const jamoVowel, jamoLast = 0x1160, 0x11FF // second and third part of a Korean syllable
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || jamoVowel <= r && r <= jamoLast
}

// isWide reports whether r fills a square, as East Asian characters and the replacement character do.
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

// isEmoji reports whether r is in a range of mostly emoji. The letters of flags are not: two of them make one flag.
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
