package check

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// terminal renders the output of a job as a terminal would show it: with the colours and styles of ANSI escape sequences,
// and as text in every other respect. Sequences that do anything else are left out. Control characters and those that
// turn the direction of text show as signs. A carriage return begins a new line.
func terminal(text string) template.HTML {
	var out strings.Builder
	var style textStyle
	open := ""
	for len(text) > 0 {
		if text[0] == 0x1b {
			params, final, size := escapeSequence(text)
			text = text[size:]
			if final == 'm' {
				style.apply(params)
			}
			continue
		}
		end := strings.IndexByte(text, 0x1b)
		if end < 0 {
			end = len(text)
		}
		if class := style.class(); class != open {
			if open != "" {
				out.WriteString("</span>")
			}
			if open = class; open != "" {
				fmt.Fprintf(&out, `<span class="%s">`, class)
			}
		}
		writePlain(&out, text[:end])
		text = text[end:]
	}
	if open != "" {
		out.WriteString("</span>")
	}
	return template.HTML(out.String())
}

// escapeSequence returns the parameters and the last byte of the escape sequence that a text begins with, and its length.
// The last byte is 0 for a sequence of another form.
func escapeSequence(text string) (params string, final byte, size int) {
	if len(text) < 2 {
		return "", 0, len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text) && i < 64; i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[2:i], c, i + 1
			} else if c < 0x20 || c > 0x7e {
				return "", 0, i
			}
		}
		return "", 0, min(len(text), 64)
	case ']', 'P', '^', '_', 'X': // a string, such as the title of a window; it ends with BEL or ESC \
		for i := 2; i < len(text) && i < 4096; i++ {
			if text[i] == 0x07 {
				return "", 0, i + 1
			}
			if text[i] == 0x1b {
				if i+1 < len(text) && text[i+1] == '\\' {
					return "", 0, i + 2
				}
				return "", 0, i
			}
		}
		return "", 0, 2
	}
	_, rune := utf8.DecodeRuneInString(text[1:])
	return "", 0, 1 + rune
}

// textStyle is how a terminal shows text. Colours count from 1 to 16; 0 is none.
type textStyle struct {
	front, back                    int
	bold, faint, italic, underline bool
}

func (s *textStyle) apply(params string) {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		*s = textStyle{}
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			return
		}
		switch {
		case n >= 30 && n <= 37:
			s.front = n - 29
		case n >= 90 && n <= 97:
			s.front = n - 81
		case n == 39:
			s.front = 0
		case n >= 40 && n <= 47:
			s.back = n - 39
		case n >= 100 && n <= 107:
			s.back = n - 91
		case n == 49:
			s.back = 0
		case n == 38 || n == 48:
			colour, used := wideColour(codes[i+1:])
			if i += used; n == 38 {
				s.front = colour
			} else {
				s.back = colour
			}
		default:
			s.applyFont(n)
		}
	}
}

// applyFont applies a code that is about no colour.
func (s *textStyle) applyFont(code int) {
	switch code {
	case 0:
		*s = textStyle{}
	case 1:
		s.bold = true
	case 2:
		s.faint = true
	case 3:
		s.italic = true
	case 4:
		s.underline = true
	case 22:
		s.bold, s.faint = false, false
	case 23:
		s.italic = false
	case 24:
		s.underline = false
	}
}

// wideColour returns the nearest of the 16 colours for one of 256 or of all, and how many codes name it.
func wideColour(codes []string) (colour, used int) {
	number := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return max(0, min(n, 255))
	}
	switch number(0) {
	case 5:
		n := number(1)
		switch {
		case n < 16:
			return n + 1, 2
		case n < 232:
			n -= 16
			return nearest(n/36*51, n/6%6*51, n%6*51), 2
		}
		grey := (n-232)*10 + 8
		return nearest(grey, grey, grey), 2
	case 2:
		return nearest(number(1), number(2), number(3)), 4
	}
	return 0, 1
}

// nearest returns the nearest of the 16 colours.
func nearest(r, g, b int) int {
	bit := func(v, at int) int {
		if v >= at {
			return 1
		}
		return 0
	}
	brightest := max(r, g, b)
	if brightest < 64 {
		return 1
	}
	index := bit(r, brightest*2/3) | bit(g, brightest*2/3)<<1 | bit(b, brightest*2/3)<<2
	if brightest > 192 {
		index += 8
	}
	return index + 1
}

// class returns the classes of a span, "" for plain text.
func (s *textStyle) class() string {
	var classes []string
	if s.front > 0 {
		classes = append(classes, "f"+strconv.Itoa(s.front-1))
	}
	if s.back > 0 {
		classes = append(classes, "k"+strconv.Itoa(s.back-1))
	}
	for _, c := range []struct {
		on   bool
		name string
	}{{s.bold, "bold"}, {s.faint, "faint"}, {s.italic, "italic"}, {s.underline, "underline"}} {
		if c.on {
			classes = append(classes, c.name)
		}
	}
	return strings.Join(classes, " ")
}

// writePlain writes text without escape sequences as HTML.
func writePlain(out *strings.Builder, text string) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
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
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
	out.WriteString(html.EscapeString(text))
}
