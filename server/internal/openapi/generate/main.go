// Command generate makes openapi.json.gz and reference.html.gz from openapi.yaml, all in the directory above, and from what the code says
// about schemas. "go generate ./server/internal/openapi" runs it. It is a separate module, with the tests of the document, so that
// programs that embed a Rollcall server need neither its Markdown library nor a validator of OpenAPI.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const source = "openapi.yaml"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile(filepath.Join("..", source))
	if err != nil {
		return err
	}
	files, err := generate(text)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	for name, content := range files {
		name = filepath.Join("..", name)
		// Versions of Go compress differently, so write only a file whose content changes.
		if old, err := unpack(name); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := pack(name, content); err != nil {
			return err
		}
	}
	return nil
}

// pack writes a compressed file.
func pack(name string, content []byte) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(content); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}

// unpack reads a compressed file.
func unpack(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// generate returns what is made from the OpenAPI document, by the names of the compressed files.
func generate(text []byte) (map[string][]byte, error) {
	document, err := load(text)
	if err != nil {
		return nil, err
	}
	asJSON, err := document.indented()
	if err != nil {
		return nil, err
	}
	page, err := toHTML(document)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"openapi.json.gz": asJSON, "reference.html.gz": page}, nil
}
