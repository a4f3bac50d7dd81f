package check

import (
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/snippets"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// waysView says how to ping a check.
type waysView struct {
	URLs []pingURL
	Ways []snippets.Way
	Open bool // the check was never pinged, so a person is about to set it up
}

// pingURL is an address that takes pings.
type pingURL struct{ Name, URL string }

// ways returns how to ping the check of the page.
func ways(q *ui.Request) *waysView {
	c := q.Check
	url, mail := q.Config.PingBaseURL+"/"+c.ID.String(), ""
	if domain := q.Config.PingEmailDomain; domain != "" {
		mail = c.ID.String() + "@" + domain
	}
	v := &waysView{
		URLs: []pingURL{{"Ping URL", url}}, Open: c.NPings == 0,
		Ways: snippets.For(snippets.Params{PingURL: url, Settings: c.Settings, BodyLimit: q.Config.PingBodyLimit, Email: mail}),
	}
	if c.Slug != "" {
		v.URLs = append(v.URLs, pingURL{"Slug URL", q.Config.PingBaseURL + "/" + q.Project.PingKey + "/" + c.Slug})
	}
	return v
}
