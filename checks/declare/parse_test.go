package declare_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rollcall-dev/rollcall/checks/declare"
)

func TestParseErrors(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"empty":            {"", "f.yaml: the file is empty"},
		"only a comment":   {"# nothing\n", "f.yaml: the file is empty"},
		"null":             {"~", "f.yaml:1:1: the file must be a mapping with the key projects, channels, escalation, checks, status_pages or maintenance"},
		"a list":           {"- slug: a", "f.yaml:1:1: the file must be a mapping with the key projects, channels, escalation, checks, status_pages or maintenance"},
		"nothing known":    {"x-a: 1", "f.yaml:1:1: the file has none of the keys projects, channels, escalation, checks, status_pages and maintenance"},
		"syntax":           {"checks:\n  - slug: a\n   name: b\n", "f.yaml:3:4: did not find expected '-' indicator, while parsing a block collection"},
		"not UTF-8":        {"checks: \xff", "f.yaml: invalid leading UTF-8 octet (value: 255)"},
		"two documents":    {"checks: []\n---\nchecks: []", "f.yaml:2:1: the file has a second document; put everything into one"},
		"unknown anchor":   {"checks: *a", "f.yaml:1:9: unknown anchor 'a' referenced"},
		"a cycle":          {"checks: &a [*a]", "f.yaml:1:9: a check is not a mapping\nf.yaml:1:9: a check has no slug"},
		"merged in itself": {"checks: [&a {slug: x, <<: *a}]", "f.yaml:1:10: merge keys are nested more than 10 deep"},
		"both forms":       {"projects: []\nchecks: []", "f.yaml:1:11: projects and top-level channels, escalation, checks, status_pages or maintenance cannot be combined; move these into a project"},
		"unknown at top":   {"project: []\nchecks: []", `f.yaml:1:1: the file has an unknown key: "project", the known keys are projects, channels, escalation, checks, status_pages, maintenance`},
		"no value":         {"checks:", "f.yaml:1:1: checks has no value"},
		"twice":            {"checks: []\nchecks: []", `f.yaml:2:1: duplicate key "checks"`},
		"no slug":          {"checks:\n  - name: a", "f.yaml:2:5: a check has no slug"},
		"empty slug":       {`checks: [{slug: ""}]`, "f.yaml:1:17: slug is empty"},
		"slug form":        {`checks: [{slug: A b}]`, `f.yaml:1:17: slug may only have a-z, 0-9, hyphen and underscore: "A b"`},
		"same slug":        {"checks:\n- slug: a\n- slug: a", `f.yaml:3:9: duplicate slug "a", first used in line 2`},
		"a number":         {"checks: [{slug: 123}]", `f.yaml:1:17: slug is not a string: write it in quotes, as "123"`},
		"a cron star":      {"checks:\n- slug: a\n  schedule: * * * * * # all\n", `f.yaml:3:13: the value of schedule needs quotation marks, because "*" has a meaning in YAML: "* * * * *"`},
		"a cron step":      {"checks:\n  - slug: a\n    schedule: */5 * * * *\n", `f.yaml:3:15: the value of schedule needs quotation marks, because "*" has a meaning in YAML: "*/5 * * * *"`},
		"a star in a flow": {"checks:\n  - {slug: a, schedule: */5 1,2 * * *}\n", `f.yaml:2:25: the value of schedule needs quotation marks, because "*" has a meaning in YAML: "*/5 1,2 * * *"`},
		"an OnCalendar":    {"checks:\n  - slug: a\n    schedule: *-*-* 03:00\n", `f.yaml:3:15: the value of schedule needs quotation marks, because "*" has a meaning in YAML: "*-*-* 03:00"`},
		"a word of cron":   {"checks:\n  - slug: a\n    schedule: @daily\n", `f.yaml:3:15: the value of schedule needs quotation marks, because "@" has a meaning in YAML: "@daily"`},
		"a star in a list": {"checks:\n  - slug: a\n    tags:\n    - *all* jobs\n", `f.yaml:4:7: the value needs quotation marks, because "*" has a meaning in YAML: "*all* jobs"`},
		"a colon":          {"checks:\n  - slug: a\n    desc: ü see: x\n", `f.yaml:3:11: the value of desc needs quotation marks, because ": " has a meaning in YAML: "ü see: x"`},
		"a lost alias":     {"checks:\n  - slug: a\n    tags: *base\n", "f.yaml:3:11: unknown anchor 'base' referenced"},
		"all of a check": {
			"checks:\n- slug: a\n  timeout: 59\n  grace: 2x\n  schedule: 61 * * * *\n  tz: Europe/Rigga\n  methods: GET\n  manual_resume: 1\n  tags: [a b]\n  colour: red",
			`f.yaml:3:12: timeout is too small: 59, the minimum is 60
f.yaml:4:10: grace is neither a whole number of seconds nor a duration such as 90s, 30m or 24h: "2x"
f.yaml:5:13: schedule is not a valid cron or OnCalendar expression: minute: 61 is not in 0–59
f.yaml:6:7: tz is not a valid time zone: "Europe/Rigga" is not a time zone of the IANA database; did you mean Europe/Riga?
f.yaml:7:12: methods must be "" or "POST": "GET"
f.yaml:8:18: manual_resume is not true or false
f.yaml:9:10: an item of tags contains " ": "a b"
f.yaml:10:3: a check has an unknown key: "colour", the known keys are slug, name, tags, desc, timeout, schedule, tz, grace, max_runtime, channels, manual_resume, methods, start_kw, success_kw, failure_kw, filter_subject, filter_body, filter_http_body, filter_default_fail, alert_after, repeat_every, quiet_hours, record_only, after`,
		},
		"periods": {
			"checks:\n- {slug: a, timeout: 1.5}\n- {slug: b, timeout: 99999999999999999999}\n- {slug: c, timeout: 90.5s}\n- {slug: d, grace: 366h24m}\n- {slug: e, grace: 8761h}\n- {slug: f, grace: -1h}\n- {slug: g, max_runtime: 0}\n- {slug: h, max_runtime: 59}",
			`f.yaml:2:22: timeout is neither a whole number of seconds nor a duration such as 90s, 30m or 24h: "1.5"
f.yaml:3:22: timeout is neither a whole number of seconds nor a duration such as 90s, 30m or 24h: "99999999999999999999"
f.yaml:4:22: timeout is not a whole number of seconds: 1m30.5s
f.yaml:6:20: grace is too large: 31539600, the maximum is 31536000
f.yaml:7:20: grace is too small: -3600, the minimum is 60
f.yaml:9:26: max_runtime is too small: 59, the minimum is 60`,
		},
		"projects": {
			"projects:\n- {plan: gold}\n- {name: \"\"}\n- {name: a}\n- {name: a, max_checks: -1}",
			`f.yaml:2:3: a project has no name
f.yaml:2:10: plan is not free or paid: "gold"
f.yaml:3:10: name is empty
f.yaml:5:10: duplicate project "a", first used in line 4
f.yaml:5:25: max_checks is not a whole number of 0 or more`,
		},
		"status pages": {
			"projects:\n- name: a\n  status_pages:\n  - {slug: up, title: T}\n  - {title: T}\n  - {slug: A b, title: T}\n  - {slug: x, title: ' '}\n  - {slug: y, title: T, tags: [a b], logo: z}\n  - {slug: z}\n- name: b\n  status_pages:\n  - {slug: up, title: T}",
			`f.yaml:5:5: a status page has no slug
f.yaml:6:12: slug may only have a-z, 0-9 and hyphen: "A b"
f.yaml:7:22: title is empty
f.yaml:8:32: an item of tags contains " ": "a b"
f.yaml:8:38: a status page has an unknown key: "logo", the known keys are slug, title, description, tags, names, min_outage
f.yaml:9:5: a status page has no title
f.yaml:12:12: duplicate slug of a status page "up", first used in line 4`,
		},
		"channels": {
			"channels:\n- {name: a, kind: pigeon}\n- {name: b, kind: email}\n- {name: c, kind: email, settings: {to: nobody}}\n- {name: d, kind: email, settings: {to: a@b.c, cc: x}}\n- {name: d, kind: email, settings: {to: {env: NOSUCH}}}\n- {name: e, kind: email, settings: {to: {file: none}}}\n- {name: f, kind: email, settings: {to: {env: TOKEN}}}\n- {name: g, kind: email, settings: {to: {}}}",
			`f.yaml:3:3: email: to is missing
f.yaml:4:37: email: to is not a comma-separated list of e-mail addresses
f.yaml:5:48: email: cc is not a setting of this kind, which has to, unsubscribed, notify
f.yaml:6:10: duplicate channel "d", first used in line 5
f.yaml:6:47: the environment variable "NOSUCH" is not set
f.yaml:7:48: the file "none" cannot be read: file does not exist
f.yaml:8:37: email: to is not a comma-separated list of e-mail addresses
f.yaml:9:41: the value of to must have one of the keys env and file`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := parse(t, test.file)
			list, ok := errors.AsType[declare.Errors](err)
			if !ok {
				t.Fatalf("error %v and document %+v; want Errors", err, doc)
			}
			equal(t, "errors", list.Error(), test.want)
		})
	}
}

