package declare_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

const backups = `projects:
- name: backups
  plan: free
  channels:
  - name: ops
    kind: email
    settings: {to: ops@example.org}
  - name: pager
    kind: webhook
    settings:
      url_down: https://example.org/down
      headers_down: {env: TOKEN}
  checks:
  - slug: nightly
    name: Nightly backup
    tags: [db, prod]
    schedule: 0 3 * * *
    tz: Europe/Riga
    grace: 30m
    channels: [ops, pager]
  - slug: hourly
    timeout: 3600
    channels: "*"
`

func TestApply(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		equal(t, "first", s.apply(backups, declare.Options{}), `project "backups"
  + project "backups"
      + plan: "free"
  + channel "ops"
      + kind: email
      + to: "ops@example.org"
  + channel "pager"
      + kind: webhook
      + headers_down: ($TOKEN)
      + method_down: "POST"
      + method_up: "POST"
      + url_down: (secret)
  + check "nightly"
      + name: "Nightly backup"
      + tags: "db prod"
      + schedule: "0 3 * * *"
      + tz: "Europe/Riga"
      + grace: 30m
      + channels: "ops,pager"
  + check "hourly"
      + timeout: 1h
      + channels: "ops,pager"
`)
		state := s.state("backups")
		equal(t, "the secret", state.Channels[1].Settings["headers_down"], secrets["TOKEN"])
		all := []uuid.UUID{state.Channels[0].ID, state.Channels[1].ID}
		equal(t, "channels of a check", state.Checks[0].Channels, all)
		equal(t, "all channels", state.Checks[1].Channels, all)
		equal(t, "project", []any{state.Project.Plan, state.Project.Account}, []any{"free", "default"})
		equal(t, "again", s.apply(backups, declare.Options{Prune: true}), "")

		changed := strings.NewReplacer("env: TOKEN", "file: OTHER", "ops@", "on-call@", "grace: 30m", "grace: 1h", `channels: "*"`, "manual_resume: true",
			"    name: Nightly backup\n", "", "schedule: 0 3 * * *\n    tz: Europe/Riga", "timeout: 24h").Replace(backups)
		equal(t, "changes", s.apply(changed, declare.Options{}), `project "backups"
  ~ channel "ops"
      ~ to: (hidden) -> "on-call@example.org"
  ~ channel "pager"
      ~ headers_down: (hidden) -> (file OTHER)
  ~ check "nightly"
      ~ name: "Nightly backup" -> ""
      + timeout: 24h
      - schedule: "0 3 * * *"
      - tz: "Europe/Riga"
      ~ grace: 30m -> 1h
  ~ check "hourly"
      ~ manual_resume: false -> true
      ~ channels: "ops,pager" -> ""
`)
		again := s.state("backups")
		equal(t, "the secret", again.Channels[1].Settings["headers_down"], secrets["OTHER"])
		equal(t, "identifiers stay", []any{again.Channels[0].ID, again.Checks[0].ID}, []any{state.Channels[0].ID, state.Checks[0].ID})
		equal(t, "again", s.apply(changed, declare.Options{Prune: true}), "")
	})
}

// Only Prune deletes, and only checks and channels that a file can name.
func TestPrune(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		s.apply(backups, declare.Options{})
		s.create("backups", checks.Spec{Name: new("no slug")})
		s.create("backups", checks.Spec{Name: new("one"), Slug: new("twin")})
		s.create("backups", checks.Spec{Name: new("two"), Slug: new("twin")})
		s.create("other", checks.Spec{Slug: new("safe")})
		for range 2 {
			if _, err := s.mon.Project(s.state("backups").Project.ID).CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "twin", Settings: map[string]string{"to": "a@example.org"}}); err != nil {
				t.Fatal(err)
			}
		}
		const less = "projects:\n- name: backups\n  channels: [{name: ops, kind: email, settings: {to: ops@example.org}}]\n  checks: [{slug: hourly, timeout: 1h, channels: ops}]"
		equal(t, "without", s.apply(less, declare.Options{}), "project \"backups\"\n  ~ check \"hourly\"\n      ~ channels: \"ops,pager\" -> \"ops\"\n")
		equal(t, "with", s.apply(less, declare.Options{Prune: true}), "project \"backups\"\n  - check \"nightly\"\n  - channel \"pager\"\n")
		var slugs []string
		for _, c := range s.state("backups").Checks {
			slugs = append(slugs, c.Slug)
		}
		equal(t, "checks", slugs, []string{"hourly", "", "twin", "twin"})
		equal(t, "channels", len(s.state("backups").Channels), 3)
		equal(t, "a missing key prunes nothing", s.apply("projects: [{name: backups}]", declare.Options{Prune: true}), "")
		equal(t, "an empty list prunes all", s.apply("projects: [{name: backups, checks: []}]", declare.Options{Prune: true}), "project \"backups\"\n  - check \"hourly\"\n")
		equal(t, "another project", len(s.state("other").Checks), 1)
		text := s.export("backups")
		equal(t, "an export, pruned", s.apply(text, declare.Options{Prune: true}), "")
		for _, want := range []string{
			`# Left out, because it has no unique slug: the check "no slug" (`, `# Left out, because it has no unique slug: the check "two" (`,
			`# Left out, because it has no unique name: the email channel "twin" (`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
}

