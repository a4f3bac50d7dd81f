package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-dev/rollcall/checks"
)

// input is an input of the form of a check.
type input struct {
	Name, Label, Hint string
	Max               int // characters, 0 for no bound
	Placeholder       string
	Mono              bool // for expressions
	List              string
	Rows              int
	Value             string
	Error             string
}

const periodBounds = "1 min to 365 days"

// inputs are the inputs that have a text, without values.
var inputs = map[string]input{
	"name":         {Label: "Name", Max: checks.MaxName, Placeholder: "Nightly backup"},
	"timeout":      {Label: "Interval", Max: 40, Placeholder: "1 day", Hint: "Expected time between pings, such as 90 min, 1 day or 2 h 30 min. From " + periodBounds + "."},
	"schedule":     {Label: "Schedule", Mono: true, Rows: 1, Max: checks.MaxSchedule, Placeholder: "0 3 * * *", Hint: "A cron expression of five fields, such as 0 3 * * MON-FRI, or OnCalendar, such as Mon..Fri 03:00."},
	"tz":           {Label: "Time zone", Max: 64, List: "zones", Placeholder: "Europe/Riga", Hint: "For the schedule and for quiet hours."},
	"grace":        {Label: "Grace time", Max: 40, Placeholder: "1 h", Hint: "How late a ping may be before the check goes down. From " + periodBounds + "."},
	"slug":         {Label: "Slug", Mono: true, Max: checks.MaxSlug, Placeholder: "nightly-backup", Hint: "Used in the ping URL: a–z, 0–9, hyphen and underscore."},
	"tags":         {Label: "Tags", Max: checks.MaxTags, Placeholder: "prod db", Hint: "Separate tags with spaces."},
	"desc":         {Label: "Description", Rows: 3, Max: checks.MaxDesc, Hint: "What the job does, and what to do when it fails."},
	"max_runtime":  {Label: "Maximum run time", Max: 40, Placeholder: "as the grace time", Hint: "How long a run may take after its start signal before the check goes down. " + periodBounds + ", or empty for the grace time."},
	"alert_after":  {Label: "Alert after", Max: 3, Placeholder: "1", Hint: fmt.Sprintf("Consecutive failures before an alert, 1 to %d. The status changes at the first.", checks.MaxAlertAfter)},
	"repeat_every": {Label: "Repeat every", Max: 40, Placeholder: "never", Hint: "Time between reminders while the check is down. " + periodBounds + ", or empty for none."},
	"quiet_hours":  {Label: "Quiet hours", Mono: true, Rows: 2, Max: checks.MaxQuietHours, Placeholder: "Mon..Fri 22:00-06:00; Sat,Sun 00:00-24:00", Hint: "When alerts wait. Separate windows with semicolons or line breaks. A single occasion: 2026-12-24 18:00/2026-12-27 06:00."},
	"start_kw":     {Label: "Start keywords", Max: checks.MaxKeywords, Placeholder: "started"},
	"success_kw":   {Label: "Success keywords", Max: checks.MaxKeywords, Placeholder: "completed, finished"},
	"failure_kw":   {Label: "Failure keywords", Max: checks.MaxKeywords, Placeholder: "ERROR, failed"},
}

// labels are what pages call settings that have no text.
var labels = map[string]string{
	"when": "Schedule type", "channels": "Integrations", "manual_resume": "Manual resume", "methods": "Methods",
	"filter_subject": "Subject filter", "filter_body": "E-mail body filter", "filter_http_body": "HTTP body filter",
	"filter_default_fail": "Default to failure",
}

// labelOf returns what pages call a setting.
func labelOf(name string) string {
	if in, ok := inputs[name]; ok {
		return in.Label
	}
	if label, ok := labels[name]; ok {
		return label
	}
	return name
}

// Input returns an input with its value and its error.
func (v *editView) Input(name string) input {
	in := inputs[name]
	in.Name, in.Value, in.Error = name, v.Form[name], v.Error(name)
	return in
}

// Error returns the error about an input, or "".
func (v *editView) Error(name string) string {
	for _, e := range v.Errors {
		if e.Field == name {
			return e.Text + "."
		}
	}
	return ""
}

// On reports whether a checkbox is set.
func (v *editView) On(name string) bool { return v.Form[name] != "" }

// section is a part of the form that can be closed.
type section struct {
	Name, Title string
	// About says what is in a section that is closed.
	About    string
	settings []string
	Open     bool
}

var sections = []section{
	{"about", "URL and notes", "slug, tags, description", []string{"slug", "tags", "desc"}, false},
	{"runs", "Runs and pings", "maximum run time, manual resume, methods", []string{"max_runtime", "manual_resume", "methods"}, false},
	{"alerts", "Alerts", "failures before an alert, reminders, quiet hours", []string{"alert_after", "repeat_every", "quiet_hours"}, false},
	{"keywords", "Keywords", "for jobs that cannot choose their ping URL", []string{"filter_http_body", "filter_subject", "filter_body", "start_kw", "success_kw", "failure_kw", "filter_default_fail", "sample_subject", "sample_body"}, false},
}

// Section returns a section. It is open if it has a setting that is not the default, or an error.
func (v *editView) Section(name string) section {
	for _, s := range sections {
		if s.Name == name {
			s.Open = slices.ContainsFunc(s.settings, func(setting string) bool {
				return v.Error(setting) != "" || v.Form[setting] != defaultForm[setting]
			})
			return s
		}
	}
	return section{}
}

// defaultForm is the form of a new check.
var defaultForm = formOf(checks.Check{Settings: checks.Defaults()})

// shownValue writes the value of a setting for a sentence.
func (v *editView) shownValue(s formSetting, f form) string {
	switch s.name {
	case "when":
		if f["kind"] == kindSchedule {
			return f["schedule"]
		}
		return "every " + f["timeout"]
	case "channels":
		var names []string
		for _, c := range v.Choices {
			if strings.Contains(f["channels"], c.ID) {
				names = append(names, c.Name)
			}
		}
		if names == nil {
			return "none"
		}
		return cut(strings.Join(names, ", "), 120)
	}
	switch text := s.value(f); {
	case text == "on":
		return "on"
	case text == "" && strings.HasPrefix(s.name, "filter_") || text == "" && s.name == "manual_resume":
		return "off"
	case text == "":
		return "empty"
	default:
		return cut(text, 120)
	}
}
