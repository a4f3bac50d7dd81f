package check

import (
	"fmt"
	"html/template"
	"time"

	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/pings"
)

// kindMark is the word for a kind of pings, in the colour of what it means.
func kindMark(kind pings.Kind) template.HTML {
	class := "idle"
	switch kind {
	case pings.Success:
		class = "up"
	case pings.Failure:
		class = "down"
	}
	return template.HTML(`<span class="st ` + class + `">` + template.HTMLEscapeString(kindWord(kind)) + `</span>`)
}

// bytesText writes a size: "512 bytes", "14 kB", "1.2 MB".
func bytesText(n int64) string {
	switch {
	case n < 1000:
		return verdict.Count(int(n), "byte")
	case n < 1_000_000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// lag says how long after an event something happened: "2 s later", "immediately".
func lag(event, at time.Time) string {
	if d := at.Sub(event); d >= time.Second {
		return verdict.Duration(d) + " later"
	}
	return "immediately"
}
