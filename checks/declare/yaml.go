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
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/channels/prose"
)

const (
	// maxEntries bounds the keys and list items that Parse reads. Aliases and merge keys can expand a short file to more
	// entries than any machine can process.
	maxEntries = 1_000_000
	// maxWritten bounds those that are written in a file, before the library reads it, because it keeps a tree of some 500 bytes for
	// each key, value and item.
	maxWritten = 200_000
	// maxMerges bounds the nesting of merge keys, because a mapping can merge itself.
	maxMerges = 10
)

// load returns the root of the file's only YAML document. It returns nil if it reports an error.
func (p *parser) load(data []byte) *yaml.Node {
	isJSON, written := json.Valid(data), 0
	if isJSON {
		written = writtenJSON(data)
		data = joinSurrogates(data)
	} else {
		written = writtenYAML(data)
	}
	if written > maxWritten {
		p.add(Position{}, "the file has about %d keys and list items, the maximum is %d: split it, for example by project", written, maxWritten)
		return nil
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
		p.syntax(data, err)
		return nil
	}
	switch err := loader.Load(&second); {
	case errors.Is(err, io.EOF):
		return first.Content[0]
	case err != nil:
		p.syntax(data, err)
	default:
		p.add(position(&second), "the file has a second document; put everything into one")
	}
	return nil
}

// writtenJSON counts the keys and list items of a JSON document.
func writtenJSON(data []byte) (n int) {
	quoted := false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case !quoted && (b == ',' || b == '{' || b == '['):
			n++
		}
	}
	return n
}

// writtenLine matches a line of block style that has a key or an item, and writtenFlow one where flow style begins.
var (
	writtenLine = regexp.MustCompile(`^[ \t]*-(?:\s|$)|:\s`)
	writtenFlow = regexp.MustCompile(`(?:^|:|-)[ \t]*[{\[]`)
)

// writtenYAML estimates the keys and list items of a YAML document: the lines that have one, and the commas of flow style.
func writtenYAML(data []byte) (n int) {
	depth := 0 // of brackets
	for line := range bytes.Lines(data) {
		if writtenLine.Match(line) {
			n++
		}
		if depth > 0 || writtenFlow.Match(line) {
			n += bytes.Count(line, []byte(","))
			depth += bytes.Count(line, []byte("{")) + bytes.Count(line, []byte("[")) - bytes.Count(line, []byte("}")) - bytes.Count(line, []byte("]"))
			depth = max(0, depth)
		}
	}
	return n
}

// syntax reports an error of the YAML library. It says so if a text only lacks quotation marks.
func (p *parser) syntax(data []byte, err error) {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		p.add(Position{}, "%v", err)
		return
	}
	text := e.Message
	if e.ContextMsg != "" {
		text += ", " + e.ContextMsg
	}
	if at, hint := unquoted(data, e.Mark.Line); hint != "" {
		p.add(at, "%s", hint)
		return
	}
	p.add(Position{e.Mark.Line, e.Mark.Column}, "%s", text)
}

// unquotedValues match a text that needs quotation marks: it begins with a character that has a meaning in YAML, or holds a
// colon.
var unquotedValues = [...]*regexp.Regexp{
	regexp.MustCompile(`(?:([\w-]+):|-)[ \t]+([*&@%!?` + "`" + `].*?)[ \t}]*(?:[ \t]#.*)?$`),
	regexp.MustCompile(`^[ \t-]*([\w-]+):[ \t]+([^"'\[{#|>].*?: .*?)[ \t]*(?:[ \t]#.*)?$`),
}

var aliasName = regexp.MustCompile(`^\*[\w-]+$`)

// unquoted says which value of a line needs quotation marks, or returns "".
func unquoted(data []byte, line int) (at Position, hint string) {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return at, ""
	}
	text := strings.TrimSuffix(string(lines[line-1]), "\r")
	var found []int
	for _, form := range unquotedValues {
		if found = form.FindStringSubmatchIndex(text); found != nil {
			break
		}
	}
	if found == nil {
		return at, ""
	}
	value, of := text[found[4]:found[5]], "the value"
	if aliasName.MatchString(value) || !utf8.ValidString(text) {
		return at, ""
	}
	if found[2] >= 0 {
		of += " of " + text[found[2]:found[3]]
	}
	mark := value[:1]
	if !strings.Contains("*&@%!?`", mark) {
		mark = ": "
	}
	return Position{line, utf8.RuneCountInString(text[:found[4]]) + 1},
		fmt.Sprintf("%s needs quotation marks, because %q has a meaning in YAML: %s", of, mark, strconv.Quote(shorten(value)))
}

