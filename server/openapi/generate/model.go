package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// entry is a key of a mapping with its value.
type entry[T any] struct {
	Key   string
	Value T
}

// ordered is a mapping in the order of the document.
type ordered[T any] []entry[T]

// UnmarshalYAML reads a mapping.
func (o *ordered[T]) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: not a mapping", n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		e := entry[T]{Key: n.Content[i].Value}
		if err := n.Content[i+1].Decode(&e.Value); err != nil {
			return err
		}
		*o = append(*o, e)
	}
	return nil
}

// get returns the value of a key.
func (o ordered[T]) get(key string) (value T, found bool) {
	for _, e := range o {
		if e.Key == key {
			return e.Value, true
		}
	}
	return value, false
}

// The parts of an OpenAPI document that the page shows.
type (
	document struct {
		Info struct {
			Title, Version, Summary, Description string
		}
		Servers    []server
		Tags       []tag
		Paths      ordered[pathItem]
		Components components
	}
	components struct {
		Parameters    ordered[parameter]
		Headers       ordered[header]
		RequestBodies ordered[requestBody] `yaml:"requestBodies"`
		Responses     ordered[response]
		Schemas       ordered[schema]
	}
	server struct{ URL, Description string }
	tag    struct{ Name, Description string }

	pathItem struct {
		Servers                 []server
		Parameters              []parameter
		Get, Head, Post, Delete *operation
	}
	operation struct {
		OperationID          string `yaml:"operationId"`
		Tags                 []string
		Summary, Description string
		Security             []map[string][]string
		Parameters           []parameter
		RequestBody          *requestBody `yaml:"requestBody"`
		Responses            ordered[response]
	}
	parameter struct {
		Ref         string `yaml:"$ref"`
		Name, In    string
		Required    bool
		Description string
		Schema      schema
		Example     yaml.Node
	}
	requestBody struct {
		Ref         string `yaml:"$ref"`
		Description string
		Content     ordered[mediaType]
	}
	response struct {
		Ref         string `yaml:"$ref"`
		Description string
		Headers     ordered[header]
		Content     ordered[mediaType]
	}
	header struct {
		Ref         string `yaml:"$ref"`
		Description string
		Schema      schema
	}
	mediaType struct {
		Schema   schema
		Example  yaml.Node
		Examples ordered[example]
	}
	example struct {
		Summary string
		Value   yaml.Node
	}
	schema struct {
		Ref              string `yaml:"$ref"`
		Title            string
		Type             types
		Format, Pattern  string
		Enum             []yaml.Node
		Const, Default   yaml.Node
		Minimum, Maximum *int64
		MinLength        int `yaml:"minLength"`
		MaxLength        int `yaml:"maxLength"`
		MaxItems         int `yaml:"maxItems"`
		Description      string
		Items            *schema
		Properties       ordered[schema]
		Additional       yaml.Node `yaml:"additionalProperties"`
		Required         []string
		AllOf            []schema `yaml:"allOf"`
		OneOf            []schema `yaml:"oneOf"`
	}
)

// types are the types that a value may have.
type types []string

// UnmarshalYAML reads one type or a list of them.
func (t *types) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*t = types{n.Value}
		return nil
	}
	return n.Decode((*[]string)(t))
}

// componentName returns the last part of a reference.
func componentName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// resolve returns the component that a reference names, or else the value that stands in its place.
func resolve[T any](ref string, inline T, all ordered[T]) (T, error) {
	if ref == "" {
		return inline, nil
	}
	value, found := all.get(componentName(ref))
	if !found {
		return value, fmt.Errorf("%s: there is no such component", ref)
	}
	return value, nil
}
