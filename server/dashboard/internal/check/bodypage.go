package check

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/pings/email"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
)

// bodyShown is how many bytes of a body the page of a ping shows. All of it can be downloaded.
const bodyShown = 200_000

// bodyView is the data of the page of a ping.
type bodyView struct {
	Row    ui.Row
	Ping   pings.Ping
	Kind   string
	Parts  []bodyPart
	Binary bool
	// Cut is how many bytes the page leaves out.
	Cut                int64
	Previous, Followed int64 // the numbers of the pings beside this one, or 0
}

// bodyPart is a part of a body with a title, "" for a body as a whole.
type bodyPart struct {
	Title string
	Text  template.HTML
}

// ping returns the ping that the path names, as the log has it.
func ping(q *ui.Request) (ping pings.Ping, log []pings.Ping, err error) {
	n, err := strconv.ParseInt(q.R.PathValue("number"), 10, 64)
	if err != nil {
		return pings.Ping{}, nil, checks.ErrNotFound
	}
	if log, err = q.Mon.Project(q.Check.ProjectID).Pings(q.Ctx(), q.Check.ID); err != nil {
		return pings.Ping{}, nil, err
	}
	i := slices.IndexFunc(log, func(p pings.Ping) bool { return p.N == n })
	if i < 0 {
		return pings.Ping{}, nil, checks.ErrNotFound
	}
	return log[i], log, nil
}

// bodyPage shows a ping with its body.
func bodyPage(q *ui.Request) error {
	ping, log, err := ping(q)
	if err != nil {
		return err
	}
	view := bodyView{Row: ui.RowOf(q.Check, q.Mon.Now()), Ping: ping, Kind: kindWord(ping.Kind)}
	if last := log[len(log)-1].N; ping.N > last {
		view.Previous = ping.N - 1
	}
	if ping.N < log[0].N {
		view.Followed = ping.N + 1
	}
	if ping.BodySize > 0 {
		body, err := q.Mon.Project(q.Check.ProjectID).PingBody(q.Ctx(), q.Check.ID, ping.N)
		if err != nil {
			return err
		}
		view.read(body, ping.Scheme == "email")
	}
	return q.Render("body", fmt.Sprintf("Ping %d of %s", ping.N, ui.NameOf(q.Check)), view)
}

// read makes parts of a body.
func (v *bodyView) read(body []byte, mail bool) {
	if mail {
		message := email.Parse(body)
		for _, part := range []struct{ title, text string }{{"Subject", message.Subject}, {"Text", message.Text}, {"Text of the HTML part", message.HTML}} {
			if part.text != "" {
				v.add(part.title, part.text)
			}
		}
		return
	}
	if v.Binary = !isText(body); !v.Binary {
		v.add("", string(body))
	}
}

func (v *bodyView) add(title, text string) {
	if len(text) > bodyShown {
		cut := bodyShown
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		v.Cut += int64(len(text) - cut)
		text = text[:cut]
	}
	v.Parts = append(v.Parts, bodyPart{title, terminal(text)})
}

// isText reports whether people can read a body: few of its first bytes are neither text nor ANSI escapes.
func isText(body []byte) bool {
	head := body[:min(len(body), 4096)]
	odd := strings.Count(string(head), "\x00") * 4
	for rest := head; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			odd++
		}
		rest = rest[size:]
	}
	return odd*10 <= len(head)
}

// rawBody lets the viewer download a body as it was received. No browser takes it for a page.
func rawBody(q *ui.Request) error {
	ping, _, err := ping(q)
	if err != nil {
		return err
	}
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
	_, err = q.W.Write(body)
	return err
}
