package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The picture is a terminal of columns characters. All lengths are in pixels, all times in seconds.
const (
	columns, width, height = 84, 8.4, 21.0 // of a character
	margin, bar            = 18.0, 34.0    // beside the text, and above it

	typing, output, reading = 0.02, 0.3, 0.25 // for a character, before an output, for a line of it
	pause, rest             = 0.6, 6.0        // after a command, at the end
)

// A row is a line of the terminal.
type row struct {
	text    string
	class   string
	prompt  string  // "$ ", or blanks in a command's next line
	at, end float64 // when it appears, and when it has been typed
}

// rowsOf returns the rows of all steps and how long they take.
func rowsOf(steps []step) (rows []row, now float64) {
	now = pause
	for _, s := range steps {
		for i, line := range strings.Split(s.command, "\n") {
			r := row{text: cut(line, columns-2), class: "command", prompt: "$ ", at: now}
			switch {
			case strings.HasPrefix(line, "#"):
				r.class, r.prompt = "comment", ""
			case i > 0 && strings.HasPrefix(line, " "):
				r.prompt = "  "
			}
			now += typing * float64(utf8.RuneCountInString(line))
			r.end = now
			rows = append(rows, r)
		}
		now += output
		for _, line := range s.output {
			rows = append(rows, row{text: cut(line, columns), class: "output", at: now, end: now})
		}
		now += pause + reading*float64(len(s.output))
	}
	return rows, now + rest
}

// cut cuts a line to n characters.
func cut(line string, n int) string {
	line = strings.TrimRight(line, " ")
	if runes := []rune(line); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return line
}

const style = `
    :root { --page: #ffffff; --edge: #d1d9e0; --text: #1f2328; --soft: #59636e; --up: #1a7f37; }
    @media (prefers-color-scheme: dark) { :root { --page: #151b23; --edge: #3d444d; --text: #f0f6fc; --soft: #9198a1; --up: #3fb950; } }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; white-space: pre; fill: var(--soft); }
    .command { fill: var(--text); font-weight: 600; }
    .prompt { fill: var(--up); }
    .page { fill: var(--page); stroke: var(--edge); }
    .cover { fill: var(--page); transform-box: fill-box; transform-origin: right; transform: scaleX(0); }
    .dot { fill: var(--edge); }
`

// draw returns the steps as an SVG. The animation repeats; who prefers less motion sees its end.
func draw(steps []step) []byte {
	rows, duration := rowsOf(steps)
	w, h := 2*margin+columns*width, bar+margin+float64(len(rows))*height
	var b, motion bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s" role="img" aria-labelledby="title desc">
  <title id="title">The quick start in a terminal</title>
  <desc id="desc">A server starts and prints its keys. An integration and a check are created, the job pings and is up. It reports a failure, and the alert says so.</desc>
`, number(w), number(h), number(w), number(h))
	percent := func(at float64) string { return number(100*at/duration) + "%" }
	var body bytes.Buffer
	for i, r := range rows {
		y := bar + float64(i+1)*height - 6
		fmt.Fprintf(&motion, "      @keyframes r%d { 0%%, %s { opacity: 0 } %s, 100%% { opacity: 1 } }\n", i, percent(r.at), percent(r.at+0.001*duration))
		fmt.Fprintf(&body, `  <g class="row" style="animation-name: r%d">`, i)
		left := margin
		if r.prompt != "" {
			if r.prompt[0] == '$' {
				fmt.Fprintf(&body, `<text class="prompt" x="%s" y="%s">$</text>`, number(left), number(y))
			}
			left += 2 * width
		}
		n := utf8.RuneCountInString(r.text)
		if n > 0 {
			fmt.Fprintf(&body, `<text class="%s" x="%s" y="%s" textLength="%s">%s</text>`, r.class, number(left), number(y), number(float64(n)*width), escape(r.text))
		}
		if r.end > r.at {
			fmt.Fprintf(&motion, "      @keyframes c%d { 0%%, %s { transform: none } %s, 100%% { transform: scaleX(0) } }\n", i, percent(r.at), percent(r.end))
			fmt.Fprintf(&body, `<rect class="cover" style="animation-name: c%d; animation-timing-function: steps(%d)" x="%s" y="%s" width="%s" height="%s"/>`,
				i, n, number(left), number(y-15), number(float64(n)*width+1), number(height))
		}
		body.WriteString("</g>\n")
	}
	fmt.Fprintf(&b, "  <style>%s    @media (prefers-reduced-motion: no-preference) {\n      .row, .cover { animation: %ss linear infinite both }\n%s    }\n  </style>\n", style, number(duration), motion.Bytes())
	fmt.Fprintf(&b, `  <rect class="page" x=".5" y=".5" width="%s" height="%s" rx="12"/>`+"\n", number(w-1), number(h-1))
	for i := range 3 {
		fmt.Fprintf(&b, `  <circle class="dot" cx="%d" cy="18" r="5"/>`+"\n", 24+18*i)
	}
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// number writes a number with at most two decimals.
func number(x float64) string { return strings.TrimSuffix(fmt.Sprint(math.Round(x*100)/100), ".0") }

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return strings.ReplaceAll(b.String(), "&#34;", `"`)
}
