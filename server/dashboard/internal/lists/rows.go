package lists

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// tableRow is a row of the list as HTML. The texts of relative times are apart, with a mark where each belongs, because they
// change all the time and a script of ours keeps them current.
type tableRow struct {
	id, html string
	times    []string
}

// timeMark stands for the text of a relative time. No name has it; see [words.Name].
const timeMark = "\x00"

// String is the HTML with the texts of the times. Attributes are more of the first tag.
func (r tableRow) string(attributes string) string {
	html := r.html
	if attributes != "" {
		html = "<tr " + attributes + strings.TrimPrefix(html, "<tr")
	}
	if len(r.times) == 0 {
		return html
	}
	parts := strings.Split(html, timeMark)
	var out strings.Builder
	for i, part := range parts {
		out.WriteString(part)
		if i < len(r.times) {
			out.WriteString(r.times[i])
		}
	}
	return out.String()
}

// tableRows makes the rows of the list. They are by far the most of the pages, and a template takes seven times as long (180 µs a row
// instead of 25): every text goes through the escaper, and everything else is made of constants, keys and numbers.
func tableRows(v *checksView, edit bool, base string, now time.Time, clock words.Clock) []tableRow {
	rows := make([]tableRow, 0, len(v.Rows)+1)
	base = template.HTMLEscapeString(base)
	for i := range len(v.Rows) + 1 {
		if v.Folded > 0 && i == v.At {
			rows = append(rows, tableRow{id: "fold", html: `<tr id="fold" class="fold"><td colspan="7"><a href="` + template.HTMLEscapeString(v.Query.With("all", "1")) + `">` +
				string(words.Glyph("up")) + ` Show ` + prose.Count(v.Folded, "healthy check") + "</a></td></tr>\n"})
		}
		if i < len(v.Rows) {
			rows = append(rows, rowHTML(v.Rows[i], edit, base, now, clock))
		}
	}
	return rows
}

func rowHTML(r ui.Row, edit bool, base string, now time.Time, clock words.Clock) (row tableRow) {
	var out strings.Builder
	out.Grow(1000)
	text := func(s string) { template.HTMLEscape(&out, []byte(s)) }
	relative := func(kind string, t time.Time, says string) {
		out.WriteString(`<time data-` + kind + ` datetime="` + t.UTC().Format(time.RFC3339) + `">` + timeMark + `</time>`)
		row.times = append(row.times, says)
	}
	row.id = "c-" + r.Key
	word := r.Word()
	for _, part := range []string{`<tr class="is-`, word, `" id="`, row.id, `" data-state="`, word, "\">\n"} {
		out.WriteString(part)
	}
	if edit {
		out.WriteString(`<td class="pick"><label><input type="checkbox" name="check" value="` + r.ID.String() + `" aria-label="Select `)
		text(r.Name)
		out.WriteString(`"></label></td>`)
	}
	urgent := r.Status == checks.StatusDown || r.Status == checks.StatusGrace
	out.WriteString(`<td class="state">` + string(words.Mark(r.Status)))
	if urgent {
		out.WriteString(` <small>`)
		relative("for", r.Since, words.ForText(r.Since, now))
		out.WriteString(`</small>`)
	}
	out.WriteString(`</td><td class="what"><a class="name" href="` + base + `/checks/` + r.Key + `">`)
	text(r.Name)
	out.WriteString(`</a>`)
	if r.Why != "" {
		out.WriteString(`<small class="why">`)
		text(r.Why)
		out.WriteString(`</small>`)
	}
	if r.Owner != "" {
		out.WriteString(`<small class="owner">acknowledged by `)
		text(r.Owner)
		out.WriteString(`</small>`)
	}
	out.WriteString(`<small class="when">`)
	if word := r.Hold.Word(); word != "" {
		out.WriteString(`<span class="hold">` + word + " until ")
		text(clock.Text(r.Hold.Until, now))
		out.WriteString(`</span> · `)
	}
	switch {
	case r.RecordOnly:
		out.WriteString(`<span>record-only</span> · `)
	case r.Nobody:
		out.WriteString(`<span class="nobody">alerts nobody</span> · `)
	}
	out.WriteString(`<span>`)
	text(r.Schedule)
	out.WriteString(`</span></small>`)
	if edit && r.Status == checks.StatusDown && r.Owner == "" {
		out.WriteString(`<button class="btn" form="acks" formaction="` + base + `/checks/` + r.Key + `/acknowledge?to=list" aria-label="I have it: `)
		text(r.Name)
		out.WriteString(`">I have it</button>`)
	}
	out.WriteString(`</td><td class="runs">` + string(strip(r.Runs)) + `</td><td class="tags">`)
	for _, tag := range r.Tags {
		out.WriteString(`<span class="tag">`)
		text(tag)
		out.WriteString(`</span>`)
	}
	out.WriteString(`</td><td class="last">`)
	if r.Last.IsZero() {
		out.WriteString("never")
	} else {
		relative("ago", r.Last, words.AgoText(r.Last, now))
	}
	if r.Took > 0 {
		out.WriteString(", " + prose.Duration(r.Took))
	}
	out.WriteString(`</td><td class="next num">`)
	switch {
	case r.Next.IsZero():
		out.WriteString("–")
	case r.Next.After(now):
		out.WriteString(`<span class="label">next </span>`)
		relative("ago", r.Next, words.AgoText(r.Next, now))
	default:
		out.WriteString("due ")
		relative("ago", r.Next, words.AgoText(r.Next, now))
	}
	out.WriteString("</td></tr>\n")
	row.html = out.String()
	return row
}

