package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/schedule"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/cmd/rollcall/internal/console"
)

// checkDoc is a check as commands print it.
type checkDoc struct {
	checks.Snapshot
	base     console.Address // of the server, for the addresses of the API
	problems []string        // why nobody would hear of the check, in lists and of "check show"
}

// ackDoc is an acknowledgement in the JSON of this command line.
type ackDoc struct {
	By    string  `json:"by"`
	At    string  `json:"at"`
	Until *string `json:"until"`
	Note  string  `json:"note"`
}

const checkDocHelp = `the check as the API writes it (server/API.md section 2.1), with every field, unset ones too, and "problems", why nobody would hear
of it: alerts nobody, never reported in time. Only check create, list, set and show fill it.`

// document returns the document of a check of the project.
func (p project) document(c checks.Snapshot) checkDoc {
	if c.ID != uuid.Nil && (c.PingURL == "" || p.addresses.pingSet) {
		c.PingURL = string(p.addresses.ping) + "/" + c.ID.String()
	}
	if c.Check != nil && c.BadgeURL == "" {
		c.BadgeURL = string(p.addresses.base) + badges.CheckPath(c.Check.BadgeKey.String(), badges.SVG, false)
	}
	return checkDoc{Snapshot: c, base: p.addresses.base, problems: []string{}}
}

// MarshalJSON writes the document.
func (d checkDoc) MarshalJSON() ([]byte, error) { return json.Marshal(d.object()) }

// object has the settings in the order of their table, so that one that is new is in the document.
func (d checkDoc) object() console.Object {
	id, api := "", ""
	if d.ID != uuid.Nil {
		id = d.ID.String()
		api = string(d.base) + "/api/v3/checks/" + id
	}
	o := console.Object{{Name: "uuid", Value: id}}
	for _, s := range checks.AllSettings() {
		o = append(o, console.Member{Name: s.Name, Value: d.setting(s)})
	}
	var ack *ackDoc
	if a := d.Ack; !a.At.IsZero() {
		ack = &ackDoc{a.By, console.Timestamp(a.At), console.OptionalTimestamp(a.Until), a.Note}
	}
	after := func(path string) string {
		if id == "" {
			return ""
		}
		return api + path
	}
	return append(o,
		console.Member{Name: "status", Value: d.Status}, console.Member{Name: "started", Value: d.Started}, console.Member{Name: "n_pings", Value: d.NPings},
		console.Member{Name: "last_ping", Value: console.OptionalTimestamp(d.LastPing)}, console.Member{Name: "next_ping", Value: console.OptionalTimestamp(d.NextPing)},
		console.Member{Name: "acknowledged", Value: ack}, console.Member{Name: "unique_key", Value: d.UniqueKey},
		console.Member{Name: "ping_url", Value: d.PingURL}, console.Member{Name: "badge_url", Value: d.BadgeURL}, console.Member{Name: "update_url", Value: api},
		console.Member{Name: "pause_url", Value: after("/pause")}, console.Member{Name: "resume_url", Value: after("/resume")},
		console.Member{Name: "problems", Value: d.problems},
	)
}

// setting returns the value of a setting in JSON, as the API writes it. A Cron check has no timeout.
func (d checkDoc) setting(s checks.Setting) any {
	switch value := s.Of(d.Settings).(type) {
	case nil:
		if s.Name == "channels" { // which are no part of settings
			return d.channelIDs()
		}
		return "" // no tags
	case []string:
		return strings.Join(value, s.Separator)
	case time.Duration:
		if s.Name == "timeout" && d.IsCron() {
			return nil
		}
		return int64(value / time.Second)
	default:
		return value
	}
}

func (d checkDoc) channelIDs() string {
	ids := make([]string, len(d.Channels))
	for i, id := range d.Channels {
		ids[i] = id.String()
	}
	return strings.Join(ids, ",")
}

