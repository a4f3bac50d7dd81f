package lists

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// savedView is a filter of the list that a viewer has given a name. Its address has the name too, so that it is a link for others.
type savedView struct {
	Name  string
	Query string // the end of the address
}

const (
	// maxViews bounds the views that a browser keeps for a project, and maxViewName their names, in characters.
	maxViews, maxViewName = 12, 30
	// maxViewBytes bounds the cookie.
	maxViewBytes = 3000
	viewsAge     = 400 * 24 * time.Hour // the longest that browsers keep a cookie
)

func viewsCookie(q *ui.Request) string { return "rollcall_views_" + q.Project.ID.String()[:8] }

// savedViews returns the views that the browser keeps.
func savedViews(q *ui.Request) (list []savedView) {
	text, err := base64.RawURLEncoding.DecodeString(q.Kept(q.R, viewsCookie(q)))
	if err != nil || json.Unmarshal(text, &list) != nil || len(list) > maxViews {
		return nil
	}
	return slices.DeleteFunc(list, func(v savedView) bool {
		return v != viewOf(v.Name, v.Query)
	})
}

// viewOf returns the view for a name and the query of an address, as the list writes it.
func viewOf(name, query string) savedView {
	values, _ := url.ParseQuery(query[min(len(query), 1):])
	q := parseListQuery(values)
	q.Name = words.Start(words.Name(name, ""), maxViewName)
	return savedView{q.Name, q.With("page", "")}
}

// saveView keeps the filter of the list under a name, or forgets it.
func saveView(q *ui.Request) error {
	form := q.R.PostForm
	v := viewOf(form.Get("name"), "?"+q.R.URL.RawQuery)
	list := slices.DeleteFunc(savedViews(q), func(kept savedView) bool { return kept.Name == v.Name })
	back := v.Query
	switch {
	case form.Has("forget"):
		back = viewOf("", v.Query).Query
		q.Notice("Forgot the view.")
	case v.Name == "":
		q.Notice("Give the view a name.")
		return q.Redirect("/projects/%s/%s", q.Project.ID, back)
	case len(list) == maxViews:
		q.Notice(fmt.Sprintf("This browser keeps %d views. Forget one first.", maxViews))
		return q.Redirect("/projects/%s/%s", q.Project.ID, back)
	default:
		list = append(list, v)
		q.Notice("Saved in this browser. The address of the page is a link to the same view.")
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if kept := base64.RawURLEncoding.EncodeToString(text); len(kept) <= maxViewBytes {
		q.Keep(q.W, viewsCookie(q), kept, viewsAge)
	} else {
		q.Notice("The views of this browser are too long together. Forget one first.")
	}
	return q.Redirect("/projects/%s/%s", q.Project.ID, back)
}
