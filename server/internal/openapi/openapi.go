// Package openapi describes Rollcall's HTTP interfaces: the management interface (server/API.md), the ping endpoints
// and the badges, as an OpenAPI 3.1 document and as a reference page for people.
//
//	docs := openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping")
//	mux.HandleFunc("GET /docs", docs.ServePage)
//	mux.HandleFunc("GET /openapi.json", docs.ServeDocument)
//
// Package server serves both at {base_url}/api/v3/ and {base_url}/api/v3/openapi.json.
//
// The sources are openapi.yaml, and for the schemas of answers and of settings also the types of package client/wire and the table of
// package checks. The package embeds what go generate makes from them, compressed, so it needs only the standard library.
package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:generate go run -C generate .

// Placeholders in the files for the addresses of a server.
const (
	placeholder     = "https://rollcall.example.org"
	pingPlaceholder = placeholder + "/ping"
)

var (
	//go:embed openapi.json.gz
	documentFile string
	//go:embed reference.html.gz
	pageFile string
)

// Docs holds the document and the page of a server, made when they are first needed. It is safe for concurrent use.
type Docs struct {
	document, page func() content
}

// content is a file with the addresses of a server, and what its answers need.
type content struct {
	data   []byte
	tag    string
	policy string // of the page
}

// New returns the docs of a server with these addresses, BaseURL and PingBaseURL of its Config, without a slash at the
// end. They replace https://rollcall.example.org and https://rollcall.example.org/ping in servers and examples.
// New escapes the addresses and does not validate them.
func New(baseURL, pingBaseURL string) *Docs {
	fill := func(file string, escape func(string) string) content {
		data := []byte(strings.NewReplacer(pingPlaceholder, escape(pingBaseURL), placeholder, escape(baseURL)).Replace(file))
		sum := sha256.Sum256(data)
		return content{data: data, tag: `"` + hex.EncodeToString(sum[:16]) + `"`}
	}
	return &Docs{
		document: sync.OnceValue(func() content {
			return fill(movePings(unpack(documentFile), baseURL, pingBaseURL), escapeJSON)
		}),
		page: sync.OnceValue(func() content {
			file := unpack(pageFile)
			page := fill(file, html.EscapeString)
			page.policy = "default-src 'none'; style-src 'sha256-" + styleHash(file) +
				"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
			return page
		}),
	}
}

// pingPath matches the start of the ping endpoints in the document.
var pingPath = regexp.MustCompile(`"/ping(/\{[^"]*": \{)`)

// movePings puts the ping endpoints below their own base URL. One client does for all paths if that is below the other, because
// generators of clients ignore servers of single paths.
func movePings(document, baseURL, pingBaseURL string) string {
	suffix, below := strings.CutPrefix(pingBaseURL, baseURL)
	if below && (suffix == "" || suffix[0] == '/') {
		return pingPath.ReplaceAllString(document, `"`+strings.ReplaceAll(escapeJSON(suffix), "$", "$$")+`$1`)
	}
	return pingPath.ReplaceAllString(document, `"$1 "servers": [{"url": "`+pingPlaceholder+`"}],`)
}

// unpack returns the text of an embedded file.
func unpack(file string) string {
	r, err := gzip.NewReader(strings.NewReader(file))
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(r); err == nil {
			return string(text)
		}
	}
	panic(err) // the file is part of the program
}

// Document returns the OpenAPI document as JSON.
func (d *Docs) Document() []byte { return slices.Clone(d.document().data) }

// ServeDocument answers GET and HEAD with the OpenAPI document as JSON. Clients may cache it and revalidate its ETag.
func (d *Docs) ServeDocument(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	serve(w, r, d.document())
}

// ServePage answers GET and HEAD with the reference page, which loads nothing and runs no script. It sets a
// Content-Security-Policy that allows the style of the page and nothing else.
func (d *Docs) ServePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", d.page().policy)
	serve(w, r, d.page())
}

func serve(w http.ResponseWriter, r *http.Request, c content) {
	w.Header().Set("Cache-Control", "no-cache") // cache, and revalidate every time
	w.Header().Set("ETag", c.tag)
	// With other conditions and ranges, ServeContent would send answers that the document does not have.
	whole := *r
	whole.Header = http.Header{"If-None-Match": r.Header["If-None-Match"]}
	http.ServeContent(w, &whole, "", time.Time{}, bytes.NewReader(c.data))
}

// escapeJSON escapes a text within a JSON string.
func escapeJSON(text string) string {
	quoted, _ := json.Marshal(text) // strings always encode
	return string(quoted[1 : len(quoted)-1])
}

// styleHash returns the hash of the style sheet of a page, for its Content-Security-Policy.
func styleHash(page string) string {
	_, rest, _ := strings.Cut(page, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}
