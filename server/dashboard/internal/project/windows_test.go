package project_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// TestMaintenance plans maintenance of each kind on the page, and ends it.
func TestMaintenance(t *testing.T) {
	s := pagetest.New(t)
	b, reader := s.SignedIn(s.Keys.ReadWrite), s.SignedIn(s.Keys.ReadOnly)
	b.Get(s.Path("maintenance")).Is(http.StatusOK).Has("No maintenance planned", "New maintenance")
	dump := s.Create(checks.Spec{Name: new("dump <b>"), Tags: []string{"db"}})
	s.Create(checks.Spec{Name: new("mail")})
	windows := func() []gate.Window {
		t.Helper()
		list, err := s.Mon.Project(s.Project.ID).Windows(t.Context(), checks.WindowQuery{})
		pagetest.NoError(t, err)
		return list
	}
	now := url.Values{"scope": {"tags"}, "tag": {"db"}, "when": {"now"}, "for": {"2h"}, "note": {"New <disks>"}}
	reader.Post(s.Path("maintenance"), now).Is(http.StatusForbidden)
	b.Post(s.Path("maintenance"), now).Is(http.StatusSeeOther)
	b.Get(s.Path("maintenance")).Has("Maintenance until 14:00. No alerts that checks are down until then.", "New &lt;disks&gt;", "until <time", "by the API key rcw_", "End now")
	reader.Get(s.Path("maintenance")).Is(http.StatusOK).Has("New &lt;disks&gt;").HasNo("End now", "the API key", "Add maintenance")
	b.Get(s.Path("")).Has("In maintenance until 14:00")
	b.Get("/checks/"+dump.UniqueKey()).Has("<b>In maintenance</b> until ", "New &lt;disks&gt;")

	in := b.In("Europe/Riga")
	in.Post(s.Path("maintenance"), url.Values{"scope": {"checks"}, "check": {dump.ID.String()}, "when": {"planned"}, "start": {"2026-11-24T22:00"}, "end": {"2026-11-25T02:00"}}).Is(http.StatusSeeOther)
	b.Post(s.Path("maintenance"), url.Values{"scope": {"all"}, "when": {"recurring"}, "schedule": {"0 3 * * SUN"}, "each": {"90 min"}, "tz": {"Europe/Riga"}}).Is(http.StatusSeeOther)
	b.Get(s.Path("maintenance")).Has("Coming", "at 03:00 every Sunday, for 1 h 30 min", "dump &lt;b&gt;", "the whole project", "Cancel")
	list := windows()
	if len(list) != 3 || !list[2].Start.Equal(time.Date(2026, 11, 24, 20, 0, 0, 0, time.UTC)) || list[0].Duration+list[1].Duration != 90*time.Minute {
		t.Fatalf("%+v", list)
	}
	for want, form := range map[string]url.Values{
		`<a href="#tags">The list of tags is empty: choose a tag, or another answer.</a>`:                             {"scope": {"tags"}, "when": {"now"}, "for": {"1h"}},
		`<a href="#checks">The list of checks is empty: choose a check, or another answer.</a>`:                       {"scope": {"checks"}, "when": {"now"}, "for": {"1h"}},
		`<a href="#start">The start is not a date and a time.</a>`:                                                    {"when": {"planned"}, "end": {"2026-11-25T02:00"}},
		`<a href="#end">The end is not after the start`:                                                               {"when": {"planned"}, "start": {"2026-11-25T02:00"}, "end": {"2026-11-25T01:00"}},
		`<a href="#schedule">The schedule is not valid`:                                                               {"when": {"recurring"}, "schedule": {"0 0 30 2 *"}, "each": {"1h"}, "tz": {"UTC"}},
		`<a href="#tz">&#34;Europe/Rigga&#34; is not a time zone of the IANA database; did you mean Europe/Riga?</a>`: {"when": {"recurring"}, "schedule": {"@daily"}, "each": {"1h"}, "tz": {"Europe/Rigga"}},
		`<a href="#each">The duration is out of range: 33 days 8 h, each occurrence takes 1 minute to 30 days`:        {"when": {"recurring"}, "schedule": {"@daily"}, "each": {"800 h"}, "tz": {"UTC"}},
		`&#34;Mars&#34; is not a time zone of the IANA database. Use a name such as Europe/Riga.`:                     {"when": {"recurring"}, "schedule": {"@daily"}, "each": {"1h"}, "tz": {"Mars"}},
		`<a href="#each">The duration `:                                                                               {"when": {"recurring"}, "schedule": {"@daily"}, "each": {"31 days"}, "tz": {"UTC"}},
	} {
		b.Post(s.Path("maintenance"), form).Is(http.StatusBadRequest).Has(want)
	}
	// Each field says what is wrong with it, and the clock is that of the form.
	in.Post(s.Path("maintenance"), url.Values{"scope": {"tags"}, "when": {"recurring"}, "schedule": {"nightly"}, "each": {"31 days"}, "tz": {"Riga"}, "note": {"a\tb"}}).
		Is(http.StatusBadRequest).Has(`<a href="#tags">`, `<a href="#schedule">`, `<a href="#each">`, `<a href="#tz">`, `<a href="#note">`)
	in.Post(s.Path("maintenance"), url.Values{"scope": {"checks"}, "when": {"planned"}, "start": {"soon"}, "end": {"later"}}).
		Is(http.StatusBadRequest).Has(`<a href="#checks">`, `<a href="#start">`, `<a href="#end">`)
	in.Post(s.Path("maintenance"), url.Values{"when": {"planned"}, "start": {"2026-11-24T22:00"}, "end": {"2026-11-24T20:00"}}).Is(http.StatusBadRequest).
		Has("The end is not after the start: 24 Nov 2026 20:00, the start is 24 Nov 2026 22:00.").HasNo("18:00")
	b.Post(s.Path("maintenance"), url.Values{"when": {"now"}, "for": {"x"}}).Is(http.StatusBadRequest)
	in.Post(s.Path("maintenance"), url.Values{"when": {"planned"}, "start": {"2027-03-28T03:30"}, "end": {"2027-03-28T05:00"}}).Is(http.StatusBadRequest).
		Has("The start does not exist: the clock is set forward from 03:00 to 04:00")
	if got := windows(); len(got) != 3 {
		t.Errorf("refused forms added something: %+v", got)
	}

	in.Post(s.Path("maintenance"), url.Values{"when": {"planned"}, "start": {"2027-10-31T03:30"}, "end": {"2027-10-31T03:45"}}).Is(http.StatusSeeOther)
	in.Get(s.Path("maintenance")).Has("Maintenance planned.", "The start: the clock shows 03:30 on 31 October 2027 in Europe/Riga twice; this is the first", "The end: the clock shows 03:45")
	if list := windows(); !list[3].Start.Equal(time.Date(2027, 10, 31, 0, 30, 0, 0, time.UTC)) || !list[3].End.Equal(time.Date(2027, 10, 31, 0, 45, 0, 0, time.UTC)) {
		t.Errorf("%+v", list[3])
	}

	s.Advance(time.Hour)
	for _, w := range windows() {
		reader.Post(s.Path("maintenance/"+w.ID.String()+"/end"), nil).Is(http.StatusForbidden)
		b.Post(s.Path("maintenance/"+w.ID.String()+"/end"), nil).Is(http.StatusSeeOther)
	}
	b.Get(s.Path("maintenance")).Has("Maintenance ended.", "Last 30 days", "for 1 h").HasNo("End now", "Cancel")
	b.Post(s.Path("maintenance/"+s.Project.ID.String()+"/end"), nil).Is(http.StatusNotFound)
}

