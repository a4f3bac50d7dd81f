package main

import (
	"bytes"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
)

// field is a named value: a property, a parameter or a header.
type field struct {
	Name, In    string
	Required    bool
	Description value
	Schema      value
}

func properties(schema value) []field {
	var list []field
	schema = schema.Resolved()
	required := schema.Get("required").strings()
	for _, p := range schema.Get("properties").Entries() {
		list = append(list, field{p.Key, "", slices.Contains(required, p.Key), p.Value.Get("description"), p.Value})
	}
	return list
}

func params(list []value) []field {
	var fields []field
	for _, p := range list {
		p = p.Resolved()
		required := p.Get("required").String() == "true"
		fields = append(fields, field{p.Get("name").String(), p.Get("in").String(), required, p.Get("description"), p.Get("schema")})
	}
	return fields
}

func headers(response value) []field {
	var list []field
	for _, h := range response.Get("headers").Entries() {
		v := h.Value.Resolved()
		list = append(list, field{h.Key, "", false, v.Get("description"), v.Get("schema")})
	}
	return list
}

type example struct {
	Summary string
	Value   value
}

// examples returns those of a media type.
func examples(media value) []example {
	if single := media.Get("example"); single.Found() {
		return []example{{Value: single}}
	}
	var list []example
	for _, e := range media.Get("examples").Entries() {
		list = append(list, example{e.Value.Get("summary").String(), e.Value.Get("value")})
	}
	return list
}

// Text returns the example as the page shows it: a text as it is, anything else as indented JSON.
func (e example) Text() (string, error) {
	if e.Value.isText() {
		return e.Value.String(), nil
	}
	text, err := e.Value.indented()
	return strings.TrimSuffix(string(text), "\n"), err
}

// rule describes what a schema demands of a value.
type rule struct {
	Ref     string   // name of the schema that Type ends with
	Type    string   // "string", "array of ", …
	Bounds  []string // "60 to 31536000", "up to 100 characters", …
	Values  []string // the only ones allowed, in JSON
	Pattern string
	Default string // in JSON
}

// noNUL is a pattern that nearly every text has. The start of the page explains it.
const noNUL = `^[^\x00]*$`

func describe(s value) (r rule, err error) {
	r = rule{Ref: s.Ref(), Type: strings.Join(s.Get("type").strings(), " or "), Bounds: bounds(s)}
	if items := s.Get("items"); items.Found() {
		item, err := describe(items)
		if err != nil {
			return r, err
		}
		r.Type, r.Ref, r.Values = "array of "+item.Type, item.Ref, item.Values
	}
	if ref := s.Get("additionalProperties").Ref(); ref != "" {
		r.Type, r.Ref = "object of ", ref
	}
	format := s.Get("format").String()
	if format != "" && format != "int64" {
		r.Type += " (" + format + ")"
	}
	if pattern := s.Get("pattern").String(); format == "" && pattern != noNUL {
		r.Pattern = pattern
	}
	for _, allowed := range append(s.Get("enum").Items(), s.Get("const")) {
		if !allowed.Found() {
			continue
		}
		text, err := allowed.JSON()
		if err != nil {
			return r, err
		}
		r.Values = append(r.Values, string(text))
	}
	if preset := s.Get("default"); preset.Found() {
		text, err := preset.JSON()
		if err != nil {
			return r, err
		}
		r.Default = string(text)
	}
	return r, nil
}

// bounds returns the bounds of a schema that it has, in words.
func bounds(s value) (list []string) {
	for _, b := range [][3]string{ // the keyword of the least and of the most, what is counted
		{"minimum", "maximum", ""}, {"minLength", "maxLength", " characters"}, {"minItems", "maxItems", " items"},
	} {
		least, most := s.Get(b[0]).String(), s.Get(b[1]).String()
		switch {
		case least != "" && most != "":
			list = append(list, least+" to "+most+b[2])
		case most != "":
			list = append(list, "up to "+most+b[2])
		case least == "1" && b[0] == "minLength":
			list = append(list, "not empty")
		case least != "":
			list = append(list, least+b[2]+" and up")
		}
	}
	return list
}

var pathParameter = regexp.MustCompile(`\{\w+\}`)

// markParameters marks the parameters of a path.
func markParameters(path string) template.HTML {
	return template.HTML(pathParameter.ReplaceAllString(template.HTMLEscapeString(path), "<var>$0</var>"))
}

// prose renders Markdown. Its headings go one level down, below those of the page.
func prose(text value) (template.HTML, error) {
	var b bytes.Buffer
	err := goldmark.Convert([]byte(strings.ReplaceAll("\n"+text.String(), "\n## ", "\n### ")), &b)
	return template.HTML(b.String()), err
}

// phrase renders Markdown of one paragraph, without its tags.
func phrase(text value) (template.HTML, error) {
	h, err := prose(text)
	inner := strings.TrimSuffix(strings.TrimPrefix(string(h), "<p>"), "</p>\n")
	if err == nil && strings.Contains(inner, "<p>") {
		err = fmt.Errorf("line %d: more than a paragraph: %.60s", text.node.Line, text)
	}
	return template.HTML(inner), err
}
