package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v4"
)

// toJSON turns a YAML document into JSON, indented, with the keys in the same order.
func toJSON(text []byte) ([]byte, error) {
	var loose map[string]any // refuses a key that is there twice, as nodes do not
	if err := yaml.Load(text, &loose); err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, err
	}
	return nodeJSON(&root)
}

// nodeJSON renders a node as indented JSON with a line feed at its end.
func nodeJSON(n *yaml.Node) ([]byte, error) {
	var dense, indented bytes.Buffer
	if err := writeNode(&dense, n); err != nil {
		return nil, err
	}
	if err := json.Indent(&indented, dense.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

func writeNode(b *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return writeNode(b, n.Content[0])
	case yaml.AliasNode:
		return writeNode(b, n.Alias)
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeNode(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.MappingNode:
		return writeMapping(b, n.Content)
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return err
	}
	return writeValue(b, value)
}

// writeMapping renders keys and values, which come in turns.
func writeMapping(b *bytes.Buffer, content []*yaml.Node) error {
	b.WriteByte('{')
	for i := 0; i < len(content); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		key := content[i]
		if key.Tag != "!!str" {
			return fmt.Errorf("line %d: the key %s is not a string", key.Line, key.Value)
		}
		if err := writeValue(b, key.Value); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := writeNode(b, content[i+1]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func writeValue(b *bytes.Buffer, value any) error {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
