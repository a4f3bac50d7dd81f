package lists

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// listQuery is what the address of the list says: which checks, and in which order.
type listQuery struct {
	ui.Search
	State string // the word of a state, or ""
	Tag   string
	Sort  string // one of the keys of sortings
	Page  int    // from 1 on
}

// pageSize is how many checks a page of the list shows.
const pageSize = 1000

func parseListQuery(v url.Values) listQuery {
	q := listQuery{Search: ui.NewSearch(v.Get("q")), State: v.Get("state"), Tag: v.Get("tag"), Sort: v.Get("sort")}
	if _, ok := sortings[q.Sort]; !ok {
		q.Sort = ""
	}
	if q.Page, _ = strconv.Atoi(v.Get("page")); q.Page < 1 {
		q.Page = 1
	}
	return q
}

// With returns the query of an address with one value changed, for links. The first page follows from every change but
// that of the page.
func (q listQuery) With(name, value string) string {
	v := url.Values{}
	set := func(n, value string) {
		if value != "" {
			v.Set(n, value)
		}
	}
	set("q", q.Text)
	set("state", q.State)
	set("tag", q.Tag)
	set("sort", q.Sort)
	v.Del(name)
	set(name, value)
	return "?" + v.Encode()
}

// Filtered reports whether the query leaves out some checks.
func (q listQuery) Filtered() bool { return q.Text != "" || q.State != "" || q.Tag != "" }

func (q listQuery) match(r ui.Row) bool {
	if q.State != "" && r.Word() != q.State || q.Tag != "" && !slices.Contains(r.Tags, q.Tag) {
		return false
	}
	return q.Empty() || q.Matches(r.Lower, r.Slug, strings.ToLower(strings.Join(r.Tags, "\n")))
}

// urgency orders states: what needs somebody comes first.
var urgency = map[checks.Status]int{
	checks.StatusDown: 0, checks.StatusGrace: 1, checks.StatusUp: 2, checks.StatusNew: 3, checks.StatusPaused: 4,
}

// sortings are the orders of the list. "" is the one without a choice.
var sortings = map[string]func(a, b ui.Row) int{
	"":     byState,
	"name": byName,
	"last": func(a, b ui.Row) int { return cmp.Or(b.Last.Compare(a.Last), byName(a, b)) },
	"next": func(a, b ui.Row) int {
		if a.Next.IsZero() != b.Next.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Next.IsZero()]
		}
		return cmp.Or(a.Next.Compare(b.Next), byName(a, b))
	},
}

func byState(a, b ui.Row) int {
	return cmp.Or(cmp.Compare(urgency[a.Status], urgency[b.Status]), byName(a, b))
}

func byName(a, b ui.Row) int {
	return cmp.Or(strings.Compare(a.Lower, b.Lower), strings.Compare(a.Key, b.Key))
}
