package dashboard

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
)

// form holds the texts of the inputs of a check, by their names. Those of settings are named as in server/API.md section
// 2.1, with "kind" beside them. A checkbox that is not set is "".
type form map[string]string

// The values of the input "kind".
const (
	kindSimple   = "simple"
	kindSchedule = "schedule"
)

// lineInputs are the inputs of one line, areaInputs those of several, flagInputs the checkboxes. The samples are no settings.
var (
	lineInputs = []string{"kind", "name", "slug", "tags", "timeout", "tz", "grace", "max_runtime", "alert_after", "repeat_every",
		"start_kw", "success_kw", "failure_kw", "sample_subject"}
	areaInputs = []string{"schedule", "desc", "quiet_hours", "sample_body"}
	flagInputs = []string{"manual_resume", "methods", "filter_subject", "filter_body", "filter_http_body", "filter_default_fail"}
)

// formOf returns the form of a check as it is.
func formOf(c checks.Check) form {
	f := form{
		"kind": kindSimple, "name": c.Name, "slug": c.Slug, "tags": strings.Join(c.TagList(), " "), "desc": c.Desc,
		"timeout": spellPeriod(c.Timeout), "schedule": c.Schedule, "tz": c.TZ, "grace": spellPeriod(c.Grace),
		"max_runtime": optionalText(c.MaxRuntime), "methods": c.Methods, "channels": joinChannels(c.Channels),
		"start_kw": c.StartKW, "success_kw": c.SuccessKW, "failure_kw": c.FailureKW,
		"alert_after": strconv.Itoa(max(c.AlertAfter, 1)), "repeat_every": optionalText(c.RepeatEvery), "quiet_hours": c.QuietHours,
	}
	if c.IsCron() {
		f["kind"] = kindSchedule
	}
	for name, on := range map[string]bool{
		"manual_resume": c.ManualResume, "filter_subject": c.FilterSubject, "filter_body": c.FilterBody,
		"filter_http_body": c.FilterHTTPBody, "filter_default_fail": c.FilterDefaultFail,
	} {
		if on {
			f[name] = "on"
		}
	}
	return f.clean()
}

func optionalText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return spellPeriod(d)
}