// TestAfter applies files whose checks follow each other, in any order.
func TestAfter(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		file := func(checks ...string) string {
			return "projects:\n- name: p\n  checks:\n  - " + strings.Join(checks, "\n  - ") + "\n"
		}
		const c, b, a = "{slug: c, after: [b, a]}", "{slug: b, after: a, record_only: true}", "{slug: a}"
		equal(t, "parents come first", s.apply(file(c, b, a), declare.Options{}), `project "p"
  + project "p"
  + check "a"
  + check "b"
      + record_only: true
      + after: "a"
  + check "c"
      + after: "b,a"
`)
		const mail = "projects:\n- name: p\n  channels: [{name: ops, kind: email, settings: {to: ops@example.org}}]\n  checks:\n"
		for parent, want := range map[string][]string{
			"{slug: a}": {`"b" of the project "p" follows others, but a alerts nobody, so no alert waits for it`},
			"{slug: a, channels: ops, record_only: true}":                      {`"b" of the project "p" follows others, but a never alerts, so no alert waits for it`},
			"{slug: a, channels: ops}":                                         nil,
			"{slug: a, channels: ops, quiet_hours: '22:00-06:00'}":             {`"b" of the project "p" follows others, but no alert waits for a in its quiet hours`},
			"{slug: a}\n  escalation: [{channels: ops}]":                       nil,
			"{slug: a, channels: ops}\n  - {slug: d, after: b, channels: ops}": nil,
		} {
			plan, err := declare.NewPlan(t.Context(), declare.OnProjects(s.mon.Projects()), mustParse(t, mail+"  - {slug: b, after: a, channels: ops}\n  - "+parent+"\n"), &declare.Options{Now: noon})
			notes := slices.DeleteFunc(plan.Notes, func(note string) bool { return strings.HasPrefix(note, "nobody is notified of these checks") })
			if err != nil || !slices.Equal(notes, want) {
				t.Errorf("%s: notes %q, error %v", parent, notes, err)
			}
		}
		text := s.export("p")
		equal(t, "an export", s.apply(text, declare.Options{Prune: true}), "")
		if !strings.Contains(text, "after: b,a") || !strings.Contains(text, "record_only: true") {
			t.Errorf("export:\n%s", text)
		}
		equal(t, "turned round", s.apply(file("{slug: a, after: [new, b]}", "{slug: b, after: c}", "{slug: c}", "{slug: new}"), declare.Options{}), `project "p"
  + check "new"
  ~ check "c"
      ~ after: "b,a" -> ""
  ~ check "b"
      ~ record_only: true -> false
      ~ after: "a" -> "c"
  ~ check "a"
      ~ after: "" -> "new,b"
`)
		for _, test := range []struct{ file, err string }{
			{file("{slug: a, after: [x]}"), `after names a check that this project does not have: "x"`},
			{file("{slug: a, after: a}"), `after names the check itself: "a"`},
			{file("{slug: x, after: y}", "{slug: y, after: z}", "{slug: z, after: x}"), "after makes a circle: x → y → z → x"},
			{file("{slug: c, after: a}"), "after makes a circle: c → a → b → c"},                                                  // with checks that are not in the file
			{file(a, "{slug: b, after: a}", "{slug: new, after: c}"), `after names a check that this project does not have: "c"`}, // pruned
		} {
			_, err := declare.NewPlan(t.Context(), declare.OnProjects(s.mon.Projects()), mustParse(t, test.file), &declare.Options{Now: noon, Prune: true})
			if strings.Contains(test.file, "{slug: c") {
				_, err = declare.NewPlan(t.Context(), declare.OnProjects(s.mon.Projects()), mustParse(t, test.file), &declare.Options{Now: noon})
			}
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: error %v, want %s", test.file, err, test.err)
			}
		}
	})
}

