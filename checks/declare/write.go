package declare

import (
	"bufio"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// Write writes the document as a file that [Parse] reads. Keys and entries are always in the same order. Of settings
// that come from the environment or from files, it is written where they come from.
func (d Document) Write(w io.Writer) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	if len(d.Projects) == 1 && d.Projects[0].Name == "" {
		d.Projects[0].writeLists(root)
	} else {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, p := range d.Projects {
			list.Content = append(list.Content, p.node())
		}
		add(root, "projects", flow(list))
	}
	out := bufio.NewWriter(w)
	dumper, err := yaml.NewDumper(out, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithCompactSeqIndent(false))
	if err != nil {
		return err
	}
	if err := dumper.Dump(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{root}}); err != nil {
		return err
	}
	if err := dumper.Close(); err != nil {
		return err
	}
	return out.Flush()
}

func (p Project) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(p.Name))
	if p.Account != "" {
		add(n, "account", text(p.Account))
	}
	if p.Plan != "" {
		add(n, "plan", text(string(p.Plan)))
	}
	if p.MaxChecks != nil {
		add(n, "max_checks", plain(strconv.Itoa(*p.MaxChecks)))
	}
	p.writeLists(n)
	return n
}

func (p Project) writeLists(n *yaml.Node) {
	if p.Channels != nil {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, c := range p.Channels {
			list.Content = append(list.Content, c.node())
		}
		add(n, "channels", flow(list))
	}
	if p.Checks != nil {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, c := range p.Checks {
			list.Content = append(list.Content, c.node())
		}
		add(n, "checks", flow(list))
	}
	comment(n, p.remarks)
}

// flow writes an empty list as [].
func flow(list *yaml.Node) *yaml.Node {
	if len(list.Content) == 0 {
		list.Style = yaml.FlowStyle
	}
	return list
}

// comment writes lines before the last key of a mapping.
func comment(n *yaml.Node, lines []string) {
	if len(lines) > 0 && len(n.Content) > 1 {
		n.Content[len(n.Content)-2].HeadComment = strings.Join(lines, "\n")
	}
}

func (c Channel) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	add(n, "name", text(c.Name))
	add(n, "kind", text(string(c.Kind)))
	if len(c.Settings) > 0 {
		settings := &yaml.Node{Kind: yaml.MappingNode}
		names := make([]string, 0, len(c.Settings))
		for name := range c.Settings {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			add(settings, name, c.Settings[name].node())
		}
		add(n, "settings", settings)
	}
	comment(n, c.remarks)
	return n
}

func (s Setting) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	if name, ok := strings.CutPrefix(s.Source, "$"); ok {
		add(n, "env", text(name))
		return n
	}
	if path, ok := strings.CutPrefix(s.Source, "file "); ok {
		add(n, "file", text(path))
		return n
	}
	return text(s.Value)
}

func (c Check) node() *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	texts := func(name string, value *string) {
		if value != nil {
			add(n, name, text(*value))
		}
	}
	period := func(name string, value *time.Duration) {
		if value != nil {
			add(n, name, plain(duration(*value)))
		}
	}
	boolean := func(name string, value *bool) {
		if value != nil {
			add(n, name, plain(strconv.FormatBool(*value)))
		}
	}
	texts("slug", c.Slug)
	texts("name", c.Name)
	texts("tags", c.Tags)
	texts("desc", c.Desc)
	period("timeout", c.Timeout)
	texts("schedule", c.Schedule)
	texts("tz", c.TZ)
	period("grace", c.Grace)
	texts("channels", c.Channels)
	boolean("manual_resume", c.ManualResume)
	texts("methods", c.Methods)
	texts("start_kw", c.StartKW)
	texts("success_kw", c.SuccessKW)
	texts("failure_kw", c.FailureKW)
	boolean("filter_subject", c.FilterSubject)
	boolean("filter_body", c.FilterBody)
	boolean("filter_http_body", c.FilterHTTPBody)
	boolean("filter_default_fail", c.FilterDefaultFail)
	if c.AlertAfter != nil {
		add(n, "alert_after", plain(strconv.Itoa(*c.AlertAfter)))
	}
	period("repeat_every", c.RepeatEvery)
	texts("quiet_hours", c.QuietHours)
	return n
}

func add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, text(key), value)
}

// plain is a value that needs no quotes.
func plain(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// text is a text. What could be read as something else, or not be read at all, gets quotes.
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
