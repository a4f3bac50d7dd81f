package check

import (
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/snippets"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// waysView says how to ping a check.
type waysView struct {
	URLs []pingURL
	Ways []snippets.Way
	Open bool   // the check was never pinged, so a person is about to set it up
	Test string // where a test ping is sent
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
		URLs: []pingURL{{"Ping URL", url}}, Open: c.NPings == 0, Test: q.Base + "/checks/" + c.UniqueKey() + "/test",
		Ways: snippets.For(snippets.Params{PingURL: url, Settings: c.Settings, BodyLimit: q.Config.PingBodyLimit, Email: mail}),
	}
	if c.Slug != "" {
		v.URLs = append(v.URLs, pingURL{"Slug URL", q.Config.PingBaseURL + "/" + q.Project.PingKey + "/" + c.Slug})
	}
	return v
}

// testPing sends the first ping of a check, as its job would.
func testPing(q *ui.Request) error {
	text := "Test ping sent. The check is up."
	if q.Check.NPings > 0 {
		text = "No test ping was sent: the check has got pings meanwhile."
	} else if _, err := q.Mon.Ping(q.Ctx(), q.Check.ID, pings.Signal{Kind: pings.Success, Scheme: "https", UserAgent: "test ping from the dashboard"}); err != nil {
		return err
	}
	q.Notice(text)
	return q.Redirect("/checks/%s", q.Check.UniqueKey())
}
