package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/client/wire"
)

// answers has the types of the documents that the server sends, by the names of their schemas. Those of requests say too little for a
// schema: which fields are required, which are empty by default, and what texts may contain.
var answers = typesOf(map[string]any{
	"Error": wire.Error{}, "Status": wire.Status{},
	"Checks": wire.Checks{}, "CheckFields": wire.Check{}, "Acknowledgement": wire.Ack{}, "AckReport": wire.AckReport{},
	"Pings": wire.Pings{}, "Ping": wire.Ping{}, "Flip": wire.Flip{},
	"Stats": wire.Stats{}, "StatsSum": wire.StatsSum{}, "StatsDay": wire.StatsDay{}, "Durations": wire.Durations{},
	"Channels": wire.Channels{}, "Channel": wire.Channel{}, "ChannelDetail": wire.ChannelDetail{},
	"ChannelKinds": wire.ChannelKinds{}, "ChannelKind": wire.ChannelKind{}, "ChannelSetting": wire.ChannelSetting{},
	"ProjectList": wire.Projects{}, "Project": wire.Project{}, "CreatedProject": wire.CreatedProject{},
	"StatusPageList": wire.StatusPages{}, "StatusPage": wire.StatusPage{}, "Escalation": wire.Escalation{},
	"WindowList": wire.Windows{}, "Window": wire.Window{}, "BadgeList": wire.Badges{}, "BadgeSet": wire.BadgeSet{},
})

func typesOf(values map[string]any) map[string]reflect.Type {
	types := make(map[string]reflect.Type, len(values))
	for name, value := range values {
		types[name] = reflect.TypeOf(value)
	}
	return types
}

// completer completes the schemas of a document.
type completer struct {
	written value                 // as the file has them
	whole   map[string]*yaml.Node // with what the code says
}

// complete adds to the schemas of a document what the code says: the fields of answers, by their types, and the bounds and defaults of
// settings. If both say something, the file counts. Where a property should be, a text is its description.
func complete(document value) error {
	c := completer{document.Get("components", "schemas"), make(map[string]*yaml.Node)}
	for _, e := range c.written.Entries() {
		base := c.base(e.Key)
		if err := check(value{node: c.schema(e.Key)}, value{node: base}, answers[e.Key] != nil); err != nil {
			return fmt.Errorf("schema %s: %w", e.Key, err)
		}
	}
	for i, e := range c.written.Entries() {
		c.written.node.Content[2*i+1] = c.whole[e.Key]
	}
	return nil
}

// schema returns a whole schema.
func (c completer) schema(name string) *yaml.Node {
	if c.whole[name] == nil {
		c.whole[name] = merged(c.base(name), c.written.Get(name).node)
	}
	return c.whole[name]
}

// base returns what the code says about a schema.
func (c completer) base(name string) *yaml.Node {
	switch {
	case name == "CheckFields":
		return merged(c.object(answers[name]), settings(answered))
	case name == "UpdateCheck":
		return settings(requested)
	case name == "CreateCheck":
		return merged(c.schema("UpdateCheck"), settings(preset))
	case answers[name] != nil:
		return c.object(answers[name])
	}
	return mapping()
}

// object returns the schema of the documents that encoding/json makes of a struct.
func (c completer) object(t reflect.Type) *yaml.Node {
	properties, required := mapping(), []string{}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			embedded := value{node: c.schema(nameOf(f.Type))}
			properties = merged(properties, embedded.Get("properties").node)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property := c.of(f.Type)
		if options != "omitempty" {
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer {
				property = orNull(property)
			}
		}
		if len(f.Index) == 1 {
			properties = merged(properties, mapping(name, property))
		}
	}
	return mapping("type", "object", "properties", properties, "required", required, "additionalProperties", false)
}

