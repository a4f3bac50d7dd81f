package main

import (
	"html/template"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// What the template of the page is given.
type (
	page struct {
		Title, Summary string
		Style          template.CSS
		About          template.HTML
		Servers        []server
		Sections       []*section
		Schemas        []schemaView
	}
	section struct {
		Name, Anchor string
		About        template.HTML
		Operations   []operationView
	}
	operationView struct {
		Anchor   string
		Also     []string // anchors of the same operation with other methods
		Methods  []string
		Server   string
		Path     []pathPart
		Summary  string
		About    template.HTML
		Keys     string
		Params   []fieldView
		Body     *bodyView
		Commands []exampleView
		Answers  []answerView
	}
	pathPart  struct{ Text, Param string }
	fieldView struct {
		Name, In string
		Required bool
		Rule     rule
		About    template.HTML
		Example  string
	}
	bodyView struct {
		About  template.HTML
		Type   string
		Ref    string
		Fields []fieldView
	}
	answerView struct {
		Code     string
		About    template.HTML
		Headers  []fieldView
		Contents []contentView
	}
	contentView struct {
		Type     string
		Rule     rule
		Examples []exampleView
	}
	exampleView struct{ Summary, Text string }
	schemaView  struct {
		Name    string
		About   template.HTML
		Rule    rule
		Extends string
		Fields  []fieldView
		Kinds   []kindView
	}
	kindView struct {
		Title    string
		Required []string
	}
)

// viewer makes views of the parts of a document.
type viewer struct{ *document }

func (v viewer) page() (page, error) {
	p := page{Title: v.Info.Title, Summary: v.Info.Summary, Servers: v.Servers}
	var err error
	if p.About, err = prose(v.Info.Description); err != nil {
		return page{}, err
	}
	for _, t := range v.Tags {
		s := &section{Name: t.Name, Anchor: "tag-" + strings.ToLower(t.Name)}
		if s.About, err = prose(t.Description); err != nil {
			return page{}, err
		}
		p.Sections = append(p.Sections, s)
	}
	for _, item := range v.Paths {
		if err := v.addPath(&p, item.Key, item.Value); err != nil {
			return page{}, err
		}
	}
	for _, s := range v.Components.Schemas {
		view, err := v.schema(s.Key, s.Value)
		if err != nil {
			return page{}, err
		}
		p.Schemas = append(p.Schemas, view)
	}
	return p, nil
}

// addPath adds the operations of a path to their sections. Methods that mean the same, which their summaries tell,
// are shown as one.
func (v viewer) addPath(p *page, path string, item pathItem) error {
	for _, m := range []struct {
		method string
		op     *operation
	}{{"GET", item.Get}, {"HEAD", item.Head}, {"POST", item.Post}, {"DELETE", item.Delete}} {
		if m.op == nil {
			continue
		}
		view, err := v.operation(path, m.method, item, *m.op)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(p.Sections, func(s *section) bool { return s.Name == m.op.Tags[0] })
		list := &p.Sections[i].Operations
		if n := len(*list); n > 0 && (*list)[n-1].Summary == view.Summary {
			same := &(*list)[n-1]
			same.Methods, same.Also = append(same.Methods, m.method), append(same.Also, view.Anchor)
			if view.Body != nil {
				same.Body, same.Commands = view.Body, append(same.Commands, view.Commands...)
			}
			continue
		}
		*list = append(*list, view)
	}
	return nil
}

func (v viewer) operation(path, method string, item pathItem, op operation) (operationView, error) {
	o := operationView{
		Anchor: op.OperationID, Methods: []string{method}, Server: v.Servers[0].URL, Path: splitPath(path),
		Summary: op.Summary, Keys: keys(op.Security),
	}
	if len(item.Servers) > 0 {
		o.Server = item.Servers[0].URL
	}
	var err error
	if o.About, err = prose(op.Description); err != nil {
		return o, err
	}
	c := command{method: method, url: o.Server + path, keyed: len(op.Security) > 0, ping: op.Tags[0] == "Pings"}
	for _, p := range append(slices.Clone(item.Parameters), op.Parameters...) {
		if p, err = resolve(p.Ref, p, v.Components.Parameters); err != nil {
			return o, err
		}
		field, err := parameterView(p)
		if err != nil {
			return o, err
		}
		o.Params = append(o.Params, field)
		if p.In == "path" {
			c.url = strings.Replace(c.url, "{"+p.Name+"}", field.Example, 1)
		} else if !c.ping {
			c.query = append(c.query, queryItem(p.Name, field.Example))
		}
	}
	if op.RequestBody != nil {
		if o.Body, err = v.body(*op.RequestBody); err != nil {
			return o, err
		}
	}
	if o.Commands, err = v.commands(c, op.RequestBody); err != nil {
		return o, err
	}
	o.Answers, err = v.answers(op.Responses)
	return o, err
}

// keys says which keys an operation takes.
func keys(security []map[string][]string) string {
	var readOnly, body bool
	for _, way := range security {
		_, found := way["readOnlyKey"]
		readOnly, body = readOnly || found, body || len(way) == 0
	}
	switch {
	case len(security) == 0:
		return "No key"
	case readOnly:
		return "Read-write or read-only key"
	case body:
		return "Read-write key, in the header or in the body"
	}
	return "Read-write key"
}

// splitPath cuts a path into texts and parameters.
func splitPath(path string) []pathPart {
	var parts []pathPart
	for path != "" {
		text, rest, found := strings.Cut(path, "{")
		name, rest, _ := strings.Cut(rest, "}")
		part := pathPart{Text: text}
		if found {
			part.Param = "{" + name + "}"
		}
		parts, path = append(parts, part), rest
	}
	return parts
}

func parameterView(p parameter) (fieldView, error) {
	about, err := phrase(p.Description)
	f := fieldView{Name: p.Name, In: p.In, Required: p.Required, Rule: describe(p.Schema), About: about}
	n := &p.Example
	if n.Kind == yaml.SequenceNode {
		n = n.Content[0]
	}
	f.Example = n.Value
	return f, err
}

// commands returns examples of a request, one for each example of its body.
func (v viewer) commands(c command, b *requestBody) ([]exampleView, error) {
	if b == nil {
		plain := c
		plain.query = nil
		list := []exampleView{{Text: plain.String()}}
		if len(c.query) > 0 {
			list = append(list, exampleView{"With parameters", c.String()})
		}
		return list, nil
	}
	body, err := resolve(b.Ref, *b, v.Components.RequestBodies)
	if err != nil {
		return nil, err
	}
	media := body.Content[0]
	c.isJSON = media.Key == "application/json"
	examples := media.Value.Examples
	if len(examples) == 0 {
		examples = ordered[example]{{Value: example{Summary: "With a body", Value: media.Value.Example}}}
	}
	var list []exampleView
	for _, e := range examples {
		text, err := show(&e.Value.Value)
		if err != nil {
			return nil, err
		}
		one := c
		if one.body = strings.TrimSuffix(text, "\n"); text == "{}" {
			one.body = ""
		}
		one.keyed = c.keyed && !strings.Contains(text, `"api_key"`)
		list = append(list, exampleView{e.Value.Summary, one.String()})
	}
	return list, nil
}
