package main

import (
	"bytes"
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"go.yaml.in/yaml/v4"
)

// noNUL is a pattern that nearly every text has. The page says once, at its start, what it means.
const noNUL = `^[^\x00]*$`

// rule is what a schema says about a value, in words.
type rule struct {
	Ref    string   // the name of a schema, which Type ends with
	Type   string   // "string", "array of ", …
	Bounds []string // "60 to 31536000", "up to 100 characters", …
	Values []string // all that are allowed, in JSON
	Form   string   // a pattern
	Preset string   // the default, in JSON
}

func describe(s schema) rule {
	r := rule{Ref: componentName(s.Ref), Type: strings.Join(s.Type, " or ")}
	if s.Items != nil {
		item := describe(*s.Items)
		r.Type, r.Ref, r.Values = "array of "+item.Type, item.Ref, item.Values
	}
	if s.Additional.Kind == yaml.MappingNode {
		var values schema
		if s.Additional.Decode(&values) == nil {
			r.Type, r.Ref = "object of ", componentName(values.Ref)
		}
	}
	if s.Format != "" && s.Format != "int64" {
		r.Type += " (" + s.Format + ")"
	}
	if s.Format == "" && s.Pattern != noNUL {
		r.Form = s.Pattern
	}
	for _, value := range s.Enum {
		r.Values = append(r.Values, oneLine(&value))
	}
	if !s.Const.IsZero() {
		r.Values = []string{oneLine(&s.Const)}
	}
	if !s.Default.IsZero() {
		r.Preset = oneLine(&s.Default)
	}
	r.Bounds = bounds(s)
	return r
}

func bounds(s schema) []string {
	var list []string
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		list = append(list, number(*s.Minimum)+" to "+number(*s.Maximum))
	case s.Minimum != nil:
		list = append(list, number(*s.Minimum)+" and up")
	}
	switch {
	case s.MinLength > 0 && s.MaxLength > 0:
		list = append(list, strconv.Itoa(s.MinLength)+" to "+strconv.Itoa(s.MaxLength)+" characters")
	case s.MaxLength > 0:
		list = append(list, "up to "+strconv.Itoa(s.MaxLength)+" characters")
	case s.MinLength > 0:
		list = append(list, "not empty")
	}
	if s.MaxItems > 0 {
		list = append(list, "up to "+strconv.Itoa(s.MaxItems)+" items")
	}
	return list
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// oneLine renders a value as JSON on one line.
func oneLine(n *yaml.Node) string {
	var b bytes.Buffer
	if err := writeNode(&b, n); err != nil {
		return n.Value
	}
	return strings.ReplaceAll(b.String(), "\n", "")
}

// show renders an example as people write it: a text as it is, all else as indented JSON.
func show(n *yaml.Node) (string, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n.Value, nil
	}
	text, err := nodeJSON(n)
	return strings.TrimSuffix(string(text), "\n"), err
}

// prose renders Markdown. Headings become smaller by one, because the page's own stand above them.
func prose(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := goldmark.Convert([]byte(strings.ReplaceAll("\n"+text, "\n## ", "\n### ")), &b); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil
}

// phrase renders Markdown that is one paragraph, without the paragraph.
func phrase(text string) (template.HTML, error) {
	h, err := prose(text)
	inner := strings.TrimSuffix(strings.TrimPrefix(string(h), "<p>"), "</p>\n")
	if err == nil && strings.Contains(inner, "<p>") {
		err = fmt.Errorf("more than a paragraph: %.60s", text)
	}
	return template.HTML(inner), err
}
