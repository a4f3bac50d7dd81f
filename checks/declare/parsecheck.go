package declare

import (
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollcall-dev/rollcall/checks"
)

func (p *parser) checks(n *yaml.Node) []Check {
	items, _ := p.sequence(n, "checks")
	seen := make(map[string]Position)
	list := make([]Check, 0, len(items))
	for _, item := range items {
		if len(p.list) == maxErrors {
			break
		}
		check := p.check(item)
		if check.Slug != nil {
			p.unique(seen, "check with the slug", *check.Slug, check.places.of("slug"))
		}
		list = append(list, check)
	}
	return list
}

// check reads a check. Every field is validated by itself, so that all that is wrong with a check is told.
func (p *parser) check(n *yaml.Node) Check {
	var s checks.Spec
	text := func(name string, into **string, only func(*string) checks.Spec) key {
		return key{name, func(n *yaml.Node) {
			*into = p.text(n, name)
			p.validate(n, only(*into))
		}}
	}
	boolean := func(name string, into **bool) key {
		return key{name, func(n *yaml.Node) { *into = p.boolean(n, name) }}
	}
	found := p.object(n, "a check", []key{
		text("slug", &s.Slug, func(v *string) checks.Spec { return checks.Spec{Slug: v} }),
		text("name", &s.Name, func(v *string) checks.Spec { return checks.Spec{Name: v} }),
		{"tags", func(n *yaml.Node) {
			s.Tags = p.words(n, "tags", " ")
			p.validate(n, checks.Spec{Tags: s.Tags})
		}},
		text("desc", &s.Desc, func(v *string) checks.Spec { return checks.Spec{Desc: v} }),
		{"timeout", func(n *yaml.Node) { s.Timeout = p.period(n, "timeout") }},
		text("schedule", &s.Schedule, func(v *string) checks.Spec { return checks.Spec{Schedule: v} }),
		text("tz", &s.TZ, func(v *string) checks.Spec { return checks.Spec{TZ: v} }),
		{"grace", func(n *yaml.Node) { s.Grace = p.period(n, "grace") }},
		{"channels", func(n *yaml.Node) {
			s.Channels = p.words(n, "channels", ",")
			p.validate(n, checks.Spec{Channels: s.Channels})
		}},
		boolean("manual_resume", &s.ManualResume),
		text("methods", &s.Methods, func(v *string) checks.Spec { return checks.Spec{Methods: v} }),
		text("start_kw", &s.StartKW, func(v *string) checks.Spec { return checks.Spec{StartKW: v} }),
		text("success_kw", &s.SuccessKW, func(v *string) checks.Spec { return checks.Spec{SuccessKW: v} }),
		text("failure_kw", &s.FailureKW, func(v *string) checks.Spec { return checks.Spec{FailureKW: v} }),
		boolean("filter_subject", &s.FilterSubject),
		boolean("filter_body", &s.FilterBody),
		boolean("filter_http_body", &s.FilterHTTPBody),
		boolean("filter_default_fail", &s.FilterDefaultFail),
		{"alert_after", func(n *yaml.Node) { s.AlertAfter = p.alertAfter(n) }},
		{"repeat_every", func(n *yaml.Node) { s.RepeatEvery = p.repeatEvery(n) }},
		{"quiet_hours", func(n *yaml.Node) {
			s.QuietHours = p.words(n, "quiet_hours", ";")
			p.validate(n, checks.Spec{QuietHours: s.QuietHours})
		}},
	})
	p.require(found, "a check", "slug")
	if s.Slug != nil && *s.Slug == "" {
		p.add(found.of("slug"), "slug is empty")
	}
	return Check{Spec: s, places: found}
}

// validate reports what the rules of package checks refuse.
func (p *parser) validate(n *yaml.Node, s checks.Spec) {
	if err := s.Validate(p.config.Now); err != nil {
		p.add(position(n), "%v", err)
	}
}

// words reads a text, or a list of texts that are joined by a separator, which none of them may have.
func (p *parser) words(n *yaml.Node, field, separator string) *string {
	if n.Kind == yaml.ScalarNode {
		return p.text(n, field)
	}
	items, ok := p.sequence(n, field)
	if !ok {
		return nil
	}
	words := make([]string, 0, len(items))
	for _, item := range items {
		word := p.text(item, "an item of "+field)
		switch {
		case word == nil:
		case *word == "":
			p.add(position(item), "an item of %s is empty", field)
		case strings.Contains(*word, separator):
			p.add(position(item), "an item of %s has a %q in it: %q", field, separator, shorten(*word))
		default:
			words = append(words, *word)
		}
	}
	return new(strings.Join(words, separator))
}

// alertAfter reads a number of failures.
func (p *parser) alertAfter(n *yaml.Node) *int {
	failures, err := strconv.ParseInt(n.Value, 10, 64)
	if n.ShortTag() != "!!int" || err != nil {
		p.add(position(n), "alert_after is not a whole number: %q", shorten(n.Value))
		return nil
	}
	if err := checks.CheckAlertAfter(failures); err != nil {
		p.add(position(n), "%v", err)
		return nil
	}
	return new(int(failures))
}

// repeatEvery reads a period, or 0.
func (p *parser) repeatEvery(n *yaml.Node) *time.Duration {
	seconds, ok := p.seconds(n, "repeat_every")
	if ok && seconds == 0 {
		return new(time.Duration)
	}
	return p.bounded(n, "repeat_every", seconds, ok)
}

// period reads a period.
func (p *parser) period(n *yaml.Node, field string) *time.Duration {
	seconds, ok := p.seconds(n, field)
	return p.bounded(n, field, seconds, ok)
}

// bounded makes a period of seconds that could be read.
func (p *parser) bounded(n *yaml.Node, field string, seconds int64, ok bool) *time.Duration {
	if !ok {
		return nil
	}
	if err := checks.CheckSeconds(field, seconds); err != nil {
		p.add(position(n), "%v", err)
		return nil
	}
	return new(time.Duration(seconds) * time.Second)
}

// seconds reads a number of seconds, or a duration as Go writes it.
func (p *parser) seconds(n *yaml.Node, field string) (seconds int64, ok bool) {
	if n.ShortTag() == "!!int" {
		seconds, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			p.add(position(n), "%s is not a number of seconds: %s", field, shorten(n.Value))
		}
		return seconds, err == nil
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil || n.Kind != yaml.ScalarNode:
		p.add(position(n), "%s is neither a whole number of seconds nor a duration such as 90s, 30m or 24h: %q", field, shorten(n.Value))
	case d%time.Second != 0:
		p.add(position(n), "%s is not a whole number of seconds: %v", field, d)
	default:
		return int64(d / time.Second), true
	}
	return 0, false
}
