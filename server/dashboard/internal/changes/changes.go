// Package changes shows the audit log to viewers.
package changes

import (
	"cmp"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Change is an entry of the audit log as a viewer may see it.
type Change struct {
	audit.Entry
	// Noun says what kind of thing changed, "" for a check.
	Noun string
	// Text says what happened to it, such as "was created".
	Text string
	// Who did it, or "" for viewers who may not know.
	Who string
}

// nouns are the kinds of things that change, by the first part of an action.
var nouns = map[string]string{
	"channel": "Integration", "status_page": "Status page", "key": "API key", "project": "Project", "person": "Account",
	"maintenance": "Maintenance", "snooze": "Snooze", "escalation": "Escalation policy",
}

// verbs say what happened, by the second part of an action.
var verbs = map[string]string{
	"create": "was created", "delete": "was deleted", "pause": "was paused", "resume": "was resumed", "move": "was moved", "end": "was ended",
	"acknowledge": "was acknowledged", "unacknowledge": "is no longer acknowledged",
	"restore": "went back to its state before the last pause or resume", "role": "got another role",
}

// Of returns entries of the audit log of the page's project, newest first. Only those who may edit the project see values
// and who made a change. Only owners see from which address, and what happened to keys and members.
func Of(q *ui.Request, query audit.Query) ([]Change, error) {
	if !q.Right.Owns() {
		query.Except = []string{"key", "person"}
	}
	query.Project = q.Project.ID
	entries, err := q.Mon.Installation().Audit(q.Ctx(), query)
	list := make([]Change, len(entries))
	for i, e := range entries {
		kind, verb, _ := strings.Cut(e.Action, ".")
		e.Object = words.Name(e.Object, "unnamed")
		c := Change{Entry: e, Noun: nouns[kind], Text: cmp.Or(verbs[verb], "was changed")}
		if q.Right.Edits() {
			c.Who = whoOf(e.Actor, q.Right.Owns())
		} else {
			c.Changes = nil
		}
		for j := range c.Changes {
			c.Changes[j].Field = ui.SettingNoun(c.Changes[j].Field)
			c.Changes[j].From, c.Changes[j].To = prose.Plain(c.Changes[j].From), prose.Plain(c.Changes[j].To)
		}
		if kind == "escalation" {
			c.Object = "" // the project has one
		}
		if list[i] = c; kind == "maintenance" || kind == "snooze" {
			list[i].sayWindow(q.Clock(), kind)
		}
	}
	if err == nil {
		err = nameChecks(q, list)
	}
	return list, err
}

// sayWindow writes the times of a window by the clock of the viewer. One without a note is called by its kind alone.
func (c *Change) sayWindow(clock words.Clock, kind string) {
	if c.Object == kind {
		c.Object = ""
	}
	for i := range c.Changes {
		c.Changes[i].From, c.Changes[i].To = clock.Spoken(c.Changes[i].From), clock.Spoken(c.Changes[i].To)
	}
}

// maxNamed bounds the checks of windows that are named.
const maxNamed = 50

// nameChecks names the checks that windows are about, which the audit log knows by their UUIDs.
func nameChecks(q *ui.Request, list []Change) error {
	var ids []uuid.UUID
	var texts []*string
	for _, c := range list {
		for i := range c.Changes {
			if field := &c.Changes[i]; field.Field == "checks" {
				texts = append(texts, &field.From, &field.To)
			}
		}
	}
	for _, text := range texts {
		for _, id := range uuids.FindAllString(*text, maxNamed) {
			ids = append(ids, uuid.MustParse(id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	found, err := q.Mon.Project(q.Project.ID).List(q.Ctx(), checks.ListQuery{IDs: ids[:min(len(ids), maxNamed)], Order: checks.ListByAge})
	if err != nil {
		return err
	}
	names := make([]string, 0, 2*len(found))
	for _, c := range found {
		names = append(names, c.ID.String(), ui.NameOf(c))
	}
	replacer := strings.NewReplacer(names...)
	for _, text := range texts {
		*text = replacer.Replace(*text)
	}
	return nil
}

// uuids matches the UUIDs in a list.
var uuids = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// whoOf names an actor, and with address also where the request came from.
func whoOf(a audit.Actor, address bool) string {
	a.Name = words.Name(a.Name, "")
	who := a.Words()
	if address && a.Address != "" {
		who += " from " + a.Address
	}
	return who
}

// Within reports whether the change is about the same moment as another instant: two clocks were read for one action.
func (c Change) Within(at time.Time) bool { return c.At.Sub(at).Abs() < time.Second }