// of returns the schema of a type: a reference if its schema has a name.
func (c completer) of(t reflect.Type) *yaml.Node {
	if name := nameOf(t); name != "" {
		return mapping("$ref", "#/components/schemas/"+name)
	}
	switch t {
	case reflect.TypeFor[wire.Time]():
		return mapping("type", "string", "format", "date-time", "pattern", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$`)
	case reflect.TypeFor[wire.Micros]():
		return mapping("type", "string", "format", "date-time", "pattern", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.of(t.Elem())
	case reflect.Struct:
		return c.object(t)
	case reflect.Slice:
		return mapping("type", "array", "items", c.of(t.Elem()))
	case reflect.Map:
		return mapping("type", "object", "additionalProperties", c.of(t.Elem()))
	case reflect.String:
		return mapping("type", "string")
	case reflect.Bool:
		return mapping("type", "boolean")
	case reflect.Int, reflect.Int64:
		return mapping("type", "integer")
	case reflect.Float64:
		return mapping("type", "number")
	}
	panic(fmt.Sprintf("no schema for the type %v", t))
}

// nameOf returns the name of the schema of a type, "" if it has none.
func nameOf(t reflect.Type) string {
	for name, answer := range answers {
		if answer == t {
			return name
		}
	}
	return ""
}

// orNull returns a schema that also allows null.
func orNull(schema *yaml.Node) *yaml.Node {
	if name := (value{node: schema}).Get("type"); name.Found() {
		return merged(schema, mapping("type", []string{name.String(), "null"}))
	}
	return mapping("oneOf", []*yaml.Node{schema, mapping("type", "null")})
}

// settings returns the schema of an object with the settings of a check.
func settings(of func(checks.Setting) *yaml.Node) *yaml.Node {
	var properties []any
	for _, s := range checks.AllSettings() {
		properties = append(properties, s.Name, of(s))
	}
	return mapping("type", "object", "properties", mapping(properties...))
}

// answered returns the bounds of a setting in answers, which leave out one that is 0.
func answered(s checks.Setting) *yaml.Node {
	switch s.Zero.(type) {
	case int, time.Duration:
		return mapping("minimum", max(s.Min, 1), "maximum", s.Max)
	case string, []string:
		if s.Max > 0 {
			return mapping("maxLength", s.Max)
		}
	}
	return mapping()
}

// requested returns the schema of a setting in requests.
func requested(s checks.Setting) *yaml.Node {
	switch s.Zero.(type) {
	case bool:
		return mapping("type", "boolean")
	case int, time.Duration:
		number := mapping("type", "integer", "minimum", s.Min, "maximum", s.Max)
		if s.Optional && s.Min > 1 {
			number = merged(number, mapping("minimum", 0, "not", mapping("minimum", 1, "maximum", s.Min-1)))
		}
		return number
	}
	text := mapping("type", "string")
	if s.Max > 0 {
		text = mapping("type", "string", "maxLength", s.Max, "pattern", noNUL)
	}
	return text
}

// preset returns the default of a setting. A schedule has none: it is missing, and never empty.
func preset(s checks.Setting) *yaml.Node {
	if s.Name == "schedule" {
		return mapping()
	}
	switch preset := s.Of(checks.Defaults()).(type) {
	case time.Duration:
		return mapping("default", int64(preset/time.Second))
	case nil, []string: // of channels and tags, which are texts in requests
		return mapping("default", "")
	default:
		return mapping("default", preset)
	}
}

// check refuses a property without a description, and one that the type of an answer does not have.
func check(schema, base value, answer bool) error {
	for _, p := range schema.Get("properties").Entries() {
		switch {
		case answer && !base.Get("properties", p.Key).Found():
			return fmt.Errorf("the type has no field %s", p.Key)
		case !p.Value.Get("description").Found() && p.Value.Ref() == "" && p.Value.Get("items").Ref() == "":
			return fmt.Errorf("%s has no description", p.Key)
		}
	}
	return nil
}

// mapping returns a mapping of keys to values, which follow each other.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, part := range pairs {
		node, ok := part.(*yaml.Node)
		if !ok {
			node = new(yaml.Node)
			if err := node.Encode(part); err != nil {
				panic(err) // a text, a number or a list of them
			}
		}
		n.Content = append(n.Content, node)
	}
	return n
}

// merged returns a mapping with the entries of another one, which win. Mappings in both are merged, too.
func merged(base, other *yaml.Node) *yaml.Node {
	n := *base
	n.Content = slices.Clone(base.Content)
	for _, e := range (value{node: other}).Entries() {
		i := 1
		for i < len(n.Content) && n.Content[i-1].Value != e.Key {
			i += 2
		}
		if i >= len(n.Content) {
			n.Content = append(n.Content, mapping(e.Key, e.Value.node).Content...)
			continue
		}
		if into := n.Content[i]; into.Kind == yaml.MappingNode {
			if e.Value.isText() {
				e.Value.node = mapping("description", e.Value.node)
			}
			if e.Value.node.Kind == yaml.MappingNode {
				e.Value.node = merged(into, e.Value.node)
			}
		}
		n.Content[i] = e.Value.node
	}
	return &n
}
