package statuspage

import (
	"bytes"
	"encoding/xml"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
)

// maxEntries bounds the entries of a feed.
const maxEntries = 50

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  atomAuthor  `xml:"author"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomAuthor struct {
	Name string `xml:"name"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string   `xml:"id"`
	Title     string   `xml:"title"`
	Published string   `xml:"published"`
	Updated   string   `xml:"updated"`
	Link      atomLink `xml:"link"`
	Content   atomText `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// feed writes the incidents of a view as an Atom document (RFC 4287). An incident is one entry, which is updated when it
// ends.
func (h *Handler) feed(p checks.StatusPage, v *view, url string) (*document, error) {
	tag := "tag:" + h.authority + "," + p.CreatedAt.UTC().Format(time.DateOnly) + ":rollcall/"
	updated := p.CreatedAt
	f := atomFeed{
		ID: tag + "status/" + incidentID(p.ID, p.ProjectID, time.Time{}), Title: v.Title, Author: atomAuthor{Name: v.Title},
		Links: []atomLink{{"self", atomType, url + feedSuffix}, {"alternate", "text/html", url}},
	}
	for _, n := range v.Incidents[:min(len(v.Incidents), maxEntries)] {
		changed := n.From
		if !n.To.IsZero() {
			changed = n.To
		}
		if changed.After(updated) {
			updated = changed
		}
		title, text := entryTexts(n)
		f.Entries = append(f.Entries, atomEntry{
			ID: tag + "incident/" + n.ID, Title: title, Published: atomTime(n.From), Updated: atomTime(changed),
			Link: atomLink{"alternate", "text/html", url + "#i-" + n.ID}, Content: atomText{"text", text},
		})
	}
	f.Updated = atomTime(updated)
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(f); err != nil {
		return nil, err
	}
	return newDocument(atomType+"; charset=utf-8", out.Bytes()), nil
}

const (
	atomType   = "application/atom+xml"
	feedSuffix = "/feed.atom"
)

func atomTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// entryTexts returns the title and the text of an incident. They stay the same while it goes on, so that readers see one
// update, at its end.
func entryTexts(n incident) (title, text string) {
	const form = "2 January 2006, 15:04 MST"
	began := "since "
	if n.Earlier {
		began = "since before "
	}
	if n.To.IsZero() {
		return n.Name + " is down", n.Name + " is down " + began + n.From.UTC().Format(form) + "."
	}
	ended := "."
	if n.Paused {
		ended = ". It was not monitored after that."
	}
	took := prose.Duration(n.Took)
	if n.Earlier {
		took = "more than " + took
	}
	return n.Name + " was down for " + took,
		n.Name + " was down from " + n.From.UTC().Format(form) + " to " + n.To.UTC().Format(form) + ", for " + took + ended
}