// TestStatusPages creates, changes, moves and prunes status pages.
func TestStatusPages(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		const file = `projects:
  - name: a
    plan: paid
    channels: []
    checks: []
    status_pages:
      - slug: shop
        title: Shop
        description: |-
          What runs.
          Call 112.
        tags: web db
      - slug: all
        title: Everything
  - name: b
    plan: paid
    channels: []
    checks: []
    status_pages: []
`
		equal(t, "first", s.apply(file, declare.Options{}), `project "a"
  + project "a"
      + plan: "paid"
  + status page "shop"
      + title: "Shop"
      + description: "What runs.\nCall 112."
      + tags: "web db"
  + status page "all"
      + title: "Everything"
project "b"
  + project "b"
      + plan: "paid"
`)
		equal(t, "export", s.export("a", "b"), file)
		equal(t, "again", s.apply(file, declare.Options{Prune: true}), "")
		before := s.state("a").StatusPages
		changed := strings.NewReplacer("tags: web db", "tags: [web]", "title: Shop", "title: \" Market \"").Replace(file)
		equal(t, "changed", s.apply(changed, declare.Options{}), `project "a"
  ~ status page "shop"
      ~ title: "Shop" -> "Market"
      ~ tags: "web db" -> "web"
`)
		equal(t, "identifier", s.state("a").StatusPages[0].ID, before[0].ID)
		moved := "projects: [{name: a, status_pages: []}, {name: b, status_pages: [{slug: all, title: Everything}]}]"
		equal(t, "moved", s.apply(moved, declare.Options{Prune: true}), `project "a"
  - status page "shop"
  - status page "all"
project "b"
  + status page "all"
      + title: "Everything"
`)
		equal(t, "no key", s.apply("projects: [{name: b}]", declare.Options{Prune: true}), "")
		equal(t, "with a tag", s.apply("projects: [{name: b, status_pages: []}]", declare.Options{Prune: true, Tag: "x"}), "")
		other := s.plan(mustParse(t, "projects: [{name: a, status_pages: [{slug: all, title: Mine}]}]"), declare.Options{})
		if _, err := other.Apply(t.Context(), declare.OnProjects(s.mon.Projects()), nil); !errors.Is(err, checks.ErrExists) {
			t.Errorf("a slug of another project: %v", err)
		}
	})
}

// TestPublicNames creates, changes and exports the names that a status page gives to checks, those of checks among them that the plan
// creates, that a rename has given another slug, and that have no unique slug.
func TestPublicNames(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		const file = `projects:
  - name: a
    plan: paid
    channels: []
    checks:
      - slug: mail
        timeout: 1h
        grace: 1h
      - slug: shop
        timeout: 1h
        grace: 1h
    status_pages:
      - slug: up
        title: Up
        names:
          mail: Letters
          shop: 'Payments: "all" # ☃'
        min_outage: 1m30s
`
		want := `  + status page "up"
      + title: "Up"
      + min_outage: "1m30s"
      + name of mail: "Letters"
      + name of shop: "Payments: \"all\" # ☃"
`
		if got := s.apply(file, declare.Options{}); !strings.HasSuffix(got, want) {
			t.Errorf("first: %s\nwant at its end: %s", got, want)
		}
		equal(t, "export", s.export("a"), file)
		equal(t, "again", s.apply(file, declare.Options{Prune: true}), "")
		state := s.state("a")
		mail, page := state.Checks[0], state.StatusPages[0]
		equal(t, "names", page.Names, map[uuid.UUID]string{mail.ID: "Letters", state.Checks[1].ID: `Payments: "all" # ☃`})
		equal(t, "by UUID", s.apply(strings.Replace(file, "mail: Letters", mail.ID.String()+": Letters", 1), declare.Options{}), "")
		changed := strings.NewReplacer("mail: Letters", "mail: Post", "          shop: 'Payments: \"all\" # ☃'\n", "", "min_outage: 1m30s", "min_outage: 60").Replace(file)
		equal(t, "changed", s.apply(changed, declare.Options{}), `project "a"
  ~ status page "up"
      ~ min_outage: "1m30s" -> "1m"
      ~ name of mail: "Letters" -> "Post"
      - name of shop: "Payments: \"all\" # ☃"
`)
		_, err := s.mon.Project(mail.ProjectID).Update(t.Context(), mail.ID, checks.Spec{Slug: new("shop")})
		if err != nil {
			t.Fatal(err)
		}
		text := s.export("a")
		if !strings.Contains(text, "          "+mail.ID.String()+": Post\n") {
			t.Errorf("the name of a check without a unique slug is lost:\n%s", text)
		}
		equal(t, "the export changes nothing", s.apply("projects: [{name: a, status_pages: [{slug: up, title: Up, min_outage: 1m, names: {"+mail.ID.String()+": Post}}]}]", declare.Options{}), "")
		equal(t, "unknown", s.refused("projects: [{name: a, status_pages: [{slug: up, title: Up, names: {nobody: x}}]}]", declare.OnProjects(s.mon.Projects())),
			`f.yaml:1:66: names has a slug or UUID that no check of the project has, or several: "nobody"`)
	})
}

