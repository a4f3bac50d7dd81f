// Package console is what all commands of the command line share: how they print, refuse and fail, and the values of their flags.
package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

// JSONFlag is the flag of commands that can print JSON.
type JSONFlag struct {
	JSON bool `name:"json" help:"Print one JSON document."`
}

// Print writes the document as JSON if the flag is set, and otherwise calls text.
func (f JSONFlag) Print(w io.Writer, document any, text func(w io.Writer)) error {
	var out bytes.Buffer
	if f.JSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(document); err != nil {
			return err
		}
	} else {
		var lines bytes.Buffer
		text(&lines)
		for line := range bytes.Lines(lines.Bytes()) {
			text, end := bytes.CutSuffix(line, []byte("\n"))
			out.WriteString(prose.Brief(string(text), maxLine))
			if end {
				out.WriteByte('\n')
			}
		}
	}
	return WriteLines(w, out.String())
}

// maxLine bounds a line for people, and maxCell a cell of a table, in bytes: names and texts may come from any server.
const maxLine, maxCell = 4000, 500

// WriteLines writes text to standard output, and escapes characters that could control a terminal. In JSON, the escaped text
// means the same.
func WriteLines(w io.Writer, text string) error {
	if _, err := io.WriteString(w, escape(text, func(r rune) bool { return r != '\n' && r != '\t' && UnsafeRune(r) })); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// Say writes the document as JSON if the flag is set, and otherwise a formatted line.
func (f JSONFlag) Say(w io.Writer, document any, format string, args ...any) error {
	return f.Print(w, document, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

// Table writes rows in aligned columns and escapes control characters.
func Table(w io.Writer, rows ...[]string) {
	var widths []int
	cells := make([][]string, len(rows))
	for i, row := range rows {
		for j, cell := range row {
			cell = Printable(prose.Brief(cell, maxCell))
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

// Printable escapes characters that could control a terminal or break a table.
func Printable(text string) string { return escape(text, UnsafeRune) }

// escape escapes characters as in JSON.
func escape(text string, unsafe func(rune) bool) string {
	if !strings.ContainsFunc(text, unsafe) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unsafe(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// UnsafeRune reports whether r is a control character, ends a line, or changes the direction of the text around it.
func UnsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// OneLine joins the lines of an error, and cuts a long one.
func OneLine(text string) string {
	return Printable(prose.Brief(strings.Join(strings.Fields(text), " "), maxLine))
}

// TimeFormat is the format of the API's timestamps.
const TimeFormat = "2006-01-02T15:04:05-07:00"

func Timestamp(t time.Time) string { return t.UTC().Format(TimeFormat) }

// OptionalTimestamp returns nil for the zero time.
func OptionalTimestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(Timestamp(t))
}

// Or returns the text that a pointer points to, or "" for nil.
func Or(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Paragraph returns the words of a text in lines of at most width characters, each with its line break. The first line begins with the
// head, the others with the indent. A word that does not fit has its own line.
func Paragraph(head, indent, text string, width int) string {
	var b strings.Builder
	line, empty := head, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}
