package statuspage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/assets"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

//go:embed page.html
var pageText string

// document is an answer that many readers get: its bytes, also compressed, and the tag that names them.
type document struct {
	contentType string
	body, gz    []byte
	etag        string // without quotes
}

// newDocument compresses a body once, for all readers.
func newDocument(contentType string, body []byte) *document {
	sum := sha256.Sum256(body)
	return &document{contentType: contentType, body: body, gz: assets.Compress(body), etag: hex.EncodeToString(sum[:12])}
}

// pageData is what the template gets.
type pageData struct {
	*view
	Path string // of the page, below which the feed is
}

// Heading is the title of the document, which begins with what is wrong.
func (p pageData) Heading() string {
	switch p.State {
	case "down", "late":
		n := 0
		for _, s := range p.Worst {
			if s.State == p.State {
				n++
			}
		}
		return fmt.Sprintf("%d %s · %s", n, p.State, p.Title)
	}
	return p.Title
}

// Icon is the state that the icon of the document shows.
func (p pageData) Icon() string {
	if p.State == maintenanceState {
		return "idle"
	}
	return p.State
}

// Paragraphs splits the description into paragraphs and lines.
func (p pageData) Paragraphs() (list [][]string) {
	for text := range strings.SplitSeq(p.Description, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(text, "\n") {
			if line = words.Name(line, ""); line != "" {
				lines = append(lines, line)
			}
		}
		if lines != nil {
			list = append(list, lines)
		}
	}
	return list
}

// From is the instant since which all incidents are shown.
func (p pageData) From() time.Time {
	if p.Known.After(p.First) {
		return p.Known
	}
	return p.First
}

func (h *Handler) parse() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"asset": func(name string) string {
			names, _ := assetSets()
			return h.base + "/" + names[name]
		},
		"glyph":    glyph,
		"mark":     mark,
		"clock":    clock,
		"hour":     hour,
		"day":      func(t time.Time) string { return t.UTC().Format("2 January 2006") },
		"weekday":  func(t time.Time) string { return t.UTC().Format("Monday, 2 January 2006") },
		"took":     tookText,
		"duration": prose.Duration,
	}).Parse(pageText))
}

// page renders the page of a view.
func (h *Handler) page(v *view, path string) (*document, error) {
	var out bytes.Buffer
	if err := h.template.Execute(&out, pageData{v, path}); err != nil {
		return nil, err
	}
	return newDocument("text/html; charset=utf-8", out.Bytes()), nil
}

// glyph is the shape of a state in its colour. A word beside it says the same.
func glyph(state string) template.HTML {
	return `<svg class="` + template.HTML(state) + `" width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">` + words.Shape(state) + `</svg>`
}

// mark is the shape and the word of a state.
func mark(state string) template.HTML {
	return `<span class="st ` + template.HTML(state) + `">` + glyph(state) + template.HTML(state) + `</span>`
}

// clock is a time with its day. A script of ours shows it in the reader's zone.
func clock(t time.Time) template.HTML {
	t = t.UTC()
	return template.HTML(`<time data-day datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2 Jan, 15:04") + `</time>`)
}

// hour is a time of day, with its day if that is not the day of another time.
func hour(t, other time.Time) template.HTML {
	t = t.UTC()
	day := t.Truncate(24 * time.Hour)
	if !day.Equal(other.UTC().Truncate(24 * time.Hour)) {
		return clock(t)
	}
	return template.HTML(`<time data-hour="` + day.Format(time.DateOnly) + `" datetime="` + t.Format(time.RFC3339) + `">` + t.Format("15:04") + `</time>`)
}

// tookText says how long an incident lasted, and how it ended if that was not by coming up.
func tookText(n incident) string {
	switch text := prose.Duration(n.Took); {
	case n.To.IsZero() && n.Earlier:
		return "for more than " + text
	case n.To.IsZero():
		return "for " + text
	case n.Earlier && n.Paused:
		return "more than " + text + ", then not monitored"
	case n.Earlier:
		return "more than " + text
	case n.Paused:
		return text + ", then not monitored"
	default:
		return text
	}
}
