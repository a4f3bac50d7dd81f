package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets/*
var assetFiles embed.FS

// assets serves the embedded files under a path that holds the hash of their contents, so browsers keep them for good.
type assets struct {
	base    string
	paths   map[string]string // by file name
	content map[string]asset  // by path
}

type asset struct {
	kind         string
	plain, small []byte // as it is, and compressed
}

func newAssets(base string) *assets {
	a := &assets{base: base, paths: map[string]string{}, content: map[string]asset{}}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	bodies := make(map[string][]byte, len(entries))
	hash := sha256.New() // one version for all, because modules import each other by relative paths
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		_, _ = hash.Write(body)
		bodies[e.Name()] = body
	}
	version := hex.EncodeToString(hash.Sum(nil)[:8])
	for file, body := range bodies {
		var small bytes.Buffer
		z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression)
		_, _ = z.Write(body)
		_ = z.Close()
		name := base + "/assets/" + version + "/" + file
		a.paths[file] = name
		a.content[name] = asset{kind: kindOf(file), plain: body, small: small.Bytes()}
	}
	return a
}

// kindOf returns the media type of a file, without asking the machine, whose tables may be wrong.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// pushWorker is the path of the service worker. It is fixed, because a browser asks for it again to update it, and above
// all pages, because they are its scope.
const pushWorker = "/push.js"

func (s *Site) servePushWorker(w http.ResponseWriter, _ *http.Request) {
	script := s.assets.content[s.assets.paths["push.js"]]
	w.Header().Set("Content-Type", script.kind)
	_, _ = w.Write(script.plain)
}

func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a.content[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := found.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = found.small
	}
	_, _ = w.Write(body)
}
