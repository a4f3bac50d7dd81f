package ui

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// Row is a check in the list.
type Row struct {
	ID       uuid.UUID // only for those who may edit: it takes pings
	Key      string    // the unique key, for links
	Name     string
	Status   checks.Status
	Schedule string
	Tags     []string
	Last     time.Time
	Took     time.Duration // of the last finished run; 0 if it is not known
	// Next is when the next ping is expected, or was if the check is late or down; the zero time if none is.
	Next time.Time
	Slug string
	// RecordOnly says that the check never alerts, by its settings.
	RecordOnly bool
	Runs       []checks.Run // the last ones, oldest first
	// Since is since when the check has its status.
	Since time.Time
	// Why is why the check is down, and Nobody says that it alerts nobody then. Only the list fills them in.
	Why    string
	Nobody bool
	// Hold is why its alerts are kept back. Only the list and the page of the check fill it in.
	Hold Hold
	// Owner is who has acknowledged the outage, or "", and Owned when.
	Owner string
	Owned time.Time

	Lower string // the name in lower case, for searches and orders
}

// Word is the word of the state.
func (r Row) Word() string { return words.State(r.Status) }

// RowOf returns the row of a check at an instant, for a viewer in a time zone.
func RowOf(c checks.Check, now time.Time, viewer *time.Location) Row {
	r := Row{
		ID: c.ID, Key: c.UniqueKey(), Name: NameOf(c), Slug: c.Slug, RecordOnly: c.RecordOnly, Status: c.Status(now), Schedule: Schedule(c.Settings, viewer), Tags: words.Names(c.TagList()),
		Last: c.LastPing, Next: c.NextPing(now), Runs: c.History.Recent.Runs(), Since: c.Since(now), Lower: c.SortName(),
	}
	if ack := c.Acknowledged(now); ack.By != "" {
		r.Owner, r.Owned = words.Name(ack.By, words.Somebody), ack.At
	}
	for _, run := range slices.Backward(r.Runs) {
		if run.Result != checks.RunMissed {
			r.Took = run.Duration
			break
		}
	}
	if r.Status == checks.StatusDown { // nothing is due, but the schedule goes on
		if next, _ := timeline.Expected(c, now, now.Add(366*24*time.Hour), 1); len(next) > 0 {
			r.Next = next[0]
		}
	}
	return r
}

// Has reports whether the viewer has acknowledged the outage of a check.
func (q *Request) Has(c checks.Check) bool {
	by := audit.ActorOf(q.Ctx()).Known()
	return by != "" && c.Acknowledged(q.Mon.Now()).By == by
}

// Rows returns the rows of checks. It stops when the answer takes too long.
func (q *Request) Rows(list []checks.Check, now time.Time) ([]Row, error) {
	rows, viewer := make([]Row, len(list)), q.zone()
	for i, c := range list {
		if i%100 == 0 && q.Ctx().Err() != nil {
			return nil, q.Ctx().Err()
		}
		rows[i] = RowOf(q.Unnamed(c), now, viewer)
	}
	return rows, nil
}

// Owners says who has acknowledged how many of the outages.
func Owners(rows []Row) string {
	counts := map[string]int{}
	for _, r := range rows {
		if r.Owner != "" {
			counts[r.Owner]++
		}
	}
	owners := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
	for i, owner := range owners {
		if counts[owner] < len(rows) {
			owners[i] = fmt.Sprintf("%s (%d)", owner, counts[owner])
		}
	}
	return words.Listed(owners, GroupNames)
}

// GroupNames bounds the names in the row of a group.
const GroupNames = 3

// NameOf returns what pages call a check.
func NameOf(c checks.Check) string {
	c.Name = words.Name(c.Name, "")
	return c.DisplayName()
}

// explained remembers the words of schedules: most projects have few, and a list shows them again and again.
var explained = struct {
	sync.Mutex
	known map[[3]string]string
}{known: map[[3]string]string{}}

// Schedule says in words when a check expects pings. It names the time zone unless that is the viewer's, whose pages are in it.
func Schedule(s checks.Settings, viewer *time.Location) string {
	return strings.TrimSuffix(explain(s), ", in "+viewer.String())
}

// explain is [verdict.Schedule], which it remembers.
func explain(s checks.Settings) string {
	key := [3]string{s.Schedule, s.TZ, s.Timeout.String()}
	explained.Lock()
	text, ok := explained.known[key]
	explained.Unlock()
	if ok {
		return text
	}
	text = verdict.Schedule(s)
	explained.Lock()
	defer explained.Unlock()
	if len(explained.known) >= 10_000 {
		clear(explained.known)
	}
	explained.known[key] = text
	return text
}

// Summary counts the checks of a project by state.
type Summary struct {
	Total, Down, Late, Up, New, Paused int
}

// SummaryOf returns the summary of counts.
func SummaryOf(c checks.Counts) Summary {
	return Summary{
		Total: c.Total(), Down: c[checks.StatusDown], Late: c[checks.StatusGrace], Up: c[checks.StatusUp], New: c[checks.StatusNew], Paused: c[checks.StatusPaused],
	}
}

// Counts returns how many checks are down and late, for the title of a page.
func (s Summary) Counts() (down, late int) { return s.Down, s.Late }

// Summarize counts rows.
func Summarize(rows []Row) Summary {
	counts := make(checks.Counts)
	for _, r := range rows {
		counts[r.Status]++
	}
	return SummaryOf(counts)
}

// Reaching returns the channels by which alerts of a check that is down arrive somewhere, as far as is known. everyone says that
// those of all checks do, whatever their channels. The arguments are those of [verdict.Receivers].
func Reaching(available []channels.Channel, reach map[uuid.UUID]verdict.Reach) (ids []uuid.UUID, everyone bool) {
	ids = []uuid.UUID{}
	for _, c := range available {
		if verdict.Notifies(checks.Check{Channels: []uuid.UUID{c.ID}}, available, reach) {
			ids = append(ids, c.ID)
		}
	}
	return ids, verdict.Notifies(checks.Check{}, available, reach)
}

// ChannelName is what pages call a channel.
func ChannelName(c channels.Channel) string { return words.Name(c.Name, "unnamed "+string(c.Kind)) }

// Members returns the members of a group. Some may have been deleted.
func Members(c channels.Channel) (ids []uuid.UUID) {
	for text := range strings.SplitSeq(c.Settings["channels"], ",") {
		if id, err := uuid.Parse(text); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Choice is an entry of a list to choose from.
type Choice struct {
	Value, Label string
	Hint         string // what the entry is, in grey
	Selected     bool
}

// Checks returns the checks of the project: for an open page that asks again as its stream knows them, and otherwise as they
// are in the database, so that viewers see their own changes at once.
func (q *Request) Checks() ([]checks.Check, error) {
	if q.Refresh {
		if list, ok := q.live.Checks(); ok {
			return list, nil
		}
	}
	return checks.Stored(q.Mon.Project(q.Project.ID).Checks(q.Ctx(), checks.Query{}))
}

// TrueFirst compares two facts for an order in which what is true comes first.
func TrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
