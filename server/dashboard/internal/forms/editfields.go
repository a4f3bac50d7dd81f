package forms

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// input is an input of the form of a check. Its label is that of the setting.
type input struct {
	Name, Hint  string
	Part        string // the section that has it, "" for the beginning of the page
	Placeholder string
	Mono        bool // for expressions
	List        string
	Rows        int    // of an input of several lines
	Box         string // what a checkbox asks for
	Sent        string // the value of a checkbox, if it is not "on"
	Max         int    // characters
}

// maxEntry bounds the line of a crontab that may be pasted as a schedule, in characters.
const maxEntry = 1000

const periodBounds = "1 min to 365 days"

// inputs are the inputs of settings in the order of the page, without values.
var inputs = []input{
	{Name: "name", Placeholder: "Nightly backup"},
	{Name: "timeout", Placeholder: "1 day", Hint: "Expected time between pings, such as 90 min, 1 day or 2 h 30 min. From " + periodBounds + "."},
	{Name: "schedule", Mono: true, Rows: 1, Max: maxEntry, Placeholder: "weekdays 7:30", Hint: "In words, such as every Monday at 9:00 or last day of the month at 23:30; or cron, such as 0 3 * * MON-FRI, or OnCalendar, such as Mon..Fri 03:00. Paste a whole line of a crontab if you like."},
	{Name: "tz", List: "zones", Placeholder: "Europe/Riga", Hint: "For the schedule and for quiet hours."},
	{Name: "grace", Placeholder: "1 h", Hint: "How late a ping may be before the check goes down. From " + periodBounds + "."},
	{Name: "channels"},

	{Part: "about", Name: "slug", Mono: true, Placeholder: "nightly-backup", Hint: "Used in the ping URL: a–z, 0–9, hyphen and underscore."},
	{Part: "about", Name: "tags", Placeholder: "prod db", Hint: "Separate tags with spaces."},
	{Part: "about", Name: "desc", Rows: 3, Hint: "What the job does, and what to do when it fails."},

	{Part: "runs", Name: "max_runtime", Placeholder: "as the grace time", Hint: "How long each run may take after its start signal before the check goes down. " + periodBounds + ", or empty for the grace time and the newest run alone."},
	{Part: "runs", Name: "manual_resume", Box: "Stay paused until resumed manually", Hint: "Otherwise the next ping resumes a paused check."},
	{Part: "runs", Name: "methods", Box: "Only POST requests count", Sent: "POST", Hint: "Others are logged as ignored."},

	{Part: "alerts", Name: "alert_after", Placeholder: "1", Hint: fmt.Sprintf("Consecutive failures before an alert, 1 to %d. The status changes at the first.", checks.SettingNamed("alert_after").Max)},
	{Part: "alerts", Name: "repeat_every", Placeholder: "never", Hint: "Time between reminders while the check is down. " + periodBounds + ", or empty for none."},
	{Part: "alerts", Name: "after", Mono: true, Placeholder: "nightly-dump", Hint: "Slugs of checks that this job needs, with commas. While one of them is down or late, an alert of this check waits."},
	{Part: "alerts", Name: "quiet_hours", Mono: true, Rows: 2, Placeholder: "Mon..Fri 22:00-06:00; Sat,Sun 00:00-24:00", Hint: "When alerts wait. Separate windows with semicolons or line breaks. A single occasion: 2026-12-24 18:00/2026-12-27 06:00."},
	{Part: "alerts", Name: "record_only", Box: "Record only: never alert", Hint: "Outages and runs are recorded as always."},

	{Part: "keywords", Name: "filter_http_body", Box: "the body of HTTP pings"},
	{Part: "keywords", Name: "filter_subject", Box: "the subject of e-mails"},
	{Part: "keywords", Name: "filter_body", Box: "the text of e-mails"},
	{Part: "keywords", Name: "start_kw", Placeholder: "started"},
	{Part: "keywords", Name: "success_kw", Placeholder: "completed, finished"},
	{Part: "keywords", Name: "failure_kw", Placeholder: "ERROR, failed"},
	{Part: "keywords", Name: "filter_default_fail", Box: "A ping without a keyword is a failure", Hint: "Otherwise it is ignored."},
}

// field returns the field of an input. It bounds how many characters it takes.
func (in input) field() ui.Field {
	switch s := checks.SettingNamed(in.Name); s.Zero.(type) {
	case time.Duration:
		in.Max = 40
	case int:
		in.Max = len(strconv.FormatInt(s.Max, 10))
	default:
		in.Max = cmp.Or(in.Max, int(s.Max), 64) // longer than the name of any time zone
	}
	attrs := fmt.Sprintf(`maxlength="%d" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="%s"`, in.Max, template.HTMLEscapeString(in.Placeholder))
	if in.List != "" {
		attrs += ` list="` + in.List + `"`
	}
	if in.Mono {
		attrs += ` class="mono"`
	}
	return ui.Field{Name: in.Name, Label: ui.SettingLabel(in.Name), Hint: in.Hint, Rows: in.Rows, Box: in.Box, Sent: in.Sent, Attrs: template.HTMLAttr(attrs)}
}

// inputNamed returns an input, or the zero value for what is no setting.
func inputNamed(name string) input {
	if i := slices.IndexFunc(inputs, func(in input) bool { return in.Name == name }); i >= 0 {
		return inputs[i]
	}
	return input{}
}

// newEditView adds the inputs to the view of a form.
func newEditView(v editView) *editView {
	v.Fields.Title = "Not saved"
	for _, in := range inputs {
		v.Fields.Fields = append(v.Fields.Fields, in.field())
	}
	return &v
}

// section is a part of the form that can be closed.
type section struct {
	Name, Title string
	// About says what is in a section that is closed.
	About  string
	Open   bool
	Inputs []ui.Field
}

var sections = []section{
	{Name: "about", Title: "URL and notes", About: "slug, tags, description"},
	{Name: "runs", Title: "Runs and pings", About: "maximum run time, manual resume, methods"},
	{Name: "alerts", Title: "Alerts", About: "failures before an alert, reminders, checks that come first, quiet hours"},
	{Name: "keywords", Title: "Keywords", About: "for jobs that cannot choose their ping URL"},
}

// Sections returns the sections. One is open if it has a setting that is not the default, a sample or an error.
func (v *editView) Sections() []section {
	list := slices.Clone(sections)
	for i := range list {
		s := &list[i]
		s.Open = s.Name == "keywords" && v.Form["sample_subject"]+v.Form["sample_body"] != ""
		for _, in := range inputs {
			if in.Part == s.Name {
				field := v.Fields.Field(in.Name)
				s.Inputs = append(s.Inputs, field)
				s.Open = s.Open || field.Error != "" || field.Value != defaultForm[in.Name]
			}
		}
	}
	return list
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
		return words.Cut(strings.Join(names, ", "), 120)
	}
	switch text := s.value(f); {
	case text == "on":
		return "on"
	case text == "" && checks.SettingNamed(s.name).Zero == false:
		return "off"
	case text == "":
		return "empty"
	default:
		return words.Cut(text, 120)
	}
}
