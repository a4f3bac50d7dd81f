package check

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
	"github.com/rollcall-dev/rollcall/pings/text"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// bodyShown is how many bytes of a body the page of a ping shows. All of it can be downloaded.
const bodyShown = 200_000

// bodyView is the data of the page of a ping.
type bodyView struct {
	Row                ui.Row
	Ping               pings.Ping
	Kind               string
	Parts              []bodyPart
	Binary             bool
	Previous, Followed int64 // the numbers of the pings beside this one, or 0
	// Against compares the output of a failure with that of the last success before, or is nil.
	Against *comparison
}

// bodyPart is a part of a body with a title, "" for a body as a whole. NotKept and NotShown are how many bytes before it the
// server did not keep, and the page leaves out.
type bodyPart struct {
	Title             string
	Text              string
	NotKept, NotShown int64
}

// ping returns the place of the ping that the path names, and the log, newest first.
func ping(q *ui.Request) (i int, log []pings.Ping, err error) {
	n, err := strconv.ParseInt(q.R.PathValue("number"), 10, 64)
	if err != nil {
		return 0, nil, checks.ErrNotFound
	}
	if log, err = checks.Collect(q.Mon.Project(q.Check.ProjectID).Pings(q.Ctx(), q.Check.ID, checks.PingQuery{})); err != nil {
		return 0, nil, err
	}
	i = slices.IndexFunc(log, func(p pings.Ping) bool { return p.N == n })
	if i < 0 {
		return 0, nil, checks.ErrNotFound
	}
	return i, log, nil
}

// bodyPage shows a ping with its body.
func bodyPage(q *ui.Request) error {
	i, log, err := ping(q)
	if err != nil {
		return err
	}
	ping := log[i]
	view := bodyView{Row: ui.RowOf(q.Check, q.Mon.Now(), q.Clock().Zone), Ping: ping, Kind: kindWord(ping.Kind)}
	if last := log[len(log)-1].N; ping.N > last {
		view.Previous = ping.N - 1
	}
	if ping.N < log[0].N {
		view.Followed = ping.N + 1
	}
	if ping.BodySize > 0 {
		if view.Ping, err = q.Mon.Project(q.Check.ProjectID).PingWithBody(q.Ctx(), q.Check.ID, ping.N); err != nil {
			return err
		}
		view.read()
		if ping.Kind == pings.Failure && !view.Binary {
			text, _ := textOf(view.Ping)
			view.Against = against(q, text, log[i:])
		}
	}
	return q.Render("body", fmt.Sprintf("Ping %d of %s", ping.N, ui.NameOf(q.Check)), view)
}

// read makes parts of the body.
func (v *bodyView) read() {
	if v.Ping.Scheme == "email" {
		message := email.Parse(v.Ping.Body)
		for _, part := range []struct{ title, text string }{{"Subject", message.Subject}, {"Text", message.Text}, {"Text of the HTML part", message.HTML}} {
			if part.text != "" {
				v.add(part.title, part.text)
			}
		}
		return
	}
	head, tail, ok := text.Ends(v.Ping)
	if v.Binary = !ok; v.Binary {
		return
	}
	if v.add("", head); v.Ping.BodyCut > 0 {
		after := len(v.Parts)
		v.add("", tail)
		v.Parts[after].NotKept = v.Ping.BodyCut
	}
}

// add adds a part, of a long one its beginning and its end.
func (v *bodyView) add(title, content string) {
	if len(content) <= bodyShown {
		v.Parts = append(v.Parts, bodyPart{Title: title, Text: output(content)})
		return
	}
	first, last := text.First(content, bodyShown/2), text.Last(content, bodyShown/2)
	v.Parts = append(v.Parts, bodyPart{Title: title, Text: output(string(first))},
		bodyPart{Text: output(string(last)), NotShown: int64(len(content) - len(first) - len(last))})
}

// rawBody lets the viewer download a body as it was received. No browser takes it for a page.
func rawBody(q *ui.Request) error {
	i, log, err := ping(q)
	if err != nil {
		return err
	}
	ping := log[i]
	body, err := q.Mon.Project(q.Check.ProjectID).PingBody(q.Ctx(), q.Check.ID, ping.N)
	if err != nil {
		return err
	}
	ending := "txt"
	if ping.Scheme == "email" {
		ending = "eml"
	}
	h := q.W.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="ping-%d.%s"`, ping.N, ending))
	_, _ = q.W.Write(body) // an error means that the viewer is gone
	return nil
}
