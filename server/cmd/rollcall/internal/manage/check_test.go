package manage

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
)

// commandLine returns a parser of the commands.
func commandLine(t *testing.T) (*struct{ Commands }, *kong.Kong) {
	t.Helper()
	var c struct{ Commands }
	c.Prepare()
	parser, err := kong.New(&c, kong.Exit(func(int) { t.Fatal("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	return &c, parser
}

// TestSettingFlags walks the table of settings: each has a flag with a text in check create and check set, which sets it, a key
// in JSON and a column.
func TestSettingFlags(t *testing.T) {
	for _, s := range checks.AllSettings() {
		text, ok := flagTexts[s.Name]
		if !ok || !slices.Contains(flagGroups, text.group) {
			t.Errorf("the flag of %s has no text: add one to flagTexts", s.Name)
		}
		want := s.Example
		value := checks.ValueText(want)
		for _, command := range []string{"create", "set"} {
			c, parser := commandLine(t)
			if _, err := parser.Parse([]string{"check", command, "x", "--" + flagOf(s) + "=" + value}); err != nil {
				t.Errorf("check %s: %v", command, err)
				continue
			}
			flags := c.Check.Create.settingFlags
			if command == "set" {
				flags = c.Check.Set.settingFlags
			}
			spec, given, err := flags.spec()
			if err != nil || len(given) != 1 || given[0].Name != s.Name || checks.ValueText(s.Value(spec)) != value {
				t.Errorf("check %s --%s=%s: %v, %v, %v", command, flagOf(s), value, spec, given, err)
			}
		}
		document, err := json.Marshal(project{}.document(checks.Snapshot{}))
		if err != nil || !strings.Contains(string(document), `"`+s.Name+`":`) {
			t.Errorf("%s is not in %s, %v", s.Name, document, err)
		}
		title := strings.ToUpper(strings.ReplaceAll(s.Name, "_", " "))
		if !slices.ContainsFunc(wideList, func(c column[checkDoc]) bool { return c.Title == title }) {
			t.Errorf("check list --wide has no column %s", title)
		}
	}
}

// TestCheckTable lists checks with the longest names and schedules in 80 columns.
func TestCheckTable(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	check := func(name, schedule string, status checks.Status, last, next time.Time) checkDoc {
		s := checks.Defaults()
		s.Name, s.Schedule = name, schedule
		return checkDoc{Snapshot: checks.Snapshot{ID: uuid.UUID{1}, Settings: s, Status: status, LastPing: last, NextPing: next}}
	}
	documents := []checkDoc{
		check(strings.Repeat("long name ", 10), "Mon..Fri *-*-* 09:00:00 Europe/Berlin\nSat *-*-* 10:00", checks.StatusPaused, now.AddDate(-1, 0, 0), now.AddDate(1, 0, 0)),
		check("a\nb", "", checks.StatusGrace, now.Add(-25*time.Hour), now.Add(-time.Hour)),
		check("", "", checks.StatusNew, time.Time{}, time.Time{}),
	}
	var out strings.Builder
	checkTable(&out, documents, now)
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > listWidth {
			t.Errorf("%d characters: %s", n, line)
		}
	}
	if want := `STATE   NAME                     SCHEDULE              LAST PING     NEXT
paused  long name long name lo…  Mon..Fri *-*-* 09:0…  365 days ago  in 365 days
late    a\u000ab                 every 1 day           1 day ago     1 h ago
new     01000000                 every 1 day
`; out.String() != want {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
}
