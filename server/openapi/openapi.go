// Package openapi describes Rollcall's HTTP interfaces: the management interface (server/API.md), the ping endpoints
// and the badges, as an OpenAPI 3.1 document and as a reference page for people.
//
//	docs := openapi.New("https://rollcall.example.org", "https://rollcall.example.org/ping")
//	mux.HandleFunc("GET /docs", docs.ServePage)
//	mux.HandleFunc("GET /openapi.json", docs.ServeDocument)
//
// Package server serves both at {base_url}/api/v3/ and {base_url}/api/v3/openapi.json.
//
// The source is openapi.yaml. The package embeds what go generate makes from it, so it needs only the standard library.
package openapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:generate go run ./generate

// Placeholders in the files for the addresses of a server.
const (
	placeholder     = "https://rollcall.example.org"
	pingPlaceholder = placeholder + "/ping"
)

var (
	//go:embed openapi.json
	documentFile string
	//go:embed reference.html
	pageFile string
)

// Docs holds the document and the page of a server. It is safe for concurrent use.
type Docs struct {
	document, page       []byte
	documentTag, pageTag string
	policy               string
}

// New returns the docs of a server with these addresses, BaseURL and PingBaseURL of its Config, without a slash at the
// end. They replace https://rollcall.example.org and https://rollcall.example.org/ping in servers and examples.
// New escapes the addresses and does not validate them.
func New(baseURL, pingBaseURL string) *Docs {
	fill := func(file string, escape func(string) string) []byte {
		return []byte(strings.NewReplacer(pingPlaceholder, escape(pingBaseURL), placeholder, escape(baseURL)).Replace(file))
	}
	d := &Docs{
		document: fill(documentFile, escapeJSON),
		page:     fill(pageFile, html.EscapeString),
		policy: "default-src 'none'; style-src 'sha256-" + styleHash(pageFile) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox",
	}
	d.documentTag, d.pageTag = entityTag(d.document), entityTag(d.page)
	return d
}

// Document returns the OpenAPI document as JSON.
func (d *Docs) Document() []byte { return slices.Clone(d.document) }

// ServeDocument answers GET and HEAD with the OpenAPI document as JSON. Clients may cache it and revalidate its ETag.
func (d *Docs) ServeDocument(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	serve(w, r, d.document, d.documentTag)
}

// ServePage answers GET and HEAD with the reference page, which loads nothing and runs no script. It sets a
// Content-Security-Policy that allows the style of the page and nothing else.
func (d *Docs) ServePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", d.policy)
	serve(w, r, d.page, d.pageTag)
}

func serve(w http.ResponseWriter, r *http.Request, content []byte, tag string) {
	w.Header().Set("Cache-Control", "no-cache") // cache, and revalidate every time
	w.Header().Set("ETag", tag)
	// With other conditions and ranges, ServeContent would send answers that the document does not have.
	whole := *r
	whole.Header = http.Header{"If-None-Match": r.Header["If-None-Match"]}
	http.ServeContent(w, &whole, "", time.Time{}, bytes.NewReader(content))
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

func entityTag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}
