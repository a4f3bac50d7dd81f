package forms_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server/dashboard/internal/pagetest"
)

// at moves the clock to an instant, and signs in then.
func at(s *pagetest.Site, text string) *pagetest.Browser {
	s.T.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Clock.Store(at.Sub(pagetest.Start).Microseconds())
	return s.SignedIn(s.Keys.ReadWrite)
}

// TestPreviewAfter shows the checks that a check waits for, as they are now, and the names that mean none.
func TestPreviewAfter(t *testing.T) {
	s, _ := pagetest.WithReceiver(t)
	s.Channel("pager", "house", map[string]string{"server_url": "https://house.example.org", "token": "t0psecret"})
	b := s.SignedIn(s.Keys.ReadWrite)
	dump := s.Create(checks.Spec{Name: new("Dump <b>"), Slug: new("dump"), Channels: new("*")})
	s.Create(checks.Spec{Name: new("Mute"), Slug: new("mute"), Channels: new("")})
	upload := s.Create(checks.Spec{Name: new("Upload"), After: new("dump"), Channels: new("*")})
	s.Ping(dump, pings.Signal{})
	preview := func(after string) *pagetest.Answer {
		return b.Post(s.Path("preview/after"), url.Values{"id": {upload.ID.String()}, "after": {after}}).Is(http.StatusOK)
	}
	preview("dump, mute, nope").Has("Dump &lt;b&gt; is up</p>", "Mute is new</p>", "Mute alerts nobody, so no alert waits for it", "No check of this project has the slug nope")
	preview("").HasNo("<p")
	preview("<i>").HasNo("<p")
	s.Ping(dump, pings.Signal{Kind: pings.Failure})
	preview("dump").Has("Dump &lt;b&gt; is down: an alert would wait now")
	b.Get("/checks/" + upload.UniqueKey() + "/edit").Is(http.StatusOK).Has("is down: an alert would wait now")
}

func TestPreviewTimes(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	b.In("America/New_York")
	preview := func(schedule, tz string) *pagetest.Answer {
		t.Helper()
		return b.Post(s.Path("preview/schedule"), url.Values{"kind": {"schedule"}, "schedule": {schedule}, "tz": {tz}, "grace": {"20 min"}}).Is(http.StatusOK)
	}
	preview("0 3 * * *", "Europe/Riga").Has("A ping is expected at 03:00 every day, in Europe/Riga. If none arrives, the check goes down 20 min later.",
		"Mon 23 Nov 03:00", "Sun 22 Nov 20:00", "<th>Your time, America/New_York</th><th>Europe/Riga</th>", "Wed 2 Dec 03:00").HasNo("clock-note", "Thu 3 Dec", "data-problem")
	preview("0 3 * * *", "America/New_York").HasNo("Your time")

	// In Riga the clocks go from 03:00 to 04:00 on March 28, and from 04:00 to 03:00 on October 31, 2027.
	b = at(s, "2027-03-26T12:00:00Z")
	preview("30 3 * * *", "Europe/Riga").Has("Sun 28 Mar 04:00 EEST", "03:30 does not exist: the run is expected when the gap ends, at 04:00", "clocks go forward from 03:00 to 04:00", "Mon 29 Mar 03:30")
	b = at(s, "2027-10-30T23:00:00Z")
	preview("*/30 * * * *", "Europe/Riga").Has("Sun 31 Oct 03:30 EEST", "03:30 comes twice, this is the first time", "Sun 31 Oct 03:30 EET", "03:30 for the second time", "clocks go back")
	b = at(s, "2026-12-30T12:00:00Z")
	preview("Fri 03:00:30", "UTC").Has("Fri 1 Jan 2027 03:00:30")
	preview("2026-12-31 10:00", "UTC").Has("Thu 31 Dec 10:00", "The schedule ends after these runs.")

	preview("0 25 * * *", "UTC").Has("data-problem", "Hour: 25 is not in 0–23.", "0 <mark>25</mark> * * *")
	preview("0 3 * * MON,FOO", "UTC").Has("0 3 * * MON,<mark>FOO</mark>")
	preview("<b>", "UTC").Has("data-problem").HasNo("<b>")
	preview("", "UTC").Has("Schedule is missing")
	preview("0 3 * * *", "Nowhere/<i>").Has("is not a time zone of the IANA database").HasNo("<i>")
	preview("0 3 * * *", "GMT+2").Has("is not a time zone of the IANA database", "Etc/GMT-2 for a fixed offset").HasNo("Etc/GMT&#43;2", "Etc/GMT+2")
	preview("@daily", "Europe/Riga").Has("at 00:00 every day, in Europe/Riga")
	preview("0 0 3 * * *", "UTC").Has("data-problem", "write 0 3 * * *, without the seconds")
	preview("0 3 * * * /usr/bin/backup <b>", "UTC").Has("at 03:00 every day", "This is a line of a crontab. Its schedule is 0 3 * * *, and its command becomes the description.").HasNo("<b>")
	preview("TZ=Europe/Riga @daily", "UTC").Has("at 00:00 every day, in Europe/Riga", "Its schedule is @daily, its time zone Europe/Riga.")
	preview(strings.Repeat("9", 5000), "UTC").Has("Schedule is too long").HasNo("999999")
	b.Post(s.Path("preview/schedule"), url.Values{"kind": {"simple"}, "timeout": {"90 min"}, "grace": {"5 min"}}).
		Has("A ping is expected within 1 h 30 min of the last one. After that the check is late; it goes down 5 min later.")
	b.Post(s.Path("preview/schedule"), url.Values{"timeout": {"90"}}).Has("data-problem", "Interval has no unit")
	b.Post(s.Path("preview/schedule"), url.Values{"timeout": {"1 h"}, "grace": {"x"}}).Has("within 1 h of the last one.").HasNo("down", "data-problem")

	// The button for browsers without scripts shows the same, and changes nothing.
	form := inputs(b.Get(s.Path("checks/new")), "edit")
	form.Set("kind", "schedule")
	form.Set("schedule", "15 5 * * *")
	form.Set("preview", "1")
	b.Post(s.Path("checks/new"), form).Is(http.StatusOK).Has("at 05:15 every day", "15 5 * * *")
	b.Get(s.Path("")).Has("No checks yet")
	c := s.Create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.ID.String() + "/edit"
	form = inputs(b.Get(path), "edit")
	form.Set("name", "other")
	form.Set("preview", "1")
	b.Post(path, form).Is(http.StatusOK).Has(`value="other"`, "Edit backup")
	if got := s.Check(c).Name; got != "backup" {
		t.Errorf("a preview changed the name to %q", got)
	}
}

