package lists

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// listQuery is what the address of the list says: which checks, and in which order.
type listQuery struct {
	ui.Search
	State  string // the word of a state, or ""
	Tag    string
	Nobody bool   // only checks that alert nobody
	Sort   string // one of the keys of sortings, after "-" for the other way; "" for that of a list that nobody has sorted
	All    bool   // healthy checks are not folded
	Page   int    // from 1 on

	id, pingKey, slug string // what the text names if it has an identifier or the address of a check
}

func parseListQuery(v url.Values) listQuery {
	q := listQuery{Search: ui.NewSearch(v.Get("q")), State: v.Get("state"), Tag: v.Get("tag"), Sort: v.Get("sort")}
	if _, ok := sortings[strings.TrimPrefix(q.Sort, "-")]; !ok || q.Sort == "state" {
		q.Sort = ""
	}
	q.Nobody, q.All = v.Get("reach") == "nobody", v.Get("all") == "1"
	text := strings.ToLower(q.Text)
	if q.id = identifier.FindString(text); q.id == "" {
		if found := slugAddress.FindStringSubmatch(text); found != nil {
			q.pingKey, q.slug = found[1], found[2]
		}
	}
	q.Page = ui.PageNumber(v.Get("page"))
	return q
}

// identifier is the UUID or the unique key of a check. slugAddress is the end of its address with a slug, also by e-mail.
var (
	identifier  = regexp.MustCompile(`\b([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40})\b`)
	slugAddress = regexp.MustCompile(`\b([0-9a-z]{22})[/+]([a-z0-9_-]+)`)
)

// names reports whether the text names checks, and whether a row is one of them.
func (q listQuery) names(r ui.Row, pingKey string) (named, is bool) {
	switch {
	case q.id != "":
		return true, q.id == r.ID.String() || q.id == r.Key
	case q.slug != "":
		return true, q.pingKey == pingKey && q.slug == r.Slug
	}
	return false, false
}

// Elsewhere reports whether the text is the address of a check with a slug in another project.
func (q listQuery) Elsewhere(pingKey string) bool { return q.slug != "" && q.pingKey != pingKey }

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
	if q.Nobody {
		set("reach", "nobody")
	}
	set("sort", q.Sort)
	if q.All {
		set("all", "1")
	}
	v.Del(name)
	set(name, value)
	return "?" + v.Encode()
}

// By returns the query of an address for a column: sorted by it, or the other way if it is already.
func (q listQuery) By(column string) string {
	switch {
	case column == "state" && q.Sort != "": // the order without a choice
		column = ""
	case q.Sort == column || column == "state":
		column = "-" + column
	}
	return q.With("sort", column)
}

// Order is the aria-sort of a column.
func (q listQuery) Order(column string) string {
	switch sorted := cmp.Or(q.Sort, "state"); sorted {
	case column:
		return "ascending"
	case "-" + column:
		return "descending"
	}
	return "none"
}

// Filtered reports whether the query leaves out some checks.
func (q listQuery) Filtered() bool { return q.Text != "" || q.State != "" || q.Tag != "" || q.Nobody }

func (q listQuery) match(r ui.Row, pingKey string) bool {
	if q.Nobody && !r.Nobody {
		return false
	}
	if named, is := q.names(r, pingKey); named {
		return is
	}
	if q.State != "" && r.Word() != q.State || q.Tag != "" && !slices.Contains(r.Tags, q.Tag) {
		return false
	}
	return q.Empty() || q.Matches(r.Lower, r.Slug, strings.ToLower(strings.Join(r.Tags, "\n")))
}

// urgency orders states: what needs a person comes first.
var urgency = map[checks.Status]int{
	checks.StatusDown: 0, checks.StatusGrace: 1, checks.StatusUp: 2, checks.StatusNew: 3, checks.StatusPaused: 4,
}

// sortings are the orders of the list. "" is the one that nobody has chosen.
var sortings = map[string]func(a, b ui.Row) int{
	"":      byState,
	"state": byState,
	"name":  byName,
	"last":  func(a, b ui.Row) int { return cmp.Or(b.Last.Compare(a.Last), byName(a, b)) },
	"next": func(a, b ui.Row) int {
		return cmp.Or(ui.TrueFirst(!a.Next.IsZero(), !b.Next.IsZero()), a.Next.Compare(b.Next), byName(a, b))
	},
}

// byState puts what needs a person first, and of that the newest.
func byState(a, b ui.Row) int {
	order := cmp.Compare(urgency[a.Status], urgency[b.Status])
	if order == 0 && urgency[a.Status] <= urgency[checks.StatusGrace] {
		order = b.Since.Compare(a.Since)
	}
	return cmp.Or(order, byName(a, b))
}

// sort sorts rows as a query says.
func (q listQuery) sort(rows []ui.Row) {
	column, reverse := strings.CutPrefix(q.Sort, "-")
	order := sortings[column]
	slices.SortStableFunc(rows, func(a, b ui.Row) int {
		if reverse {
			return order(b, a)
		}
		return order(a, b)
	})
}

func byName(a, b ui.Row) int {
	return cmp.Or(strings.Compare(a.Lower, b.Lower), strings.Compare(a.Key, b.Key))
}
