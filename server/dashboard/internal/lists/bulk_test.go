package lists_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestBulkMany pauses all checks that match, on whatever page they are. Counts are of what changed.
func TestBulkMany(t *testing.T) {
	s := pagetest.New(t)
	var first checks.Check
	for i := range 300 {
		c := s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%d", i)), Tags: []string{"nightly"}})
		if i == 0 {
			first = c
		}
	}
	other := s.Create(checks.Spec{Name: new("other")})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("bulk"), url.Values{"action": {"pause"}, "check": pagetest.IDs(first)}).Is(http.StatusSeeOther)
	b.Get(s.Path("?tag=nightly")).Has("Paused 1 check.", "All 300 matches")
	b.Post(s.Path("bulk?tag=nightly"), url.Values{"action": {"pause"}, "all": {"1"}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Paused 299 checks. 1 was paused already.")
	if s.Check(first).Stored != checks.StatusPaused || s.Check(other).Stored != checks.StatusNew {
		t.Error("other checks have changed")
	}
	b.Post(s.Path("bulk"), url.Values{"action": {"tag"}, "tag": {" "}, "check": pagetest.IDs(first)}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Enter a tag. Nothing was changed.").HasNo(">Undo<")
	b.Post(s.Path("bulk"), url.Values{"action": {"untag"}, "tag": {numbers(100_000)}, "check": pagetest.IDs(first)}).Is(http.StatusBadRequest).Has("tags is too long")
}

// TestBulkAcknowledge acknowledges a selection, and all that match, in the name of the viewer. It says who has the others; Undo gives
// back what the button took, and nothing that somebody has taken since.
func TestBulkAcknowledge(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	var list []checks.Check
	for i := range 130 { // more than a page
		c := s.Create(checks.Spec{Name: new(fmt.Sprintf("job-%03d", i)), Tags: []string{[]string{"db", "web"}[i%2]}})
		if i != 0 {
			s.Ping(c, pings.Signal{Kind: pings.Failure})
		}
		list = append(list, c)
	}
	late := s.Create(checks.Spec{Name: new("overdue"), Tags: []string{"db"}, Timeout: new(time.Hour), Grace: new(time.Minute)})
	s.Ping(late, pings.Signal{})
	s.Advance(2 * time.Hour) // down, though no sweep has judged it
	project := s.Mon.Project(s.Project.ID)
	owned := func() map[string]int {
		counts := map[string]int{}
		for _, c := range stored(t, s) {
			counts[c.Acknowledged(s.Now()).By]++
		}
		return counts
	}
	act := func(query string, form url.Values) *pagetest.Answer {
		t.Helper()
		form.Set("action", "acknowledge")
		b.Post(s.Path("bulk"+query), form).Is(http.StatusSeeOther)
		return b.Get(s.Path(""))
	}
	b.Get(s.Path("")).Has(">I have these</button>")
	act("", url.Values{}).Has("Select at least one check.")
	act("", url.Values{"check": pagetest.IDs(list[0])}).Has("Nothing was acknowledged. 1 is not down.").HasNo(">Undo<")
	_, err := project.Acknowledge(t.Context(), list[1].ID, checks.AckSpec{By: "Bert <b>", Note: "mine"})
	pagetest.NoError(t, err)
	act("", url.Values{"check": pagetest.IDs(list[0], list[1], list[2], list[3])}).Has("Acknowledged: you have 2 checks. Bert &lt;b&gt; has 1. 1 is not down.")
	page := act("?tag=db", url.Values{"all": {"1"}}).Has("Acknowledged: you have 64 checks. You had 1 already. 1 is not down.")
	who := s.Check(list[2]).Ack.By
	if counts := owned(); counts[who] != 66 || counts["Bert <b>"] != 1 {
		t.Errorf("outages by who has them: %v", counts)
	}
	// Somebody takes one over, and another outage ends and begins again: Undo leaves both alone.
	_, err = project.Acknowledge(t.Context(), list[4].ID, checks.AckSpec{By: "Bert <b>", TakeOver: true})
	pagetest.NoError(t, err)
	s.Ping(list[6], pings.Signal{})
	s.Ping(list[6], pings.Signal{Kind: pings.Failure})
	b.Undo(page).Has("Undone for 62 checks. 2 checks changed since, and stay as now.")
	if counts := owned(); counts[who] != 2 || counts["Bert <b>"] != 2 {
		t.Errorf("outages by who has them after Undo: %v", counts)
	}
	if c := s.Check(late); c.Stored != checks.StatusDown || c.Alerting.Returned.IsZero() {
		t.Errorf("an overdue check after Undo: %s, %+v", c.Stored, c.Alerting)
	}
	log, err := s.Mon.Installation().Audit(t.Context(), audit.Query{Project: s.Project.ID, Check: list[8].ID})
	pagetest.NoError(t, err)
	var actions []string
	for _, e := range log {
		actions = append(actions, e.Action)
	}
	if diff := cmp.Diff([]string{"check.unacknowledge", "check.acknowledge", "check.create"}, actions); diff != "" {
		t.Errorf("the audit log (-want +got):\n%s", diff)
	}
	act("", url.Values{"all": {"1"}}).Has("Acknowledged: you have 126 checks. Bert &lt;b&gt; has 2. You had 2 already. 1 is not down.")
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("bulk"), url.Values{"action": {"acknowledge"}, "all": {"1"}}).Is(http.StatusForbidden)
}

// TestAcknowledgeUndo: the button of one check has Undo too, unless it changed what the check had before.
func TestAcknowledgeUndo(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	c := s.Create(checks.Spec{Name: new("job")})
	s.Ping(c, pings.Signal{Kind: pings.Failure})
	at := "/checks/" + c.UniqueKey() + "/acknowledge"
	b.Post(at, url.Values{}).Is(http.StatusSeeOther)
	b.Undo(b.Get("/checks/" + c.UniqueKey()).Has("Acknowledged: you have it.")).Has("Undone for 1 check.")
	if a := s.Check(c).Ack; a.By != "" {
		t.Errorf("after Undo: %+v", a)
	}
	for range 2 {
		b.Post(at, url.Values{"note": {"disk"}}).Is(http.StatusSeeOther)
	}
	b.Get("/checks/" + c.UniqueKey()).Has("Acknowledged: you have it.").HasNo(">Undo<")
}

// numbers are n different words.
func numbers(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = strconv.Itoa(i)
	}
	return strings.Join(words, " ")
}

