package statuspage

import (
	"net/http"
	"strconv"
	"strings"
)

// serve answers with the document, or with 304 if the reader has it.
func (d *document) serve(w http.ResponseWriter, r *http.Request, cacheControl string) {
	body, tag := d.body, d.etag
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Set("Cache-Control", cacheControl)
	compressed := acceptsGzip(r.Header.Values("Accept-Encoding"))
	if compressed {
		body, tag = d.gz, tag+"-gz"
	}
	h.Set("ETag", `"`+tag+`"`)
	if d.known(r.Header.Values("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if compressed {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", d.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// known reports whether the tags that a reader has name this document, in either form.
func (d *document) known(values []string) bool {
	for _, value := range values {
		for tag := range strings.SplitSeq(value, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || strings.TrimSuffix(strings.Trim(tag, `"`), "-gz") == d.etag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether a reader takes gzip.
func acceptsGzip(values []string) bool {
	for _, value := range values {
		for item := range strings.SplitSeq(value, ",") {
			name, quality, _ := strings.Cut(item, ";")
			if strings.TrimSpace(name) != "gzip" {
				continue
			}
			_, q, _ := strings.Cut(quality, "=")
			return strings.Trim(strings.TrimSpace(q), "0.") != "" || q == ""
		}
	}
	return false
}