// TestCrontabLine creates and changes checks with a whole line of a crontab as the schedule.
func TestCrontabLine(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	form := inputs(b.Get(s.Path("checks/new")), "edit")
	command := "/usr/bin/backup --to /srv " + strings.Repeat("x", 100)
	form.Set("kind", "schedule")
	form.Set("schedule", "CRON_TZ=Europe/Riga 30 3 * * MON-FRI "+command+" # nightly")
	c := checkAt(s, b.Post(s.Path("checks/new"), form))
	if c.Schedule != "30 3 * * MON-FRI" || c.TZ != "Europe/Riga" || c.Desc != command {
		t.Errorf("%q in %s: %q", c.Schedule, c.TZ, c.Desc)
	}
	path := "/checks/" + c.ID.String() + "/edit"
	form = inputs(b.Get(path), "edit")
	form.Set("schedule", "@hourly /usr/bin/other")
	form.Set("preview", "1")
	b.Post(path, form).Is(http.StatusOK).Has("Its schedule is @hourly.", ">\n@hourly</textarea>")
	form.Del("preview")
	b.Post(path, form)
	if c = s.Check(c); c.Schedule != "@hourly" || c.Desc != command {
		t.Errorf("%q: %q", c.Schedule, c.Desc)
	}
	form = inputs(b.Get(path), "edit")
	form.Set("schedule", "TZ=Nowhere/City 0 3 * * *")
	b.Post(path, form).Is(http.StatusUnprocessableEntity).Has("is not a time zone of the IANA database. Use a name such as Europe/Riga.", `value="Nowhere/City"`)
}

