package badges

import (
	"fmt"
	"html"
	"strings"
	"unicode"
)

// Lengths in pixels.
const (
	height = 20
	outer  = 6 // between text and edge
	inner  = 5 // between text and the border of the two fields
)

const labelColor = "#50565e"

// color returns the background color for a state. White text on it, and on labelColor, has a contrast of at least 4.5
// to 1.
func color(s State) string {
	switch s {
	case Up:
		return "#1f883d"
	case Late:
		return "#b35c00"
	case Down:
		return "#cf222e"
	}
	return "#6e7781"
}

// RenderSVG draws a badge 20 pixels high, with the label on the left and the state on the right. Without a label it shows
// the state alone.
//
// Any label is valid. Runs of white space become one space. Characters that XML cannot hold, such as control
// characters and invalid UTF-8, become U+FFFD. The text is fitted to a width estimated from its characters, so the
// badge looks the same in any font. Label and state are also the title and the accessible name.
func RenderSVG(label string, s State) []byte {
	label, message := clean(label), clean(string(s))
	name, left := message, field{}
	if label != "" {
		name = label + ": " + message
		left = field{text: label, width: outer + ceilDiv(textWidth(label), 10) + inner, pad: outer}
	}
	right := field{text: message, x: left.width, width: inner + ceilDiv(textWidth(message), 10) + outer, pad: inner}
	if label == "" {
		right.width, right.pad = right.width+outer-inner, outer
	}
	width := left.width + right.width

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">`+
		`<title>%[3]s</title>`, width, height, html.EscapeString(name))
	// All badges share this gradient, so duplicate ids in one HTML document do no harm.
	b.WriteString(`<linearGradient id="rollcall-badge-shine" x2="0" y2="1">` +
		`<stop offset="0" stop-color="#fff" stop-opacity=".1"/><stop offset="1" stop-opacity=".1"/></linearGradient>`)
	if label == "" {
		fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="3" fill="%s"/>`, width, height, color(s))
	} else {
		// The left field reaches one pixel under the right one, so that no zoom shows a gap.
		fmt.Fprintf(&b, `<path d="M3 0H%[1]dV20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="%[2]s"/>`, left.width+1, labelColor)
		fmt.Fprintf(&b, `<path d="M%d 0H%da3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H%[1]dz" fill="%[3]s"/>`, left.width, width-3, color(s))
	}
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="3" fill="url(#rollcall-badge-shine)"/>`, width, height)
	b.WriteString(`<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">`)
	left.draw(&b)
	right.draw(&b)
	b.WriteString(`</g></svg>`)
	return []byte(b.String())
}

// A field is one half of the picture.
type field struct {
	text          string
	x, width, pad int // pixels; pad is to the left of the text
}

// draw writes the shadow and then the text.
func (f field) draw(b *strings.Builder) {
	if f.text == "" {
		return
	}
	length := textWidth(f.text)
	middle := 10*(f.x+f.pad) + length/2
	attributes := fmt.Sprintf(`x="%d.%d" textLength="%d.%d" lengthAdjust="spacingAndGlyphs"`,
		middle/10, middle%10, length/10, length%10)
	text := html.EscapeString(f.text)
	fmt.Fprintf(b, `<text aria-hidden="true" %s y="15" fill="#000" fill-opacity=".3">%s</text>`, attributes, text)
	fmt.Fprintf(b, `<text %s y="14">%s</text>`, attributes, text)
}

// clean collapses white space, as SVG does, and replaces characters that XML cannot hold.
func clean(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.Map(func(r rune) rune {
		// strings.Map replaces invalid UTF-8 with U+FFFD by itself.
		if unicode.IsControl(r) || r == '\uFFFE' || r == '\uFFFF' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
