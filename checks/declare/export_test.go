package declare_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

func TestExport(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	s.apply(backups, declare.Options{})
	const want = `projects:
  - name: backups
    plan: free
    channels:
      - name: ops
        kind: email
        settings:
          to: ops@example.org
      - name: pager
        # url_down is secret and left out. A channel that exists keeps its value; for a new one, or to change it, add url_down: {env: NAME}
        # headers_down is secret and left out. A channel that exists keeps its value; for a new one, or to change it, add headers_down: {env: NAME}
        kind: webhook
    checks:
      - slug: nightly
        name: Nightly backup
        tags: db prod
        schedule: 0 3 * * *
        tz: Europe/Riga
        grace: 30m
        channels: ops,pager
      - slug: hourly
        timeout: 1h
        grace: 1h
        channels: ops,pager
    status_pages: []
`
	equal(t, "export", s.export("backups"), want)
	// With the required secret added, the export creates the same channels and checks in another database.
	other := open(t, dbtest.SQLite(t))
	const pager = "        kind: webhook\n"
	other.apply(strings.Replace(want, pager, pager+"        settings: {url_down: {env: HOOK}}\n", 1), declare.Options{})
	const headers = "        # headers_down is secret and left out. A channel that exists keeps its value; for a new one, or to change it, add headers_down: {env: NAME}\n"
	equal(t, "export of the copy", other.export("backups"), strings.Replace(want, headers, "", 1))
}

// An export names the source of a value from a variable or a file and hides the value, even if the kind does not mark
// the setting as secret.
func TestExportSources(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	const file = `projects:
- name: backups
  channels:
  - {name: ops, kind: email, settings: {to: {env: OPS}}}
  - {name: hook, kind: webhook, settings: {url_down: {env: HOOK}, body_down: {file: body.txt}}}
`
	inline := strings.Replace(file, "{env: OPS}", secrets["OPS"], 1)
	s.apply(inline, declare.Options{})
	if text := s.export("backups"); !strings.Contains(text, "to: s3cret@example.org") || strings.Contains(text, "token=s3cret") {
		t.Error(text)
	}
	equal(t, "the source alone changes", s.apply(file, declare.Options{}), "project \"backups\"\n  ~ channel \"ops\"\n      ~ to: (hidden) -> ($OPS)\n")
	text := s.export("backups")
	for _, want := range []string{"to: {env: OPS}", "body_down: {file: body.txt}", "# url_down is secret and left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "s3cret") {
		t.Errorf("a value from outside the file is exported:\n%s", text)
	}
	equal(t, "an export changes nothing", s.apply(text, declare.Options{Prune: true}), "")
	if text := s.export("backups"); strings.Contains(text, "s3cret") {
		t.Errorf("applying the export forgot the sources:\n%s", text)
	}
	equal(t, "a value in the file", s.apply(inline, declare.Options{}), "project \"backups\"\n  ~ channel \"ops\"\n      ~ to: (hidden) -> \"s3cret@example.org\"\n")
}

