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
	list := make([]listRow, 0, len(v.alike)+len(v.Rows))
	for _, a := range v.alike {
		list = append(list, listRow{a.row(), a.id, v.Query.With("alike", a.id), a.ids(false), a.ids(true)})
	}
	for _, r := range v.Rows {
		row := listRow{r, "c-" + r.Key, base + "/checks/" + r.Key, []string{r.ID.String()}, nil}
		if r.Status == checks.StatusDown && r.Owner == "" {
			row.free = row.ids
		}
		list = append(list, row)
	}
	rows := make([]tableRow, 0, len(list)+1)
	for i := range len(list) + 1 {
		if v.Folded > 0 && i == v.At {
			rows = append(rows, tableRow{id: "fold", html: `<tr id="fold" class="fold"><td colspan="6"><a href="` + template.HTMLEscapeString(v.Query.With("all", "1")) + `">` +
				string(words.Glyph("up")) + ` Show ` + prose.Count(v.Folded, "healthy check") + "</a></td></tr>\n"})
		}
		if i < len(list) {
			w := rowWriter{row: tableRow{id: list[i].id}, now: now}
			rows = append(rows, w.write(list[i], edit, clock))
		}
	}
	return rows
}

// listRow is a row of the list: a check, or several that are down for the same reason.
type listRow struct {
	ui.Row
	id, link  string
	ids, free []string // of the checks that the row selects, and of those that are down and that nobody has
}

// rowWriter writes the HTML of a row.
type rowWriter struct {
	strings.Builder
	row tableRow
	now time.Time
}

func (w *rowWriter) text(s string) { template.HTMLEscape(w, []byte(s)) }

// texts writes HTML and texts in turn.
func (w *rowWriter) texts(parts ...string) {
	for i, part := range parts {
		if i%2 == 0 {
			w.WriteString(part)
		} else {
			w.text(part)
		}
	}
}

func (w *rowWriter) time(kind string, t time.Time, says string) {
	w.WriteString(`<time data-` + kind + ` datetime="` + t.UTC().Format(time.RFC3339) + `">` + timeMark + `</time>`)
	w.row.times = append(w.row.times, says)
}

func (w *rowWriter) ago(t time.Time) { w.time("ago", t, words.AgoText(t, w.now)) }

func (w *rowWriter) write(r listRow, edit bool, clock words.Clock) tableRow {
	w.Grow(1000)
	word := r.Word()
	w.texts(`<tr class="is-` + word + `" id="` + r.id + `" data-state="` + word + "\">\n")
	if edit {
		w.texts(`<td class="pick"><label><input type="checkbox" name="check" value="`+strings.Join(r.ids, " ")+`" aria-label="Select `, r.Name, `"></label></td>`)
	}
	w.texts(`<td class="state">` + string(words.Mark(r.Status)))
	if r.Status == checks.StatusDown || r.Status == checks.StatusGrace {
		w.texts(` <small>`)
		w.time("for", r.Since, words.ForText(r.Since, w.now))
		w.texts(`</small>`)
	}
	w.texts(`</td><td class="what"><a class="name" href="`, r.link, `">`, r.Name, `</a>`)
	for _, tag := range r.Tags {
		w.texts(` <span class="tag">`, tag, `</span>`)
	}
	w.about(r, clock)
	if edit && len(r.free) > 0 {
		says := "I have it"
		if len(r.free) > 1 {
			says = "I have all " + strconv.Itoa(len(r.free))
		}
		w.texts(`<button class="btn" form="acks" name="check" value="`+strings.Join(r.free, " ")+`" aria-label="`+says+`: `, r.Name, `">`+says+`</button>`)
	}
	w.texts(`</td><td class="runs">` + string(strip(r.Runs)))
	w.times(r)
	w.row.html = w.String()
	return w.row
}

// about writes what stands below the name.
func (w *rowWriter) about(r listRow, clock words.Clock) {
	if r.Why != "" {
		w.texts(`<small class="why">`, r.Why, `</small>`)
	}
	if r.Owner != "" {
		w.texts(`<small class="owner">acknowledged by `, r.Owner, `</small>`)
	}
	w.texts(`<small class="when">`)
	if word := r.Hold.Word(); word != "" {
		w.texts(`<span class="hold">`+word+" until ", clock.Text(r.Hold.Until, w.now), `</span> · `)
	}
	switch {
	case r.RecordOnly:
		w.texts(`<span>record-only</span> · `)
	case r.Nobody:
		w.texts(`<span class="nobody">alerts nobody</span> · `)
	}
	w.texts(`<span>`, r.Schedule, `</span></small>`)
}

// times writes the last columns: when the last ping arrived, and when the next is expected.
func (w *rowWriter) times(r listRow) {
	w.texts(`</td><td class="last">`)
	if r.Last.IsZero() {
		w.texts("never")
	} else {
		w.ago(r.Last)
	}
	if r.Took > 0 {
		w.texts(", " + prose.Duration(r.Took))
	}
	w.texts(`</td><td class="next num">`)
	switch {
	case len(r.ids) > 1:
		w.texts(`<a href="`, r.link, `" aria-label="Show all: `, r.Name, `">Show all</a>`)
	case r.Next.IsZero():
		w.texts("–")
	case r.Next.After(w.now):
		w.texts(`<span class="label">next </span>`)
		w.ago(r.Next)
	default:
		w.texts("due ")
		w.ago(r.Next)
	}
	w.texts("</td></tr>\n")
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
