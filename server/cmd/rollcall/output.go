package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// jsonFlag is the flag of commands that can print JSON.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print one JSON document."`
}

// timeFormat is that of the API's timestamps.
const timeFormat = "2006-01-02T15:04:05-07:00"

func timestamp(t time.Time) string { return t.UTC().Format(timeFormat) }

// print writes the document when JSON is asked for, and otherwise what text writes.
func (f jsonFlag) print(w io.Writer, document any, text func(w io.Writer)) error {
	out := bufio.NewWriter(w)
	if f.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(document); err != nil {
			return err
		}
	} else {
		text(out)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// table writes rows with aligned columns. The cells are shown without control characters.
func table(w io.Writer, rows ...[]string) {
	var widths []int
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			cell = printable(cell)
			cells[i] = append(cells[i], cell)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range cells {
		var line strings.Builder
		for j, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[j], cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// printable escapes what could act on a terminal or break a table.
func printable(text string) string {
	if !strings.ContainsFunc(text, unsafeRune) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafeRune(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafeRune reports whether a character is not to be printed: controls, and those that change the direction of
// the text around them.
func unsafeRune(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// oneLine joins the lines of an error's text.
func oneLine(text string) string {
	return printable(strings.Join(strings.Fields(text), " "))
}

// plural returns a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
