package manage

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// settingFlags are the flags of all settings of a check. They are made from the table of settings, so that a new setting has one.
type settingFlags struct {
	Settings kong.Plugins `embed:""`
}

// Prepare completes the commands before the command line is parsed.
func (c *Commands) Prepare() {
	c.Check.Create.Settings = kong.Plugins{reflect.New(settingStruct).Interface()}
	c.Check.Set.Settings = kong.Plugins{reflect.New(settingStruct).Interface()}
}

// flagText is what a flag says about its setting.
type flagText struct {
	group, placeholder, help string
	more                     string // further tags of the flag
}

// flagTexts has a text for each setting. A setting without one has a flag that shows its example.
var flagTexts = map[string]flagText{
	"schedule": {"Schedule:", "EXPR", "When the job runs: a cron or OnCalendar expression, in quotation marks.", ""},
	"timeout":  {"Schedule:", "DURATION", "Time between two runs, such as 30m, 6h or 1d: 1m to 365d.", `aliases:"timeout"`},
	"tz":       {"Schedule:", "ZONE", "Time zone of the schedule and of the quiet hours, such as Europe/Riga.", `completion:"zone"`},
	"grace":    {"Schedule:", "DURATION", "How late a run may report before the check is down: 1m to 365d.", ""},
	"max_runtime": {"Schedule:", "DURATION", "How long each run may take after its start: 1m to 365d (default: the grace time, for the newest run).",
		""},
	"name": {"Check:", "NAME", "Name, up to 100 characters.", ""},
	"slug": {"Check:", "SLUG", "Slug for ping URLs and commands: a-z, 0-9, hyphen and underscore.", ""},
	"tags": {"Check:", "TAG", "Tag, or several with blanks between them. Repeatable.", `aliases:"tag" sep:"none"`},
	"desc": {"Check:", "TEXT", "Description for those who are alerted.", ""},
	"channels": {"Alerts:", "NAMES", "Integrations to alert, by name or id, separated by commas; * for all that exist now.",
		`completion:"channels"`},
	"alert_after":  {"Alerts:", "N", "Number of failures in a row before an alert, 2 to 100.", ""},
	"repeat_every": {"Alerts:", "DURATION", "Interval at which to repeat the alert while the check is down: 1m to 365d.", ""},
	"quiet_hours":  {"Alerts:", "WINDOWS", "Windows in which to hold back alerts, separated by semicolons.", ""},
	"after": {"Alerts:", "SLUGS", "Checks that this one follows, separated by commas: while one of them is down or late, the alert waits.",
		`completion:"checks"`},
	"record_only":         {"Alerts:", "", "Never alert, only record runs and outages.", ""},
	"manual_resume":       {"Pings:", "", "Ignore pings while the check is paused, until check resume.", ""},
	"methods":             {"Pings:", "POST", "Count only pings by POST.", `completion:"POST"`},
	"start_kw":            {"Pings:", "WORDS", "Keywords of a start, separated by commas.", ""},
	"success_kw":          {"Pings:", "WORDS", "Keywords of a success, separated by commas.", ""},
	"failure_kw":          {"Pings:", "WORDS", "Keywords of a failure, separated by commas.", ""},
	"filter_subject":      {"Pings:", "", "Look for keywords in the subject of e-mail.", ""},
	"filter_body":         {"Pings:", "", "Look for keywords in the text of e-mail.", ""},
	"filter_http_body":    {"Pings:", "", "Look for keywords in the body of HTTP pings.", ""},
	"filter_default_fail": {"Pings:", "", "Count pings without a keyword as failures, instead of ignoring them.", ""},
}

// flagOf returns the flag of a setting, without its dashes.
func flagOf(s checks.Setting) string {
	if s.Name == "timeout" {
		return "every"
	}
	return strings.ReplaceAll(s.Name, "_", "-")
}

// settingStruct is a struct with a field for the flag of each setting, nil unless the flag is given.
var settingStruct = reflect.StructOf(settingFields())