// joinChannels writes a set of integrations in one order, whatever the order of the list.
func joinChannels(ids []uuid.UUID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// clean makes the texts as a browser sends them back: lines end with LF, and the inputs of one line have no line ends.
func (f form) clean() form {
	for _, name := range lineInputs {
		f[name] = strings.NewReplacer("\r", "", "\n", "").Replace(f[name])
	}
	for _, name := range areaInputs {
		f[name] = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(f[name])
	}
	return f
}

// readForm reads the inputs that a browser has sent. Texts that are missing are those of the other form.
func readForm(sent url.Values, missing form) form {
	f := form{}
	for _, name := range append(lineInputs, areaInputs...) {
		if sent.Has(name) {
			f[name] = sent.Get(name)
		} else {
			f[name] = missing[name]
		}
	}
	for _, name := range flagInputs {
		f[name] = sent.Get(name)
	}
	chosen := slices.Sorted(slices.Values(sent["channels"]))
	f["channels"] = strings.Join(slices.Compact(chosen), ",")
	if slices.Contains(chosen, channels.All) {
		f["channels"] = channels.All
	}
	return f.clean()
}

// encode writes the settings of a form for a hidden input, from which decodeForm reads them again.
func (f form) encode() string {
	v := url.Values{}
	for name, text := range f {
		if text != "" && !strings.HasPrefix(name, "sample_") {
			v.Set(name, text)
		}
	}
	return v.Encode()
}

func decodeForm(text string) (form, error) {
	v, err := url.ParseQuery(text)
	if err != nil || len(v) == 0 {
		return nil, errBadForm
	}
	f := form{}
	for name := range v {
		f[name] = v.Get(name)
	}
	return f.clean(), nil
}

// fieldError is an error about one input.
type fieldError struct {
	Field string // the name of the input
	Text  string // a sentence without a full stop
	// Conflict says that somebody else has changed the setting.
	Conflict bool
}

// fieldErrorOf turns an error of the library about a setting into one for its input.
func fieldErrorOf(err error) (fieldError, bool) {
	if e, ok := errors.AsType[*checks.FieldError](err); ok {
		return fieldError{Field: e.Field, Text: labelOf(e.Field) + " " + e.Reason}, true
	}
	if e, ok := errors.AsType[*channels.SelectError](err); ok {
		return fieldError{Field: "channels", Text: "Integrations cannot be chosen: " + e.Reason}, true
	}
	return fieldError{}, false
}

// spec returns the spec of some settings of a form, and the errors of all that are wrong, in the order of the page.
func (f form) spec(some []formSetting, now time.Time) (spec checks.Spec, wrong []fieldError) {
	for _, s := range some {
		var alone checks.Spec // Validate stops at the first error
		err := s.set(f, &alone)
		if err == nil {
			err = alone.Validate(now)
		}
		if found, ok := fieldErrorOf(err); ok {
			wrong = append(wrong, found)
			continue
		}
		_ = s.set(f, &spec) // as above
	}
	return spec, wrong
}

// changed returns the settings in which a form differs from another.
func (f form) changed(from form) []formSetting {
	var list []formSetting
	for _, s := range formSettings {
		if s.value(f) != s.value(from) {
			list = append(list, s)
		}
	}
	return list
}

// formSetting is a setting as a form has it.
type formSetting struct {
	name string
	// inputs are the inputs that make it up.
	inputs []string
	// value returns a text that two forms have in common if their settings are equal.
	value func(form) string
	// set changes the setting of a spec. The error is a *checks.FieldError.
	set func(form, *checks.Spec) error
}

// formSettings lists the settings in the order of the page. A new setting needs a row here, an input and a template.
var formSettings = []formSetting{
	textSetting("name", func(s *checks.Spec) **string { return &s.Name }),
	whenSetting,
	textSetting("tz", func(s *checks.Spec) **string { return &s.TZ }),
	periodSetting("grace", false, func(s *checks.Spec) **time.Duration { return &s.Grace }),
	textSetting("channels", func(s *checks.Spec) **string { return &s.Channels }),
	textSetting("slug", func(s *checks.Spec) **string { return &s.Slug }),
	tagsSetting,
	textSetting("desc", func(s *checks.Spec) **string { return &s.Desc }),
	periodSetting("max_runtime", true, func(s *checks.Spec) **time.Duration { return &s.MaxRuntime }),
	flagSetting("manual_resume", func(s *checks.Spec) **bool { return &s.ManualResume }),
	textSetting("methods", func(s *checks.Spec) **string { return &s.Methods }),
	alertAfterSetting,
	periodSetting("repeat_every", true, func(s *checks.Spec) **time.Duration { return &s.RepeatEvery }),
	textSetting("quiet_hours", func(s *checks.Spec) **string { return &s.QuietHours }),
	flagSetting("filter_http_body", func(s *checks.Spec) **bool { return &s.FilterHTTPBody }),
	flagSetting("filter_subject", func(s *checks.Spec) **bool { return &s.FilterSubject }),
	flagSetting("filter_body", func(s *checks.Spec) **bool { return &s.FilterBody }),
	textSetting("start_kw", func(s *checks.Spec) **string { return &s.StartKW }),
	textSetting("success_kw", func(s *checks.Spec) **string { return &s.SuccessKW }),
	textSetting("failure_kw", func(s *checks.Spec) **string { return &s.FailureKW }),
	flagSetting("filter_default_fail", func(s *checks.Spec) **bool { return &s.FilterDefaultFail }),
}

func textSetting(name string, field func(*checks.Spec) **string) formSetting {
	return formSetting{name, []string{name}, func(f form) string { return f[name] }, func(f form, s *checks.Spec) error {
		*field(s) = new(f[name])
		return nil
	}}
}

func flagSetting(name string, field func(*checks.Spec) **bool) formSetting {
	return formSetting{name, []string{name}, func(f form) string { return f[name] }, func(f form, s *checks.Spec) error {
		*field(s) = new(f[name] != "")
		return nil
	}}
}

// periodSetting is a setting of a period. If it is optional, no text stands for 0.
func periodSetting(name string, optional bool, field func(*checks.Spec) **time.Duration) formSetting {
	return formSetting{name, []string{name}, func(f form) string { return samePeriod(f[name]) }, func(f form, s *checks.Spec) error {
		d, err := f.period(name, optional)
		if err == nil {
			*field(s) = &d
		}
		return err
	}}
}

// samePeriod returns the same text for texts of the same period.
func samePeriod(text string) string {
	if d, err := parsePeriod(text); err == nil {
		return spellPeriod(d)
	}
	return strings.TrimSpace(text)
}

// period reads the period of an input, and checks its bounds, so that the error names them as people write them.
func (f form) period(name string, optional bool) (time.Duration, error) {
	if optional && strings.TrimSpace(f[name]) == "" {
		return 0, nil
	}
	d, err := parsePeriod(f[name])
	if err != nil {
		return 0, &checks.FieldError{Field: name, Reason: err.Error()}
	}
	switch {
	case d == 0 && optional:
	case d < checks.MinPeriod:
		return 0, &checks.FieldError{Field: name, Reason: "is too short: " + spellPeriod(d) + ", the minimum is " + spellPeriod(checks.MinPeriod)}
	case d > checks.MaxPeriod:
		return 0, &checks.FieldError{Field: name, Reason: "is too long: " + spellPeriod(d) + ", the maximum is " + spellPeriod(checks.MaxPeriod)}
	}
	return d, nil
}

// whenSetting is when pings are expected: a period or a schedule. The input of the other kind has no effect.
var whenSetting = formSetting{"when", []string{"kind", "timeout", "schedule"}, func(f form) string {
	if f["kind"] == kindSchedule {
		return kindSchedule + " " + f["schedule"]
	}
	return kindSimple + " " + samePeriod(f["timeout"])
}, func(f form, s *checks.Spec) error {
	if f["kind"] == kindSchedule {
		if strings.TrimSpace(f["schedule"]) == "" {
			return &checks.FieldError{Field: "schedule", Reason: "is missing: write it like 0 3 * * *"}
		}
		s.Schedule = new(f["schedule"])
		return nil
	}
	d, err := f.period("timeout", false)
	if err == nil {
		s.Timeout = &d
	}
	return err
}}

var tagsSetting = formSetting{"tags", []string{"tags"}, func(f form) string { return strings.Join(strings.Fields(f["tags"]), " ") },
	func(f form, s *checks.Spec) error {
		s.Tags = append([]string{}, strings.Fields(f["tags"])...)
		return nil
	}}

var alertAfterSetting = formSetting{"alert_after", []string{"alert_after"}, func(f form) string { return strings.TrimSpace(f["alert_after"]) },
	func(f form, s *checks.Spec) error {
		n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(f["alert_after"]), "1"))
		if err != nil {
			return &checks.FieldError{Field: "alert_after", Reason: "is not a whole number: " + cut(f["alert_after"], 20)}
		}
		if n == 1 {
			n = 0 // means the same, and is the default
		}
		s.AlertAfter = &n
		return nil
	}}
