package declare

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

// setting defines how a file and a plan show one setting of a check.
type setting struct {
	name string
	// read sets the value from a node of the file and reports its errors.
	read func(p *parser, n *yaml.Node, s *checks.Spec)
	// write returns the value as a node, or nil if there is none.
	write func(s checks.Spec) *yaml.Node
	// show returns the value as text, or "" if there is none.
	show func(s checks.Spec) string
	// copy copies the value from another spec.
	copy func(to *checks.Spec, from checks.Spec)
}

// settings lists the settings of a check in the order of an export. A new setting needs a row here.
func settings() []setting {
	return []setting{
		define("slug", texts, func(s *checks.Spec) **string { return &s.Slug }),
		define("name", texts, func(s *checks.Spec) **string { return &s.Name }),
		tags(),
		define("desc", texts, func(s *checks.Spec) **string { return &s.Desc }),
		define("timeout", periods, func(s *checks.Spec) **time.Duration { return &s.Timeout }),
		define("schedule", texts, func(s *checks.Spec) **string { return &s.Schedule }),
		define("tz", texts, func(s *checks.Spec) **string { return &s.TZ }),
		define("grace", periods, func(s *checks.Spec) **time.Duration { return &s.Grace }),
		define("max_runtime", periods, func(s *checks.Spec) **time.Duration { return &s.MaxRuntime }),
		define("channels", lists(","), func(s *checks.Spec) **string { return &s.Channels }),
		define("manual_resume", booleans, func(s *checks.Spec) **bool { return &s.ManualResume }),
		define("methods", texts, func(s *checks.Spec) **string { return &s.Methods }),
		define("start_kw", texts, func(s *checks.Spec) **string { return &s.StartKW }),
		define("success_kw", texts, func(s *checks.Spec) **string { return &s.SuccessKW }),
		define("failure_kw", texts, func(s *checks.Spec) **string { return &s.FailureKW }),
		define("filter_subject", booleans, func(s *checks.Spec) **bool { return &s.FilterSubject }),
		define("filter_body", booleans, func(s *checks.Spec) **bool { return &s.FilterBody }),
		define("filter_http_body", booleans, func(s *checks.Spec) **bool { return &s.FilterHTTPBody }),
		define("filter_default_fail", booleans, func(s *checks.Spec) **bool { return &s.FilterDefaultFail }),
		define("alert_after", counts, func(s *checks.Spec) **int { return &s.AlertAfter }),
		define("repeat_every", periods, func(s *checks.Spec) **time.Duration { return &s.RepeatEvery }),
		define("quiet_hours", lists(";"), func(s *checks.Spec) **string { return &s.QuietHours }),
	}
}

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
	for _, s := range settings() {
		if old, now := s.show(before), s.show(after); old != now {
			fields = append(fields, Field{Name: s.name, Old: old, New: now})
			s.copy(&spec, after)
		}
	}
	return fields, spec
}

// form defines how files and plans show the values of a type.
type form[T any] struct {
	read  func(p *parser, n *yaml.Node, name string) *T // returns nil if it reports an error
	write func(T) *yaml.Node
	show  func(T) string
}

// define returns the setting that is one field of a spec.
func define[T any](name string, f form[T], field func(*checks.Spec) **T) setting {
	return setting{
		name: name,
		read: func(p *parser, n *yaml.Node, s *checks.Spec) {
			value := f.read(p, n, name)
			// Validate stops at the first error, so each setting is validated alone.
			var alone checks.Spec
			*field(&alone), *field(s) = value, value
			p.validate(n, alone)
		},
		write: func(s checks.Spec) *yaml.Node {
			if value := *field(&s); value != nil {
				return f.write(*value)
			}
			return nil
		},
		show: func(s checks.Spec) string {
			if value := *field(&s); value != nil {
				return f.show(*value)
			}
			return ""
		},
		copy: func(to *checks.Spec, from checks.Spec) { *field(to) = *field(&from) },
	}
}

var (
	texts    = form[string]{(*parser).text, text, strconv.Quote}
	booleans = form[bool]{(*parser).boolean, func(v bool) *yaml.Node { return plain(strconv.FormatBool(v)) }, strconv.FormatBool}
	counts   = form[int]{(*parser).integer, func(v int) *yaml.Node { return plain(strconv.Itoa(v)) }, strconv.Itoa}
	periods  = form[time.Duration]{(*parser).period, func(v time.Duration) *yaml.Node { return plain(duration(v)) }, duration}
)

// lists returns the form of strings that a file may also write as lists. The separator joins the items.
func lists(separator string) form[string] {
	read := func(p *parser, n *yaml.Node, name string) *string { return p.words(n, name, separator) }
	return form[string]{read, text, strconv.Quote}
}

// tags returns the setting of the tags: text with blanks between them, or a list.
func tags() setting {
	const name = "tags"
	return setting{
		name: name,
		read: func(p *parser, n *yaml.Node, s *checks.Spec) {
			if value := p.words(n, name, " "); value != nil {
				s.Tags = append([]string{}, checks.SplitTags(*value)...)
				p.validate(n, checks.Spec{Tags: s.Tags})
			}
		},
		write: func(s checks.Spec) *yaml.Node {
			if s.Tags != nil {
				return text(checks.JoinTags(s.Tags))
			}
			return nil
		},
		show: func(s checks.Spec) string {
			if s.Tags != nil {
				return strconv.Quote(checks.JoinTags(checks.Settings{Tags: s.Tags}.TagList()))
			}
			return ""
		},
		copy: func(to *checks.Spec, from checks.Spec) { to.Tags = from.Tags },
	}
}

// validate reports the error of a spec that has one setting.
func (p *parser) validate(n *yaml.Node, alone checks.Spec) {
	if err := alone.Validate(p.config.Now); err != nil {
		p.add(position(n), "%v", err)
	}
}

// duration formats whole seconds without trailing zero units, such as 1h30m.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (p *parser) boolean(n *yaml.Node, name string) *bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.add(position(n), "%s is not true or false", name)
		return nil
	}
	return new(strings.EqualFold(n.Value, "true"))
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

func (p *parser) integer(n *yaml.Node, name string) *int {
	number, err := strconv.Atoi(n.Value)
	if n.ShortTag() != "!!int" || err != nil {
		p.add(position(n), "%s is not a whole number: %q", name, shorten(n.Value))
		return nil
	}
	return &number
}

// period reads a number of seconds, or a duration in Go's notation.
func (p *parser) period(n *yaml.Node, name string) *time.Duration {
	value := n.Value
	if n.ShortTag() == "!!int" {
		value += "s"
	}
	d, err := time.ParseDuration(value)
	if err != nil || n.Kind != yaml.ScalarNode {
		p.add(position(n), "%s is neither a whole number of seconds nor a duration such as 90s, 30m or 24h: %q", name, shorten(n.Value))
		return nil
	}
	return &d
}
