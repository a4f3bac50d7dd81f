package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// TestWindowCommands says on standard error what is likely not meant, on the database and on a server, and reads times of the wall clock.
func TestWindowCommands(t *testing.T) {
	db := dbtest.SQLite(t)
	p := start(t, db.URL)
	key := keyOf(t, p)
	createCheck(t, p, key, "nightly")
	createCheck(t, p, key, "nightly-upload")
	riga, err := schedule.LoadLocation("Europe/Riga")
	if err != nil {
		t.Fatal(err)
	}
	var skipped, twice string // within the next year
	for _, change := range schedule.ClockChanges(riga, time.Now().Add(time.Hour), time.Now().AddDate(1, 0, 0)) {
		if change.After > change.Before {
			wall, _ := time.Parse("2006-01-02T15:04", change.At.Format("2006-01-02T15:04"))
			skipped = wall.Add(-time.Minute).Format("2006-01-02T15:04")
		} else {
			twice = change.At.Add(time.Minute).Format("2006-01-02T15:04")
		}
	}
	for place, flags := range map[string][]string{"database": {"--database", db.URL}, "server": {"--url", p.url, "--api-key", key}} {
		command := func(args ...string) (stdout, stderr string, status int) {
			t.Helper()
			return rollcall(append(args, flags...)...)
		}
		_, errs, status := command("snooze", "start", "--tag", "wbe", "--for", "30m")
		if status != console.ExitOK || errs != "rollcall: no check has the tag \"wbe\"\n" {
			t.Errorf("%s: a tag that no check has: %d %s", place, status, errs)
		}
		if _, errs, status = command("snooze", "start", "--tag", "", "--for", "30m"); status == console.ExitOK || !strings.Contains(errs, "tag") {
			t.Errorf("%s: an empty tag: %d %s", place, status, errs)
		}
		if _, errs, status = command("snooze", "start", "--check", "nothing", "--for", "30m"); status == console.ExitOK || !strings.Contains(errs, "nothing") {
			t.Errorf("%s: no such check: %d %s", place, status, errs)
		}
		if skipped != "" {
			_, errs, status = command("maintenance", "start", "--at", skipped, "--for", "30m", "--tz", "Europe/Riga")
			if status != console.ExitUsage || !strings.Contains(errs, "does not exist: the clock is set forward from") {
				t.Errorf("%s: %s: %d %s", place, skipped, status, errs)
			}
		}
		if twice != "" {
			out, errs, status := command("maintenance", "start", "--at", twice, "--for", "30m", "--tz", "Europe/Riga")
			if status != console.ExitOK || !strings.Contains(errs, "rollcall: --at: the clock shows ") || !strings.Contains(errs, "twice; this is the first, "+twice+":00+03:00") ||
				!strings.Contains(out, " from "+twice+":00+03:00 until ") {
				t.Errorf("%s: %s: %d %s%s", place, twice, status, errs, out)
			}
			out, errs, _ = command("maintenance", "start", "--at", twice+"+02:00", "--for", "30m", "--tz", "Europe/Riga")
			if errs != "" || !strings.Contains(out, " from "+twice+":00+02:00 until ") {
				t.Errorf("%s: with an offset: %s%s", place, errs, out)
			}
		}
		if _, errs, status = command("check", "set", "nightly-upload", "--after", "nightly"); status != console.ExitOK || errs != "rollcall: nightly alerts nobody, so no alert waits for it\n" {
			t.Errorf("%s: a parent that alerts nobody: %d %s", place, status, errs)
		}
		if _, errs, _ = command("check", "create", "copy-"+place, "--every", "1h", "--after", "nightly"); strings.Count(errs, "rollcall: nightly alerts nobody, so no alert waits for it\n") != 1 {
			t.Errorf("%s: a new check after a parent that alerts nobody: %s", place, errs)
		}
		if out, _, _ := command("check", "show", "nightly-upload"); place == "database" && !strings.Contains(out, "It follows others, but nightly alerts nobody, so no alert waits for it.") {
			t.Errorf("%s: check show: %s", place, out)
		}
		out, _, _ := command("check", "snooze", "nightly", "--for", "30m", "--tz", "Asia/Kathmandu")
		if !regexp.MustCompile(`^Snoozed nightly until \S+\+05:45 \(`).MatchString(out) {
			t.Errorf("%s: not in the zone: %s", place, out)
		}
	}
}
