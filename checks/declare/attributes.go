package declare

import (
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
)

// Field is a setting that a change sets. Values are written as text: durations as 1h30m, texts in quotes. In brackets
// is what stands for a value that is not shown.
type Field struct {
	Name string `json:"field"`
	Old  string `json:"old"` // "" when there was none
	New  string `json:"new"` // "" when there is none any more
}

// attribute is a setting of a check, but for its channels.
type attribute struct {
	name string
	// show returns the value as text, "" when a check of this type has none.
	show func(c checks.Check) string
	// set takes the value over into a spec.
	set func(s *checks.Spec, c checks.Check)
}

// attributes returns all of them, in the order of API-V3.md section 2.1 as far as it makes sense to a reader.
func attributes() []attribute {
	text := func(name string, get func(c *checks.Check) *string, into func(s *checks.Spec) **string) attribute {
		return attribute{
			name: name,
			show: func(c checks.Check) string { return strconv.Quote(*get(&c)) },
			set:  func(s *checks.Spec, c checks.Check) { *into(s) = get(&c) },
		}
	}
	boolean := func(name string, get func(c *checks.Check) *bool, into func(s *checks.Spec) **bool) attribute {
		return attribute{
			name: name,
			show: func(c checks.Check) string { return strconv.FormatBool(*get(&c)) },
			set:  func(s *checks.Spec, c checks.Check) { *into(s) = get(&c) },
		}
	}
	return []attribute{
		text("name", func(c *checks.Check) *string { return &c.Name }, func(s *checks.Spec) **string { return &s.Name }),
		{"tags", func(c checks.Check) string { return strconv.Quote(strings.Join(c.TagList(), " ")) },
			func(s *checks.Spec, c checks.Check) { s.Tags = &c.Tags }},
		text("desc", func(c *checks.Check) *string { return &c.Desc }, func(s *checks.Spec) **string { return &s.Desc }),
		{"timeout", showTimeout, func(s *checks.Spec, c checks.Check) {
			if !c.IsCron() {
				s.Timeout = &c.Timeout
			}
		}},
		{"schedule", func(c checks.Check) string { return ofCron(c, c.Schedule) }, func(s *checks.Spec, c checks.Check) {
			if c.IsCron() {
				s.Schedule = &c.Schedule
			}
		}},
		{"tz", showZone, func(s *checks.Spec, c checks.Check) {
			if hasZone(c) {
				s.TZ = &c.TZ
			}
		}},
		{"grace", func(c checks.Check) string { return duration(c.Grace) }, func(s *checks.Spec, c checks.Check) { s.Grace = &c.Grace }},
		boolean("manual_resume", func(c *checks.Check) *bool { return &c.ManualResume }, func(s *checks.Spec) **bool { return &s.ManualResume }),
		text("methods", func(c *checks.Check) *string { return &c.Methods }, func(s *checks.Spec) **string { return &s.Methods }),
		text("start_kw", func(c *checks.Check) *string { return &c.StartKW }, func(s *checks.Spec) **string { return &s.StartKW }),
		text("success_kw", func(c *checks.Check) *string { return &c.SuccessKW }, func(s *checks.Spec) **string { return &s.SuccessKW }),
		text("failure_kw", func(c *checks.Check) *string { return &c.FailureKW }, func(s *checks.Spec) **string { return &s.FailureKW }),
		boolean("filter_subject", func(c *checks.Check) *bool { return &c.FilterSubject }, func(s *checks.Spec) **bool { return &s.FilterSubject }),
		boolean("filter_body", func(c *checks.Check) *bool { return &c.FilterBody }, func(s *checks.Spec) **bool { return &s.FilterBody }),
		boolean("filter_http_body", func(c *checks.Check) *bool { return &c.FilterHTTPBody }, func(s *checks.Spec) **bool { return &s.FilterHTTPBody }),
		boolean("filter_default_fail", func(c *checks.Check) *bool { return &c.FilterDefaultFail }, func(s *checks.Spec) **bool { return &s.FilterDefaultFail }),
		{"alert_after", func(c checks.Check) string { return strconv.Itoa(c.AlertAfter) },
			func(s *checks.Spec, c checks.Check) { s.AlertAfter = &c.AlertAfter }},
		{"repeat_every", func(c checks.Check) string { return duration(c.RepeatEvery) },
			func(s *checks.Spec, c checks.Check) { s.RepeatEvery = &c.RepeatEvery }},
		text("quiet_hours", func(c *checks.Check) *string { return &c.QuietHours }, func(s *checks.Spec) **string { return &s.QuietHours }),
	}
}

// hasZone reports whether the zone of a check has an effect.
func hasZone(c checks.Check) bool { return c.IsCron() || c.QuietHours != "" }

func showZone(c checks.Check) string {
	if !hasZone(c) {
		return ""
	}
	return strconv.Quote(c.TZ)
}

func showTimeout(c checks.Check) string {
	if c.IsCron() {
		return ""
	}
	return duration(c.Timeout)
}

// ofCron returns a text in quotes if the check is a Cron check.
func ofCron(c checks.Check, value string) string {
	if !c.IsCron() {
		return ""
	}
	return strconv.Quote(value)
}

// duration writes whole seconds the short way, as in 1h30m.
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

// Compare returns the settings by which two checks differ, but for their channels, and a spec that makes the second
// of the first. What has no effect is not compared: the timeout of a Cron check, the tz of a Simple one without quiet
// hours, and the order of blanks between tags. Slugs are not compared either.
func Compare(from, to checks.Check) ([]Field, checks.Spec) {
	var fields []Field
	var spec checks.Spec
	for _, a := range attributes() {
		old, now := a.show(from), a.show(to)
		if old != now {
			fields = append(fields, Field{Name: a.name, Old: old, New: now})
			a.set(&spec, to)
		}
	}
	return fields, spec
}
