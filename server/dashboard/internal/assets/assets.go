// Package assets has the files that pages load: some for both kinds of pages, others for those of people who sign in or for
// status pages.
package assets

import (
	"bytes"
	"compress/gzip"
	"embed"
	"maps"
	"path"
	"slices"
	"sync"
)

//go:embed both dashboard status
var files embed.FS

// File is a file as it is sent.
type File struct {
	Name        string
	ContentType string
	Body, Gzip  []byte
}

// Dashboard and Status return the files of the pages by name, sorted. The first call compresses them.
var (
	Dashboard = sync.OnceValue(func() []File { return load("both", "dashboard") })
	Status    = sync.OnceValue(func() []File { return load("both", "status") })
)

// load reads directories. A file that is in several is their contents, one after the other.
func load(directories ...string) (list []File) {
	bodies := map[string][]byte{}
	for _, directory := range directories {
		entries, err := files.ReadDir(directory)
		if err != nil {
			panic(err)
		}
		for _, e := range entries {
			body, err := files.ReadFile(directory + "/" + e.Name())
			if err != nil {
				panic(err)
			}
			bodies[e.Name()] = append(bodies[e.Name()], body...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		list = append(list, File{Name: name, ContentType: contentTypes[path.Ext(name)], Body: bodies[name], Gzip: Compress(bodies[name])})
	}
	return list
}

// contentTypes are known here, because the tables of a machine may be wrong.
var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// Compress returns what is sent to clients that take gzip.
func Compress(body []byte) []byte {
	var small bytes.Buffer
	z, _ := gzip.NewWriterLevel(&small, gzip.BestCompression) // fails for an unknown level
	_, _ = z.Write(body)                                      // a buffer takes everything
	_ = z.Close()
	return small.Bytes()
}
