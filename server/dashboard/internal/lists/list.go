package lists

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// listQuery is what the address of the list says: which checks, and in which order.
type listQuery struct {
	ui.Search
	State  string // the word of a state, or ""
	Tag    string
	Nobody bool   // only checks that alert nobody
	Alike  string // only checks that are down for one reason, by its [ui.AlikeID]
	Sort   string // one of the keys of orders, after "-" for the other way; "" for that of a list that nobody has sorted
	All    bool   // healthy checks are not folded
	Page   int    // from 1 on
	Name   string // what somebody calls this filter, or ""

	id, pingKey, slug string // what the text names if it has an identifier or the address of a check
}

func parseListQuery(v url.Values) listQuery {
	q := listQuery{Search: ui.NewSearch(v.Get("q")), State: v.Get("state"), Tag: words.Name(v.Get("tag"), ""), Sort: v.Get("sort")}
	if _, ok := orders[strings.TrimPrefix(q.Sort, "-")]; !ok || q.Sort == "state" {
		q.Sort = ""
	}
	q.Nobody, q.All, q.Name = v.Get("reach") == "nobody", v.Get("all") == "1", words.Start(words.Name(v.Get("view"), ""), maxViewName)
	if q.Alike = alikeID.FindString(v.Get("alike")); q.Alike != "" {
		q.State = "down"
	}
	q.operators()
	text := strings.ToLower(q.Text)
	if q.id = identifier.FindString(text); q.id == "" {
		if found := slugAddress.FindStringSubmatch(text); found != nil {
			q.pingKey, q.slug = found[1], found[2]
		}
	}
	q.Page = ui.PageNumber(v.Get("page"))
	return q
}

// operators moves what the text says with an operator, such as "tag:prod", to where the form has it.
func (q *listQuery) operators() {
	var rest []string
	for _, word := range strings.Fields(q.Text) {
		name, value, _ := strings.Cut(word, ":")
		switch _, state := states[value]; {
		case name == "tag" && value != "":
			q.Tag = value
		case name == "is" && state:
			q.State = value
		case name == "is" && value == "silent":
			q.Nobody = true
		default:
			rest = append(rest, word)
		}
	}
	if len(rest) < len(strings.Fields(q.Text)) {
		q.Search = ui.NewSearch(strings.Join(rest, " "))
	}
}

// identifier is the UUID or the unique key of a check. slugAddress is the end of its address with a slug, also by e-mail.
var (
	identifier  = regexp.MustCompile(`\b([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{40})\b`)
	slugAddress = regexp.MustCompile(`\b([0-9a-z]{22})[/+]([a-z0-9_-]+)`)
)

var alikeID = regexp.MustCompile(`^g-[0-9a-z]{1,13}$`)

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
	set("alike", q.Alike)
	set("view", q.Name)
	set("sort", q.Sort)
	if q.All {
		set("all", "1")
	}
	if name == "state" {
		v.Del("alike")
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
func (q listQuery) Filtered() bool {
	return q.Text != "" || q.State != "" || q.Tag != "" || q.Nobody || q.Alike != ""
}

// orders are the orders of the list by what the address calls them. "" is the one that nobody has chosen.
var orders = map[string]checks.ListOrder{
	"": checks.ListUrgent, "state": checks.ListUrgent, "name": checks.ListByName, "last": checks.ListByLast, "next": checks.ListByNext,
}

// states are the statuses by the words of the pages.
var states = map[string]checks.Status{
	"down": checks.StatusDown, "late": checks.StatusGrace, "up": checks.StatusUp, "new": checks.StatusNew, "paused": checks.StatusPaused,
}

// list returns the query for the checks that match, in their order. A text that names a check is all that counts. tags are those
// of the project, as they were typed. none says that nothing matches.
func (q listQuery) list(pingKey string, tags []string) (l checks.ListQuery, none bool) {
	column, reverse := strings.CutPrefix(q.Sort, "-")
	l = checks.ListQuery{Order: orders[column], Reverse: reverse}
	switch {
	case q.id != "":
		if l.Key = q.id; len(q.id) == len(uuid.UUID{}.String()) {
			l.IDs = []uuid.UUID{uuid.MustParse(q.id)}
			l.Key = ""
		}
		return l, false
	case q.slug != "":
		l.Slug = q.slug
		return l, q.pingKey != pingKey
	}
	if q.State != "" {
		status, known := states[q.State]
		if !known {
			return l, true
		}
		l.Status = []checks.Status{status}
	}
	l.Words = q.Words()
	if q.Tag != "" {
		at := slices.IndexFunc(tags, func(tag string) bool { return words.Name(tag, "") == q.Tag })
		if at < 0 {
			return l, true
		}
		l.Tag = tags[at]
	}
	return l, false
}
