package statuspage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"
	"sync"

	"github.com/rollcall-dev/rollcall/server/dashboard/internal/assets"
)

// assetNames are the addresses of the files that pages load, and assetFiles the files by address. Addresses have a dot,
// which no slug has, and the hash of the contents, so browsers keep them for good. The first request compresses the files,
// so that other commands of a binary do not.
var assetSets = sync.OnceValues(func() (names map[string]string, files map[string]*document) {
	names, files = make(map[string]string), make(map[string]*document)
	for _, f := range assets.Status() {
		extension := path.Ext(f.Name)
		if f.Name == "style.css" { // names the font, which sorts before it
			f.Body = bytes.ReplaceAll(f.Body, []byte("inter.woff2"), []byte(names["inter.woff2"]))
			f.Gzip = assets.Compress(f.Body)
		}
		sum := sha256.Sum256(f.Body)
		name := strings.TrimSuffix(f.Name, extension) + "." + hex.EncodeToString(sum[:6]) + extension
		names[f.Name] = name
		files[name] = &document{contentType: f.ContentType, body: f.Body, gz: f.Gzip, etag: hex.EncodeToString(sum[:12])}
	}
	return names, files
})
