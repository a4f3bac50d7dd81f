package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/url"
	"slices"
	"strings"
)

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed style.css
	styleSheet string
)

// toHTML renders the reference page.
func toHTML(document value) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"prose": prose, "phrase": phrase, "rule": describe, "examples": examples, "path": markParameters,
		"properties": properties, "params": params, "headers": headers, "keys": keys, "lower": strings.ToLower,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	all, err := operations(document)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, struct {
		Document   value
		Style      template.CSS
		Operations map[string][]*operation
	}{document, template.CSS(styleSheet), all})
	return b.Bytes(), err
}

// operation is an operation of a path, with all methods that mean the same.
type operation struct {
	value
	Path     string
	Server   string
	Params   []value
	Methods  []string
	Also     []string // anchors of the second method and the following ones
	Body     value
	Commands []command
}

// operations returns the operations of each tag. Methods of a path that have the same summary are one operation.
func operations(document value) (map[string][]*operation, error) {
	byTag := map[string][]*operation{}
	for _, path := range document.Get("paths").Entries() {
		for _, method := range []string{"get", "head", "post", "put", "delete"} {
			v := path.Value.Get(method)
			if !v.Found() {
				continue
			}
			o := &operation{
				value: v, Path: path.Key, Server: document.Get("servers").Items()[0].Get("url").String(),
				Params:  append(path.Value.Get("parameters").Items(), v.Get("parameters").Items()...),
				Methods: []string{strings.ToUpper(method)}, Body: v.Get("requestBody").Resolved(),
			}
			if rest, ok := strings.CutPrefix(path.Key, "/ping/"); ok { // of the ping base URL, in whose place it stands
				o.Server, o.Path = o.Server+"/ping", "/"+rest
			}
			var err error
			if o.Commands, err = o.commands(); err != nil {
				return nil, err
			}
			tag := v.Get("tags").Items()[0].String()
			if list := byTag[tag]; len(list) > 0 && list[len(list)-1].Get("summary").String() == v.Get("summary").String() {
				list[len(list)-1].join(o)
				continue
			}
			byTag[tag] = append(byTag[tag], o)
		}
	}
	return byTag, nil
}

// join adds the methods of another operation.
func (o *operation) join(other *operation) {
	o.Methods, o.Also = append(o.Methods, other.Methods...), append(o.Also, other.Get("operationId").String())
	if other.Body.Found() {
		o.Params = other.Params // those of the first method, and the headers of bodies
		o.Body, o.Commands = other.Body, append(o.Commands, other.Commands...)
	}
}

// commands returns examples of a request: one for each example of its body.
func (o *operation) commands() ([]command, error) {
	c := command{
		method: o.Methods[0], url: o.Server + o.Path, keyed: len(o.Get("security").Items()) > 0,
		ping: o.Get("tags").Items()[0].String() == "Pings",
	}
	var query []string
	for _, p := range o.Params {
		p = p.Resolved()
		name, example := p.Get("name").String(), strings.Join(p.Get("example").strings()[:1], "")
		if p.Get("in").String() == "path" {
			c.url = strings.Replace(c.url, "{"+name+"}", example, 1)
		} else if !c.ping {
			query = append(query, url.QueryEscape(name)+"="+url.QueryEscape(example))
		}
	}
	if !o.Body.Found() {
		list := []command{c}
		if len(query) > 0 {
			c.query, c.Summary = query, "With parameters"
			list = append(list, c)
		}
		return list, nil
	}
	body := o.Body.Get("content").Entries()[0]
	c.isJSON = body.Key == "application/json"
	var list []command
	for _, e := range examples(body.Value) {
		text, err := e.Text()
		if err != nil {
			return nil, err
		}
		one := c
		if one.body = strings.TrimSuffix(text, "\n"); text == "{}" {
			one.body = ""
		}
		one.keyed = c.keyed && !strings.Contains(text, `"api_key"`)
		if one.Summary = e.Summary; one.Summary == "" {
			one.Summary = "With a body"
		}
		list = append(list, one)
	}
	return list, nil
}

// keys says which keys an operation takes.
func keys(o *operation) string {
	ways := o.Get("security").Items()
	switch {
	case len(ways) == 0:
		return "No key"
	case slices.ContainsFunc(ways, func(w value) bool { return w.Get("readOnlyKey").Found() }):
		return "Read-write or read-only key"
	case slices.ContainsFunc(ways, func(w value) bool { return len(w.Entries()) == 0 }):
		return "Read-write key, in the header or in the body"
	}
	return "Read-write key"
}