// escape matches one escape sequence of a JSON string; a surrogate pair counts as one.
var escape = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.`)

// joinSurrogates replaces JSON's surrogate pairs with YAML's eight-digit escapes, because YAML has no surrogate pairs.
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

// follow returns the node that an alias stands for.
func follow(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// count counts an entry and reports whether the file is still within maxEntries. The error of a file beyond that replaces
// all others.
func (p *parser) count(at Position) bool {
	if p.entries++; p.entries == maxEntries {
		p.list = nil
		p.report.add(at, "the file has more than %d entries once its aliases and merge keys are expanded", maxEntries)
	}
	return p.entries < maxEntries
}

// add reports an error, unless count has already refused the whole file.
func (p *parser) add(at Position, format string, args ...any) {
	if p.entries < maxEntries {
		p.report.add(at, format, args...)
	}
}

// full reports whether the parser should stop: the file has too many errors or entries.
func (p *parser) full() bool { return len(p.list) == maxErrors || p.entries >= maxEntries }

// entry is a key of a mapping with its value.
type entry struct {
	key   string
	at    Position
	value *yaml.Node
}

// mapping returns the entries of a mapping, with those of its merge keys last. It reports duplicate keys. The library's decoding
// into structs would take a key without a value for one that is missing and a number for a string, and would need a field for
// each setting of a check.
func (p *parser) mapping(n *yaml.Node, what string) []entry {
	return p.merge(nil, make(map[string]bool), n, what, 0)
}

// merge appends the entries of a mapping whose keys are not in seen.
func (p *parser) merge(list []entry, seen map[string]bool, n *yaml.Node, what string, depth int) []entry {
	n = follow(n)
	switch {
	case n.Kind != yaml.MappingNode:
		p.add(position(n), "%s is not a mapping", what)
		return list
	case depth > maxMerges:
		p.add(position(n), "merge keys are nested more than %d deep", maxMerges)
		return list
	case !p.count(position(n)):
		return list
	}
	own := make(map[string]bool)
	var sources []*yaml.Node
	for i := 0; i+1 < len(n.Content) && p.count(position(n.Content[i])); i += 2 {
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		at := position(n.Content[i])
		switch {
		case key.ShortTag() == "!!merge" && value.Kind == yaml.SequenceNode:
			sources = append(sources, value.Content...)
		case key.ShortTag() == "!!merge":
			sources = append(sources, value)
		case key.Kind != yaml.ScalarNode:
			p.add(at, "a key of %s is not a string", what)
		case own[key.Value]:
			p.add(at, "duplicate key %q", shorten(key.Value))
		case seen[key.Value]:
			own[key.Value] = true
		default:
			own[key.Value], seen[key.Value] = true, true
			list = append(list, entry{key.Value, at, value})
		}
	}
	for _, source := range sources {
		if p.full() {
			break
		}
		list = p.merge(list, seen, source, "the value of a merge key", depth+1)
	}
	return list
}

// key is a known key of a mapping with the function that reads its value.
type key struct {
	name string
	read func(n *yaml.Node)
}

// object reads a mapping with a fixed set of keys and returns the positions of their values.
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

// each reads the items of a list and stops when the file is full.
func each[T any](p *parser, n *yaml.Node, what string, read func(*yaml.Node) T) []T {
	n = follow(n)
	if n.Kind != yaml.SequenceNode {
		p.add(position(n), "%s is not a list", what)
		return nil
	}
	list := make([]T, 0, len(n.Content))
	for _, item := range n.Content {
		if item = follow(item); p.full() || !p.count(position(item)) {
			break
		}
		list = append(list, read(item))
	}
	return list
}

// text reads a string. A value that YAML takes for a number or a date must be quoted.
func (p *parser) text(n *yaml.Node, what string) *string {
	n = follow(n)
	switch {
	case n.Kind != yaml.ScalarNode:
		p.add(position(n), "%s is not a string", what)
		return nil
	case n.ShortTag() != "!!str" && n.ShortTag() != "!!merge":
		p.add(position(n), `%s is not a string: write it in quotes, as "%s"`, what, shorten(n.Value))
		return nil
	}
	return &n.Value
}

// shorten cuts a string to fit into an error.
func shorten(text string) string { return prose.Brief(text, 60) }
