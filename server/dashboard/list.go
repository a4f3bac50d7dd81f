package dashboard

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/verdict"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/timeline"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/words"
)

// row is a check in the list.
type row struct {
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
	Runs []checks.Run // the last ones, oldest first

	lower string // the name in lower case, for searches and orders
}

// Word is the word of the state.
func (r row) Word() string { return stateWord(r.Status) }

// rowOf returns the row of a check at an instant.
func rowOf(c checks.Check, now time.Time) row {
	r := row{
		ID: c.ID, Key: c.UniqueKey(), Name: nameOf(c), Slug: c.Slug, Status: c.Status(now), Schedule: explained.words(c.Settings), Tags: words.Names(c.TagList()),
		Last: c.LastPing, Next: c.NextPing(now), Runs: c.History.Recent.Runs(),
	}
	r.lower = strings.ToLower(r.Name)
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

// rowsOf returns the rows of checks. It stops when the viewer is gone.
func (q *request) rowsOf(list []checks.Check, now time.Time) ([]row, error) {
	rows := make([]row, len(list))
	for i, c := range list {
		if i%100 == 0 && q.ctx().Err() != nil {
			return nil, q.ctx().Err()
		}
		rows[i] = rowOf(c, now)
	}
	return rows, nil
}

// nameOf returns what pages call a check.
func nameOf(c checks.Check) string {
	return cmp.Or(words.Name(c.Name, ""), c.Slug, "unnamed check")
}

// explained remembers the words of schedules: most projects have few, and a list shows them again and again.
var explained = explanations{known: map[[3]string]string{}}

type explanations struct {
	mu    sync.Mutex
	known map[[3]string]string
}

// words says in words when a check expects pings.
func (e *explanations) words(s checks.Settings) string {
	key := [3]string{s.Schedule, s.TZ, s.Timeout.String()}
	e.mu.Lock()
	text, ok := e.known[key]
	e.mu.Unlock()
	if ok {
		return text
	}
	text = strings.TrimSuffix(verdict.Schedule(s), ", in UTC")
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.known) >= 10_000 {
		clear(e.known)
	}
	e.known[key] = text
	return text
}

// listQuery is what the address of the list says: which checks, and in which order.
type listQuery struct {
	search
	State string // the word of a state, or ""
	Tag   string
	Sort  string // one of the keys of sortings
	Page  int    // from 1 on
}

// pageSize is how many checks a page of the list shows.
const pageSize = 1000

func parseListQuery(v url.Values) listQuery {
	q := listQuery{search: newSearch(v.Get("q")), State: v.Get("state"), Tag: v.Get("tag"), Sort: v.Get("sort")}
	if _, ok := sortings[q.Sort]; !ok {
		q.Sort = ""
	}
	if q.Page, _ = strconv.Atoi(v.Get("page")); q.Page < 1 {
		q.Page = 1
	}
	return q
}

// With returns the query of an address with one value changed, for links. The first page follows from every change but
// that of the page.
func (q listQuery) With(name, value string) string {
	v := url.Values{}
	set := func(n, value string) {
		if value != "" {
			v.Set(n, value)
		}
	}
	set("q", q.Text)
	set("state", q.State)
	set("tag", q.Tag)
	set("sort", q.Sort)
	v.Del(name)
	set(name, value)
	return "?" + v.Encode()
}

// Filtered reports whether the query leaves out some checks.
func (q listQuery) Filtered() bool { return q.Text != "" || q.State != "" || q.Tag != "" }

func (q listQuery) match(r row) bool {
	if q.State != "" && r.Word() != q.State || q.Tag != "" && !slices.Contains(r.Tags, q.Tag) {
		return false
	}
	return len(q.words) == 0 || q.matches(r.lower, r.Slug, strings.ToLower(strings.Join(r.Tags, "\n")))
}

// urgency orders states: what needs somebody comes first.
var urgency = map[checks.Status]int{
	checks.StatusDown: 0, checks.StatusGrace: 1, checks.StatusUp: 2, checks.StatusNew: 3, checks.StatusPaused: 4,
}

// sortings are the orders of the list. "" is the one without a choice.
var sortings = map[string]func(a, b row) int{
	"":     byState,
	"name": byName,
	"last": func(a, b row) int { return cmp.Or(b.Last.Compare(a.Last), byName(a, b)) },
	"next": func(a, b row) int {
		if a.Next.IsZero() != b.Next.IsZero() {
			return map[bool]int{true: 1, false: -1}[a.Next.IsZero()]
		}
		return cmp.Or(a.Next.Compare(b.Next), byName(a, b))
	},
}

func byState(a, b row) int {
	return cmp.Or(cmp.Compare(urgency[a.Status], urgency[b.Status]), byName(a, b))
}

func byName(a, b row) int {
	return cmp.Or(strings.Compare(a.lower, b.lower), strings.Compare(a.Key, b.Key))
}

// summary counts the checks of a project by state.
type summary struct {
	Total, Down, Late, Up, New, Paused int
	// Next is the check that expects a ping next, and NextAt when.
	Next   string
	NextAt time.Time
}

func (s summary) counts() (down, late int) { return s.Down, s.Late }

func summarize(rows []row, now time.Time) summary {
	s := summary{Total: len(rows)}
	for _, r := range rows {
		switch r.Status {
		case checks.StatusDown:
			s.Down++
		case checks.StatusGrace:
			s.Late++
		case checks.StatusUp:
			s.Up++
		case checks.StatusNew:
			s.New++
		case checks.StatusPaused:
			s.Paused++
		}
		if r.Next.After(now) && (s.NextAt.IsZero() || r.Next.Before(s.NextAt)) {
			s.Next, s.NextAt = r.Name, r.Next
		}
	}
	return s
}
