package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/standard"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestNothingControlsTheTerminal names a check, a channel and a project by characters that control a terminal or change the
// direction of a text, and runs each command that shows them, in each format.
func TestNothingControlsTheTerminal(t *testing.T) {
	const evil = "a\x1b[2J\u009b31m\u202eb\u2066c\u2028d\x7f"
	const channel = "31m\u202eb\u2066c" // the names of channels have no control characters
	db := dbtest.SQLite(t)
	mon, err := monitor.New(db.Open(t), &monitor.Config{Channels: standard.Kinds(), DeliveredElsewhere: true})
	if err != nil {
		t.Fatal(err)
	}
	project, err := mon.OpenProject(t.Context(), "jobs")
	if err != nil {
		t.Fatal(err)
	}
	hook := channels.Channel{Kind: channels.Webhook, Name: channel, Settings: map[string]string{"url_down": "http://127.0.0.1:1/" + "x", "body_down": evil}}
	if _, err := project.CreateChannel(t.Context(), hook); err != nil {
		t.Fatal(err)
	}
	for _, slug := range []string{"one", "two"} {
		c, err := project.Create(t.Context(), checks.Spec{Name: new(evil), Slug: &slug, Tags: []string{evil}, Desc: new(evil), Channels: new("*")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mon.Ping(t.Context(), c.ID, pings.Signal{Kind: pings.Failure, Body: []byte("ERROR: " + evil)}); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, db.URL)
	key := strings.Fields(administer(t, db, "key", "create", "--scope", "admin", "--project", "jobs"))
	remote := []string{"--url", p.url, "--api-key", key[len(key)-1]}
	month := time.Now().UTC().Format("2006-01")
	file := writeFile(t, "checks: []\nchannels: []\n")
	for _, args := range [][]string{
		{"check", "list"}, {"check", "show", "one"}, {"check", "rehearse", "one"}, {"check", "rehearse"}, {"check", "set", "one", "--alert-after", "2"},
		{"channel", "list"}, {"channel", "test", channel}, {"deliveries", "list"},
		{"report", "--month", month}, {"report", "--month", month, "--format", "csv"}, {"report", "--month", month, "--format", "html"},
		{"report", "--month", month, "--format", "json"}, {"audit"},
		{"apply", "--prune", "--dry-run", "-f", file}, append([]string{"apply", "--prune", "--dry-run", "-f", file}, remote...),
		{"export"}, append([]string{"export"}, remote...), {"channel", "delete", channel},
	} {
		line := append([]string{"--database", db.URL}, args...)
		if args[0] != "export" && args[0] != "audit" {
			line = append(line, "--project", "jobs")
		}
		lines := [][]string{line}
		if args[0] != "export" && args[0] != "report" && !slices.Contains(args, "delete") {
			lines = append(lines, append(slices.Clone(line), "--json"))
		}
		for _, line := range lines {
			var out, errs strings.Builder
			if status := run(line, &out, &errs); status == console.ExitUsage {
				t.Errorf("%q: %s", line, errs.String())
			}
			both := out.String() + errs.String()
			if strings.ContainsFunc(both, func(r rune) bool { return r != '\n' && console.UnsafeRune(r) }) {
				t.Errorf("%q: %q", line, both)
			}
			if !strings.Contains(both, "31m") && args[0] != "deliveries" && args[0] != "audit" {
				t.Errorf("%q does not show the name: %s", line, both)
			}
		}
	}
}
