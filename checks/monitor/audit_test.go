package monitor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
)

// audited configures a monitor that keeps an audit log for a year.
func audited(c *monitor.Config) { c.AuditRetention = 365 * 24 * time.Hour }

// entries returns the audit log of a project, oldest first, one line an entry.
func entries(t *testing.T, mon *monitor.Monitor, project uuid.UUID, q audit.Query) (lines []string) {
	t.Helper()
	q.Project = project
	list, err := mon.Installation().Audit(t.Context(), q)
	must(t, err)
	for _, e := range list {
		line := fmt.Sprintf("%s %s: %s %q", strings.TrimSpace(fmt.Sprint(e.Actor.Kind, " ", e.Actor.Name)), e.Actor.Address, e.Action, e.Object)
		for _, c := range e.Changes {
			line += fmt.Sprintf(" %s %q→%q", c.Field, c.From, c.To)
		}
		lines = append([]string{line}, lines...)
	}
	return lines
}

func TestAudit(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		ann := audit.WithActor(t.Context(), audit.Actor{Kind: audit.Person, Name: "ann@example.org", Address: "192.0.2.7"})
		p, _, err := o.CreateProject(ann, checks.ProjectSpec{Name: "audited"})
		must(t, err)
		ops, err := o.CreateChannel(ann, p.ID, "pager", "ops", map[string]string{"token": "hunter2"})
		must(t, err)
		_, err = o.UpdateChannel(ann, p.ID, ops.ID, map[string]string{"token": "hunter3", "notify": "down"}, nil)
		must(t, err)
		_, err = o.UpdateChannel(ann, p.ID, ops.ID, map[string]string{"token": "hunter3", "notify": "down"}, nil)
		must(t, err)

		c, err := o.Create(ann, p.ID, checks.Spec{Name: new("Backup"), Slug: new("backup"), Channels: new("*")})
		must(t, err)
		for range 2 { // the second time nothing changes
			_, _, err = o.Upsert(t.Context(), p.ID, checks.Spec{Slug: new("backup"), Grace: new(90 * time.Minute), Channels: new("")}, checks.UniqueSlug)
			must(t, err)
		}
		o.ping(t, c.ID, pings.Success)
		for range 2 {
			_, err = o.Pause(ann, c.ID)
			must(t, err)
		}
		paused, err := o.Resume(ann, c.ID)
		must(t, err)
		_, err = o.Update(ann, c.ID, checks.Spec{Schedule: new("0 3 * * *"), Tags: []string{"prod", "db"}})
		must(t, err)
		if _, err := o.Update(ann, paused.ID, checks.Spec{Name: new("\x00")}); err == nil {
			t.Error("a name with NUL is taken")
		}
		_, _, err = o.PingSlug(t.Context(), p.PingKey, "new-job", true, pings.Signal{Kind: pings.Success})
		must(t, err)

		page, err := o.CreateStatusPage(ann, checks.StatusPage{ProjectID: p.ID, Slug: "status", Title: "Status"})
		must(t, err)
		page.Tags, page.MinOutage, page.Names = []string{"prod"}, time.Minute, map[uuid.UUID]string{c.ID: "Copies"}
		_, err = o.UpdateStatusPage(ann, page)
		must(t, err)
		must(t, o.DeleteStatusPage(ann, p.ID, page.ID))
		_, key, err := o.CreateKey(ann, p.ID, checks.ReadOnly)
		must(t, err)
		must(t, o.DeleteKey(ann, p.ID, key.ID))
		_, err = o.Projects().Update(ann, p.ID, checks.ProjectUpdate{Name: new("renamed")})
		must(t, err)
		_, everywhere, err := o.Installation().CreateKey(ann)
		must(t, err)
		must(t, o.Installation().DeleteKey(ann, everywhere.ID))
		_, err = o.Transfer(ann, c.ID, o.project.ID)
		must(t, err)
		must(t, o.DeleteChannel(ann, p.ID, ops.ID))
		must(t, o.Projects().Delete(ann, p.ID))

		const by = "person ann@example.org 192.0.2.7: "
		want := []string{
			by + `project.create "audited" account ""→"default" plan ""→"paid"`,
			by + `channel.create "ops" name ""→"ops" token ""→"(secret)"`,
			by + `channel.update "ops" notify ""→"down" token "(secret)"→"(secret)"`,
			by + `check.create "Backup" name ""→"Backup" slug ""→"backup" channels ""→"ops"`,
			`program : check.update "Backup" grace "1h"→"1h30m" channels "ops"→""`,
			by + `check.pause "Backup"`,
			by + `check.resume "Backup"`,
			by + `check.update "Backup" tags ""→"prod db" schedule ""→"0 3 * * *"`,
			`ping : check.create "new-job" name ""→"new-job" slug ""→"new-job" channels ""→"ops"`,
			by + `status_page.create "status" slug ""→"status" title ""→"Status"`,
			by + `status_page.update "status" tags ""→"prod" min_outage "0s"→"1m" name of ` + c.ID.String() + ` ""→"Copies"`,
			by + `status_page.delete "status"`,
			by + `key.create "` + key.Hint + `" scope ""→"read-only"`,
			by + `key.delete "` + key.Hint + `"`,
			by + `project.update "renamed" name "audited"→"renamed"`,
			by + `check.move "Backup" project "renamed"→"p"`,
			by + `channel.delete "ops"`,
			by + `project.delete "renamed"`,
		}
		if diff := cmp.Diff(want, entries(t, o.Monitor, p.ID, audit.Query{})); diff != "" {
			t.Error(diff)
		}
		moved := []string{by + `check.move "Backup" project "renamed"→"p"`}
		if diff := cmp.Diff(moved, entries(t, o.Monitor, o.project.ID, audit.Query{Check: c.ID})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAuditOfOthers: a monitor without AuditRetention writes nothing, and removes nothing that another one wrote. That one
// removes what is older than its own.
func TestAuditOfOthers(t *testing.T) {
	eachOutbox(t, audited, func(t *testing.T, o outbox) {
		_, err := o.Create(t.Context(), o.project.ID, checks.Spec{Name: new("a")})
		must(t, err)
		silent := o.config
		silent.AuditRetention = 0
		other, err := monitor.New(o.store, &silent)
		must(t, err)
		_, err = on(other).Create(t.Context(), o.project.ID, checks.Spec{Name: new("b")})
		must(t, err)
		want := []string{`program : check.create "a" name ""→"a"`}
		left := func(tick func(context.Context) error) {
			t.Helper()
			must(t, tick(t.Context()))
			if diff := cmp.Diff(want, entries(t, o.Monitor, o.project.ID, audit.Query{})); diff != "" {
				t.Error(diff)
			}
		}
		o.clock.Advance(364 * 24 * time.Hour)
		left(o.Tick)
		o.clock.Advance(2 * 24 * time.Hour)
		left(other.Tick)
		want = nil
		left(o.Tick)
	})
}

// TestAuditKeepsNoSecret: settings of a kind that this program does not know, and values from files and variables, are secrets.
func TestAuditKeepsNoSecret(t *testing.T) {
	eachOutbox(t, func(c *monitor.Config) { audited(c); mute(c) }, func(t *testing.T, o outbox) {
		c, err := o.Project(o.project.ID).CreateChannel(t.Context(), channels.Channel{
			Kind: channels.Webhook, Name: "hook", Settings: map[string]string{"url_down": "https://example.org/hunter2"},
			Sources: map[string]string{"url_down": "$ROLLCALL_HOOK"},
		})
		must(t, err)
		bare := o.config
		bare.Channels = nil
		other, err := monitor.New(o.store, &bare)
		must(t, err)
		must(t, on(other).DeleteChannel(t.Context(), o.project.ID, c.ID))
		for _, line := range entries(t, o.Monitor, o.project.ID, audit.Query{}) {
			if strings.Contains(line, "hunter2") {
				t.Error(line)
			}
		}
	})
}