// TestBulkEdit shows the page that changes several checks, and what is wrong with what was typed.
func TestBulkEdit(t *testing.T) {
	s := pagetest.New(t)
	hook := s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	a, c := s.Create(checks.Spec{Name: new("<a>")}), s.Create(checks.Spec{Name: new("b"), Channels: new("*")})
	b := s.SignedIn(s.Keys.ReadWrite)
	b.Post(s.Path("bulk"), url.Values{"action": {"edit"}, "check": pagetest.IDs(a, c)}).Is(http.StatusOK).Has("Edit 2 checks", "&lt;a&gt;", a.ID.String(), "hook").HasNo("<a>")
	for want, form := range map[string]url.Values{
		"Grace time has no unit":                  {"grace": {"5"}, "tz": {"Europe/Riga"}},
		"Schedule and interval exclude":           {"schedule": {"0 3 * * *"}, "timeout": {"1 h"}},
		"Schedule and interval exclude each":      {"schedule": {"every 90 minutes"}, "timeout": {"1 h"}},
		"Schedule is not understood: days cannot": {"schedule": {"every other day"}},
		`value="0 3 * * *"`:                       {"schedule": {"every day at 3"}},
		"The time was read as 03:00":              {"schedule": {"every day at 3"}},
		"Time zone":                               {"tz": {"Mars"}},
		"Integrations are ticked: choose what to": {"channel": {hook.ID.String()}},
		"Integrations are too many":               {"channel": strings.Split(numbers(501), " "), "channels": {"add"}},
		"Tags is too long":                        {"add_tags": {numbers(50_000)}},
		"Tags is too long: 588889 characters":     {"drop_tags": {numbers(100_000)}},
	} {
		form["check"] = pagetest.IDs(a, c)
		b.Post(s.Path("bulk/edit"), form).Is(http.StatusUnprocessableEntity).Has(want, a.ID.String())
	}
	b.Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a, c), "channels": {"set"}, "channel": {hook.ID.String()}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Changed 1 check. 1 was like that already.")
	if len(s.Check(a).Channels) != 1 {
		t.Error("the integration was not added")
	}
	b.Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a, c), "schedule": {"weekdays 7:30"}}).Is(http.StatusSeeOther)
	b.Get(s.Path("")).Has("Changed 2 checks. “weekdays 7:30” is stored as 30 7 * * MON-FRI: at 07:30, Monday to Friday.")
	b.Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a), "schedule": {"every 90 minutes"}}).Is(http.StatusSeeOther)
	if s.Check(a).Timeout != 90*time.Minute || s.Check(c).Schedule != "30 7 * * MON-FRI" {
		t.Errorf("stored %v and %q", s.Check(a).Timeout, s.Check(c).Schedule)
	}
	s.SignedIn(s.Keys.ReadOnly).Post(s.Path("bulk/edit"), url.Values{"check": pagetest.IDs(a)}).Is(http.StatusForbidden)
}

