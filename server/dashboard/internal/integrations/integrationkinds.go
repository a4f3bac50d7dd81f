package integrations

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// kindsView is the data of the page on which a viewer chooses a kind.
type kindsView struct {
	Text   string
	Groups []kindGroup
	// Others are the kinds that are made on the server.
	Others []kindChoice
	None   bool // no kind can be made here
}

// kindGroup is the kinds of one category.
type kindGroup struct {
	Category channels.Category
	Kinds    []kindChoice
}

type kindChoice struct {
	Kind, Title, Doc string
	Lacks            string // why this server cannot send it, or ""
}

// otherKinds is the category of kinds that have none.
const otherKinds channels.Category = "Others"

// categories is the order of the categories that this module has. Those of a program come first.
var categories = []channels.Category{channels.CategoryMail, channels.CategoryChat, channels.CategoryPush, channels.CategoryOnCall, channels.CategoryCustom, channels.CategoryGroups, otherKinds}

// kindChoices returns the kinds that match a text.
func kindChoices(q *ui.Request, text string) kindsView {
	search := ui.NewSearch(text)
	view := kindsView{Text: search.Text}
	allowed := kindsToMake(q)
	view.None = len(allowed) == 0
	groups := map[channels.Category][]kindChoice{}
	for _, info := range allowed {
		choice := kindChoice{Kind: string(info.Kind), Title: kindTitle(info), Doc: inLabels(info, info.Doc)}
		if err := q.Mon.Configured(info.Kind); err != nil {
			choice.Lacks = lacks(err)
		}
		if search.Matches(strings.ToLower(strings.Join([]string{choice.Kind, choice.Title, choice.Doc, string(info.Category)}, "\n"))) {
			category := cmp.Or(info.Category, otherKinds)
			groups[category] = append(groups[category], choice)
		}
	}
	for category, kinds := range groups {
		slices.SortStableFunc(kinds, func(a, b kindChoice) int {
			return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
		})
		view.Groups = append(view.Groups, kindGroup{category, kinds})
	}
	slices.SortStableFunc(view.Groups, func(a, b kindGroup) int {
		return cmp.Or(cmp.Compare(slices.Index(categories, a.Category), slices.Index(categories, b.Category)), cmp.Compare(a.Category, b.Category))
	})
	for _, info := range q.Mon.Kinds() {
		if mayMake(q, info) || slices.ContainsFunc(view.Others, func(k kindChoice) bool { return k.Kind == string(info.Kind) }) {
			continue
		}
		choice := kindChoice{Kind: string(info.Kind), Title: kindTitle(info)}
		if err := q.Mon.Configured(info.Kind); err != nil {
			choice.Lacks = lacks(err)
		}
		view.Others = append(view.Others, choice)
	}
	return view
}
