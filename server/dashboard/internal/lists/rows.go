package lists

import (
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// tableRows writes the rows of the list. They are by far the most of the pages, and a template takes several times as long:
// every text goes through the escaper, and everything else is made of constants, keys and numbers.
func tableRows(rows []ui.Row, edit bool, base string, now time.Time) template.HTML {
	var out strings.Builder
	out.Grow(1000 * len(rows))
	text := func(s string) { template.HTMLEscape(&out, []byte(s)) }
	base = template.HTMLEscapeString(base)
	for _, r := range rows {
		word := r.Word()
		for _, part := range []string{`<tr class="is-`, word, `" id="c-`, r.Key, `" data-state="`, word, "\">\n"} {
			out.WriteString(part)
		}
		if edit {
			out.WriteString(`<td class="pick"><input type="checkbox" name="check" value="` + r.ID.String() + `" aria-label="Select `)
			text(r.Name)
			out.WriteString(`"></td>`)
		}
		out.WriteString(`<td class="state">` + string(words.Mark(r.Status)) + `</td><td class="what"><a class="name" href="` + base + `/checks/` + r.Key + `">`)
		text(r.Name)
		out.WriteString(`</a><small>`)
		text(r.Schedule)
		out.WriteString(`</small></td><td class="runs">` + string(strip(r.Runs)) + `</td><td class="tags">`)
		for _, tag := range r.Tags {
			out.WriteString(`<span class="tag">`)
			text(tag)
			out.WriteString(`</span>`)
		}
		out.WriteString(`</td><td class="last">` + string(words.Ago(r.Last, now)))
		if r.Took > 0 {
			out.WriteString(", " + verdict.Duration(r.Took))
		}
		out.WriteString(`</td><td class="next num">`)
		switch {
		case r.Next.IsZero():
			out.WriteString("–")
		case r.Next.After(now):
			out.WriteString(string(words.Ago(r.Next, now)))
		default:
			out.WriteString("due " + string(words.Ago(r.Next, now)))
		}
		out.WriteString("</td></tr>\n")
	}
	return template.HTML(out.String())
}
