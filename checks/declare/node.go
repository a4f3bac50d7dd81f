package declare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"go.yaml.in/yaml/v4"
)

// maxMerges bounds how deep merge keys may lead into each other; an anchor may be merged into itself.
const maxMerges = 10

// load reads the one YAML document of a file. It returns nil after an error.
func (p *parser) load(data []byte) *yaml.Node {
	if json.Valid(data) {
		data = joinSurrogates(data)
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		p.add(Position{}, "%v", err)
		return nil
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		p.add(Position{}, "the file is empty")
		return nil
	case err != nil:
		p.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
	case err != nil:
		p.syntax(err)
		return nil
	default:
		p.add(position(&second), "the file has a second document; put everything into one")
		return nil
	}
	return first.Content[0]
}

// syntax tells an error of the YAML library.
func (p *parser) syntax(err error) {
	if e, ok := errors.AsType[*yaml.LoadError](err); ok {
		text := e.Message
		if e.ContextMsg != "" {
			text += ", " + e.ContextMsg
		}
		p.add(Position{e.Mark.Line, e.Mark.Column}, "%s", text)
		return
	}
	p.add(Position{}, "%v", err)
}

// escape matches an escape sequence of a JSON string; a pair of surrogates is one.
var escape = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// joinSurrogates writes the characters that JSON has as two escape sequences in the way that YAML has them.
func joinSurrogates(data []byte) []byte {
	return escape.ReplaceAllFunc(data, func(e []byte) []byte {
		if len(e) == 2 {
			return e
		}
		high, _ := strconv.ParseUint(string(e[2:6]), 16, 16) // hexadecimal by the pattern
		low, _ := strconv.ParseUint(string(e[8:12]), 16, 16)
		return fmt.Appendf(nil, `\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
	})
}

func position(n *yaml.Node) Position { return Position{Line: n.Line, Column: n.Column} }

// follow returns what an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	at    Position
	value *yaml.Node
}

// mapping reads a mapping with the values of its merge keys. It reports keys that are there twice.
func (p *parser) mapping(n *yaml.Node, what string) []entry {
	return p.merged(n, what, 0)
}

func (p *parser) merged(n *yaml.Node, what string, depth int) []entry {
	n = follow(n)
	if n.Kind != yaml.MappingNode {
		p.add(position(n), "%s is not a mapping", what)
		return nil
	}
	if depth > maxMerges {
		p.add(position(n), "merge keys lead into each other too deeply")
		return nil
	}
	var own, inherited []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], follow(n.Content[i+1])
		at := position(key)
		key = follow(key)
		switch {
		case key.ShortTag() == "!!merge":
			sources := []*yaml.Node{value}
			if value.Kind == yaml.SequenceNode {
				sources = value.Content
			}
			for _, source := range sources {
				inherited = append(inherited, p.merged(source, "what is merged", depth+1)...)
			}
		case key.Kind != yaml.ScalarNode:
			p.add(at, "a key of %s is not a text", what)
		case has(own, key.Value):
			p.add(at, "%s is there twice", key.Value)
		default:
			own = append(own, entry{key.Value, at, value})
		}
	}
	for _, e := range inherited {
		if !has(own, e.key) {
			own = append(own, e)
		}
	}
	return own
}

func has(entries []entry, key string) bool {
	return slices.ContainsFunc(entries, func(e entry) bool { return e.key == key })
}

// object reads a mapping whose keys are known, and returns where they are.
func (p *parser) object(n *yaml.Node, what string, keys []key) places {
	found := places{"": position(n)}
	for _, e := range p.mapping(n, what) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key })
		if i < 0 {
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.name
			}
			p.add(e.at, "%s has an unknown key: %q, the known keys are %s", what, shorten(e.key), strings.Join(names, ", "))
			continue
		}
		found[e.key] = position(e.value)
		if e.value.ShortTag() == "!!null" {
			p.add(e.at, "%s has no value", e.key)
			continue
		}
		keys[i].read(e.value)
	}
	return found
}

// key is a key of a mapping, with what reads its value.
type key struct {
	name string
	read func(n *yaml.Node)
}

// sequence returns the elements of a list.
func (p *parser) sequence(n *yaml.Node, what string) ([]*yaml.Node, bool) {
	n = follow(n)
	if n.Kind != yaml.SequenceNode {
		p.add(position(n), "%s is not a list", what)
		return nil, false
	}
	list := make([]*yaml.Node, len(n.Content))
	for i, item := range n.Content {
		list[i] = follow(item)
	}
	return list, true
}

// text reads a text. A number or the like must be quoted, so that it is clear what it is.
func (p *parser) text(n *yaml.Node, what string) *string {
	n = follow(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		p.add(position(n), "%s is not a text", what)
		return nil
	case n.ShortTag() != "!!str" && n.ShortTag() != "!!merge":
		p.add(position(n), `%s is not a text: write it in quotes, as "%s"`, what, shorten(n.Value))
		return nil
	}
	return &n.Value
}

func (p *parser) boolean(n *yaml.Node, what string) *bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.add(position(n), "%s is not true or false", what)
		return nil
	}
	return new(strings.EqualFold(n.Value, "true"))
}

// shorten cuts a text for an error.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