// jobs creates many checks, half of them with an integration and a ping.
func jobs(t *testing.T, s *pagetest.Site, n int) []checks.Check {
	s.Channel(channels.Webhook, "hook", map[string]string{"url_down": "https://example.org/"})
	changes := make([]monitor.Change, n)
	for i := range changes {
		changes[i] = monitor.Creating(checks.Spec{Name: new(fmt.Sprint("job-", i)), Tags: []string{"a", fmt.Sprint("team-", i%7)}, Channels: new([]string{"", "*"}[i%2])})
	}
	pagetest.NoError(t, s.Mon.Project(s.Project.ID).ChangeMany(t.Context(), changes, nil, nil))
	list := stored(t, s)
	for _, c := range list[:min(n, 300)] {
		s.Ping(c, pings.Signal{Kind: []pings.Kind{pings.Success, pings.Failure}[c.Name[len(c.Name)-1]%2]})
	}
	return stored(t, s)
}

func stored(t *testing.T, s *pagetest.Site) []checks.Check {
	t.Helper()
	list, err := checks.Stored(s.Mon.Project(s.Project.ID).Checks(t.Context(), checks.Query{}))
	pagetest.NoError(t, err)
	return list
}

// TestBulkAll changes more checks than a page or a transaction has and undoes that, by one Undo each.
func TestBulkAll(t *testing.T) {
	n := dbtest.Size(1500, 10_000) // a transaction changes 500 at most
	s := pagetest.New(t)
	before := jobs(t, s, n)
	hook := before[1].Channels[0].String()
	b := s.SignedIn(s.Keys.ReadWrite)
	// On a slow machine an action stops after its time. It is repeated then, and each part has an Undo.
	repeat := func(what string, act func() *pagetest.Answer) (pages []*pagetest.Answer, count int) {
		t.Helper()
		notice := regexp.MustCompile(what + ` (\d+) check`)
		for left := true; left; left = strings.Contains(pages[len(pages)-1].Body, "left as before") {
			page := act()
			found := notice.FindStringSubmatch(page.Body)
			if found == nil {
				t.Fatalf("no notice %q: %s", what, page.Body)
			}
			n, _ := strconv.Atoi(found[1])
			pages, count = append(pages, page), count+n
		}
		return pages, count
	}
	post := func(path string, form url.Values) func() *pagetest.Answer {
		form["all"] = []string{"1"}
		return func() *pagetest.Answer {
			b.Post(s.Path(path), form).Is(http.StatusSeeOther)
			return b.Get(s.Path("?q=none"))
		}
	}
	for _, c := range []struct {
		page, notice string
		form         url.Values
		changed      int
	}{
		{"bulk", "Tagged", url.Values{"action": {"tag"}, "tag": {"new"}}, n},
		{"bulk", "Paused", url.Values{"action": {"pause"}}, n},
		{"bulk/edit", "Changed", url.Values{"channels": {"drop"}, "channel": {hook}}, n / 2},
	} {
		pages, changed := repeat(c.notice, post(c.page, c.form))
		undone := 0
		for _, page := range pages {
			_, n := repeat("Undone for", func() *pagetest.Answer {
				page = b.Undo(page)
				return page
			})
			undone += n
		}
		if changed != c.changed || undone != c.changed {
			t.Errorf("%s %d checks, and undone for %d, want %d", c.notice, changed, undone, c.changed)
		}
		if diff := cmp.Diff(before, stored(t, s)); diff != "" {
			t.Fatalf("%s: not as before (-before +now):\n%.2000s", c.notice, diff)
		}
	}
	if _, deleted := repeat("Deleted", post("bulk/delete", url.Values{})); deleted != n {
		t.Errorf("deleted %d checks", deleted)
	}
	if left := stored(t, s); len(left) > 0 {
		t.Errorf("%d checks are left", len(left))
	}
}

