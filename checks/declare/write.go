package declare

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

// Write writes the document as a YAML file for [Parse], with keys in a fixed order. For a setting with a source, it
// writes the source instead of the value.
func (d Document) Write(w io.Writer) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	if len(d.Projects) == 1 && d.Projects[0].Name == "" {
		d.Projects[0].writeLists(root)
	} else {
		add(root, "projects", list(d.Projects, Project.node))
	}
	var out strings.Builder
	dumper, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return err
	}
	if err := dumper.Dump(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}); err != nil {
		return err
	}
	if err := dumper.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, escaped(out.String()))
	return err
}

// escaped escapes the characters that could control a terminal or hide what the file says. They only occur where that does not
// change the meaning: in comments, and in strings in double quotes; see text.
func escaped(file string) string {
	var b strings.Builder
	for _, r := range file {
		if r != '\n' && unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (p Project) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(p.Name))
	if p.Account != "" {
		add(n, "account", text(p.Account))
	}
	if p.Plan != "" {
		add(n, "plan", text(p.Plan))
	}
	if p.MaxChecks != nil {
		add(n, "max_checks", plain(strconv.Itoa(*p.MaxChecks)))
	}
	if p.StormChecks != nil {
		add(n, "storm_checks", plain(strconv.Itoa(*p.StormChecks)))
	}
	if p.StormWindow != nil {
		add(n, "storm_window", text(checks.ValueText(*p.StormWindow)))
	}
	p.writeLists(n)
	return n
}

func (p Project) writeLists(n *yaml.Node) {
	for _, l := range projectLists {
		if list := l.node(p); list != nil {
			add(n, l.key, list)
		}
		if l.key == "checks" {
			comment(n, p.remarks)
		}
	}
}

// given is list, or nil for nil.
func given[T any](items []T, node func(T) *yaml.Node) *yaml.Node {
	if items == nil {
		return nil
	}
	return list(items, node)
}

// list returns a sequence of nodes. An empty one is written as [].
func list[T any](items []T, node func(T) *yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if len(items) == 0 {
		n.Style = yaml.FlowStyle
	}
	for _, item := range items {
		n.Content = append(n.Content, node(item))
	}
	return n
}

// comment adds comment lines above the last key of a mapping.
func comment(n *yaml.Node, lines []string) {
	if len(lines) == 0 || len(n.Content) < 2 {
		return
	}
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ") // a line break would end the comment
	}
	n.Content[len(n.Content)-2].HeadComment = strings.Join(lines, "\n")
}

func (c Channel) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(c.Name))
	add(n, "kind", text(string(c.Kind)))
	if len(c.Settings) > 0 {
		settings := &yaml.Node{Kind: yaml.MappingNode}
		for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
			add(settings, name, c.Settings[name].node())
		}
		add(n, "settings", settings)
	}
	comment(n, c.remarks)
	return n
}

func (s Setting) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	if name, ok := strings.CutPrefix(s.Source, envSource); ok {
		add(n, "env", text(name))
		return n
	}
	if path, ok := strings.CutPrefix(s.Source, fileSource); ok {
		add(n, "file", text(path))
		return n
	}
	return text(s.Value)
}

func (c Check) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, s := range settings {
		if value := write(s.Value(c.Spec)); value != nil {
			add(n, s.Name, value)
		}
	}
	return n
}

func add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, text(key), value)
}

// plain returns the node of a value that needs no quotes.
func plain(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// text returns the node of a string, in quotes if YAML would misread it otherwise.
func text(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	lines := strings.Split(value, "\n")
	odd := strings.ContainsFunc(value, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
	for _, line := range lines {
		odd = odd || strings.TrimSpace(line) != line
	}
	switch {
	case odd || len(lines) > 1 && lines[0] == "":
		n.Style = yaml.DoubleQuotedStyle
	case len(lines) > 1:
		n.Style = yaml.LiteralStyle
	}
	return n
}
