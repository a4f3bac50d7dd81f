package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/assets"
)

// assetSet serves the files of pages under a path that holds the hash of their contents, so browsers keep them for good.
type assetSet struct {
	paths map[string]string      // by file name
	files map[string]assets.File // by path
}

func newAssets(base string) *assetSet {
	a := &assetSet{paths: map[string]string{}, files: map[string]assets.File{}}
	hash := sha256.New() // one version for all, because modules import each other by relative paths
	for _, f := range assets.Dashboard() {
		_, _ = hash.Write(f.Body)
	}
	version := hex.EncodeToString(hash.Sum(nil)[:8])
	for _, f := range assets.Dashboard() {
		address := base + "/assets/" + version + "/" + f.Name
		a.paths[f.Name], a.files[address] = address, f
	}
	return a
}

// pushWorker is the path of the service worker. It is fixed, because a browser asks for it again to update it, and above
// all pages, because they are its scope.
const pushWorker = "/push.js"

func (s *Site) servePushWorker(w http.ResponseWriter, _ *http.Request) {
	script := s.assets.files[s.assets.paths["push.js"]]
	w.Header().Set("Content-Type", script.ContentType)
	_, _ = w.Write(script.Body)
}

// serveIcon leads browsers that ask for an icon without a page, such as for a document of the API, to that of the pages.
func (s *Site) serveIcon(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "public, max-age=86400")
	http.Redirect(w, r, s.assets.paths["icon-up.svg"], http.StatusFound)
}

func (a *assetSet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.ContentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := found.Body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = found.Gzip
	}
	_, _ = w.Write(body)
}