// NewPlan reports all errors of a file at once, and nothing changes.
func TestRefused(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	s.apply(backups, declare.Options{})
	s.create("backups", checks.Spec{Slug: new("twin")})
	s.create("backups", checks.Spec{Slug: new("twin")})
	before := s.export("backups")
	equal(t, "errors", s.refused(`projects:
- name: backups
  plan: paid
  max_checks: 9
  channels:
  - {name: ops, kind: sms, settings: {to: "+37120000000"}}
  - {name: pager, kind: webhook, settings: {url_up: "https://example.org/"}}
  - {name: new, kind: email, settings: {to: a@example.org}}
  checks:
  - {slug: fine}
  - {slug: twin}
  - {slug: nightly, channels: [new, nobody]}
- name: fresh
  checks: [{slug: a, channels: ops}]
`, declare.OnProjects(s.mon.Projects())), `f.yaml:3:9: plan of the project "backups" is free and cannot be changed to paid
f.yaml:4:15: max_checks of the project "backups" is 0 and cannot be changed to 9
f.yaml:6:23: the channel "ops" has the kind email, which cannot be changed; delete the channel first
f.yaml:11:12: 2 checks of the project "backups" have the slug "twin"; only one may have it
f.yaml:12:31: channels: no integration has the id or name "nobody"
f.yaml:14:32: channels: no integration has the id or name "ops"`)
	equal(t, "afterwards", s.export("backups"), before)
	if _, err := s.mon.Projects().ByName(t.Context(), "fresh"); !errors.Is(err, checks.ErrNotFound) {
		t.Errorf("project fresh: %v", err)
	}
}

// TestStorms changes when alerts of a project are sent together. A file without the settings leaves them alone.
func TestStorms(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	const file = "projects:\n- name: backups\n  storm_checks: 3\n  storm_window: 2m\n"
	equal(t, "created", s.apply(file, declare.Options{}), "project \"backups\"\n  + project \"backups\"\n      + storm_checks: 3\n      + storm_window: 2m\n")
	equal(t, "the same", s.apply(file, declare.Options{}), "")
	equal(t, "without", s.apply("projects:\n- name: backups\n", declare.Options{}), "")
	if got := s.export("backups"); !strings.Contains(got, "storm_checks: 3\n    storm_window: 2m\n") {
		t.Error(got)
	}
	off := strings.Replace(file, "3", "0", 1)
	equal(t, "off", s.apply(off, declare.Options{}), "project \"backups\"\n  ~ project \"backups\"\n      ~ storm_checks: 3 -> 0\n")
	p, err := declare.NewPlan(t.Context(), s.only("backups"), mustParse(t, file), nil)
	if err != nil || len(p.Changes) > 0 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "storm_checks and storm_window") {
		t.Errorf("%v, %v, %v", p.Changes, p.Notes, err)
	}
	_, err = parse(t, "projects:\n- name: a\n  storm_checks: 1\n  storm_window: 5s\n- name: b\n  storm_checks: many\n  storm_window: 2h\n")
	equal(t, "errors", err.Error(), `f.yaml:3:17: storm_checks is too small: 1, the minimum is 2
f.yaml:4:17: storm_window is too small: 5, the minimum is 10
f.yaml:6:17: storm_checks is not a whole number: "many"
f.yaml:7:17: storm_window is too large: 7200, the maximum is 3600`)
}