// TestUnknownKind exports and applies a project with a channel of a kind that only another program knows. Its settings
// count as secret; what exists passes and stays, and nothing else does.
func TestUnknownKind(t *testing.T) {
	db := dbtest.SQLite(t)
	s := open(t, db)
	own := []channels.Type{{Kind: "radio", Settings: []channels.Setting{{Name: "token", Secret: true}, {Name: "volume"}}}}
	other, err := monitor.New(db.Open(t), &monitor.Config{Channels: own, DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	project, err := other.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{"token": "s3cret", "volume": "11", "notify": "down"}
	radio, err := other.Project(project.ID()).CreateChannel(t.Context(), channels.Channel{Kind: "radio", Name: "night", Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Project(project.ID()).CreateChannel(t.Context(), channels.Channel{Kind: channels.Group, Name: "all", Settings: map[string]string{"channels": "night"}}); err != nil {
		t.Fatal(err)
	}
	text := s.export("p")
	equal(t, "export", text, `projects:
  - name: p
    plan: paid
    channels:
      - name: night
        kind: radio
        # token is left out, because it may be secret: the kind radio is unknown here. A channel that exists keeps its value
        # volume is left out, because it may be secret: the kind radio is unknown here. A channel that exists keeps its value
        settings:
          notify: down
      - name: all
        kind: group
        settings:
          channels: night
    checks: []
    status_pages: []
`)
	for _, project := range declare.Export(s.state("p")).Channels {
		if strings.Contains(fmt.Sprintf("%v %+v %#v", project, project, project), "s3cret") {
			t.Error("the export has a secret")
		}
	}
	equal(t, "applied", s.apply(text, declare.Options{Prune: true}), "")
	same := strings.Replace(text, "notify: down", "notify: down\n          volume: 11", 1)
	equal(t, "with a value as it is", s.apply(same, declare.Options{}), "")
	const unknown = `kind is unknown: "radio", the known kinds are email, webhook, sms, `
	for _, change := range []string{"notify: down\n          token: other", "notify: up"} {
		got := s.refused(strings.Replace(text, "notify: down", change, 1), declare.OnProjects(s.mon.Projects()))
		if want := `f.yaml:10:11: the settings of the channel "night" cannot change: the kind radio is unknown here`; got != want {
			t.Errorf("%s: %s, want %s", change, got, want)
		}
	}
	got := s.refused(strings.ReplaceAll(text, "night", "day"), declare.OnProjects(s.mon.Projects()))
	if want := "f.yaml:6:15: " + unknown; !strings.HasPrefix(got, want) {
		t.Errorf("a new channel: %s, want %s", got, want)
	}
	if list, err := other.Project(project.ID()).Channels(t.Context()); err != nil || list[0].ID != radio.ID || !maps.Equal(list[0].Settings, settings) {
		t.Errorf("stored %v, %v", list[0].Settings, err)
	}
}

// unprintable reports whether a character could control a terminal or hide what a file says.
func unprintable(r rune) bool {
	return r != '\n' && unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// What a hostile server says is in the file, and neither controls a terminal nor adds anything to the file.
func TestExportOfHostileServer(t *testing.T) {
	const evil = "a\x1b[2J\u009b2J\u202eb\nprojects: []\r\u2028- c\u0085d"
	state := declare.State{
		Project: checks.Project{Name: evil, Account: evil},
		Channels: []channels.Channel{
			{Name: "x", Kind: channels.Kind(evil), Settings: map[string]string{evil: evil, "notify": evil}},
			{Name: "", Kind: channels.Kind(evil)},
		},
		StatusPages: []checks.StatusPage{{Slug: "s", Title: evil, Description: evil, Tags: []string{evil}}},
	}
	for range 2 {
		c, err := checks.New(uuid.Nil, checks.Spec{Name: new(evil), Desc: new(evil)}, noon)
		if err != nil {
			t.Fatal(err)
		}
		state.Checks = append(state.Checks, c) // without a slug
	}
	var b strings.Builder
	if err := (declare.Document{Projects: []declare.Project{declare.Export(state)}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if strings.ContainsFunc(text, unprintable) {
		t.Errorf("%q", text)
	}
	var file struct {
		Projects []struct {
			Name        string
			Channels    []struct{ Kind string }
			StatusPages []struct{ Title, Description, Tags string } `yaml:"status_pages"`
		}
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if p := file.Projects[0]; len(file.Projects) != 1 || p.Name != evil || p.Channels[0].Kind != evil || p.StatusPages[0].Title != evil || p.StatusPages[0].Description != evil {
		t.Errorf("%+v\n%s", file, text)
	}
}

// Applying the export of any check changes nothing, and describes the same check for another database.
func TestRoundTrip(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	anyText := func(most int) *rapid.Generator[string] {
		return rapid.OneOf(rapid.SampledFrom([]string{"", "yes", "null", "~", "0x1f", "1e3", "2026-01-01", "<<", "*", "- a", "a: b", "# c", " lead", "trail ", "two\nlines", "two\n\n  lines\n",
			"\nfirst", "tab\there", "\u0085", "\u2028", "\ufeff", "\x01", "\x7f", "'\"\\", "{a}", "[a]", "%", "@", "`", "!x", "&x", "|", ">", "a\r\nb", "...", "---", "\U0001F600", "\u202e", "a\u2066\u2029b", "\x1b[2J", "\u009b2J", "\ufffe"}),
			rapid.StringN(0, most/4, most)).Filter(func(s string) bool { return !strings.ContainsRune(s, 0) && len([]rune(s)) <= most })
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		name := fmt.Sprint("p", n)
		project, err := s.mon.OpenProject(t.Context(), name)
		if err != nil {
			rt.Fatal(err)
		}
		var names []string
		for range rapid.IntRange(0, 2).Draw(rt, "channels") {
			names = append(names, rapid.SampledFrom([]string{"ops", "a,b", "*", " x", "x", "00000000-0000-0000-0000-000000000001", "", "#y"}).Draw(rt, "channel"))
		}
		for _, channel := range names {
			if _, err := project.CreateChannel(t.Context(), channels.Channel{Kind: channels.Webhook, Name: channel, Settings: map[string]string{
				"url_up": "https://example.org/", "body_up": anyText(50).Draw(rt, "body"), "method_up": rapid.SampledFrom([]string{"", "PUT"}).Draw(rt, "method"),
			}}); err != nil {
				rt.Fatal(err)
			}
		}
		boolean := func(label string) *bool { return new(rapid.Bool().Draw(rt, label)) }
		spec := checks.Spec{
			Slug: new("s"), Name: new(anyText(100).Draw(rt, "name")), Tags: strings.Split(anyText(100).Draw(rt, "tags"), " "), Desc: new(anyText(200).Draw(rt, "desc")),
			Grace: new(time.Duration(rapid.Int64Range(60, 31_536_000).Draw(rt, "grace")) * time.Second), Channels: rapid.SampledFrom([]*string{nil, new("*")}).Draw(rt, "selection"),
			Methods: new(rapid.SampledFrom([]string{"", "POST"}).Draw(rt, "methods")), StartKW: new(anyText(40).Draw(rt, "kw")),
			ManualResume: boolean("manual_resume"), FilterSubject: boolean("filter_subject"), FilterBody: boolean("filter_body"), FilterHTTPBody: boolean("filter_http_body"), FilterDefaultFail: boolean("filter_default_fail"),
			MaxRuntime:  new(time.Duration(rapid.SampledFrom([]int64{0, 60, 3661, 31_536_000}).Draw(rt, "max_runtime")) * time.Second),
			AlertAfter:  new(rapid.IntRange(0, 100).Draw(rt, "alert_after")),
			RepeatEvery: new(time.Duration(rapid.SampledFrom([]int64{0, 60, 3661, 31_536_000}).Draw(rt, "repeat_every")) * time.Second),
			QuietHours:  new(rapid.SampledFrom([]string{"", "22:00-06:00", "22:00-06:00;Sat 0:00-24:00", "Mon..Fri 22:00-06:00\n2026-12-24 18:00/2026-12-27 06:00"}).Draw(rt, "quiet_hours")),
			TZ:          new(rapid.SampledFrom([]string{"UTC", "Asia/Tokyo"}).Draw(rt, "zone")),
		}
		if rapid.Bool().Draw(rt, "cron") {
			spec.Schedule = new(rapid.SampledFrom([]string{"0 3 * * *", "* * * * *", "daily", "Mon..Fri *-*-* 09:00:00\nSat 10:00", "*-*-* *:00/5"}).Draw(rt, "schedule"))
			spec.TZ = new(rapid.SampledFrom([]string{"UTC", "Europe/Riga", "US/Pacific"}).Draw(rt, "tz"))
		} else {
			spec.Timeout = new(time.Duration(rapid.Int64Range(60, 31_536_000).Draw(rt, "timeout")) * time.Second)
		}
		c, err := project.Create(t.Context(), spec)
		if err != nil {
			rt.Fatal(err)
		}
		text := s.export(name)
		if strings.ContainsFunc(text, unprintable) {
			rt.Fatalf("%q", text)
		}
		doc, err := parse(t, text)
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if p := s.plan(doc, declare.Options{Prune: true}); p.String() != "" {
			rt.Fatalf("applying an export would change something:\n%s\n%s", p, text)
		}
		fresh, err := checks.New(project.ID(), doc.Projects[0].Checks[0].Spec, noon)
		if err != nil {
			rt.Fatal(err)
		}
		if fields, _ := declare.Compare(*c.Check, fresh); len(fields) > 0 {
			rt.Fatalf("a new check would differ: %v\n%s", fields, text)
		}
	})
}
