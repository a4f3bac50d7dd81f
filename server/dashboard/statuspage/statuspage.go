// Package statuspage shows the status pages of a monitor to the public: [checks.StatusPage]. Package dashboard mounts it
// below /status/; a program can also mount it alone, on another host:
//
//	pages, err := statuspage.New(mon, &statuspage.Config{BaseURL: "https://status.example.org"})
//	err = http.ListenAndServe(":8080", pages)
//
// BaseURL + /<slug> is a page, and /feed.atom below it the feed of its incidents. Readers need no key, and nothing leads
// from a page to more: it shows the names of checks, or those that the page gives them, their states and since when, how they
// spent each of the last 90 days, and when they were down. Identifiers, addresses, schedules, descriptions, tags, outputs and
// the name of the project stay private. Pages set no cookies and take no input.
//
// # The cost of readers
//
// The handler keeps each page in memory as it sends it, plain and compressed. It reads the database again when a page, or
// a check on it, has changed (see [monitor.Monitor.Changes]), and when the clock changes a status. The slugs of all pages
// are in memory too, so a request for an unknown one costs nothing. Ten minutes after the last request, the handler
// forgets everything and ceases to follow changes.
//
// If the database cannot be read, readers get the last page for a minute, and then 503.
package statuspage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server/internal/baseurl"
	"github.com/rollcall-dev/rollcall/server/internal/request"
)

// defaultBaseURL is the default of Config.BaseURL.
const defaultBaseURL = "http://localhost:8000/status"

// Config configures a [Handler]. The zero value of a field selects its default.
type Config struct {
	// BaseURL is the address below which the pages are: an http or https URL without a query. Feeds contain it. The handler
	// answers below its path. Default: http://localhost:8000/status.
	BaseURL string
	// Logger logs errors of the database, at most one a second for the list of pages and one for
	// each project. Default: slog.Default().
	Logger *slog.Logger
}

// Handler is an [http.Handler] of the status pages. It is safe for concurrent use.
type Handler struct {
	cache     *cache
	log       *slog.Logger
	url, base string // BaseURL and its path, without a slash at the end
	authority string // the host of BaseURL, for the identifiers in feeds
	template  *template.Template
}

// New returns the status pages of a monitor. A nil config selects the defaults. New starts nothing and reads nothing. It
// takes the whole path of a request, so mount it without [http.StripPrefix].
func New(mon *monitor.Monitor, config *Config) (*Handler, error) {
	if mon == nil {
		return nil, errors.New("statuspage: the monitor is nil")
	}
	var c Config
	if config != nil {
		c = *config
	}
	base, err := baseurl.Parse("BaseURL", cmp.Or(c.BaseURL, defaultBaseURL))
	if err != nil {
		return nil, fmt.Errorf("statuspage: %w", err)
	}
	h := &Handler{
		log: cmp.Or(c.Logger, slog.Default()).With(slog.Group("rollcall", "component", "statuspage")),
		url: base.Text, base: base.Path, authority: base.Hostname(),
	}
	h.template = h.parse()
	h.cache = newCache(mon, h.log, h.render)
	return h, nil
}

// Refresh makes the next request of each page read the database. Call it after a change of a status page that the next
// request has to show; without it, the change shows after a fraction of a second.
func (h *Handler) Refresh() { h.cache.forget() }

// Close makes the handler forget everything and cease to follow the monitor, until the next request.
func (h *Handler) Close() { h.cache.close() }

// ServeHTTP answers a request for a page, its feed or a file that pages load.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		h.fail(w, r, http.StatusMethodNotAllowed, "Status pages are read-only.")
		return
	}
	rest, ok := strings.CutPrefix(r.URL.Path, h.base+"/")
	if !ok {
		h.fail(w, r, http.StatusNotFound, notFound)
		return
	}
	_, files := assetSets()
	if file := files[rest]; file != nil {
		file.serve(w, r, "public, max-age=31536000, immutable")
		return
	}
	slug, isFeed := strings.CutSuffix(rest, feedSuffix)
	if !checks.ValidStatusPageSlug(slug) {
		h.fail(w, r, http.StatusNotFound, notFound)
		return
	}
	h.show(w, r, slug, isFeed)
}

const notFound = "Status page not found."

// show answers with a page or its feed.
func (h *Handler) show(w http.ResponseWriter, r *http.Request, slug string, isFeed bool) {
	page, err := h.cache.get(context.WithoutCancel(r.Context()), slug) // who has closed the writing side may still read
	switch {
	case errors.Is(err, checks.ErrNotFound):
		h.fail(w, r, http.StatusNotFound, notFound)
	case err != nil:
		w.Header().Set("Retry-After", "5")
		h.fail(w, r, http.StatusServiceUnavailable, "Status temporarily unavailable. Try again in a moment.")
	case isFeed:
		page.feed.serve(w, r, shared)
	default:
		page.html.serve(w, r, shared)
	}
}

// shared lets proxies keep a page for a short time. Browsers ask each time whether theirs is current, so that an editor
// sees a change at once.
const shared = "public, max-age=0, s-maxage=10"

// fail answers with a line of text, or with a small page for a browser.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, status int, text string) {
	if request.WantsPage(r) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		_ = h.template.ExecuteTemplate(w, "refused", text) // fails with the connection
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// render makes the documents of a page from its view.
func (h *Handler) render(p checks.StatusPage, v *view) (html, feed *document, err error) {
	if html, err = h.page(v, h.base+"/"+p.Slug); err != nil {
		return nil, nil, err
	}
	feed, err = h.feed(p, v, h.url+"/"+p.Slug)
	return html, feed, err
}
