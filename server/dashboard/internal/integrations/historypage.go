package integrations

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/changes"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/ui"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// historyPerPage is how many entries a page shows, and more if several are of one instant.
const historyPerPage = 50

// maxReported bounds the pings that are read to find those that reported the status changes of a page.
const maxReported = 10_000

// historyKinds are the kinds of entries to filter by.
var historyKinds = []ui.Choice{{Value: "status", Label: "Status changes"}, {Value: "alerts", Label: "Alerts"}, {Value: "changes", Label: "Settings"}}

// historyView is the data of the history of a project.
type historyView struct {
	Rows     []historyRow
	Kinds    []ui.Choice
	Channels []ui.Choice
	Checks   []string
	Check    string
	Problem  string
	Filtered bool
	Older    string // the query of the next page, or ""
	Later    bool   // this is not the first page
	query    url.Values
}

// historyRow is an entry: a status change, an alert or a change of settings.
type historyRow struct {
	At        time.Time
	Word      string // of a state, for its shape; "" for none
	Name, Key string // of a check, or the name of what was changed
	Text      string
	Why       string
	Ping      *pings.Ping // the one that reported a status change, if it is known
	Alert     *deliveryRow
	// Also are further deliveries of the same alert.
	Also []*deliveryRow
	// Change is the entry of the audit log, if it is one.
	Change *changes.Change
}

// Alerts are all deliveries of an alert, by the names of their integrations.
func (r historyRow) Alerts() []*deliveryRow {
	list := append([]*deliveryRow{r.Alert}, r.Also...)
	slices.SortStableFunc(list, func(a, b *deliveryRow) int { return strings.Compare(a.Channel, b.Channel) })
	return list
}

// rank orders entries of one instant, the last first: an alert follows a status change.
func (r historyRow) rank() int {
	switch {
	case r.Alert != nil:
		return 0
	case r.Word != "":
		return 1
	}
	return 2
}

// sameAlert reports whether two entries are deliveries of one alert.
func sameAlert(a, b *deliveryRow) bool {
	return a != nil && b != nil && a.CheckID == b.CheckID && a.CreatedAt.Equal(b.CreatedAt) && a.Status == b.Status && a.Reminder == b.Reminder && a.Close == b.Close
}

// historyCursor is where a page begins: before an instant, and below the identifier of a delivery.
type historyCursor struct {
	before   time.Time
	delivery int64
}

// parseHistoryCursor reads a cursor. A text that is none, or names an instant that has not come, stands for the first page.
func parseHistoryCursor(text string, now time.Time) (c historyCursor) {
	at, id, _ := strings.Cut(text, "-")
	micros, err := strconv.ParseInt(at, 10, 64)
	n, err2 := strconv.ParseInt(id, 10, 64)
	if err == nil && err2 == nil && n >= 0 && micros <= now.UnixMicro() {
		c = historyCursor{time.UnixMicro(micros).UTC(), n}
	}
	return c
}

// historyPage shows what happened in a project, newest first: status changes, alerts, and the changes of settings that the
// database knows.
func historyPage(q *ui.Request) error {
	values := q.R.URL.Query()
	kind, channel := values.Get("kind"), values.Get("integration")
	cursor := parseHistoryCursor(values.Get("before"), q.Mon.Now())
	available, err := q.Mon.Project(q.Project.ID).Channels(q.Ctx())
	if err != nil {
		return err
	}
	view := historyView{Later: !cursor.before.IsZero(), query: url.Values{}}
	query := checks.DeliveryQuery{Before: cursor.delivery, Limit: historyPerPage + 1}
	find := deliveriesView{Query: parseDeliveryQuery(values)}
	if query.Check, err = findCheck(q, &find); err != nil {
		return err
	}
	view.Problem, view.Checks, view.Check = find.Problem, find.Checks, find.Query.Check
	list, err := historyChecks(q, query.Check)
	if err != nil {
		return err
	}
	if channel != "" {
		if query.Channel, err = uuid.Parse(channel); err != nil {
			return checks.ErrNotFound
		}
	}
	for name, value := range map[string]string{"kind": kind, "integration": channel, "check": view.Check} {
		if value != "" {
			view.query.Set(name, value)
			view.Filtered = true
		}
	}
	for _, k := range historyKinds {
		k.Selected = k.Value == kind
		view.Kinds = append(view.Kinds, k)
	}
	for _, c := range available {
		view.Channels = append(view.Channels, ui.Choice{Value: c.ID.String(), Label: ui.ChannelName(c), Selected: c.ID == query.Channel})
	}
	wants := func(what string) bool { return view.Problem == "" && (kind == "" || kind == what) }
	var rows []historyRow
	if wants("status") && query.Channel == uuid.Nil {
		if rows, err = statusRows(q, list, cursor.before); err != nil {
			return err
		}
	}
	if wants("alerts") {
		alerts, err := alertRows(q, query)
		if err != nil {
			return err
		}
		rows = append(rows, alerts...)
	}
	if wants("changes") {
		rows = append(rows, changeRows(q, list, available, query, cursor.before)...)
	}
	if wants("changes") && q.Mon.Installation().Audits() {
		if rows, err = withAudit(q, rows, list, available, query, cursor.before); err != nil {
			return err
		}
	}
	view.cut(rows, cursor)
	return q.Render("history", "History", view)
}