// text returns the value of a setting for people, with names of integrations where they are known.
func (d checkDoc) text(s checks.Setting, names map[uuid.UUID]string) string {
	value := s.Of(d.Settings)
	switch {
	case s.Name == "channels":
		return channelNames(d.Channels, names)
	case value == nil, s.Name == "timeout" && d.IsCron(), reflect.ValueOf(value).IsZero():
		return ""
	case value == true:
		return "yes"
	}
	if period, ok := value.(time.Duration); ok {
		return prose.Period(period)
	}
	return checks.ValueText(value)
}

func channelNames(ids []uuid.UUID, names map[uuid.UUID]string) string {
	list := make([]string, len(ids))
	for i, id := range ids {
		if list[i] = names[id]; list[i] == "" {
			list[i] = id.String()
		}
	}
	return strings.Join(list, ", ")
}

// names returns what people call the integrations of the project.
func (p project) names(ctx context.Context) (map[uuid.UUID]string, error) {
	list, err := p.Channels(ctx)
	names := make(map[uuid.UUID]string, len(list))
	for _, c := range list {
		names[c.ID] = c.Name
	}
	return names, err
}

// when says when a job runs: its expression, or its interval.
func (d checkDoc) when() string {
	if d.IsCron() {
		return strings.Join(strings.FieldsFunc(d.Schedule, func(r rune) bool { return r == '\n' }), " and ")
	}
	return "every " + prose.Period(d.Timeout)
}

// state is the status in the words for people.
func (d checkDoc) state() string {
	if d.Status == checks.StatusGrace {
		return "late"
	}
	return string(d.Status)
}

// facts returns what is set of a check, line by line.
func (d checkDoc) facts(names map[uuid.UUID]string) [][]string {
	rows := [][]string{{"Ping URL", d.PingURL}, {"Schedule", d.when()}}
	if parsed, err := schedule.Read(d.Schedule); d.IsCron() && err == nil {
		if zone, err := schedule.LoadLocation(d.TZ); err == nil {
			rows[1][1] += " (" + schedule.Explain(parsed, zone) + ")"
		}
	}
	for _, s := range checks.AllSettings() {
		text := d.text(s, names)
		if s.Name == "name" || s.Name == "schedule" || s.Name == "timeout" || text == "" {
			continue
		}
		label := strings.ReplaceAll(s.Name, "_", " ")
		switch s.Name {
		case "tz":
			label = "time zone"
		case "channels":
			label = "integrations"
		}
		rows = append(rows, []string{strings.ToUpper(label[:1]) + label[1:], text})
	}
	if !d.LastPing.IsZero() {
		rows = append(rows, []string{"Last ping", prose.Time(d.LastPing, "2006-01-02 15:04:05", d.TZ)})
	}
	if !d.NextPing.IsZero() {
		rows = append(rows, []string{"Next ping", prose.Time(d.NextPing, "2006-01-02 15:04:05", d.TZ)})
	}
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// write writes the facts of a check below its name.
func (d checkDoc) write(w io.Writer, verdict string, names map[uuid.UUID]string) {
	id := d.UniqueKey
	if d.ID != uuid.Nil {
		id = d.ID.String()
	}
	fmt.Fprintf(w, "%s\n\n%s\n\n", console.Printable(d.DisplayName()+"  "+id), console.Printable(verdict))
	console.Table(w, d.facts(names)...)
}

// listWidth is how wide a list of checks is at most, in characters.
const listWidth = 80

// checkTable is the short list of checks at an instant: what fits a terminal.
func checkTable(w io.Writer, documents []checkDoc, now time.Time) {
	rows := [][]string{{"STATE", "NAME", "SCHEDULE", "LAST PING", "NEXT"}}
	for _, d := range documents {
		last, next := "", ""
		if !d.LastPing.IsZero() {
			last = ago(now.Sub(d.LastPing))
		}
		if wait := d.NextPing.Sub(now); wait > 0 {
			next = "in " + shortly(wait)
		} else if !d.NextPing.IsZero() {
			next = ago(-wait)
		}
		rows = append(rows, []string{d.state(), console.Printable(d.DisplayName()), shorten(console.Printable(d.when()), 20), last, next})
	}
	room := listWidth
	for column := range rows[0] {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[column]))
		}
		if column != 1 {
			room -= widest + 2
		}
	}
	for _, row := range rows {
		row[1] = shorten(row[1], room)
	}
	console.Table(w, rows...)
}

