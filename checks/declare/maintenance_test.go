package declare_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/declare"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
)

// TestMaintenance applies maintenance, again, changed, and pruned. Applying an export changes nothing.
func TestMaintenance(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		const project = "projects:\n  - name: p\n    checks: [{slug: old}, {slug: new}]\n    maintenance:\n"
		const recurring = "      - {name: patches, checks: [old, new], tags: db, schedule: 0 2 * * SUN, duration: 2h, tz: Europe/Riga}\n"
		const once = "      - {name: move, start: 2026-03-14T22:00:00Z, end: 2026-03-16T02:00:00+02:00}\n"
		const past = "      - {name: past, start: 2025-03-14T22:00:00Z, end: 2025-03-15T02:00:00Z}\n"
		s.create("p", checks.Spec{Slug: new("old")})
		o := declare.Options{Prune: true}
		want := `project "p"
  + check "new"
  + maintenance "patches"
      + checks: old new
      + tags: db
      + schedule: 0 2 * * SUN
      + duration: 2h
      + tz: Europe/Riga
  + maintenance "move"
      + start: 2026-03-14T22:00:00Z
      + end: 2026-03-16T00:00:00Z
`
		equal(t, "first", s.apply(project+recurring+once+past, o), want)
		equal(t, "again", s.apply(project+recurring+once+past, o), "")
		text := s.export("p")
		if !strings.Contains(text, "- name: patches\n        checks: old new\n        tags: db\n        schedule: 0 2 * * SUN\n        duration: 2h\n        tz: Europe/Riga\n") {
			t.Errorf("export:\n%s", text)
		}
		equal(t, "the export", s.apply(text, o), "")
		changed := strings.ReplaceAll(recurring, "2h", "3h")
		equal(t, "changed", s.apply(project+changed+once, o), "project \"p\"\n  ~ maintenance \"patches\"\n      ~ duration: 2h -> 3h\n")
		equal(t, "changed again", s.apply(project+changed+once, o), "")
		mon := s.mon.Project(s.state("p").Project.ID)
		windows := func() (names []string) {
			t.Helper()
			list, err := mon.Windows(t.Context(), checks.WindowQuery{})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range list {
				if names = append(names, w.Note); w.Note == "move" {
					if _, err := mon.EndWindow(t.Context(), w.ID); err != nil {
						t.Fatal(err)
					}
				}
			}
			return names
		}
		equal(t, "windows", windows(), []string{"move", "patches"})
		// The clock of the site runs ahead of noon.
		plan, err := declare.NewPlan(t.Context(), declare.OnProjects(s.mon.Projects()), mustParse(t, project+changed+once), &declare.Options{Now: noon.Add(time.Minute)})
		if err != nil || len(plan.Changes) > 0 {
			t.Errorf("one that was ended early: %v, error %v", plan, err)
		}
		_, err = mon.AddWindow(t.Context(), gate.Window{Kind: gate.Maintenance, Duration: time.Hour, Note: "by hand"})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "no key", s.apply(strings.TrimSuffix(project, "    maintenance:\n"), o), "")
		equal(t, "pruned", s.apply(project[:len(project)-1]+" []\n", o), "project \"p\"\n  - maintenance \"patches\"\n")
		equal(t, "windows", windows(), []string{"by hand"})
		limited := s.only("p")
		plan, err = declare.NewPlan(t.Context(), limited, mustParse(t, project+recurring), &declare.Options{Now: noon})
		if err != nil || len(plan.Changes) != 1 {
			t.Errorf("with a read-write key: %v, error %v", plan, err)
		}
	})
}

func TestMaintenanceErrors(t *testing.T) {
	for item, want := range map[string]string{
		"{tags: db, schedule: 0 2 * * *, duration: 2h}":                                     "f.yaml:3:9: a maintenance window has no name",
		"{name: a, duration: 2h}":                                                           "f.yaml:3:9: a maintenance window without a schedule has no start",
		"{name: a, start: tonight, end: 2026-03-16T02:00:00Z}":                              `f.yaml:3:26: start is not a time like 2026-12-01T22:00:00Z: "tonight"`,
		"{name: a, start: 2026-03-16T02:00:00Z, end: 2026-03-16T01:00:00Z}":                 "f.yaml:3:53: end is not after the start: 2026-03-16T01:00:00Z, the start is 2026-03-16T02:00:00Z",
		"{name: a, start: 2025-03-16T02:00:00Z, end: 2025-03-16T01:00:00Z}":                 "f.yaml:3:53: end is not after the start: 2025-03-16T01:00:00Z, the start is 2025-03-16T02:00:00Z",
		"{name: a, schedule: 0 2 * * *, duration: 2h, end: 2026-03-16T01:00:00Z}":           "f.yaml:3:29: schedule cannot be combined with start and end",
		"{name: a, schedule: 0 25 * * *, duration: 2h}":                                     "f.yaml:3:29: schedule is not valid: hour: 25 is not in 0–23",
		`{name: a, tags: "", schedule: 0 2 * * *, duration: 2h}`:                            "f.yaml:3:25: tags is empty: leave it out, or to cover the whole project both checks and tags",
		"{name: a, checks: [], schedule: 0 2 * * *, duration: 2h}":                          "f.yaml:3:27: checks is empty: leave it out, or to cover the whole project both checks and tags",
		"{name: a, schedule: 0 2 * * *}":                                                    "f.yaml:3:9: duration is missing: set how long each occurrence takes, from 1 minute to 30 days",
		"{name: a, schedule: 0 2 * * *, duration: 2h, tz: Riga}":                            "f.yaml:3:58: tz is not a valid time zone:",
		"{name: a, schedule: 0 2 * * *, duration: 2h}\n      - {name: a, start: x, end: x}": `f.yaml:4:`,
	} {
		_, err := parse(t, "checks: []\nmaintenance:\n      - "+item+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", item, err, want)
		}
	}
	dbtest.Each(t, func(t *testing.T, db dbtest.DB) {
		s := open(t, db)
		const file = "projects:\n  - name: p\n    checks: [{slug: a}]\n    maintenance: [{name: a, checks: b, schedule: 0 2 * * *, duration: 2h}]\n"
		tagged := "projects:\n  - name: p\n    checks: [{slug: a, tags: web}]\n    maintenance: [{name: a, tags: web wbe, schedule: 0 2 * * *, duration: 2h}]\n"
		plan, err := declare.NewPlan(t.Context(), declare.OnProjects(s.mon.Projects()), mustParse(t, tagged), &declare.Options{Now: noon})
		if note := `no check of the project "p" has the tag "wbe", which the maintenance window "a" names`; err != nil || !slices.Contains(plan.Notes, note) || len(plan.Notes) != 2 {
			t.Errorf("notes %q, error %v", plan.Notes, err)
		}
		equal(t, "unknown", s.refused(file, declare.OnProjects(s.mon.Projects())), `f.yaml:4:37: checks has a slug that no check of the project has, or several: "b"`)
	})
}