// cut takes the newest entries, and all at the instant of the last, for the page.
func (v *historyView) cut(rows []historyRow, cursor historyCursor) {
	slices.SortStableFunc(rows, func(a, b historyRow) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.rank(), b.rank())) })
	n := min(historyPerPage, len(rows))
	for n > 0 && n < len(rows) && rows[n].At.Equal(rows[n-1].At) {
		n++
	}
	next := cursor
	for _, r := range rows[:n] {
		next.before = r.At
		if r.Alert != nil {
			next.delivery = r.Alert.ID
		}
		if last := len(v.Rows) - 1; last >= 0 && sameAlert(v.Rows[last].Alert, r.Alert) {
			v.Rows[last].Also = append(v.Rows[last].Also, r.Alert)
			continue
		}
		v.Rows = append(v.Rows, r)
	}
	if n == len(rows) {
		return
	}
	values := url.Values{"before": {fmt.Sprintf("%d-%d", next.before.UnixMicro(), next.delivery)}}
	for name := range v.query {
		values.Set(name, v.query.Get(name))
	}
	v.Older = "?" + values.Encode()
}

// historyChecks returns the check of a page, or all of the project.
func historyChecks(q *ui.Request, of uuid.UUID) ([]checks.Check, error) {
	if of == uuid.Nil {
		return checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{}))
	}
	c, err := q.Mon.Project(q.Project.ID).Check(q.Ctx(), of)
	if err != nil {
		return nil, err
	}
	return []checks.Check{*c.Check}, nil
}

// statusRows are the status changes and pauses of checks.
func statusRows(q *ui.Request, list []checks.Check, before time.Time) (rows []historyRow, err error) {
	events, err := q.Mon.Projects().Events(q.Ctx(), list, monitor.EventQuery{Before: before, Limit: historyPerPage + 1})
	if err != nil {
		return nil, err
	}
	logs, err := reported(q, events)
	if err != nil {
		return nil, err
	}
	byID := make(map[uuid.UUID]checks.Check, len(list))
	for _, c := range list {
		byID[c.ID] = c
	}
	for _, e := range events {
		c := byID[e.CheckID]
		row := historyRow{At: e.At, Word: words.State(e.To), Name: ui.NameOf(c), Key: c.UniqueKey(), Text: "is " + words.State(e.To), Why: e.Reason.Words()}
		switch {
		case e.To == checks.StatusDown:
			row.Text = "went down"
		case e.To == checks.StatusPaused:
			row.Text = "was paused"
		case e.From == checks.StatusDown && e.Reason == flips.Success:
			row.Text = "is up again"
		}
		row.Ping = ui.Reporting(logs[e.CheckID], e.Transition)
		rows = append(rows, row)
	}
	return rows, nil
}

