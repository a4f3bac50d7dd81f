package statuspage

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/flips"
)

var noon = time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// watched is a check that was created at the start of the bars and has a status since an instant.
func watched(status checks.Status, since time.Time) checks.Check {
	c := checks.Check{CreatedAt: firstDay(noon), Settings: checks.Defaults()}
	c.Stored, c.StoredSince = status, since
	return c
}

func to(status checks.Status, from checks.Status, before time.Duration) checks.Transition {
	return checks.Transition{From: from, To: status, At: ago(before)}
}

func TestPast(t *testing.T) {
	const isNew, isUp, isDown, isPaused = checks.StatusNew, checks.StatusUp, checks.StatusDown, checks.StatusPaused
	type part struct {
		Before time.Duration
		Was    condition
	}
	overdue := watched(isUp, ago(3*time.Hour))
	overdue.LastPing, overdue.Timeout, overdue.Grace = ago(3*time.Hour), time.Hour, time.Hour // down an hour ago
	for _, test := range []struct {
		name    string
		check   checks.Check
		history []checks.Transition
		want    []part
	}{
		{"new", watched(isNew, time.Time{}), nil, []part{{100 * time.Hour, unwatched}}},
		{"up since long ago", watched(isUp, ago(500*time.Hour)), nil, []part{{500 * time.Hour, up}}},
		{"paused since long ago", watched(isPaused, ago(500*time.Hour)), nil, []part{{500 * time.Hour, unwatched}}},
		{"down in between", watched(isUp, ago(time.Hour)), []checks.Transition{to(isDown, isUp, 2*time.Hour), to(isUp, isDown, time.Hour)},
			[]part{{100 * time.Hour, up}, {2 * time.Hour, down}, {time.Hour, up}}},
		{"first seen", watched(isUp, ago(time.Hour)), []checks.Transition{to(isUp, isNew, time.Hour)}, []part{{100 * time.Hour, unwatched}, {time.Hour, up}}},
		{"paused while down", watched(isPaused, ago(time.Hour)), []checks.Transition{to(isDown, isUp, 2*time.Hour), to(isPaused, isDown, time.Hour)},
			[]part{{100 * time.Hour, up}, {2 * time.Hour, down}, {time.Hour, unwatched}}},
		{"resumed", watched(isNew, ago(time.Hour)), []checks.Transition{to(isPaused, isUp, 2*time.Hour)}, []part{{100 * time.Hour, up}, {2 * time.Hour, unwatched}}},
		{"paused without a record", watched(isPaused, ago(time.Hour)), []checks.Transition{to(isUp, isDown, 2*time.Hour)},
			[]part{{100 * time.Hour, down}, {2 * time.Hour, up}, {time.Hour, unwatched}}},
		{"a pause that ended at once", watched(isUp, ago(time.Hour)),
			[]checks.Transition{to(isDown, isUp, 2*time.Hour), to(isPaused, isDown, time.Hour), to(isUp, isPaused, time.Hour)},
			[]part{{100 * time.Hour, up}, {2 * time.Hour, down}, {time.Hour, up}}},
		{"a pause while down that a failure ended at once", watched(isDown, ago(time.Hour)),
			[]checks.Transition{to(isDown, isUp, 2*time.Hour), to(isPaused, isDown, time.Hour), to(isDown, isPaused, time.Hour)},
			[]part{{100 * time.Hour, up}, {2 * time.Hour, down}}},
		{"a pause at once after a flip", watched(isPaused, ago(time.Hour)),
			[]checks.Transition{to(isDown, isUp, time.Hour), to(isPaused, isDown, time.Hour)}, []part{{100 * time.Hour, up}, {time.Hour, unwatched}}},
		{"overdue, not recorded yet", overdue, []checks.Transition{to(isUp, isNew, 3*time.Hour)},
			[]part{{100 * time.Hour, unwatched}, {3 * time.Hour, up}, {time.Hour, down}}},
		{"overdue, recorded meanwhile", overdue, []checks.Transition{to(isUp, isNew, 3*time.Hour), to(isDown, isUp, time.Hour)},
			[]part{{100 * time.Hour, unwatched}, {3 * time.Hour, up}, {time.Hour, down}}},
		{"overdue without a history", func() checks.Check { c := overdue; c.StoredSince = ago(300 * time.Hour); return c }(), nil,
			[]part{{300 * time.Hour, up}, {time.Hour, down}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			spans := past(test.check, test.history, ago(100*time.Hour), noon)
			var got []part
			for i, s := range spans {
				got = append(got, part{noon.Sub(s.from), s.was})
				if i > 0 && !spans[i-1].to.Equal(s.from) {
					t.Errorf("a gap from %v to %v", spans[i-1].to, s.from)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("spans, by how long ago they began (-want +got):\n%s", diff)
			}
			if last := spans[len(spans)-1]; !last.to.Equal(noon) {
				t.Errorf("the last span ends at %v", last.to)
			}
		})
	}
}

func TestDays(t *testing.T) {
	midnight := noon.Truncate(24 * time.Hour)
	spans := []span{
		{from: midnight.AddDate(0, 0, -3).Add(6 * time.Hour), to: midnight.AddDate(0, 0, -2).Add(23 * time.Hour), was: up},
		{from: midnight.AddDate(0, 0, -2).Add(23 * time.Hour), to: midnight.Add(2 * time.Hour), was: down},
		{from: midnight.Add(2 * time.Hour), to: noon, was: up},
	}
	list := days(spans, noon)
	if len(list) != barDays || !list[0].date.Equal(midnight.AddDate(0, 0, -90)) || !list[90].date.Equal(midnight) {
		t.Fatalf("%d days from %v to %v", len(list), list[0].date, list[len(list)-1].date)
	}
	const h = time.Hour
	want := []day{
		{date: midnight.AddDate(0, 0, -4), unwatched: 24 * h},
		{date: midnight.AddDate(0, 0, -3), unwatched: 6 * h, up: 18 * h},
		{date: midnight.AddDate(0, 0, -2), up: 23 * h, down: 1 * h},
		{date: midnight.AddDate(0, 0, -1), down: 24 * h},
		{date: midnight, up: 10 * h, down: 2 * h},
	}
	if diff := cmp.Diff(want, list[86:], cmp.AllowUnexported(day{})); diff != "" {
		t.Errorf("the last days (-want +got):\n%s", diff)
	}
	total := sum(list)
	if total.length() != 90*24*h+12*h || total.times().Percent() != "65.38%" {
		t.Errorf("in all %v, share %s", total.length(), total.times().Percent())
	}
}

// TestMaintain has maintenance over the beginning of an outage, over its end, within another one, and where nothing was down.
func TestMaintain(t *testing.T) {
	spans := []span{{ago(9 * time.Hour), ago(8 * time.Hour), up}, {ago(8 * time.Hour), ago(5 * time.Hour), down}, {ago(5 * time.Hour), ago(4 * time.Hour), up}, {ago(4 * time.Hour), noon, down}}
	hours := func(from, to float64) flips.Span {
		return flips.Span{Start: ago(time.Duration(from * float64(time.Hour))), End: ago(time.Duration(to * float64(time.Hour)))}
	}
	got := maintain(spans, []flips.Span{hours(8.5, 7), hours(5.5, 4.5), hours(3, 2), hours(1.5, 1)})
	total := sum(days(got, noon))
	if total.up != 2*time.Hour || total.maintained != 3*time.Hour || total.down != 4*time.Hour || len(got) != 10 {
		t.Errorf("%+v: %d spans", total, len(got))
	}
	if text := dayText(total); !strings.Contains(text, "down for maintenance 3 h") {
		t.Errorf("text %q", text)
	}
	if all := maintain(spans[3:], []flips.Span{hours(10, -1)}); len(all) != 1 || all[0].was != maintained {
		t.Errorf("all of it: %+v", all)
	}
}

func TestOutages(t *testing.T) {
	known := ago(100 * time.Hour)
	spans := []span{
		{from: known, to: ago(90 * time.Hour), was: down},
		{from: ago(90 * time.Hour), to: ago(80 * time.Hour), was: up},
		{from: ago(80 * time.Hour), to: ago(70 * time.Hour), was: down},
		{from: ago(70 * time.Hour), to: ago(5 * time.Hour), was: unwatched},
		{from: ago(5 * time.Hour), to: noon, was: down},
	}
	want := []outage{
		{from: known, earlier: true, to: ago(90 * time.Hour)},
		{from: ago(80 * time.Hour), to: ago(70 * time.Hour), paused: true},
		{from: ago(5 * time.Hour)},
	}
	if diff := cmp.Diff(want, outages(spans, known, known), cmp.AllowUnexported(outage{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := outages(spans, known, ago(70*time.Hour)); len(got) != 1 {
		t.Errorf("since 70 hours ago: %v, want the last one", got)
	}
	if got := want[2].took(noon); got != 5*time.Hour {
		t.Errorf("the last one has lasted %v", got)
	}
}

// TestPublished: an outage that is shorter than the least duration counts as up, and one that goes on does so until it has lasted so
// long. Of one that began before the history is known, nobody knows how long it lasted.
func TestPublished(t *testing.T) {
	known, least := ago(100*time.Hour), time.Minute
	spans := []span{
		{from: known, to: known.Add(time.Second), was: down},
		{from: known.Add(time.Second), to: ago(10 * time.Hour), was: up},
		{from: ago(10 * time.Hour), to: ago(10*time.Hour - least + 1), was: down},
		{from: ago(10*time.Hour - least + 1), to: ago(5 * time.Hour), was: unwatched},
		{from: ago(5 * time.Hour), to: ago(5*time.Hour - least), was: down},
		{from: ago(5*time.Hour - least), to: ago(time.Second), was: up},
		{from: ago(time.Second), to: noon, was: down},
	}
	want := []condition{down, up, up, unwatched, down, up, up}
	got, held := published(spans, known, least)
	for i, s := range got {
		if s.was != want[i] || s.from != spans[i].from || s.to != spans[i].to {
			t.Errorf("span %d: %v, want %v", i, s, want[i])
		}
	}
	if !held.Equal(ago(time.Second).Add(least)) || spans[2].was != down {
		t.Errorf("held until %v, and the spans became %v", held, spans)
	}
	for at, want := range map[time.Duration]bool{least - 1: true, least: false} {
		_, held := published([]span{{from: known, to: ago(at), was: up}, {from: ago(at), to: noon, was: down}}, known, least)
		if held.IsZero() == want {
			t.Errorf("down for %v: held until %v", at, held)
		}
	}
	if got, held := published(spans, known, 0); !held.IsZero() || cmp.Diff(spans, got, cmp.AllowUnexported(span{})) != "" {
		t.Errorf("without a least duration: %v, held until %v", got, held)
	}
}

// TestFresh: a page is old as soon as anything is that people set of it.
func TestFresh(t *testing.T) {
	id := uuid.New()
	page := checks.StatusPage{Slug: "a", Title: "A", Tags: []string{"t"}, Names: map[uuid.UUID]string{id: "N"}, MinOutage: time.Minute}
	r := &rendered{page: page, made: noon, until: noon.Add(time.Hour)}
	if !r.fresh(new(project), page, noon) {
		t.Error("the same page is old")
	}
	for name, change := range map[string]func(p *checks.StatusPage){
		"slug": func(p *checks.StatusPage) { p.Slug = "b" }, "title": func(p *checks.StatusPage) { p.Title = "B" },
		"description": func(p *checks.StatusPage) { p.Description = "B" }, "tags": func(p *checks.StatusPage) { p.Tags = nil },
		"names": func(p *checks.StatusPage) { p.Names = map[uuid.UUID]string{id: "M"} }, "min_outage": func(p *checks.StatusPage) { p.MinOutage = 0 },
	} {
		other := page
		change(&other)
		if r.fresh(new(project), other, noon) {
			t.Errorf("a page with another %s is fresh", name)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		counts
		state, want string
	}{
		{counts{}, "idle", "No services are shown here yet."},
		{counts{idle: 1}, "idle", "The service is not monitored right now."},
		{counts{idle: 3}, "idle", "None of the 3 services are monitored right now."},
		{counts{up: 1}, "up", "The service is up."},
		{counts{up: 2}, "up", "Both services are up."},
		{counts{up: 12}, "up", "All 12 services are up."},
		{counts{up: 12, idle: 1}, "up", "12 of 13 services are up."},
		{counts{up: 1, idle: 2}, "up", "1 of 3 services is up."},
		{counts{late: 1}, "late", "The service is late."},
		{counts{up: 11, late: 1}, "late", "1 of 12 services is late."},
		{counts{down: 1}, "down", "The service is down."},
		{counts{up: 11, down: 1}, "down", "1 of 12 services is down."},
		{counts{up: 10, down: 2}, "down", "2 of 12 services are down."},
		{counts{down: 2}, "down", "Both services are down."},
		{counts{up: 2, maintenance: 1}, "up", "2 of 3 services are up."},
		{counts{up: 8, down: 1, idle: 3, maintenance: 1}, "down", "1 of 13 services is down."},
		{counts{maintenance: 1}, "maintenance", "The service is in maintenance."},
		{counts{maintenance: 3, idle: 1}, "maintenance", "3 services are in maintenance."},
		{counts{up: 8, down: 2, late: 2}, "down", "2 of 12 services are down, 2 late."},
	} {
		if test.counts.state() != test.state || test.verdict() != test.want {
			t.Errorf("%+v: %s, %q, want %s, %q", test.counts, test.counts.state(), test.verdict(), test.state, test.want)
		}
	}
}

func TestAlso(t *testing.T) {
	for c, want := range map[counts]string{{}: "", {up: 1}: "", {idle: 2}: "", {up: 1, idle: 1}: "1 is not monitored.", {down: 1, idle: 2}: "2 are not monitored.",
		{up: 1, maintenance: 1, idle: 2}: "1 is in maintenance. 2 are not monitored.", {maintenance: 2, idle: 1}: "1 is not monitored.", {maintenance: 2}: ""} {
		if got := c.also(); got != want {
			t.Errorf("%+v: %q, want %q", c, got, want)
		}
	}
}

func TestBarText(t *testing.T) {
	list := make([]day, barDays)
	for n := range list {
		list[n] = day{date: firstDay(noon).AddDate(0, 0, n), up: 24 * time.Hour}
	}
	check := func(want string) {
		t.Helper()
		if got := barText(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("Since 31 Dec: never down.")
	for n := range 30 {
		list[n].up, list[n].unwatched = 0, 24*time.Hour
	}
	check("Since 31 Dec: never down, not monitored on 30 days.")
	list[90].down = 41 * time.Minute
	check("Since 31 Dec: down on 1 day (31 Mar for 41 min), not monitored on 30 days.")
	for n := 40; n < 50; n++ {
		list[n].down = time.Hour
	}
	check("Since 31 Dec: down on 11 days (31 Mar for 41 min, 18 Feb for 1 h, 17 Feb for 1 h, 16 Feb for 1 h, 15 Feb for 1 h, …), not monitored on 30 days.")
}
