package check

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// output returns the output of a job as plain text: without the control sequences of terminals, such as colours, with a sign for each other
// control character and for those that turn the direction of text. A carriage return begins a new line.
func output(text string) string {
	text = strings.ReplaceAll(prose.WithoutSequences(strings.ToValidUTF8(text, string(utf8.RuneError))), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0, unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, text)
}