// TestMaintenancePreview: the form says what maintenance covers and when, in the zones of the viewer and of the form, and adds nothing.
func TestMaintenancePreview(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	dump := s.Create(checks.Spec{Name: new("dump <b>"), Tags: []string{"db"}})
	s.Create(checks.Spec{Name: new("restore"), Tags: []string{"db"}})
	for i := range 21 {
		s.Create(checks.Spec{Name: new(fmt.Sprintf("mail-%02d", i))})
	}
	preview := func(b *pagetest.Browser, form url.Values) *pagetest.Answer {
		form.Set("preview", "yes")
		return b.Post(s.Path("maintenance"), form)
	}
	preview(b, url.Values{"scope": {"tags"}, "tag": {"db"}, "when": {"now"}, "for": {"2h"}}).Is(http.StatusOK).
		Has("<b>Covers 2 checks</b>: <bdi>dump &lt;b&gt;</bdi>, <bdi>restore</bdi>", `12:00</time> – <time datetime="2026-11-22T14:00:00Z">14:00</time>`).HasNo("and so on")
	preview(b, url.Values{"scope": {"checks"}, "check": {dump.ID.String()}, "when": {"planned"}, "start": {"2026-11-24T22:00"}, "end": {"2026-11-25T02:00"}}).Is(http.StatusOK).
		Has("<b>Covers 1 check</b>", `Tue 22:00</time> – <time datetime="2026-11-25T02:00:00Z">Wed 02:00`)
	weekly := url.Values{"scope": {"all"}, "when": {"recurring"}, "schedule": {"0 3 * * SUN"}, "each": {"90 min"}, "tz": {"Europe/Riga"}}
	preview(b.In("America/New_York"), weekly).Is(http.StatusOK).Has("<b>Covers 23 checks</b>", "and 3 more checks",
		`<time datetime="2026-11-29T01:00:00Z">Sat 20:00</time>`, "(29 Nov 03:00 Riga)", `datetime="2026-12-06T01:00:00Z"`, `datetime="2026-12-13T01:00:00Z"`, "and so on").
		HasNo(`datetime="2026-12-20`)
	for _, spec := range []checks.Spec{
		{Name: new("ends <b>"), Schedule: new("50 13 * * *"), Grace: new(30 * time.Minute)}, {Name: new("after"), Schedule: new("10 14 * * *")},
		{Name: new("much-after"), Schedule: new("16 14 * * *")}, {Name: new("within"), Schedule: new("0 13 * * *"), Grace: new(time.Hour)},
		{Name: new("hourly"), Timeout: new(110 * time.Minute), Grace: new(20 * time.Minute)},
		{Name: new("unlike"), Tags: []string{"adb"}}, {Name: new("eu"), Tags: []string{"DB-eu"}},
	} {
		if spec.Tags == nil {
			spec.Tags = []string{"db"}
		}
		s.Ping(s.Create(spec), pings.Signal{})
	}
	preview(b, url.Values{"scope": {"tags"}, "tag": {"db"}, "when": {"now"}, "for": {"2h"}}).Is(http.StatusOK).
		Has("<bdi>ends &lt;b&gt;</bdi> is expected <time", "and goes down only after the end, <time", ">09:20</time>.", "<bdi>after</bdi> is expected <time", ", 10 min after the end.",
			"<bdi>hourly</bdi> is expected <time", "1 check with the tag <bdi>DB-eu</bdi> is not covered.").
		HasNo("<bdi>much-after</bdi> is", "<bdi>within</bdi> is", "tag <bdi>adb")
	preview(b, url.Values{"scope": {"tags"}, "tag": {"nothing"}, "when": {"now"}, "for": {"2h"}}).Is(http.StatusOK).Has("<b>Covers no check</b>")
	preview(b, url.Values{"scope": {"tags"}, "when": {"recurring"}, "each": {"x"}}).Is(http.StatusOK).Has(`<a href="#tags">`, `<a href="#schedule">`, `<a href="#each">`, "Not complete").HasNo("Covers")
	list, err := s.Mon.Project(s.Project.ID).Windows(t.Context(), checks.WindowQuery{})
	if pagetest.NoError(t, err); len(list) != 0 {
		t.Errorf("a preview has added %+v", list)
	}
}