// body is the HTML of the body of the table: all rows, or, for an open page that has rows like before, what differs.
func body(rows []tableRow, before *rowSet, token string) template.HTML {
	var out strings.Builder
	out.Grow(1100 * len(rows))
	if before == nil {
		fmt.Fprintf(&out, "<tbody id=\"rows\" data-rows=\"%s\">\n", token)
		for _, r := range rows {
			out.WriteString(r.string(""))
		}
		return template.HTML(out.String() + "</tbody>")
	}
	old := make(map[string]int, len(before.ids))
	for i, id := range before.ids {
		old[id] = i
	}
	places := make([]int, len(rows)) // where each row was; -1 for a new one
	for i, r := range rows {
		if at, ok := old[r.id]; ok {
			places[i] = at
			delete(old, r.id)
		} else {
			places[i] = -1
		}
	}
	gone := make([]string, 0, len(old))
	for id := range old {
		gone = append(gone, id)
	}
	fmt.Fprintf(&out, "<tbody id=\"rows\" data-rows=\"%s\" data-patch data-gone=\"%s\">\n", token, strings.Join(gone, " "))
	stay := longestIncreasing(places)
	after := ""
	for i, r := range rows {
		switch same := places[i] >= 0 && before.sums[places[i]] == sumOf(r); {
		case same && stay[i]:
		case same:
			out.WriteString(`<tr data-same data-after="` + after + `" id="` + r.id + `"></tr>` + "\n")
		default:
			place := ""
			if !stay[i] {
				place = `data-after="` + after + `"`
			}
			out.WriteString(r.string(place))
		}
		after = r.id
	}
	return template.HTML(out.String() + "</tbody>")
}

// longestIncreasing marks the elements of a longest increasing subsequence of the numbers that are not negative: rows that
// stay where they are while the others move.
func longestIncreasing(list []int) []bool {
	var ends []int // the index of the smallest end of a sequence, by its length
	before := make([]int, len(list))
	for i, n := range list {
		if n < 0 {
			continue
		}
		low, high := 0, len(ends)
		for low < high {
			if middle := (low + high) / 2; list[ends[middle]] < n {
				low = middle + 1
			} else {
				high = middle
			}
		}
		if before[i] = -1; low > 0 {
			before[i] = ends[low-1]
		}
		if low == len(ends) {
			ends = append(ends, i)
		} else {
			ends[low] = i
		}
	}
	in := make([]bool, len(list))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			in[i] = true
		}
	}
	return in
}

func number(n uint64) string { return strconv.FormatUint(n, 36) }
