package declare

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

// inFront are the settings with which an export begins.
var inFront = []string{"slug", "name", "tags", "desc", "timeout", "schedule", "tz", "grace", "max_runtime", "channels"}

// settings are the settings of a check in the order of an export.
var settings = func() (list []checks.Setting) {
	for _, name := range inFront {
		list = append(list, checks.SettingNamed(name))
	}
	return append(list, slices.DeleteFunc(checks.AllSettings(), func(s checks.Setting) bool { return slices.Contains(inFront, s.Name) })...)
}()

// effective returns the settings of a check that have an effect, without its slug and its channels.
func effective(c checks.Check) checks.Spec {
	s := c.Settings.Spec()
	s.Slug = nil
	if !c.UsesTZ() {
		s.TZ = nil
	}
	return s
}

// Field is a setting that a change sets. Old and New are text: durations such as 1h30m, strings in quotes. A word in
// parentheses stands for a hidden value.
type Field struct {
	Name string `json:"field"`
	Old  string `json:"old"` // "" if there was none
	New  string `json:"new"` // "" if the change removes it
}

// Compare returns the settings in which two checks differ, and a spec that turns the first into the second. It ignores
// slugs, channels, the timeout of a Cron check, the tz of a Simple check without quiet hours, and extra blanks between
// tags.
func Compare(from, to checks.Check) ([]Field, checks.Spec) {
	var fields []Field
	var spec checks.Spec
	before, after := effective(from), effective(to)
	for _, s := range settings {
		value := s.Value(after)
		if old, now := show(s.Value(before)), show(value); old != now {
			fields = append(fields, Field{Name: s.Name, Old: old, New: now})
			if value != nil {
				s.Set(&spec, value)
			}
		}
	}
	return fields, spec
}

// show returns the value of a setting as text, or "" if there is none.
func show(value any) string {
	switch value := value.(type) {
	case string:
		return strconv.Quote(value)
	case []string:
		return strconv.Quote(strings.Join(checks.Settings{Tags: value}.TagList(), " "))
	}
	if n := write(value); n != nil {
		return n.Value
	}
	return ""
}

// write returns the value of a setting as a node, or nil if there is none.
func write(value any) *yaml.Node {
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		return text(value)
	case []string:
		return text(checks.ValueText(value))
	default:
		return plain(checks.ValueText(value))
	}
}

// read reads the value of a setting and reports its errors.
func (p *parser) read(n *yaml.Node, s checks.Setting, spec *checks.Spec) {
	value := p.value(n, s)
	if value == nil {
		return
	}
	s.Set(spec, value)
	var alone checks.Spec // Validate stops at the first error
	s.Set(&alone, value)
	if err := alone.Validate(p.config.Now); err != nil {
		p.add(position(n), "%v", err)
	}
}

// value reads the value of a setting. It returns nil if it reports an error.
func (p *parser) value(n *yaml.Node, s checks.Setting) any {
	var text *string
	switch s.Zero.(type) {
	case bool:
		return p.boolean(n, s.Name)
	case int:
		return p.integer(n, s.Name)
	case time.Duration:
		return p.period(n, s.Name)
	}
	if s.Separator != "" {
		text = p.words(n, s.Name, s.Separator)
	} else {
		text = p.text(n, s.Name)
	}
	if text == nil {
		return nil
	}
	return *text
}

func (p *parser) boolean(n *yaml.Node, name string) any {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.add(position(n), "%s is not true or false", name)
		return nil
	}
	return strings.EqualFold(n.Value, "true")
}

// words reads a string, or a list of strings that do not contain the separator.
func (p *parser) words(n *yaml.Node, name, separator string) *string {
	if n.Kind == yaml.ScalarNode {
		return p.text(n, name)
	}
	before := len(p.list)
	list := each(p, n, name, func(item *yaml.Node) string {
		word := p.text(item, "an item of "+name)
		switch {
		case word == nil:
			return ""
		case *word == "":
			p.add(position(item), "an item of %s is empty", name)
		case strings.Contains(*word, separator):
			p.add(position(item), "an item of %s contains %q: %q", name, separator, shorten(*word))
		}
		return *word
	})
	if len(p.list) > before {
		return nil
	}
	return new(strings.Join(list, separator))
}

func (p *parser) integer(n *yaml.Node, name string) any {
	number, err := strconv.Atoi(n.Value)
	if n.ShortTag() != "!!int" || err != nil {
		p.add(position(n), "%s is not a whole number: %q", name, shorten(n.Value))
		return nil
	}
	return number
}

// period reads a number of seconds, or a duration.
func (p *parser) period(n *yaml.Node, name string) any {
	d, err := checks.ParseDuration(n.Value) // not of a scalar is ""
	if err != nil {
		p.add(position(n), "%s: %q %v", name, shorten(n.Value), err)
		return nil
	}
	return d
}