// shortly returns the largest unit of a duration: "14 min".
func shortly(d time.Duration) string {
	return strings.Join(strings.Fields(prose.Duration(d))[:2], " ")
}

// ago says how long ago something was.
func ago(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return shortly(d) + " ago"
}

// shorten cuts a text to at most so many characters.
func shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// wideList is the list of checks with all that is set.
var wideList = append(append(list[checkDoc]{
	{"UUID", func(d checkDoc) string {
		if d.ID == uuid.Nil {
			return d.UniqueKey
		}
		return d.ID.String()
	}},
	{"STATE", checkDoc.state},
	{"LAST PING", func(d checkDoc) string { return console.Or(console.OptionalTimestamp(d.LastPing)) }},
	{"NEXT", func(d checkDoc) string { return console.Or(console.OptionalTimestamp(d.NextPing)) }},
}, settingColumns()...),
	column[checkDoc]{"ACKNOWLEDGED BY", func(d checkDoc) string { return d.Ack.By }},
	column[checkDoc]{"PROBLEMS", func(d checkDoc) string { return strings.Join(d.problems, ", ") }},
)

// settingColumns returns a column for each setting.
func settingColumns() (columns list[checkDoc]) {
	for _, s := range checks.AllSettings() {
		columns = append(columns, column[checkDoc]{strings.ToUpper(strings.ReplaceAll(s.Name, "_", " ")), func(d checkDoc) string { return d.text(s, nil) }})
	}
	return columns
}

// alertsNobody is the problem of a check about which no alert would reach anyone.
const alertsNobody = "alerts nobody"

// documents returns the documents of checks, with why nobody would hear of them, as far as the database or the API key shows it.
func (p project) documents(ctx context.Context, list []checks.Snapshot) ([]checkDoc, error) {
	documents := each(list, p.document)
	var available []channels.Channel
	var reach map[uuid.UUID]verdict.Reach
	if p.mon != nil {
		var err error
		if available, reach, err = p.mon.Project(p.ID).Receivers(ctx, false); err != nil {
			return nil, err
		}
	}
	for i, c := range list {
		silent := len(c.Channels) == 0 && c.ID != uuid.Nil // a read-only key sees no integrations
		if p.mon != nil {
			silent = !slices.ContainsFunc(verdict.Receivers(*c.Check, available, reach), verdict.Receiver.Reached)
		}
		if silent && !c.RecordOnly && c.Status != checks.StatusPaused {
			documents[i].problems = append(documents[i].problems, alertsNobody)
		}
		if c.Check != nil && c.Check.NewTooLong(p.mon.Now()) {
			documents[i].problems = append(documents[i].problems, "never reported in time")
		}
	}
	return documents, nil
}

// sayProblems says on standard error which checks have a problem.
func (a *App) sayProblems(documents []checkDoc) {
	for _, problem := range []struct{ text, one, many, way string }{
		{alertsNobody, "alerts nobody", "alert nobody", `"rollcall channel create" adds an integration, and "rollcall check set NAME --channels '*'" lets a check alert all`},
		{"never reported in time", "has never reported in time", "have never reported in time", `"rollcall check show NAME" says since when`},
	} {
		var names []string
		for _, d := range documents {
			if slices.Contains(d.problems, problem.text) {
				names = append(names, d.DisplayName())
			}
		}
		verb := problem.many
		if len(names) == 1 {
			verb = problem.one
		}
		if len(names) > 0 {
			a.say("%s %s; %s", namesOf(names), verb, problem.way)
		}
	}
}

// namesOf lists names in quotation marks, at most maxAckNames of them.
func namesOf(names []string) string {
	more := len(names) - maxAckNames
	quoted := make([]string, 0, min(len(names), maxAckNames)+1)
	for _, name := range names[:min(len(names), maxAckNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	if more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return prose.List(quoted)
}