// flagGroups are the groups of flags in their order in the help.
var flagGroups = []string{"Schedule:", "Alerts:", "Check:", "Pings:"}

func settingFields() (fields []reflect.StructField) {
	all := checks.AllSettings()
	slices.SortStableFunc(all, func(a, b checks.Setting) int {
		return slices.Index(flagGroups, flagTexts[a.Name].group) - slices.Index(flagGroups, flagTexts[b.Name].group)
	})
	for _, s := range all {
		text, ok := flagTexts[s.Name]
		if !ok {
			text = flagText{"Check:", "VALUE", "The setting " + s.Name + ", such as " + checks.ValueText(s.Example) + ".", ""}
		}
		of := reflect.TypeFor[*string]()
		switch s.Zero.(type) {
		case bool:
			of = reflect.TypeFor[*bool]()
			text.help += " --" + flagOf(s) + "=false ends that."
		case []string:
			of = reflect.TypeFor[[]string]()
		}
		tag := fmt.Sprintf("name:%q env:%q group:%q placeholder:%q help:%q %s", flagOf(s), "-", text.group, text.placeholder, text.help, text.more)
		fields = append(fields, reflect.StructField{Name: fieldOf(s), Type: of, Tag: reflect.StructTag(tag)})
	}
	return fields
}

// fieldOf returns the name of the field of a setting.
func fieldOf(s checks.Setting) string { return strings.ToUpper(s.Name[:1]) + s.Name[1:] }

// spec returns the settings that flags set, which are those of given.
func (f settingFlags) spec() (spec checks.Spec, given []checks.Setting, err error) {
	values := reflect.ValueOf(f.Settings[0]).Elem()
	for _, s := range checks.AllSettings() {
		field := values.FieldByName(fieldOf(s))
		if field.IsNil() {
			continue
		}
		var value any
		switch of := field.Interface().(type) {
		case *bool:
			value = *of
		case []string:
			value = strings.Fields(strings.Join(of, " "))
		case *string:
			if value, err = parseSetting(s, *of); err != nil {
				return spec, given, console.Usagef("--%s: %q %v", flagOf(s), *of, err)
			}
		}
		given = append(given, s)
		s.Set(&spec, value)
	}
	if spec.Schedule != nil && *spec.Schedule != "" && spec.Timeout != nil {
		return spec, given, console.Usagef("--schedule and --every exclude each other")
	}
	return spec, given, namingFlag(spec.Validate(time.Now()))
}

// parseSetting reads the value of a flag. "none" and "" are none, where a setting can have none.
func parseSetting(s checks.Setting, text string) (any, error) {
	isList := s.Name == "channels" || s.Name == "after" || s.Name == "quiet_hours"
	if text == "none" && (isList || s.Optional) {
		text = ""
	}
	if text == "" && s.Optional {
		text = "0"
	}
	switch s.Zero.(type) {
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, errors.New("is not a whole number")
		}
		return n, nil
	case time.Duration:
		return parsePeriod(s, text)
	}
	return text, nil
}

// parsePeriod reads a duration within the bounds of a setting.
func parsePeriod(s checks.Setting, text string) (time.Duration, error) {
	d, err := checks.ParseDuration(text)
	switch seconds := int64(d / time.Second); {
	case err != nil, d == 0 && s.Optional:
		return d, err
	case seconds < s.Min:
		return d, fmt.Errorf("is too short: the minimum is %s", prose.Period(time.Duration(s.Min)*time.Second))
	case seconds > s.Max:
		return d, fmt.Errorf("is too long: the maximum is %s", prose.Period(time.Duration(s.Max)*time.Second))
	}
	return d, nil
}

// namingFlag replaces the field in the error of a setting by its flag.
func namingFlag(err error) error {
	field, ok := errors.AsType[*checks.FieldError](err)
	if !ok {
		return err
	}
	for _, s := range checks.AllSettings() {
		if s.Name == field.Field {
			return console.Usagef("--%s %s", flagOf(s), strings.TrimPrefix(field.Error(), field.Field+" "))
		}
	}
	return err
}