// A plan for a read-write key neither creates projects and channels nor compares settings and status pages.
func TestRestricted(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	s.apply(backups, declare.Options{})
	target := s.only("backups")
	equal(t, "errors", s.refused(backups+`  - {slug: x, channels: mail}
- name: another
  checks: []
`, target), `f.yaml:24:25: channels: no integration has the id or name "mail"
f.yaml:25:9: a read-write key gives access to one project, and the file has 2; choose one, or use an admin key`)
	equal(t, "errors", s.refused(strings.Replace(backups, "name: ops\n", "name: mail\n", 1), target),
		`f.yaml:5:11: the channel "mail" cannot be created with a read-write key: use an admin key, or apply the file on the server`)

	doc := mustParse(t, strings.Replace(backups, "grace: 30m", "grace: 2h", 1)+"  status_pages: [{slug: up, title: Up}]")
	p, err := declare.NewPlan(t.Context(), target, doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "plan", p.String(), "project \"backups\"\n  ~ check \"nightly\"\n      ~ grace: 30m -> 2h\n")
	equal(t, "notes", len(p.Notes), 4) // the plan of the project, the settings of two channels, and the status pages
	if _, err := p.Apply(t.Context(), target, nil); err != nil {
		t.Fatal(err)
	}
	equal(t, "grace", s.state("backups").Checks[0].Grace, 2*time.Hour)
}