// reported returns the newest pings of checks back to the oldest of some events.
func reported(q *ui.Request, events []checks.Event) (map[uuid.UUID][]pings.Ping, error) {
	if len(events) == 0 {
		return nil, nil
	}
	since := events[0].At
	var ids []uuid.UUID
	for _, e := range events {
		if e.At.Before(since) {
			since = e.At
		}
		if !slices.Contains(ids, e.CheckID) {
			ids = append(ids, e.CheckID)
		}
	}
	return q.Mon.Project(q.Project.ID).RecentPings(q.Ctx(), ids, since, maxReported/len(ids))
}

// alertRows are deliveries. The time of each is at most that of the one before it, as is its identifier: a copy for a member
// of a group is later than its alert.
func alertRows(q *ui.Request, query checks.DeliveryQuery) (rows []historyRow, err error) {
	for d, err := range q.Mon.Project(q.Project.ID).Deliveries(q.Ctx(), query) {
		if err != nil {
			return nil, err
		}
		row := deliveryRowOf(q.UnnamedAlert(d), q.Right.Edits())
		at := d.CreatedAt
		if n := len(rows); n > 0 && at.After(rows[n-1].At) {
			at = rows[n-1].At
		}
		rows = append(rows, historyRow{At: at, Name: row.Check, Key: row.Key, Alert: &row})
	}
	return rows, nil
}

// changeRows are what the database knows of changes to checks and channels before an instant.
func changeRows(q *ui.Request, list []checks.Check, available []channels.Channel, query checks.DeliveryQuery, before time.Time) (rows []historyRow) {
	audits := q.Mon.Installation().Audits()
	add := func(at time.Time, row historyRow) {
		if audits && row.Word == "" {
			return // the audit log says more
		}
		if row.At = at; !at.IsZero() && (before.IsZero() || at.Before(before)) {
			rows = append(rows, row)
		}
	}
	for _, c := range list {
		if query.Channel != uuid.Nil {
			break
		}
		add(c.CreatedAt, historyRow{Name: ui.NameOf(c), Key: c.UniqueKey(), Text: "was created"})
		if c.TimingSince.After(c.CreatedAt) {
			add(c.TimingSince, historyRow{Name: ui.NameOf(c), Key: c.UniqueKey(), Text: "got another schedule or grace time", Why: ui.Schedule(c.Settings, q.Clock().Zone)})
		}
	}
	for _, c := range available {
		if query.Check != uuid.Nil || query.Channel != uuid.Nil && c.ID != query.Channel {
			continue
		}
		add(c.CreatedAt, historyRow{Name: ui.ChannelName(c), Text: "was created", Why: "integration, " + string(c.Kind)})
		add(c.FailedAt, historyRow{Name: ui.ChannelName(c), Word: "down", Text: "failed", Why: cmp.Or(prose.Plain(c.Error), "integration")})
	}
	return rows
}

// withAudit adds the entries of the audit log. A pause is among the rows already, and gets who made it.
func withAudit(q *ui.Request, rows []historyRow, list []checks.Check, available []channels.Channel, query checks.DeliveryQuery, before time.Time) ([]historyRow, error) {
	changes, err := changes.Of(q, audit.Query{Check: query.Check, Until: before, Limit: historyPerPage + 1})
	if err != nil {
		return nil, err
	}
	keys, names := make(map[uuid.UUID]string, len(list)), make(map[uuid.UUID]string, len(list))
	for _, c := range list {
		keys[c.ID], names[c.ID] = c.UniqueKey(), ui.NameOf(c)
	}
	channel := slices.IndexFunc(available, func(c channels.Channel) bool { return c.ID == query.Channel })
	for _, c := range changes {
		if query.Channel != uuid.Nil && (channel < 0 || c.Noun != "Integration" || c.Object != ui.ChannelName(available[channel])) {
			continue
		}
		row := historyRow{At: c.At, Name: cmp.Or(c.Object, names[c.CheckID]), Key: keys[c.CheckID], Change: &c} // a snooze has no name
		i := slices.IndexFunc(rows, func(r historyRow) bool { return r.Word == "paused" && r.Key == row.Key && c.Within(r.At) })
		if c.Action == "check.pause" && i >= 0 {
			row.At, row.Word = rows[i].At, rows[i].Word
			rows = slices.Delete(rows, i, i+1)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
