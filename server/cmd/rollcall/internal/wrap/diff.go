package wrap

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// diffContext is how many lines beside a changed one a difference shows.
const diffContext = 3

// splitLines returns the lines of a text with their line breaks.
func splitLines(text []byte) [][]byte { return slices.Collect(bytes.Lines(text)) }

// diff writes the unified difference of two texts, of which either may be empty. Otherwise each line has become one line.
func diff(w io.Writer, path string, before, after []byte) {
	from, to := "a"+path, "b"+path
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	fmt.Fprintf(w, "--- %s\n+++ %s\n", from, to)
	a, b := splitLines(before), splitLines(after)
	if len(a) == 0 || len(b) == 0 {
		hunk(w, a, b, 0, max(len(a), len(b)))
		return
	}
	changed := func(i int) bool { return !bytes.Equal(a[i], b[i]) }
	for i := 0; i < len(a); i++ {
		if !changed(i) {
			continue
		}
		start, end := max(0, i-diffContext), i
		for j := i; j < len(a) && j <= end+2*diffContext; j++ {
			if changed(j) {
				end = j
			}
		}
		hunk(w, a, b, start, min(len(a), end+diffContext+1))
		i = end
	}
}

// hunk writes the lines from start to before end.
func hunk(w io.Writer, a, b [][]byte, start, end int) {
	place := func(lines [][]byte) string {
		if len(lines) == 0 {
			return "0,0"
		}
		return fmt.Sprintf("%d,%d", start+1, end-start)
	}
	fmt.Fprintf(w, "@@ -%s +%s @@\n", place(a), place(b))
	line := func(mark string, text []byte) {
		whole, ok := bytes.CutSuffix(text, []byte("\n"))
		fmt.Fprintf(w, "%s%s\n", mark, whole)
		if !ok {
			fmt.Fprint(w, "\\ No newline at end of file\n")
		}
	}
	for i := start; i < end; {
		if i < len(a) && i < len(b) && bytes.Equal(a[i], b[i]) {
			line(" ", a[i])
			i++
			continue
		}
		next := i
		for next < end && (next >= len(a) || next >= len(b) || !bytes.Equal(a[next], b[next])) {
			next++
		}
		for _, text := range a[min(i, len(a)):min(next, len(a))] {
			line("-", text)
		}
		for _, text := range b[min(i, len(b)):min(next, len(b))] {
			line("+", text)
		}
		i = next
	}
}