// TestBulkStops ends actions in the middle: the notice says how many checks have changed, how many are left and why, Undo undoes
// that, and a second action does the rest.
func TestBulkStops(t *testing.T) {
	const n = 1000
	var failure error
	updates := 0 // until failure
	s := pagetest.New(t, func(c *pagetest.Config) {
		c.Around = func(op string, do func() error) error {
			if op == "Update" && failure != nil {
				if updates--; updates < 0 {
					return failure
				}
			}
			return do()
		}
	})
	before := jobs(t, s, n)
	b := s.SignedIn(s.Keys.ReadWrite)
	tagged := func() (count int) {
		for _, c := range stored(t, s) {
			if c.HasTags([]string{"new"}) {
				count++
			}
		}
		return count
	}
	form := url.Values{"action": {"tag"}, "tag": {"new"}, "all": {"1"}}
	for why, err := range map[string]error{
		"The database stopped responding.": fmt.Errorf("%w: gone", checks.ErrUnavailable),
		"It stopped after 40 seconds.":     fmt.Errorf("a step: %w", context.DeadlineExceeded),
	} {
		failure, updates = err, 1
		b.Post(s.Path("bulk"), form).Is(http.StatusSeeOther)
		failure = nil
		done := tagged()
		page := b.Get(s.Path("")).Has(fmt.Sprintf("Tagged %d checks. %s %d checks are left as before: repeat the action for the rest.", done, why, n-done))
		if done == 0 || done == n {
			t.Fatalf("%d checks have the tag", done)
		}
		b.Post(s.Path("bulk"), form).Is(http.StatusSeeOther)
		rest := b.Get(s.Path("")).Has(fmt.Sprintf("Tagged %d checks. %d had the tags already.", n-done, done))
		b.Undo(page).Has(fmt.Sprintf("Undone for %d checks.", done))

		// An Undo that stops goes on by another one.
		failure, updates = err, 1
		b.Post(s.Path("undo"), url.Values{"undo": {rest.Undo()}, "back": {s.Path("")}}).Is(http.StatusSeeOther)
		failure = nil
		left := tagged()
		if left == 0 || left == n-done {
			t.Fatalf("%d checks have the tag after an Undo that stopped", left)
		}
		page = b.Get(s.Path("")).Has(fmt.Sprintf("Undone for %d checks. %s %d checks are left as before", n-done-left, why, left))
		b.Undo(page).Has(fmt.Sprintf("Undone for %d checks.", left))
		if diff := cmp.Diff(before, stored(t, s)); diff != "" {
			t.Errorf("not as before (-before +now):\n%.2000s", diff)
		}
	}
	failure, updates = context.DeadlineExceeded, 0
	b.Post(s.Path("bulk"), form).Is(http.StatusServiceUnavailable).Has("it took too long").HasNo("database")
}
