package monitor_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// planted are wrong lines: an error, the file below checks that gets it, and what it replaces by what.
var planted = []struct{ name, file, right, wrong string }{
	{"all steps at once", "gate/gate.go", "after > 0 && now.Before(turn)", "after < 0 && now.Before(turn)"},
	{"steps go on after an acknowledgement", "gate/gate.go", "(e.Kind == Reminder || after > 0)", "e.Kind == Reminder"},
	{"reminders go on after an acknowledgement", "gate/gate.go", "(e.Kind == Reminder || after > 0)", "(e.Kind != Reminder && after > 0)"},
	{"the end of an acknowledgement does not begin the policy again", "gate/clock.go", "if returned.After(c.Zero) {", "if returned.After(now) {"},
	{"no reminder at the end of an acknowledgement", "alerts.go", "returned := c.Alerting.Remind\n", "returned := false\n"},
	{"quiet hours keep no recovery back", "gate/gate.go", "if p.Quiet == nil {\n\t\treturn Decision{}", "if p.Quiet == nil || e.Kind == Up {\n\t\treturn Decision{}"},
	{"quiet hours keep no alert back", "gate/gate.go", "if p.Quiet == nil {\n\t\treturn Decision{}", "if p.Quiet == nil || e.Kind != Up {\n\t\treturn Decision{}"},
	{"a window keeps a recovery back", "gate/gate.go", "\tif e.Kind != Up {\n\t\tif w, end", "\tif true {\n\t\tif w, end"},
	{"a window by tag keeps nothing back", "gate/gate.go", "if !w.Covers(e.Check, e.Tags) {\n\t\t\tcontinue\n\t\t}\n\t\tuntil, in", "if !w.Covers(e.Check, nil) {\n\t\t\tcontinue\n\t\t}\n\t\tuntil, in"},
	{"followers are released at once", "gate/gate.go", "if until = parent.Until(e.Grace); !until.After(now) {", "if until = parent.Until(e.Grace); true {"},
	{"a parent that is down keeps nothing back", "internal/courier/parents.go", "(!recorded || p.Told ||", "(!recorded ||"},
	{"a parent that tells nobody keeps alerts back", "internal/courier/parents.go", "(!recorded || p.Told ||", "(!recorded || p.ID != uuid.Nil ||"},
	{"the clock does not stand", "gate/clock.go", "if at.After(c.Asked) {\n", "if at.Before(c.Asked) {\n"},
	{"the clock is not kept", "internal/courier/gate.go", "clocks[a.Flip.ID] = d.Clock", "_ = d.Clock"},
	{"a combined message misses one", "internal/courier/storm.go", "append([]*send{s}, s.others...)", "append([]*send{s}, s.others[1:]...)"},
	{"what was tried and kept back counts as unheard", "internal/courier/gate.go", "r.Attempts = max(0, r.Attempts-1)\n", "r.Attempts = 0\n"},
	{"a recovery goes to all", "internal/courier/gate.go", "case a.Unheard:", "case a.Unheard && a.ID < 0:"},
	{"a reminder replaces an alert that nobody has heard", "internal/courier/rules.go", "return !w.FlipUp && w.FlipID == down }); i >= 0 {", "return !w.FlipUp && w.FlipID == down }); i >= 0 && newest.FlipUp {"},
	{"another key at each attempt", "internal/courier/content.go", "cmp.Or(a.Origin, a.ID)", "cmp.Or(a.Origin, a.ID)*100+int64(a.Attempts)"},
	{"given up after a few attempts", "internal/courier/rules.go", "q.Attempts >= giveUpAttempts &&", "q.Attempts >= giveUpAttempts ||"},
	{"one of several recipients is forgotten", "internal/courier/rules.go", "if to, due := l.judge(q, u.Err, now); to == checks.DeliveryPending {", "if to, due := l.judge(q, u.Err, now); to == checks.DeliverySkipped {"},
	{"a reminder counts from the event", "internal/courier/gate.go", "e.Last = a.Told", "e.Last = time.Time{}"},
	{"an incident of somebody unassigned stays open", "internal/courier/incidents.go", "over := v.gone || !v.down || !v.assigned", "over := v.gone || !v.down"},
	{"everything was heard", "sqlstore/alerts.go", "heard = `(o.state = 'sent' OR o.attempts > 0)`", "heard = `(o.id > 0)`"},
	{"only what arrived was heard", "sqlstore/alerts.go", "heard = `(o.state = 'sent' OR o.attempts > 0)`", "heard = `(o.state = 'sent')`"},
	{"no recovery to those who are unassigned", "sqlstore/outbox.go", "WHERE a.up AND o.check_id = a.check_id\n\t\t\tAND NOT", "WHERE a.up AND o.check_id = -a.check_id\n\t\t\tAND NOT"},
	{"a move forgets who knows", "sqlstore/tx.go", "(`+saysDown(\"?0\")+` OR ", "(FALSE AND `+saysDown(\"?0\")+` OR "},
	{"an edit releases nothing", "sqlstore/escalation.go", "AND due_at > ?0 AND due_at = held_until", "AND due_at > ?0 AND due_at < held_until"},
	{"who is named in an outage is not told", "sqlstore/escalation.go", "if err != nil || len(wants) == 0 {", "if err != nil || len(wants) >= 0 {"},
	{"a line has no order", "sqlstore/deliveries.go", "ORDER BY h.reminder > 0 AND h.held <> '' AND h.attempts = 0, h.id LIMIT 1)`", "ORDER BY h.reminder > 0 AND h.held <> '' AND h.attempts = 0, h.id DESC LIMIT 1)`"},
	{"a group tells members again", "sqlstore/deliveries.go", "AND o.created_at >= d.created_at AND o.state <> 'skipped'", "AND o.created_at >= d.created_at AND o.state = 'none'"},
	{"who has an alert gets it again when others have not", "sqlstore/deliveries.go", "Done: doneText(r.Done, r.Handed),", "Done: doneText(nil, r.Handed),"},
}

