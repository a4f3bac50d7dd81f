package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// value is a part of the OpenAPI document. The zero value is a part that is missing; it has no parts and no text.
type value struct{ node, root *yaml.Node }

// entry is a key of a mapping with its value.
type entry struct {
	Key   string
	Value value
}

// load parses a document and adds what the code says. It refuses a reference to a missing component.
func load(text []byte) (value, error) {
	v, err := parse(text)
	if err != nil {
		return value{}, err
	}
	if err := complete(v); err != nil {
		return value{}, err
	}
	addFailures(v)
	return v, v.checkReferences()
}

// parse parses a document. It refuses a duplicate key.
func parse(text []byte) (value, error) {
	var plain map[string]any // refuses duplicate keys, which nodes keep
	if err := yaml.Load(text, &plain); err != nil {
		return value{}, err
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return value{}, err
	}
	merge(&root)
	return value{root.Content[0], root.Content[0]}, nil
}

// merge replaces each key << by the entries of the mapping that it names, which come first.
func merge(n *yaml.Node) {
	for _, child := range n.Content {
		merge(child)
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && n.Content[0].Tag == "!!merge" {
		n.Content = append(slices.Clone(n.Content[1].Alias.Content), n.Content[2:]...)
	}
}

func (v value) checkReferences() error {
	if ref := v.Get("$ref").String(); ref != "" && !v.Resolved().Found() {
		return fmt.Errorf("line %d: %s does not exist", v.node.Line, ref)
	}
	for _, child := range v.node.Content {
		if err := (value{child, v.root}).checkReferences(); err != nil {
			return err
		}
	}
	return nil
}

// Found reports whether the part is there.
func (v value) Found() bool { return v.node != nil }

// isText reports whether the value is a string.
func (v value) isText() bool { return v.Found() && v.node.Tag == "!!str" }

// Get follows keys from mapping to mapping.
func (v value) Get(keys ...string) value {
	for _, key := range keys {
		found := value{root: v.root}
		for _, e := range v.Entries() {
			if e.Key == key {
				found = e.Value
			}
		}
		v = found
	}
	return v
}

// Entries returns the entries of a mapping in the order of the document.
func (v value) Entries() []entry {
	if !v.Found() || v.node.Kind != yaml.MappingNode {
		return nil
	}
	var list []entry
	for i := 0; i < len(v.node.Content); i += 2 {
		list = append(list, entry{v.node.Content[i].Value, v.at(i + 1)})
	}
	return list
}

// Items returns the items of a sequence.
func (v value) Items() []value {
	if !v.Found() || v.node.Kind != yaml.SequenceNode {
		return nil
	}
	var list []value
	for i := range v.node.Content {
		list = append(list, v.at(i))
	}
	return list
}

func (v value) at(i int) value {
	n := v.node.Content[i]
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return value{n, v.root}
}

// Ref returns the name of the component that a reference names, or "".
func (v value) Ref() string {
	ref := v.Get("$ref").String()
	return ref[strings.LastIndexByte(ref, '/')+1:]
}

// Resolved returns the component that a reference names, or the value itself.
func (v value) Resolved() value {
	path, found := strings.CutPrefix(v.Get("$ref").String(), "#/")
	if !found {
		return v
	}
	return value{v.root, v.root}.Get(strings.Split(path, "/")...)
}

// String returns the text of a scalar.
func (v value) String() string {
	if !v.Found() || v.node.Kind != yaml.ScalarNode {
		return ""
	}
	return v.node.Value
}

// strings returns the texts of a sequence, or the one of a scalar.
func (v value) strings() []string {
	if text := v.String(); text != "" {
		return []string{text}
	}
	var list []string
	for _, item := range v.Items() {
		list = append(list, item.String())
	}
	return list
}

// JSON returns the value as JSON, with keys in the order of the document.
func (v value) JSON() ([]byte, error) {
	var b bytes.Buffer
	err := v.writeJSON(&b)
	return b.Bytes(), err
}

// indented returns the value as indented JSON with a line feed at its end.
func (v value) indented() ([]byte, error) {
	dense, err := v.JSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = json.Indent(&b, append(dense, '\n'), "", "  ")
	return b.Bytes(), err
}

func (v value) writeJSON(b *bytes.Buffer) error {
	opening, closing := byte('['), byte(']')
	switch v.node.Kind {
	case yaml.ScalarNode:
		var scalar any
		if err := v.node.Decode(&scalar); err != nil {
			return err
		}
		return writeScalar(b, scalar)
	case yaml.MappingNode:
		opening, closing = '{', '}'
	}
	b.WriteByte(opening)
	for i := range v.node.Content {
		key := v.node.Kind == yaml.MappingNode && i%2 == 0
		switch {
		case key && v.node.Content[i].Tag != "!!str":
			return fmt.Errorf("line %d: the key %s is not a string", v.node.Content[i].Line, v.node.Content[i].Value)
		case v.node.Kind == yaml.MappingNode && !key:
			b.WriteByte(':')
		case i > 0:
			b.WriteByte(',')
		}
		if err := v.at(i).writeJSON(b); err != nil {
			return err
		}
	}
	b.WriteByte(closing)
	return nil
}

func writeScalar(b *bytes.Buffer, scalar any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	err := e.Encode(scalar)
	b.Truncate(len(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
	return err
}
