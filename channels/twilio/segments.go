package twilio

import (
	"strings"
	"unicode/utf16"
)

const (
	maxSegments = 3

	// A message of one segment has 140 bytes: 160 characters of 7 bits, or 70 UTF-16 units. With more segments, each
	// has a header.
	single7, part7   = 160, 153
	single16, part16 = 70, 67
)

// basic7 is the default alphabet of GSM 03.38. Characters of its extension, extended7, count twice.
const (
	basic7 = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	extended7 = "\f^{}\\[~]|€"
)

// width7 returns the width of r in 7-bit characters, or 0 if r is in neither alphabet.
func width7(r rune) int {
	switch {
	case strings.ContainsRune(basic7, r):
		return 1
	case strings.ContainsRune(extended7, r):
		return 2
	}
	return 0
}

// segments returns the number of segments of a text. No character spans two segments, neither in the extended alphabet
// nor in UTF-16.
func segments(text string) int {
	width, single, part := width7, single7, part7
	if strings.ContainsFunc(text, func(r rune) bool { return width7(r) == 0 }) {
		width, single, part = utf16.RuneLen, single16, part16
	}
	total, count, left := 0, 1, part
	for _, r := range text {
		w := max(1, width(r))
		total += w
		if w > left {
			count, left = count+1, part
		}
		left -= w
	}
	if total <= single {
		return 1
	}
	return count
}

// fit cuts a text to maxSegments, with "..." at the end, since "…" is not in the alphabet.
func fit(text string) string {
	text = strings.ToValidUTF8(text, "?")
	if segments(text) <= maxSegments {
		return text
	}
	runes := []rune(text)
	runes = runes[:min(len(runes), maxSegments*part7)] // no alphabet fits more
	for len(runes) > 0 && segments(string(runes)+"...") > maxSegments {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " \n") + "..."
}