// TestSnooze snoozes checks with one tap, on their page and in the list.
func TestSnooze(t *testing.T) {
	s := pagetest.New(t)
	b, reader := s.SignedIn(s.Keys.ReadWrite).In("Europe/Riga"), s.SignedIn(s.Keys.ReadOnly)
	c, other := s.Create(checks.Spec{Name: new("dump")}), s.Create(checks.Spec{Name: new("mail")})
	page := "/checks/" + c.UniqueKey()
	reader.Get(page).Is(http.StatusOK).HasNo("Snooze")
	reader.Post(page+"/snooze", url.Values{"for": {"2h"}}).Is(http.StatusForbidden)
	b.Get(page).Has("30 minutes", "2 hours", "Until tomorrow 09:00")
	b.Post(page+"/snooze", url.Values{"for": {"3 years"}}).Is(http.StatusBadRequest)
	b.Post(page+"/snooze", url.Values{"for": {"tomorrow"}}).Is(http.StatusSeeOther)
	list, err := s.Mon.Project(s.Project.ID).Windows(t.Context(), checks.WindowQuery{Kind: gate.Snooze})
	pagetest.NoError(t, err)
	if len(list) != 1 || !list[0].End.Equal(time.Date(2026, 11, 23, 7, 0, 0, 0, time.UTC)) {
		t.Fatalf("%+v", list)
	}
	b.Get(page).Has("<b>Snoozed</b> until ", "tomorrow 09:00", "End snooze")
	reader.Get(page).Has("<b>Snoozed</b> until ").HasNo("End snooze")
	b.Get(s.Path("")).Has("Snoozed until tomorrow 09:00")
	b.Post(page+"/snooze", url.Values{"end": {list[0].ID.String()}}).Is(http.StatusSeeOther)
	b.Get(page).Has("Snooze ended.").HasNo("<b>Snoozed</b>")

	b.Post(s.Path("bulk"), url.Values{"action": {"snooze"}, "for": {"30m"}, "check": pagetest.IDs(c, other)}).Is(http.StatusSeeOther)
	snoozed := b.Get(s.Path("")).Has("Snoozed until 14:30")
	b.Get(page).Has("<b>Snoozed</b> until ").HasNo("End snooze") // it is about another check, too
	b.Undo(snoozed).Has("Snooze ended.").HasNo("Snoozed until")
	b.Get(page).HasNo("<b>Snoozed</b>")
}
