package check

import (
	"cmp"
	"fmt"
	"html/template"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/pings"
)

// kindWord is the word of pages for a kind of pings.
func kindWord(kind pings.Kind) string {
	switch kind {
	case pings.Failure:
		return "failure"
	case pings.Ignored:
		return "ignored"
	}
	return string(kind)
}

// mark is the word for a kind of pings or the result of a run, in the colour of what it means.
func mark(word string) template.HTML {
	class := map[string]string{"success": "up", "failure": "down", "timed out": "down"}[word]
	return template.HTML(`<span class="st ` + cmp.Or(class, "idle") + `">` + template.HTMLEscapeString(word) + `</span>`)
}

// bytesText writes a size: "512 bytes", "14 kB", "1.2 MB".
func bytesText(n int64) string {
	switch {
	case n < 1000:
		return prose.Count(n, "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// lag says how long after an event something happened: "2 s later", "immediately".
func lag(event, at time.Time) string {
	if d := at.Sub(event); d >= time.Second {
		return prose.Duration(d) + " later"
	}
	return "immediately"
}