func TestParseBounds(t *testing.T) {
	_, err := parse(t, "checks:\n"+strings.Repeat("- 1\n", declare.MaxChecks))
	list, _ := errors.AsType[declare.Errors](err)
	if len(list) != 100 {
		t.Errorf("%d errors", len(list))
	}
	_, err = parse(t, strings.Repeat(" ", declare.MaxFile+1))
	equal(t, "a long file", err.Error(), "f.yaml: the file is too long: 10485761 bytes, the maximum is 10485760")
	_, err = parse(t, "checks: "+strings.Repeat("[", 100_000))
	if err == nil {
		t.Error("a deep file was accepted")
	}
	// Each of ten mappings merges the previous one ten times: 500 bytes expand to 10⁹ keys.
	merges := "x-0: &m0 {name: x}\n"
	for i := range 9 {
		merges += fmt.Sprintf("x-%d: &m%d {<<: [%s]}\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d,", i), 10), ","))
	}
	const many = ": the file has more than 1000000 entries once its aliases and merge keys are expanded"
	_, err = parse(t, merges+"checks: [{slug: a, <<: *m9}]")
	if err == nil || !strings.HasSuffix(err.Error(), many) {
		t.Errorf("nested merges: %v", err)
	}
	// 2,000 projects with the same 2,000 checks, all of them valid.
	var shared strings.Builder
	shared.WriteString("x-p: &p\n  checks:\n")
	for i := range 2000 {
		fmt.Fprintf(&shared, "  - slug: c%d\n", i)
	}
	shared.WriteString("projects:\n")
	for i := range 2000 {
		fmt.Fprintf(&shared, "- {<<: *p, name: p%d}\n", i)
	}
	_, err = parse(t, shared.String())
	if err == nil || !strings.Contains(err.Error(), ": the file has more than 20000 checks, ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a list of checks merged into many projects: %v", err)
	}
	// A list of aliases to a list of entries must not multiply them.
	_, err = parse(t, "x-c: &c ["+strings.Repeat("{slug: a},", 1000)+"]\nprojects: ["+strings.Repeat("{name: a, checks: *c},", 1000)+"]")
	if err == nil {
		t.Error("a file of aliases was accepted")
	}
}

