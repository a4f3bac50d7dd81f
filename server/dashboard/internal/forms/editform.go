package forms

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// form holds the texts of the inputs of a check, by their names. Those of settings are named as in server/API.md section
// 2.1, with "kind" beside them. A checkbox that is not set is "".
type form map[string]string

// The values of the input "kind".
const (
	kindSimple   = "simple"
	kindSchedule = "schedule"
)

// formOf returns the form of a check as it is.
func formOf(c checks.Check) form {
	f := form{"kind": kindSimple, "channels": ui.Selection(ui.ChannelIDs(c))}
	if c.IsCron() {
		f["kind"] = kindSchedule
	}
	for _, s := range checks.AllSettings() {
		if value := s.Of(c.Settings); value != nil {
			f[s.Name] = words.Typed(s, value)
		}
	}
	return f.clean()
}

// clean makes the texts as a browser sends them back: lines end with LF, and the inputs of one line have no line ends.
func (f form) clean() form {
	for name, text := range f {
		end := ""
		if name == "sample_body" || inputNamed(name).Rows > 0 {
			end = "\n"
		}
		f[name] = strings.NewReplacer("\r\n", end, "\r", end, "\n", end).Replace(text)
	}
	return f
}

// readForm reads the inputs that a browser has sent. Texts that are missing are those of the other form.
func readForm(sent url.Values, missing form) form {
	f := form{"sample_subject": sent.Get("sample_subject"), "sample_body": sent.Get("sample_body"), "kind": cmp.Or(sent.Get("kind"), missing["kind"])}
	for _, in := range inputs {
		if sent.Has(in.Name) || in.Box != "" {
			f[in.Name] = sent.Get(in.Name)
		} else {
			f[in.Name] = missing[in.Name]
		}
	}
	f["channels"] = ui.Selection(slices.Clone(sent["channels"]))
	if slices.Contains(sent["channels"], "*") {
		f["channels"] = "*"
	}
	f = f.clean()
	f.takeEntry()
	f.takeWords()
	return f
}

// takeEntry splits a line of a crontab that was pasted as the schedule. The time zone in front of it and, if there is no
// description yet, its command go to their own inputs. The text "entry" says so in the preview.
func (f form) takeEntry() {
	e, ok := schedule.ReadEntry(f["schedule"])
	if f["kind"] != kindSchedule || !ok {
		return
	}
	f["schedule"], f["entry"] = e.Schedule, "This is a line of a crontab. Its schedule is "+e.Schedule
	if e.TZ != "" {
		f["tz"] = e.TZ
		f["entry"] += ", its time zone " + e.TZ
	}
	if command := []rune(e.Command); len(command) > 0 && strings.TrimSpace(f["desc"]) == "" {
		f["desc"] = string(command[:min(len(command), int(checks.SettingNamed("desc").Max))])
		f["entry"] += ", and its command becomes the description"
	}
	f["entry"] += "."
}

// takeWords replaces a schedule in words by its expression, or by its interval. The text "entry" says so in the preview. "words" are
// those that leave something open, and "stored" is for the notice of what was stored.
func (f form) takeWords() {
	p, ok, _ := ui.ReadPhrase(f["schedule"])
	if f["kind"] != kindSchedule || !ok {
		return
	}
	if f["entry"], f["stored"] = p.Read(), p.Stored(); p.Taken != "" {
		f["words"] = p.Text
	}
	if p.Every != 0 {
		f["kind"], f["timeout"] = kindSimple, words.SpellPeriod(p.Every)
		return
	}
	f["schedule"] = p.Expression
}

// confirm asks whether words that leave something open were understood as they were meant, unless the viewer has seen it.
func (v *editView) confirm(sent url.Values) {
	if text := v.Form["words"]; text != "" && sent.Get("seen") != text && !v.Fields.Refused() {
		v.Fields.Wrong(v.inputOf(whenSetting.name), v.Form["entry"]+" Save again to use it.")
	}
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
		return nil, ui.ErrBadForm
	}
	f := form{}
	for name := range v {
		f[name] = v.Get(name)
	}
	return f.clean(), nil
}

// refuse reports whether an error is about a setting, and then says so at its input.
func (v *editView) refuse(err error) bool {
	if e, ok := errors.AsType[*channels.SelectError](err); ok {
		v.Fields.Wrong("channels", "Integrations cannot be chosen: "+e.Reason+".")
		return true
	}
	return v.Fields.Refuse(err) != 0
}

// spec returns the spec of some settings of the form. All that are wrong have an error at their input.
func (v *editView) spec(some []formSetting, now time.Time) (spec checks.Spec) {
	for _, s := range some {
		var alone checks.Spec // Validate stops at the first error
		err := s.set(v.Form, &alone)
		if err == nil {
			err = alone.Validate(now)
		}
		if !v.refuse(err) {
			_ = s.set(v.Form, &spec) // as above
		}
	}
	return spec
}

// explain says what an error about a setting means, without a full stop.
func explain(err error) string {
	if e, ok := errors.AsType[*checks.FieldError](err); ok {
		return ui.SettingLabel(e.Field) + " " + e.Reason
	}
	return err.Error()
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

// formSettings lists the settings in the order of the page.
var formSettings = func() (list []formSetting) {
	for _, in := range inputs {
		switch in.Name {
		case "timeout":
			list = append(list, whenSetting)
		case "schedule": // belongs to that
		default:
			list = append(list, settingOf(checks.SettingNamed(in.Name)))
		}
	}
	return list
}()

// settingOf returns the setting that is one input.
func settingOf(s checks.Setting) formSetting {
	value := func(f form) string {
		value, err := words.Value(s, f[s.Name])
		if err != nil {
			return strings.TrimSpace(f[s.Name])
		}
		return words.Typed(s, value)
	}
	return formSetting{s.Name, []string{s.Name}, value, func(f form, spec *checks.Spec) error {
		value, err := words.Value(s, f[s.Name])
		if err == nil {
			s.Set(spec, value)
		}
		return err
	}}
}

// samePeriod returns the same text for texts of the same period.
func samePeriod(text string) string {
	if d, err := words.ParsePeriod(text); err == nil {
		return words.SpellPeriod(d)
	}
	return strings.TrimSpace(text)
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
		_, _, err := ui.ReadPhrase(f["schedule"])
		return err
	}
	d, err := words.Period(checks.SettingNamed("timeout"), f["timeout"])
	if err == nil {
		s.Timeout = &d
	}
	return err
}}
