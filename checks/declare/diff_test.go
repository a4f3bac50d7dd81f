package declare_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// diff applies specs and returns the text of the plan.
func (s site) diff(o declare.Options, specs ...checks.Spec) string {
	s.Helper()
	o.Project, o.Now = "p", noon
	p, err := declare.Diff(s.Context(), declare.OnProjects(s.mon.Projects()), specs, &o)
	if err != nil {
		return err.Error()
	}
	if _, err := p.Apply(s.Context(), declare.OnProjects(s.mon.Projects()), nil); err != nil {
		s.Fatal(err)
	}
	return p.String()
}

// TestDiff keeps the checks of a program: those with its tag, and no others.
func TestDiff(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	project, err := s.mon.OpenProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := project.CreateChannel(t.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}}); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []checks.Spec{{Slug: new("other")}, {Slug: new("old"), Tags: []string{"db", "fleet"}}, {Slug: new("a"), Channels: new("ops")}} {
		if _, err := project.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	fleet := declare.Options{Tag: "fleet", Prune: true}
	a, b := checks.Spec{Slug: new("a"), Grace: new(time.Minute)}, checks.Spec{Slug: new("b"), Tags: []string{"web", "fleet"}, Channels: new("ops")}
	equal(t, "first", s.diff(fleet, a, b), `project "p"
  - check "old"
  ~ check "a"
      ~ tags: "" -> "fleet"
      ~ grace: 1h -> 1m
  + check "b"
      + tags: "web fleet"
      + channels: "ops"
`)
	equal(t, "again", s.diff(fleet, a, b), "")
	equal(t, "without the tag, and no pruning", s.diff(declare.Options{}, b), "")
	a.Channels = new("")
	equal(t, "less", s.diff(fleet, a), `project "p"
  - check "b"
  ~ check "a"
      ~ channels: "ops" -> ""
`)
	equal(t, "another", s.diff(fleet, b), `project "p"
  - check "a"
  + check "b"
      + tags: "web fleet"
      + channels: "ops"
`)
	equal(t, "pruning needs specs", s.diff(fleet), "declare: Diff with Prune needs specs, or it would delete every check with the tag")
	equal(t, "none", s.diff(declare.Options{Tag: "fleet"}), "")
	list := s.state("p")
	if len(list.Checks) != 2 || list.Checks[0].Slug != "other" || len(list.Channels) != 1 {
		t.Errorf("left: %v, %v", list.Checks, list.Channels)
	}
	equal(t, "pruning needs a tag", s.diff(declare.Options{Prune: true}),
		"declare: Diff with Prune needs a Tag, or it would delete all other checks of the project")
	equal(t, "slugs", s.diff(fleet, a, checks.Spec{}, a), "the check number 2 has no slug\nthe slug \"a\" is that of several checks")
	equal(t, "errors", s.diff(fleet, checks.Spec{Slug: new("x"), Grace: new(time.Second)}, checks.Spec{Slug: new("y"), Channels: new("nobody")}),
		"check \"x\": grace is too small: 1, the minimum is 60\ncheck \"y\": channels: no integration has the id or name \"nobody\"")
	if n := len(s.state("p").Checks); n != 2 {
		t.Errorf("%d checks after errors", n)
	}
}

// A file with a tag gives it to its checks, and prunes only checks that have it.
func TestTagOfFile(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	s.apply("projects: [{name: p, channels: [{name: ops, kind: email, settings: {to: a@example.org}}], checks: [{slug: a}, {slug: b, tags: team}]}]", declare.Options{})
	equal(t, "with a tag", s.apply("projects: [{name: p, channels: [], checks: [{slug: c}]}]", declare.Options{Tag: "team", Prune: true}), `project "p"
  - check "b"
  + check "c"
      + tags: "team"
`)
}

// The projects may as well be those of a client.
func ExampleDiff() {
	mon, cleanup := openMonitor()
	defer cleanup()
	ctx := context.Background()
	target := declare.OnProjects(mon.Projects())
	for _, hosts := range [][]string{{"web-1", "web-2"}, {"web-2"}} {
		var specs []checks.Spec
		for _, host := range hosts {
			specs = append(specs, checks.Spec{Slug: &host, Schedule: new("0 3 * * *")})
		}
		plan, err := declare.Diff(ctx, target, specs, &declare.Options{Project: "jobs", Tag: "fleet", Prune: true})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(plan)
		if _, err := plan.Apply(ctx, target, nil); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// project "jobs"
	//   + project "jobs"
	//   + check "web-1"
	//       + tags: "fleet"
	//       + schedule: "0 3 * * *"
	//       + tz: "UTC"
	//   + check "web-2"
	//       + tags: "fleet"
	//       + schedule: "0 3 * * *"
	//       + tz: "UTC"
	// project "jobs"
	//   - check "web-1"
}

// A target that could not be made is an error.
func TestNoTarget(t *testing.T) {
	for name, target := range map[string]declare.Target{
		"none": {}, "no monitor": declare.OnProjects((*monitor.Monitor)(nil).Projects()), "no project": declare.OnProject((*monitor.Project)(nil)),
	} {
		_, err := declare.Diff(t.Context(), target, []checks.Spec{{Slug: new("a")}}, nil)
		_, applied := declare.Plan{}.Apply(t.Context(), target, nil)
		if err == nil || applied == nil || !strings.Contains(err.Error(), "target") {
			t.Errorf("%s: %v, %v", name, err, applied)
		}
	}
}

// A plan notes the checks that nobody would hear of, unless an escalation policy notifies someone.
func TestNotedUnheard(t *testing.T) {
	s := open(t, dbtest.SQLite(t))
	const file = `channels: [{name: ops, kind: webhook, settings: {url_down: "https://example.org"}}]
checks:
- {slug: silent}
- {slug: loud, channels: ops}
- {slug: recorded, record_only: true}
`
	noted := func(text string, want ...string) {
		t.Helper()
		p := s.plan(mustParse(t, text), declare.Options{})
		if len(p.Notes) != len(want) {
			t.Fatalf("notes %q", p.Notes)
		}
		for i, note := range p.Notes {
			if !strings.Contains(note, want[i]) {
				t.Errorf("note %q, want %q", note, want[i])
			}
		}
	}
	noted(file, `they have no channels: "silent"`)
	noted(file + "escalation: [{channels: ops}]\n")
	s.apply(file, declare.Options{})
	noted(file, `they have no channels: "silent"`)
	p, err := declare.Diff(t.Context(), declare.OnProjects(s.mon.Projects()), []checks.Spec{{Slug: new("fresh")}}, nil)
	if err != nil || len(p.Notes) > 0 || !strings.Contains(p.String(), `+ channels: "ops"`) {
		t.Errorf("a program's check: %v, notes %q, error %v", p, p.Notes, err)
	}
}
