package statuspage

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"path"
	"strings"
	"sync"
)

//go:embed assets/*
var assetFiles embed.FS

// assets are the files that pages load. Their names have a dot, which no slug has, and the hash of their contents, so
// browsers keep them for good. The first handler compresses them, so that other commands of a binary do not.
var assets = sync.OnceValue(loadAssets)

type assetSet struct {
	names map[string]string    // "style.css": "style.0123456789ab.css"
	files map[string]*document // by the name with the hash
}

func loadAssets() assetSet {
	set := assetSet{make(map[string]string), make(map[string]*document)}
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			panic(err)
		}
		extension := path.Ext(e.Name())
		sum := sha256.Sum256(body)
		name := strings.TrimSuffix(e.Name(), extension) + "." + hex.EncodeToString(sum[:6]) + extension
		file, err := newDocument(mime.TypeByExtension(extension), body)
		if err != nil {
			panic(err)
		}
		set.names[e.Name()], set.files[name] = name, file
	}
	return set
}