// TestJudgePlanted asks that each planted error can be planted. With ROLLCALL_JUDGE_PLANTED, it builds the judge on those whose names this
// regular expression matches, and has it play the same histories until it finds something. For all that takes an hour:
// ROLLCALL_JUDGE_PLANTED=. go test ./checks/monitor -run TestJudgePlanted -v -timeout 5h
func TestJudgePlanted(t *testing.T) {
	names, err := regexp.Compile(os.Getenv("ROLLCALL_JUDGE_PLANTED"))
	must(t, err)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("..", p.file))
			must(t, err)
			text, err := os.ReadFile(path)
			must(t, err)
			if n := strings.Count(string(text), p.right); n != 1 {
				t.Fatalf("%s has %q %d times", p.file, p.right, n)
			}
			if names.String() == "" || !names.MatchString(p.name) {
				return
			}
			dir := t.TempDir()
			file, overlay, program := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "judge")
			must(t, os.WriteFile(file, []byte(strings.Replace(string(text), p.right, p.wrong, 1)), 0o600))
			list, err := json.Marshal(map[string]map[string]string{"Replace": {path: file}})
			must(t, err)
			must(t, os.WriteFile(overlay, list, 0o600))
			if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			judge := exec.CommandContext(t.Context(), program, "-test.short", "-test.run", "TestJudge/sqlite", "-test.timeout", "1h")
			judge.Env = append(os.Environ(), "ROLLCALL_JUDGE=seed:1+600")
			out, err := judge.CombinedOutput()
			if err == nil {
				t.Fatal("600 histories find nothing")
			}
			found := regexp.MustCompile(`\d+ of \d+ histories.*`).Find(out)
			if found == nil {
				t.Fatalf("%s", out)
			}
			t.Logf("%s", found)
		})
	}
}
