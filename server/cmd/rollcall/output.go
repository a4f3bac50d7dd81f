package main

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

// jsonFlag is the flag of commands that can print JSON.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print one JSON document."`
}

// print writes the document as JSON if the flag is set, and otherwise calls text.
func (f jsonFlag) print(w io.Writer, document any, text func(w io.Writer)) error {
	var out bytes.Buffer
	if f.JSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(document); err != nil {
			return err
		}
	} else {
		text(&out)
	}
	return writeLines(w, out.String())
}

// writeLines writes text to standard output, and escapes characters that could control a terminal. In JSON, the escaped text
// means the same.
func writeLines(w io.Writer, text string) error {
	if _, err := io.WriteString(w, escape(text, func(r rune) bool { return r != '\n' && unsafeRune(r) })); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// say writes the document as JSON if the flag is set, and otherwise a formatted line.
func (f jsonFlag) say(w io.Writer, document any, format string, args ...any) error {
	return f.print(w, document, func(w io.Writer) { fmt.Fprintf(w, format+"\n", args...) })
}

// printList writes the items as JSON if the flag is set, and otherwise as a table.
func printList[T, D any](f jsonFlag, w io.Writer, items []T, document func(T) D, header []string, row func(D) []string) error {
	documents := make([]D, len(items))
	rows := [][]string{header}
	for i, item := range items {
		documents[i] = document(item)
		rows = append(rows, row(documents[i]))
	}
	return f.print(w, documents, func(w io.Writer) { table(w, rows...) })
}

// table writes rows in aligned columns and escapes control characters.
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

// printable escapes characters that could control a terminal or break a table.
func printable(text string) string { return escape(text, unsafeRune) }

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

// unsafeRune reports whether r is a control character, ends a line, or changes the direction of the text around it.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// oneLine joins the lines of an error.
func oneLine(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }

// onRetry says that the command waits before it sends a request again. Short waits are not worth a line.
func (a *app) onRetry(err error, wait time.Duration) {
	if wait >= time.Second {
		fmt.Fprintf(a.stderr, "rollcall: %s; trying again in %s\n", oneLine(err.Error()), prose.Duration(wait.Round(time.Second)))
	}
}

// timeFormat is the format of the API's timestamps.
const timeFormat = "2006-01-02T15:04:05-07:00"

func timestamp(t time.Time) string { return t.UTC().Format(timeFormat) }

// optionalTimestamp returns nil for the zero time.
func optionalTimestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(timestamp(t))
}

// or returns the text that a pointer points to, or "" for nil.
func or(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
