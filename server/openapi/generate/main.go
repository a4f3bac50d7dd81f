// Command generate makes openapi.json and reference.html from openapi.yaml, all in the current directory. "go generate
// ./server/openapi" runs it, so that programs that embed a Rollcall server need no YAML and no Markdown library.
package main

import (
	"fmt"
	"os"
)

const source = "openapi.yaml"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	files, err := generate(text)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of the files that are made from the OpenAPI document, by their names.
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
	return map[string][]byte{"openapi.json": asJSON, "reference.html": page}, nil
}
