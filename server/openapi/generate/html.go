package main

import (
	"bytes"
	_ "embed"
	"html/template"

	"go.yaml.in/yaml/v4"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed style.css
	styleSheet string
)

// toHTML makes the reference page. It has no script, and loads nothing.
func toHTML(text []byte) ([]byte, error) {
	var d document
	if err := yaml.Load(text, &d); err != nil {
		return nil, err
	}
	p, err := viewer{&d}.page()
	if err != nil {
		return nil, err
	}
	p.Style = template.CSS(styleSheet)
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
