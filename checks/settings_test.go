package checks_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

func TestSpecAccepts(t *testing.T) {
	long := strings.Repeat("ü", 10_000)
	for name, spec := range map[string]checks.Spec{
		"nothing":           {},
		"empty texts":       {Name: new(""), Slug: new(""), Tags: []string{}, Desc: new(""), Methods: new(""), StartKW: new("")},
		"name":              {Name: new(long[:200])},
		"slug":              {Slug: new(strings.Repeat("a-z_09", 16))},
		"tags":              {Tags: []string{long[:1000]}},
		"desc":              {Desc: &long},
		"keywords":          {StartKW: new(long[:400]), SuccessKW: new(long[:400]), FailureKW: new(long[:400])},
		"least periods":     {Timeout: new(60 * time.Second), Grace: new(60 * time.Second)},
		"greatest periods":  {Timeout: new(31536000 * time.Second), Grace: new(31536000 * time.Second)},
		"cron":              {Schedule: new("*/5 9-17 * * MON-FRI")},
		"rare cron":         {Schedule: new("0 0 29 2 *")},
		"OnCalendar":        {Schedule: new("Mon..Fri 09:00")},
		"several lines":     {Schedule: new("Mon 09:00\nFri 17:00 Europe/Riga")},
		"post":              {Methods: new("POST")},
		"zone":              {TZ: new("America/Argentina/Buenos_Aires")},
		"channels":          {Channels: new("*")},
		"no limit of runs":  {MaxRuntime: new(time.Duration(0))},
		"limits of runs":    {MaxRuntime: new(60 * time.Second)},
		"long runs":         {MaxRuntime: new(31536000 * time.Second)},
		"no rules":          {AlertAfter: new(0), RepeatEvery: new(time.Duration(0)), QuietHours: new("")},
		"rules":             {AlertAfter: new(100), RepeatEvery: new(60 * time.Second), QuietHours: new("22:00-06:00; Sat 0:00-24:00")},
		"rare reminders":    {RepeatEvery: new(31536000 * time.Second)},
		"100 of a schedule": {Schedule: new("00" + strings.Repeat(",0", 45) + " * * * *")},
	} {
		if err := spec.Validate(noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpecRefuses(t *testing.T) { // server/API.md section 2.1; an error names the field and the bound
	for _, test := range []struct {
		spec        checks.Spec
		field, text string
	}{
		{checks.Spec{Name: new(strings.Repeat("ü", 101))}, "name", "name is too long: 101 characters, the maximum is 100"},
		{checks.Spec{Name: new("a\x00")}, "name", "name has a NUL character"},
		{checks.Spec{Name: new("\xff")}, "name", "name is not valid UTF-8"},
		{checks.Spec{Slug: new(strings.Repeat("a", 101))}, "slug", "slug is too long: 101 characters, the maximum is 100"},
		{checks.Spec{Slug: new("Upper")}, "slug", `slug may only have a-z, 0-9, hyphen and underscore: "Upper"`},
		{checks.Spec{Slug: new("a b")}, "slug", `slug may only have a-z, 0-9, hyphen and underscore: "a b"`},
		{checks.Spec{Slug: new("a\n")}, "slug", `slug may only have a-z, 0-9, hyphen and underscore: "a\n"`},
		{checks.Spec{Slug: new("ä")}, "slug", `slug may only have a-z, 0-9, hyphen and underscore: "ä"`},
		{checks.Spec{Tags: []string{strings.Repeat("a", 501)}}, "tags", "tags is too long: 501 characters, the maximum is 500"},
		{checks.Spec{Tags: []string{strings.Repeat("a", 250), strings.Repeat("a", 250)}}, "tags", "tags is too long: 501 characters, the maximum is 500"},
		{checks.Spec{Tags: []string{"db", "two words"}}, "tags", `tags has an item with a blank: "two words"`},
		{checks.Spec{Tags: []string{"a\x00"}}, "tags", "tags has a NUL character"},
		{checks.Spec{Tags: []string{"\xff"}}, "tags", "tags is not valid UTF-8"},
		{checks.Spec{Desc: new(strings.Repeat("a", 10_001))}, "desc", "desc is too long: 10001 characters, the maximum is 10000"},
		{checks.Spec{Timeout: new(59 * time.Second)}, "timeout", "timeout is too small: 59, the minimum is 60"},
		{checks.Spec{Timeout: new(31536001 * time.Second)}, "timeout", "timeout is too large: 31536001, the maximum is 31536000"},
		{checks.Spec{Timeout: new(-time.Second)}, "timeout", "timeout is too small: -1, the minimum is 60"},
		{checks.Spec{Timeout: new(90500 * time.Millisecond)}, "timeout", "timeout is not a whole number of seconds: 1m30.5s"},
		{checks.Spec{Grace: new(59 * time.Second)}, "grace", "grace is too small: 59, the minimum is 60"},
		{checks.Spec{Grace: new(31536001 * time.Second)}, "grace", "grace is too large: 31536001, the maximum is 31536000"},
		{checks.Spec{MaxRuntime: new(59 * time.Second)}, "max_runtime", "max_runtime is too small: 59, the minimum is 60"},
		{checks.Spec{MaxRuntime: new(31536001 * time.Second)}, "max_runtime", "max_runtime is too large: 31536001, the maximum is 31536000"},
		{checks.Spec{MaxRuntime: new(-time.Second)}, "max_runtime", "max_runtime is too small: -1, the minimum is 60"},
		{checks.Spec{MaxRuntime: new(90500 * time.Millisecond)}, "max_runtime", "max_runtime is not a whole number of seconds: 1m30.5s"},
		{checks.Spec{Schedule: new("")}, "schedule", ""},
		{checks.Spec{Schedule: new("99 * * * *")}, "schedule", ""},
		{checks.Spec{Schedule: new("0 0 31 2 *")}, "schedule", ""},
		{checks.Spec{Schedule: new("2020-01-01 00:00")}, "schedule", `schedule has no time to come: "2020-01-01 00:00"`},
		{checks.Spec{Schedule: new(strings.Repeat("0,", 47) + "0 * * * *")}, "schedule", "schedule is too long: 103 characters, the maximum is 100"},
		{checks.Spec{TZ: new("Mars/Phobos")}, "tz", ""},
		{checks.Spec{TZ: new("")}, "tz", ""},
		{checks.Spec{TZ: new("Local")}, "tz", ""},
		{checks.Spec{TZ: new("../etc/passwd")}, "tz", ""},
		{checks.Spec{Methods: new("GET")}, "methods", `methods must be "" or "POST": "GET"`},
		{checks.Spec{Methods: new("post")}, "methods", `methods must be "" or "POST": "post"`},
		{checks.Spec{Channels: new("a\x00")}, "channels", "channels has a NUL character"},
		{checks.Spec{StartKW: new(strings.Repeat("a", 201))}, "start_kw", "start_kw is too long: 201 characters, the maximum is 200"},
		{checks.Spec{SuccessKW: new(strings.Repeat("a", 201))}, "success_kw", "success_kw is too long: 201 characters, the maximum is 200"},
		{checks.Spec{FailureKW: new(strings.Repeat("a", 201))}, "failure_kw", "failure_kw is too long: 201 characters, the maximum is 200"},
		{checks.Spec{AlertAfter: new(101)}, "alert_after", "alert_after is too large: 101, the maximum is 100"},
		{checks.Spec{AlertAfter: new(-1)}, "alert_after", "alert_after is too small: -1, the minimum is 0"},
		{checks.Spec{RepeatEvery: new(59 * time.Second)}, "repeat_every", "repeat_every is too small: 59, the minimum is 60"},
		{checks.Spec{RepeatEvery: new(-time.Hour)}, "repeat_every", "repeat_every is too small: -3600, the minimum is 60"},
		{checks.Spec{RepeatEvery: new(31536001 * time.Second)}, "repeat_every", "repeat_every is too large: 31536001, the maximum is 31536000"},
		{checks.Spec{RepeatEvery: new(time.Millisecond)}, "repeat_every", "repeat_every is not a whole number of seconds: 1ms"},
		{checks.Spec{QuietHours: new("22-6")}, "quiet_hours", `quiet_hours cannot be read: "22-6": "22" is not a time like 22:00`},
		{checks.Spec{QuietHours: new("0:00-24:00")}, "quiet_hours",
			"quiet_hours cannot be read: the windows cover all time, so that no alert would ever be sent"},
		{checks.Spec{QuietHours: new("22:00-06:00" + strings.Repeat(" ", 190))}, "quiet_hours", "quiet_hours is too long: 201 characters, the maximum is 200"},
		{checks.Spec{After: new("a,b c d e f g h i j k")}, "after", "after names too many checks: 11, the maximum is 10"},
		{checks.Spec{After: new("a,B")}, "after", `after has an item that is neither a slug nor an ID: "B"`},
		{checks.Spec{After: new(strings.Repeat("a", 1011))}, "after", "after is too long: 1011 characters, the maximum is 1010"},
		{checks.Spec{QuietHours: new("\xff")}, "quiet_hours", "quiet_hours is not valid UTF-8"},
	} {
		_, err := checks.New(uuid.New(), test.spec, noon)
		refused, ok := errors.AsType[*checks.FieldError](err)
		if !ok || refused.Field != test.field {
			t.Errorf("%s: error %v", test.field, err)
			continue
		}
		if test.text != "" && err.Error() != test.text {
			t.Errorf("error %q, want %q", err, test.text)
		}
	}
}

// TestAllSettings checks that the table has all settings, and that each row reads and writes its own.
func TestAllSettings(t *testing.T) {
	var spec checks.Spec
	for _, s := range checks.AllSettings() {
		if got := s.Value(spec); got != nil {
			t.Errorf("%s of what earlier settings set is %v", s.Name, got)
		}
		s.Set(&spec, s.Example)
		if got := s.Value(spec); !cmp.Equal(got, s.Example) || cmp.Equal(got, s.Zero) {
			t.Errorf("%s is %v, want its example %v", s.Name, got, s.Example)
		}
	}
	if fields := reflect.TypeFor[checks.Spec]().NumField() - 1; fields != len(checks.AllSettings()) { // all but ID
		t.Errorf("%d settings of %d fields", len(checks.AllSettings()), fields)
	}
	of, defaults := newCheck(t, spec).Settings.Spec(), checks.Defaults().Spec()
	for _, s := range checks.AllSettings() {
		want := s.Example
		if s.Name == "channels" || s.Name == "timeout" { // not of settings; ignored beside a schedule
			want = nil
		}
		if diff := cmp.Diff(want, s.Value(of)); diff != "" {
			t.Errorf("%s of a check (-want +got):\n%s", s.Name, diff)
		}
		if cmp.Equal(s.Example, s.Value(defaults)) {
			t.Errorf("the example of %s is the default", s.Name)
		}
	}
}

// TestUpdateTags checks which lists of tags change those of a check, and that a check shares no memory with its spec.
func TestUpdateTags(t *testing.T) {
	for name, test := range map[string]struct{ tags, want []string }{
		"not given":     {nil, []string{"db", "prod"}},
		"none":          {[]string{}, nil},
		"one empty":     {[]string{""}, nil},
		"others":        {[]string{"web"}, []string{"web"}},
		"the same tags": {[]string{"prod", "db", "prod"}, []string{"prod", "db", "prod"}},
		"empty ones":    {[]string{"", "", "a", ""}, []string{"", "", "a", ""}},
	} {
		c, _, err := newCheck(t, checks.Spec{Tags: []string{"db", "prod"}}).Update(checks.Spec{Tags: test.tags}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if len(test.tags) > 0 {
			test.tags[0] = "changed"
		}
		if diff := cmp.Diff(test.want, c.Tags); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if tags := c.Settings.Spec().Tags; tags == nil || !slices.Equal(tags, c.Tags) {
			t.Errorf("%s: the spec of the settings has the tags %q", name, tags)
		}
	}
}

// TestTagsAsText checks that the form of the API keeps its white space and its order.
func TestTagsAsText(t *testing.T) {
	for _, text := range []string{"", " ", "db", "db prod", "  db prod\tdb  ünï ", "a\nb"} {
		var spec checks.Spec
		checks.SettingNamed("tags").Set(&spec, text)
		if got := strings.Join(spec.Tags, " "); got != text || spec.Tags == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestRefusedUpdateChangesNothing updates with one bad field among good ones.
func TestRefusedUpdateChangesNothing(t *testing.T) {
	c := hourly(t)
	c, _, _, _ = c.Ping(pingSuccess, noon)
	got, made, err := c.Update(checks.Spec{Name: new("x"), Timeout: new(time.Minute), FailureKW: new(strings.Repeat("a", 201))}, noon.Add(time.Hour))
	if err == nil || len(made.Transitions) != 0 || !c.Equal(got) {
		t.Errorf("a refused update: %v, %v", made, err)
	}
}

func TestRenamedZone(t *testing.T) {
	c := newCheck(t, checks.Spec{Schedule: new("0 3 * * *"), TZ: new("Europe/Kiev")})
	if c.TZ != "Europe/Kyiv" {
		t.Errorf("zone %s", c.TZ)
	}
}

func TestProjectLimits(t *testing.T) { // server/API.md section 8
	for _, test := range []struct {
		p      checks.Project
		checks int
	}{
		{checks.Project{Plan: "free"}, 20},
		{checks.Project{Plan: "paid"}, 0},
		{checks.Project{Plan: "paid", MaxChecks: 5}, 5},
		{checks.Project{Plan: "free", MaxChecks: 50}, 50},
	} {
		if test.p.CheckLimit() != test.checks {
			t.Errorf("%+v: %d checks", test.p, test.p.CheckLimit())
		}
	}
}