// Apply stops at the first change that fails, and the error says how many changes it made. Applying again makes the rest.
func TestFailure(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	project, _, err := s.mon.Projects().Create(t.Context(), checks.ProjectSpec{Name: "small", MaxChecks: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.mon.Project(project.ID).Create(t.Context(), checks.Spec{Slug: new("old")}); err != nil {
		t.Fatal(err)
	}
	const file = "checks: [{slug: a}, {slug: b}]"
	o := declare.Options{Project: "small", Now: noon}
	var done []string
	_, err = s.plan(mustParse(t, file), o).Apply(t.Context(), declare.OnProjects(s.mon.Projects()), func(c declare.Change) { done = append(done, c.Name) })
	if !errors.Is(err, checks.ErrCheckLimit) {
		t.Fatal(err)
	}
	equal(t, "error", err.Error(), `create the check "b" of the project "small", after 1 of 2 changes: the account has reached its check limit: 2 checks`)
	equal(t, "done", done, []string{"a"})
	o.Prune = true
	equal(t, "the rest, which has room after the deletion", s.apply(file, o), "project \"small\"\n  - check \"old\"\n  + check \"b\"\n")
}

// Exports, printed documents and printed plans hide secrets.
func TestSecrets(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	doc := mustParse(t, backups)
	p := s.plan(doc, declare.Options{})
	s.apply(backups, declare.Options{})
	text := s.export("backups")
	for _, shown := range []string{text, p.String(), fmt.Sprintf("%v %+v %#v", doc, doc, doc), fmt.Sprintf("%v %+v", p.Changes, p.Changes)} {
		if strings.Contains(shown, "s3cret") {
			t.Error(shown)
		}
	}
	for _, name := range []string{"headers_down", "url_down"} {
		if !strings.Contains(text, "# "+name+" is secret and left out. A channel that exists keeps its value; for a new one, or to change it, add "+name+": {env: NAME}\n") {
			t.Error(text)
		}
	}
	equal(t, "a new channel needs the secret", s.refused(strings.Replace(text, "name: pager", "name: another", 1), declare.OnProjects(s.mon.Projects())),
		"f.yaml:9:9: webhook: url_down and url_up are both missing")
	equal(t, "an export changes nothing", s.apply(text, declare.Options{Prune: true}), "")
	removed := strings.Replace(backups, "{env: TOKEN}", `""`, 1)
	fromOutside := strings.Replace(backups, "https://example.org/down", "{env: HOOK}", 1)
	equal(t, "a setting with a source", s.apply(fromOutside, declare.Options{}), "project \"backups\"\n  ~ channel \"pager\"\n      ~ url_down: (hidden) -> ($HOOK)\n")
	equal(t, "is hidden when it is replaced", s.apply(backups, declare.Options{}), "project \"backups\"\n  ~ channel \"pager\"\n      ~ url_down: (hidden) -> (secret)\n")
	equal(t, "an empty secret removes it", s.apply(removed, declare.Options{}), "project \"backups\"\n  ~ channel \"pager\"\n      - headers_down: (hidden)\n")
}

// TestEscalation applies, compares and exports the escalation policy, whose channels the same file may create.
func TestEscalation(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	const file = `projects:
- name: backups
  channels:
  - {name: mail, kind: email, settings: {to: a@example.org}}
  - {name: pager, kind: email, settings: {to: b@example.org}}
  escalation:
  - channels: mail
  - {after: 15m, channels: [pager]}
`
	if got := s.apply(file, declare.Options{}); !strings.Contains(got, `steps: "at once: mail; after 15 min: pager"`) {
		t.Errorf("applied %s", got)
	}
	equal(t, "again", s.apply(file, declare.Options{}), "")
	exported := s.export("backups")
	if !strings.Contains(exported, "escalation:\n      - after: 0s\n        channels: mail\n      - after: 15m\n        channels: pager\n") {
		t.Errorf("exported %s", exported)
	}
	equal(t, "the export", s.apply(exported, declare.Options{}), "")
	if got := s.apply("projects:\n- name: backups\n  escalation: []\n", declare.Options{}); !strings.Contains(got, `- steps: "at once: mail; after 15 min: pager"`) {
		t.Errorf("removed %s", got)
	}
}

// TestApplyMany creates, updates and deletes many checks, with others in between that follow them, and stops at one that fails.
func TestApplyMany(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		const n = 1500
		file := func(grace string, n int) string {
			var b strings.Builder
			fmt.Fprintln(&b, "projects:\n  - name: many\n    checks:")
			for i := range n {
				fmt.Fprintf(&b, "      - {slug: job-%d, grace: %s}\n", i, grace)
				if i%500 == 7 {
					fmt.Fprintf(&b, "      - {slug: after-%d, after: job-%d}\n", i, i)
				}
			}
			return b.String()
		}
		for _, c := range []struct {
			file                      string
			created, updated, deleted int
		}{{file("2h", n), 1 + n + 3, 0, 0}, {file("3h", n), 0, n, 0}, {file("3h", 400), 0, 0, n + 3 - 401}, {file("2h", 10), 0, 10, 390}} {
			plan := s.plan(mustParse(t, c.file), declare.Options{Prune: true})
			created, updated, deleted := plan.Count()
			equal(t, "plan", [3]int{created, updated, deleted}, [3]int{c.created, c.updated, c.deleted})
			var done []declare.Change
			_, err := plan.Apply(t.Context(), declare.OnProjects(s.mon.Projects()), func(c declare.Change) { done = append(done, c) })
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range plan.Changes {
				if i >= len(done) || done[i].Name != c.Name || done[i].Action != c.Action {
					t.Fatalf("of %d changes %d are reported, and number %d is another one", len(plan.Changes), len(done), i)
				}
			}
			equal(t, "a second plan", s.plan(mustParse(t, c.file), declare.Options{Prune: true}).String(), "")
		}

		plan := s.plan(mustParse(t, file("4h", n)), declare.Options{})
		gone, err := s.mon.OpenProject(t.Context(), "many")
		if err == nil {
			var c checks.Snapshot
			if c, err = gone.CheckBySlug(t.Context(), "job-9"); err == nil {
				_, err = gone.Delete(t.Context(), c.ID)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		_, err = plan.Apply(t.Context(), declare.OnProjects(s.mon.Projects()), func(declare.Change) { done++ })
		if want := fmt.Sprintf("after %d of %d changes", done, len(plan.Changes)); !errors.Is(err, checks.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
		updated := 0
		for _, c := range s.state("many").Checks {
			if c.Grace == 4*time.Hour {
				updated++
			}
		}
		equal(t, "changed checks", updated, done)
	})
}