// TestWords creates and changes checks with schedules in words. What words leave open is asked before it is stored, unless the
// preview has shown it.
func TestWords(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	preview := func(schedule string) *pagetest.Answer {
		t.Helper()
		return b.Post(s.Path("preview/schedule"), url.Values{"kind": {"schedule"}, "schedule": {schedule}, "tz": {"UTC"}, "grace": {"20 min"}}).Is(http.StatusOK)
	}
	preview("weekdays 7:30").Has("“weekdays 7:30” is understood as 30 7 * * MON-FRI.", "A ping is expected at 07:30, Monday to Friday.", "Mon 23 Nov 07:30").HasNo("seen", "data-problem")
	preview("every day at 3").Has("is understood as 0 3 * * *. The time was read as 03:00, on a 24-hour clock; write pm for 15:00.", `name="seen" value="every day at 3"`)
	preview("every 90 minutes").Has("is understood as an interval of 1 h 30 min.", "A ping is expected within 1 h 30 min of the last one.").HasNo("<table")
	preview("every day at 6:00, 12:30 and 18:00").Has("is understood as 6,18:00 and 12:30.", "Sun 22 Nov 12:30")
	preview("every 7 seconds").Has(`data-problem="schedule"`, "Interval is too short: 7 s")
	preview("every other day").Has(`data-problem="schedule"`, "Schedule: days cannot be counted from one month into the next", "every <mark>other</mark> day")
	preview("evry day at 3").Has(`data-problem="schedule"`, "did you mean every?", "<mark>evry</mark> day at 3")
	preview("every <b>day").Has("data-problem").HasNo("<b>")
	preview("daily").Has("at 00:00 every day").HasNo("understood")

	create := func(schedule string, more ...string) *pagetest.Answer {
		t.Helper()
		form := inputs(b.Get(s.Path("checks/new")), "edit")
		form.Set("kind", "schedule")
		form.Set("schedule", schedule)
		for i := 0; i < len(more); i += 2 {
			form.Set(more[i], more[i+1])
		}
		return b.Post(s.Path("checks/new"), form)
	}
	c := checkAt(s, create("weekdays 7:30"))
	if c.Schedule != "30 7 * * MON-FRI" {
		t.Errorf("stored %q", c.Schedule)
	}
	b.Get("/checks/" + c.ID.String()).Has("“weekdays 7:30” is stored as 30 7 * * MON-FRI: at 07:30, Monday to Friday.")
	if c = checkAt(s, create("every 90 minutes")); c.Schedule != "" || c.Timeout != 90*time.Minute {
		t.Errorf("stored %q, %v", c.Schedule, c.Timeout)
	}
	b.Get("/checks/" + c.ID.String()).Has("“every 90 minutes” is stored as an interval of 1 h 30 min.")
	create("every other day").Is(http.StatusUnprocessableEntity).Has("Schedule is not understood: days cannot be counted", ">\nevery other day</textarea>")

	// The page comes back with the expression, and saves that.
	asked := create("every day at 3").Is(http.StatusUnprocessableEntity).Has("is understood as 0 3 * * *. The time was read as 03:00", "Save again to use it.", ">\n0 3 * * *</textarea>")
	if c = checkAt(s, b.Post(s.Path("checks/new"), inputs(asked, "edit"))); c.Schedule != "0 3 * * *" {
		t.Errorf("stored %q", c.Schedule)
	}
	// Somebody who has seen the preview is not asked, but for other words.
	if c = checkAt(s, create("every Monday", "seen", "every Monday")); c.Schedule != "0 0 * * MON" {
		t.Errorf("stored %q", c.Schedule)
	}
	create("every Tuesday", "seen", "every Monday").Is(http.StatusUnprocessableEntity)

	// To save the same in words changes nothing.
	path := "/checks/" + c.ID.String() + "/edit"
	form := inputs(b.Get(path), "edit")
	form.Set("schedule", "Mondays at 0:00")
	b.Post(path, form)
	b.Get(s.Path("")).Has("Nothing was changed.")
	form.Set("schedule", "every 36 hours")
	b.Post(path, form)
	if c = s.Check(c); c.Schedule != "" || c.Timeout != 36*time.Hour {
		t.Errorf("stored %q, %v", c.Schedule, c.Timeout)
	}
}

// TestPreviewOfDownCheck: new timing brings no check up, and the preview says so.
func TestPreviewOfDownCheck(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	b := s.SignedIn(s.Keys.ReadWrite)
	path, stays := "/checks/"+c.ID.String()+"/edit", "The check is down and stays down until its next success, whatever its timing."
	form := inputs(b.Get(path).HasNo(stays), "edit")
	s.Ping(c, pings.Signal{})
	s.Clock.Add(time.Hour.Microseconds())
	b.Get(path).Has(stays)
	form.Set("timeout", "1 day")
	b.Post(s.Path("preview/schedule"), form).Is(http.StatusOK).Has("within 1 day of the last one", stays)
	form.Set("timeout", "never")
	b.Post(s.Path("preview/schedule"), form).Has("data-problem").HasNo(stays)
	form.Set("timeout", "1 day")
	b.Post(path, form)
	b.Get("/checks/"+c.ID.String()).Has("Down", "Its timing was changed", "it stays down until the next success.")
	form.Set("id", uuid.NewString())
	b.Post(s.Path("preview/schedule"), form).Is(http.StatusOK).HasNo(stays)
}

func TestPreviewSlug(t *testing.T) {
	s := pagetest.New(t)
	c := s.Create(checks.Spec{Name: new("<u>mail"), Slug: new("mail")})
	b := s.SignedIn(s.Keys.ReadWrite)
	preview := func(slug, id string) *pagetest.Answer {
		t.Helper()
		return b.Post(s.Path("preview/slug"), url.Values{"slug": {slug}, "id": {id}}).Is(http.StatusOK)
	}
	preview("mail", "").Has("&lt;u&gt;mail already has this slug", "/ping/"+s.Project.PingKey+"/mail")
	preview("mail", c.ID.String()).HasNo("as well")
	preview("post", "").Has("/post").HasNo("as well")
	preview("", "").HasNo("/ping/")
	preview("Not a slug", "").HasNo("/ping/")
}

