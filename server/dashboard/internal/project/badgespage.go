package project

import (
	"fmt"
	"html"
	"html/template"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// badgesPerPage is how many badges a page shows.
const badgesPerPage = 80

// badgesView is the data of the page of badges.
type badgesView struct {
	Query badgeQuery
	Rows  []badgeRow
	// Matches counts the badges that the search finds, on all pages.
	Matches int
	More    bool
}

// badgeRow is a badge.
type badgeRow struct {
	Kind, Name string // "project", "tag" or "check", and which
	Picture    template.HTML
	Code       string // to copy
	path       func(f badges.Format, late bool) string
	summary    badges.Summary
	label      string
}

// badgeQuery is what the address of the page says.
type badgeQuery struct {
	ui.Search
	States string // "3" or "2"
	As     string // one of badgeCodes
	Page   int
}

// badgeCodes are the forms in which the page shows a badge to copy.
var badgeCodes = []ui.Choice{
	{Value: "markdown", Label: "Markdown"}, {Value: "html", Label: "HTML"}, {Value: "svg", Label: "SVG URL"},
	{Value: "json", Label: "JSON URL"}, {Value: "shields", Label: "Shields URL"},
}

func parseBadgeQuery(v url.Values) badgeQuery {
	q := badgeQuery{Search: ui.NewSearch(v.Get("q")), States: "3", As: "markdown"}
	if v.Get("states") == "2" {
		q.States = "2"
	}
	if as := v.Get("as"); slices.ContainsFunc(badgeCodes, func(c ui.Choice) bool { return c.Value == as }) {
		q.As = as
	}
	q.Page = ui.PageNumber(v.Get("page"))
	return q
}

// At returns the query of an address for a page of the list.
func (q badgeQuery) At(page int) string {
	v := url.Values{"states": {q.States}, "as": {q.As}}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "?" + v.Encode()
}

// Codes are the forms to choose from.
func (v badgesView) Codes() []ui.Choice {
	list := slices.Clone(badgeCodes)
	for i := range list {
		list[i].Selected = list[i].Value == v.Query.As
	}
	return list
}

// badgesPage shows the badges of the project, its tags and its checks, as they are now.
func badgesPage(q *ui.Request) error {
	sets, err := q.Mon.Project(q.Project.ID).TagSets(q.Ctx(), nil)
	if err != nil {
		return err
	}
	view := badgesView{Query: parseBadgeQuery(q.R.URL.Query())}
	signer, err := q.Signer(q.Ctx())
	if err != nil {
		return err
	}
	for _, r := range tagBadges(q, signer, sets) {
		view.add(r)
	}
	all, now := checks.CountAll(sets).Total(), q.Mon.Now()
	for c, err := range q.Mon.Project(q.Project.ID).EachCheck(q.Ctx(), checks.Query{}) {
		if err != nil {
			return err
		}
		if view.add(checkBadge(*c.Check, now)); view.More && view.Query.Text == "" { // all others match, too
			break
		}
		all--
	}
	if view.More && view.Query.Text == "" {
		view.Matches += max(all-1, 0)
	}
	for i := range view.Rows {
		r, late := &view.Rows[i], view.Query.States == "3"
		r.Picture = template.HTML(badges.RenderSVG(r.label, r.summary.State(late))) // escapes its texts
		r.Code = badgeCode(q, *r, view.Query.As, late)
	}
	return q.Render("badges", "Badges", view)
}

// add adds a badge if the search finds it. Only those of the page become rows.
func (v *badgesView) add(r badgeRow) {
	if !v.Query.Matches(r.Kind, strings.ToLower(r.Name)) {
		return
	}
	switch page := v.Matches / badgesPerPage; {
	case page == v.Query.Page-1:
		v.Rows = append(v.Rows, r)
	case page >= v.Query.Page:
		v.More = true
	}
	v.Matches++
}

// tagBadges returns the badges of the project and of its tags.
func tagBadges(q *ui.Request, signer badges.Signer, sets []checks.TagSet) []badgeRow {
	sums := checks.CountByTag(sets)
	tags := slices.Sorted(maps.Keys(sums))
	sums[badges.AllTags] = checks.CountAll(sets)
	row := func(kind, tag, label string) badgeRow {
		sum := badges.Summary{Total: sums[tag].Total(), Grace: sums[tag][checks.StatusGrace], Down: sums[tag][checks.StatusDown]}
		return badgeRow{Kind: kind, Name: words.Name(label, "unnamed"), label: label, summary: sum, path: func(f badges.Format, late bool) string {
			return signer.Path(q.Project.BadgeKey, tag, f, late)
		}}
	}
	rows := []badgeRow{row("project", badges.AllTags, q.Project.Name)}
	for _, tag := range tags {
		if tag != badges.AllTags {
			rows = append(rows, row("tag", tag, tag))
		}
	}
	return rows
}

func checkBadge(c checks.Check, now time.Time) badgeRow {
	label := c.Name
	if label == "" {
		label = c.Slug
	}
	if label == "" {
		label = "check"
	}
	return badgeRow{
		Kind: "check", Name: ui.NameOf(c), label: label, summary: badges.Summarize(slices.Values([]checks.Status{c.Status(now)})),
		path: func(f badges.Format, late bool) string { return badges.CheckPath(c.BadgeKey.String(), f, late) },
	}
}

// badgeCode returns what a person copies to show a badge elsewhere.
func badgeCode(q *ui.Request, r badgeRow, as string, late bool) string {
	format := badges.SVG
	if f := badges.Format(as); f.Valid() {
		format = f
	}
	address := q.Config.BaseURL + r.path(format, late)
	switch as {
	case "markdown":
		return fmt.Sprintf("![%s](%s)", markdownText(r.label), address)
	case "html":
		return fmt.Sprintf(`<img src="%s" alt="%s">`, html.EscapeString(address), html.EscapeString(r.label))
	}
	return address
}

// markdownText escapes the text of a link in Markdown.
func markdownText(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if strings.ContainsRune("\\`*_[]<>!|&~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Next and Previous are the numbers of the neighbours of a page.
func (q badgeQuery) Next() int { return q.Page + 1 }

// Previous is the number of the page before.
func (q badgeQuery) Previous() int { return q.Page - 1 }