// TestManyChecks refuses a file of 300,000 checks before it reads them into memory, in each form, and takes one of 10,000.
func TestManyChecks(t *testing.T) {
	repeat := func(n int, begin, format, end string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + end
	}
	for name, text := range map[string]string{
		"block": repeat(300_000, "checks:\n", "- slug: c%d\n  timeout: 60\n", ""),
		"flow":  repeat(300_000, "checks:\n", "- {slug: c%d, timeout: 60}\n", ""),
		"line":  repeat(300_000, "checks: [", "{slug: c%d, timeout: 60},", "]"),
		"JSON":  repeat(300_000, `{"checks":[`, `{"slug":"c%d"},`, `{"slug":"a"}]}`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parse(t, text)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "keys and list items, the maximum is 200000: split it") {
			t.Errorf("%s: %.200v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: %d bytes for %d of text", name, used, len(text))
		}
	}
	if _, err := parse(t, repeat(declare.MaxChecks, "projects:\n- name: a\n  checks: [{slug: a}]\n- name: b\n  checks:\n", "  - slug: c%d\n", "")); err == nil || !strings.Contains(err.Error(), "the file has more than 20000 checks, ") {
		t.Errorf("too many checks: %.200v", err)
	}
	prose := strings.Repeat("Copies the tables, views, and indexes [all of them]. ", 5)
	doc, err := parse(t, repeat(10_000, "checks:\n", "- slug: c%d\n  schedule: 0 3 * * *\n  tz: Europe/Riga\n  grace: 30m\n  tags: [a, b]\n  desc: |\n    "+prose+"\n    "+prose+"\n", ""))
	if err != nil || len(doc.Projects[0].Checks) != 10_000 {
		t.Errorf("10,000 checks: %.200v", err)
	}
}

// Parse accepts JSON, anchors, merge keys, and lists in place of joined strings.
func TestForms(t *testing.T) {
	want := mustParse(t, "checks:\n- slug: a\n  name: \"\\U0001F600 \\\\ud83d\"\n  tags: x y\n  timeout: 3600\n  grace: 90s\n  channels: a,b\n  tz: Europe/Riga\n")
	for _, text := range []string{
		`{"checks": [{"slug": "a", "name": "\ud83d\ude00 \\ud83d", "tags": "x y", "timeout": 3600, "grace": 90, "channels": "a,b", "tz": "Europe/Riga"}]}`,
		"x-all: &all {tz: Europe/Riga, grace: 1h}\nchecks:\n- <<: *all\n  slug: a\n  name: \"\\U0001F600 \\\\ud83d\"\n  tags: [x, y]\n  timeout: 1h\n  grace: 1m30s\n  channels: [a, b]\n",
		"x-all: &all {tz: Europe/Riga}\nx-g: &g {grace: 90, slug: b}\nchecks:\n- {<<: [*all, *g], slug: &s a, name: \"😀 \\\\ud83d\", tags: x y, timeout: 60m0s, channels: 'a,b'}\n",
	} {
		got := mustParse(t, text)
		equal(t, text, got.Projects[0].Checks[0].Spec, want.Projects[0].Checks[0].Spec)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("projects:\n- name: a\n  plan: free\n  channels:\n  - {name: b, kind: email, settings: {to: {env: X}}}\n  checks:\n  - &c {slug: a, timeout: 1h, tags: [a, b]}\n  - <<: *c\n    slug: d\n")
	f.Add(`{"checks": [{"slug": "a", "grace": 90, "desc": "\ud83d\ude00"}]}`)
	f.Add("checks: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		doc, err := parse(t, text)
		if err != nil {
			if _, ok := errors.AsType[declare.Errors](err); !ok {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		var b strings.Builder
		if err := doc.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := parse(t, b.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		var c strings.Builder
		if err := again.Write(&c); err != nil || c.String() != b.String() {
			t.Fatalf("%v\n%s\n%s", err, b.String(), c.String())
		}
	})
}
