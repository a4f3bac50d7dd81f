package standard_test

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A picture is as wide as a message on a phone, so that its text stays readable there. All lengths are in pixels.
const (
	pictureWidth, margin  = 480.0, 20.0
	textSize, textHeight  = 15.0, 21.0
	codeSize, codeHeight  = 12.5, 18.0
	avatar, label, corner = 28.0, 104.0, 10.0 // the sender's circle, the column of a field's name, of a box
)

const pictureStyle = `
:root { --page: #fff; --box: #f6f8fa; --edge: #d1d9e0; --text: #1f2328; --soft: #59636e; --link: #0969da; --up: #1a7f37; --down: #cf222e; --on: #fff; }
@media (prefers-color-scheme: dark) { :root { --page: #151b23; --box: #212830; --edge: #3d444d; --text: #f0f6fc; --soft: #9198a1; --link: #4493f8; --up: #3fb950; --down: #f85149; --on: #151b23; } }
text { font: 15px system-ui, -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: var(--text); white-space: pre; }
.strong { font-weight: 600; }
.soft { fill: var(--soft); }
.link { fill: var(--link); }
.code { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.pill { font-size: 12px; font-weight: 600; fill: var(--on); }
.up { fill: var(--up); }
.down { fill: var(--down); }
.page { fill: var(--page); stroke: var(--edge); }
.box { fill: var(--box); stroke: var(--edge); }
.dot { fill: var(--edge); }
.line { fill: none; stroke: var(--edge); }
foreignObject a { color: #00e; text-decoration: underline; } /* as links are where they can be followed */
.sign { fill: none; stroke: var(--on); stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
`

// A canvas is drawn on from top to bottom.
type canvas struct {
	b              strings.Builder
	left, right, y float64
}

func newCanvas() *canvas { return &canvas{left: margin, right: pictureWidth - margin, y: margin} }

// picture returns the SVG.
func (c *canvas) picture(alt string) string {
	h := math.Ceil(c.y + margin)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" aria-label="%s">
<style>%s</style>
<rect class="page" x=".5" y=".5" width="%g" height="%g" rx="12"/>
%s</svg>
`, pictureWidth, h, pictureWidth, h, escaped(alt), pictureStyle, pictureWidth-1, h-1, c.b.String())
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// text draws a paragraph.
func (c *canvas) text(class, text string) {
	f := font{size: textSize, height: textHeight, bold: strings.HasPrefix(class, "strong")}
	if class == "code" {
		f = font{size: codeSize, height: codeHeight, code: true}
	}
	for _, row := range f.wrapped(text, c.right-c.left) {
		c.y += f.height
		if row.isLink && class == "" {
			c.row("link", c.left, row.text)
		} else {
			c.row(class, c.left, row.text)
		}
	}
}

func (c *canvas) row(class string, x float64, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	if text != "" {
		c.printf(`<text%s x="%g" y="%g">%s</text>`, class, x, c.y-6, escaped(text))
	}
}

// lines draws a text of several lines, whose blank lines are half as high.
func (c *canvas) lines(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			c.y += textHeight / 2
			continue
		}
		c.text("", line)
	}
}

// field draws a name and its value.
func (c *canvas) field(name, value string) {
	y := c.y
	c.text("soft", name)
	left := c.left
	c.y, c.left = y, left+label
	c.lines(value)
	c.left = left
}

// pill draws a state and returns where the next one may begin.
func (c *canvas) pill(class string, x float64, text string) float64 {
	w := math.Ceil(font{size: 12, bold: true}.width(text)) + 22
	c.printf(`<rect class="%s" x="%g" y="%g" width="%g" height="22" rx="11"/><text class="pill" x="%g" y="%g">%s</text>`, class, x, c.y, w, x+11, c.y+15.5, escaped(text))
	return x + w + 8
}

// sender draws what the receiver knows and we do not: the picture and the name of the sender. The message stands beside it.
func (c *canvas) sender() {
	c.printf(`<circle class="dot" cx="%g" cy="%g" r="%g"/>`, c.left+avatar/2, c.y+avatar/2, avatar/2)
	c.left += avatar + 12
	c.printf(`<rect class="dot" x="%g" y="%g" width="96" height="8" rx="4"/>`, c.left, c.y+5)
	c.y += 18
}

// box draws a frame around what draw draws.
func (c *canvas) box(class string, draw func()) {
	before, top := c.b.String(), c.y
	c.b.Reset()
	c.left, c.right, c.y = c.left+14, c.right-14, c.y+10
	draw()
	c.left, c.right, c.y = c.left-14, c.right+14, c.y+8
	inside := c.b.String()
	c.b.Reset()
	c.b.WriteString(before)
	c.printf(`<rect class="%s" x="%g" y="%g" width="%g" height="%g" rx="%g"/>`, class, c.left, top, c.right-c.left, c.y-top, corner)
	c.b.WriteString(inside)
}

// bar draws a coloured line before what draw draws. The colour is a class or that of a fill.
func (c *canvas) bar(paint string, draw func()) {
	top := c.y
	c.left += 14
	draw()
	c.left -= 14
	c.printf(`<rect %s x="%g" y="%g" width="4" height="%g" rx="2"/>`, paint, c.left, top+2, c.y-top)
}

// rule draws a line between two messages.
func (c *canvas) rule() {
	c.y += 16
	c.printf(`<path class="line" d="M%g %gH%g"/>`, margin, c.y, pictureWidth-margin)
	c.y += 16
}

// A row is what stands on one line of a paragraph.
type row struct {
	text   string
	isLink bool
}

// A font is one of those of the picture.
type font struct {
	size, height float64
	bold, code   bool
}

// wrapped breaks a paragraph between words, and words that are too long within.
func (f font) wrapped(text string, room float64) (rows []row) {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	now := row{text: indent}
	for i, word := range strings.Split(text[len(indent):], " ") {
		if next := now.text + " " + word; i > 0 && f.width(next) <= room {
			now.text = next
			continue
		}
		if i > 0 {
			rows = append(rows, now)
		}
		now = row{indent + word, strings.HasPrefix(word, "https://")}
		for f.width(now.text) > room {
			n := f.fitting(now.text, room)
			rows = append(rows, row{now.text[:n], now.isLink})
			now.text = indent + now.text[n:]
		}
	}
	return append(rows, now)
}

// fitting returns how many bytes of a word fit, if possible up to a mark.
func (f font) fitting(word string, room float64) (n int) {
	for i, r := range word {
		if end := i + utf8.RuneLen(r); f.width(word[:end]) <= room {
			n = end
		}
	}
	if mark := strings.LastIndexAny(word[:n], "/-?&") + 1; mark > n/2 {
		return mark
	}
	return n
}

// width returns at least how wide a text is, in the widest of the usual fonts.
func (f font) width(text string) (sum float64) {
	for _, r := range text {
		switch {
		case f.code:
			sum += 0.61
		case strings.ContainsRune("ijl.,:;'|! ", r):
			sum += 0.33
		case strings.ContainsRune("ftr()[]/-\"“”", r):
			sum += 0.42
		case strings.ContainsRune("mwMW@%", r):
			sum += 0.95
		case unicode.IsUpper(r):
			sum += 0.75
		default:
			sum += 0.62
		}
	}
	if f.bold {
		sum *= 1.1
	}
	return sum * f.size
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return strings.ReplaceAll(b.String(), "&#39;", "'")
}