func TestPreviewWeek(t *testing.T) {
	s := pagetest.New(t) // Sunday noon in UTC
	b := s.SignedIn(s.Keys.ReadWrite)
	preview := func(hours, tz string) *pagetest.Answer {
		t.Helper()
		return b.Post(s.Path("preview/week"), url.Values{"quiet_hours": {hours}, "tz": {tz}}).Is(http.StatusOK)
	}
	preview("", "UTC").Has("No quiet hours: alerts are sent at any time.").HasNo("<svg")
	preview("Mon..Fri 22:00-06:00; Sat,Sun 00:00-24:00", "UTC").Has("Quiet now, until Mon 23 Nov 00:00.", "Sun 22 Nov", "Sat 28 Nov",
		"00:00–24:00", "00:00–06:00, 22:00–24:00", `x="91.67%" width="8.33%"`, `class="now" x1="50.00%"`)
	preview("22:00-06:00", "UTC").Has("Not quiet now. Next from Sun 22 Nov 22:00 to Mon 23 Nov 06:00, for 8 h.")
	preview("2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga").Has("Next from Thu 24 Dec 18:00 to Sun 27 Dec 06:00, for 2 days 12 h.", "not quiet")
	preview("2020-12-24 18:00/2020-12-27 06:00", "UTC").Has("No more quiet hours")
	preview("25:00-26:00", "UTC").Has("data-problem", "25:00 is not a time of day")
	preview("<b>22:00-06:00", "UTC").Has("data-problem").HasNo("<b>")
	preview("22:00-06:00", "Mars").Has("data-problem", "is not a time zone of the IANA database")
	preview("00:00-24:00", "UTC").Has("data-problem", "no alert would ever be sent")

	b = at(s, "2027-10-30T12:00:00Z")
	preview("22:00-06:00", "Europe/Riga").Has("for 9 h", "Sun 31 Oct <small>clocks change</small>")
	b = at(s, "2027-10-31T00:40:00Z") // 03:40 for the first time
	preview("03:30-03:50", "Europe/Riga").Has("03:30–03:50")
}

func TestPreviewTry(t *testing.T) {
	s := pagetest.New(t)
	b := s.SignedIn(s.Keys.ReadWrite)
	preview := func(pairs ...string) *pagetest.Answer {
		t.Helper()
		form := url.Values{"start_kw": {"begin"}, "success_kw": {"done, all <b>fine"}, "failure_kw": {"ERROR, fatal"}}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return b.Post(s.Path("preview/try"), form).Is(http.StatusOK)
	}
	preview("sample_body", "done").Has("Choose above where to look for keywords.")
	preview("filter_http_body", "on").Has("Paste what your job sends")
	preview("filter_http_body", "on", "sample_body", "it is done").Has("As an HTTP ping", "<strong>a success</strong>", "keyword “done”", "it is <mark>done</mark>").HasNo("e-mail")
	preview("filter_http_body", "on", "sample_body", "done: ERROR, fatal ERROR").Has("<strong>a failure</strong>", "failure keywords “ERROR”, “fatal”",
		"done: <mark>ERROR</mark>, <mark>fatal</mark> <mark>ERROR</mark>")
	preview("filter_http_body", "on", "sample_body", "begin").Has("<strong>a start</strong>")
	preview("filter_http_body", "on", "sample_body", "error").Has("<strong>ignored</strong>", "none of the keywords")
	preview("filter_http_body", "on", "filter_default_fail", "on", "sample_body", "error").Has("<strong>a failure</strong>", "none of the keywords")
	preview("filter_http_body", "on", "sample_body", "all <b>fine<script>").Has("<mark>all &lt;b&gt;fine</mark>&lt;script&gt;").HasNo("<script>", "<b>")
	preview("filter_subject", "on", "sample_subject", "done", "sample_body", "ERROR").Has("As an e-mail", "<strong>a success</strong>", "<mark>done</mark>").HasNo("HTTP", "<mark>ERROR")
	preview("filter_subject", "on", "filter_body", "on", "sample_subject", "done", "sample_body", "ERROR").Has("<strong>a failure</strong>", "<mark>ERROR</mark>").HasNo("<mark>done")
	preview("filter_http_body", "on", "sample_body", strings.Repeat("x", 9998)+"done").Has("<strong>ignored</strong>", "first 10,000 bytes").HasNo("<mark>")
	preview("filter_body", "on", "sample_body", strings.Repeat("x", 100_001)).Has("The sample is too long").HasNo("xxxx")
	preview("filter_http_body", "on", "sample_body", strings.Repeat("done", 3000)).Has("<strong>a success</strong>")
}
