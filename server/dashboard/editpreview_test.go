package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/pings"
)

// at moves the clock to an instant, and signs in then.
func (s *site) at(text string) *browser {
	s.t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.clock.Store(at.Sub(start).Microseconds())
	return s.signedIn(s.keys.ReadWrite)
}

// viewer makes a browser one of a viewer in a zone.
func (b *browser) viewer(zone string) {
	u, _ := url.Parse(b.web.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "rollcall_zone", Value: zone}})
}

func TestPreviewTimes(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	b.viewer("America/New_York")
	preview := func(schedule, tz string) *answer {
		t.Helper()
		return b.post(s.path("preview/schedule"), url.Values{"kind": {"schedule"}, "schedule": {schedule}, "tz": {tz}, "grace": {"20 min"}}).is(http.StatusOK)
	}
	preview("0 3 * * *", "Europe/Riga").has("A ping is expected at 03:00 every day, in Europe/Riga. If none arrives, the check goes down 20 min later.",
		"Mon 23 Nov 03:00", "Sun 22 Nov 20:00", "<th>Your time, America/New_York</th><th>Europe/Riga</th>", "Wed 2 Dec 03:00").hasNo("clock-note", "Thu 3 Dec", "data-problem")
	preview("0 3 * * *", "America/New_York").hasNo("Your time")

	// In Riga the clocks go from 03:00 to 04:00 on March 28, and from 04:00 to 03:00 on October 31, 2027.
	b = s.at("2027-03-26T12:00:00Z")
	preview("30 3 * * *", "Europe/Riga").has("Sun 28 Mar 04:00 EEST", "03:30 does not exist: the run is expected when the gap ends, at 04:00", "clocks go forward from 03:00 to 04:00", "Mon 29 Mar 03:30")
	b = s.at("2027-10-30T23:00:00Z")
	preview("*/30 * * * *", "Europe/Riga").has("Sun 31 Oct 03:30 EEST", "03:30 comes twice, this is the first time", "Sun 31 Oct 03:30 EET", "03:30 for the second time", "clocks go back")
	b = s.at("2026-12-30T12:00:00Z")
	preview("Fri 03:00:30", "UTC").has("Fri 1 Jan 2027 03:00:30")
	preview("2026-12-31 10:00", "UTC").has("Thu 31 Dec 10:00", "The schedule ends after these runs.")

	preview("0 25 * * *", "UTC").has("data-problem", "Hour: 25 is not in 0–23.", "0 <mark>25</mark> * * *")
	preview("0 3 * * MON,FOO", "UTC").has("0 3 * * MON,<mark>FOO</mark>")
	preview("<b>", "UTC").has("data-problem").hasNo("<b>")
	preview("", "UTC").has("Schedule is missing")
	preview("0 3 * * *", "Nowhere/<i>").has("is not a time zone of the IANA database").hasNo("<i>")
	preview("0 3 * * *", "GMT+2").has("is not a time zone of the IANA database", "Etc/GMT-2 for a fixed offset").hasNo("Etc/GMT&#43;2", "Etc/GMT+2")
	preview("@daily", "Europe/Riga").has("at 00:00 every day, in Europe/Riga")
	preview("0 0 3 * * *", "UTC").has("data-problem", "write 0 3 * * *, without the seconds")
	preview("0 3 * * * /usr/bin/backup <b>", "UTC").has("at 03:00 every day", "This is a line of a crontab. Its schedule is 0 3 * * *, and its command becomes the description.").hasNo("<b>")
	preview("TZ=Europe/Riga @daily", "UTC").has("at 00:00 every day, in Europe/Riga", "Its schedule is @daily, its time zone Europe/Riga.")
	preview(strings.Repeat("9", 5000), "UTC").has("Schedule is too long").hasNo("999999")
	b.post(s.path("preview/schedule"), url.Values{"kind": {"simple"}, "timeout": {"90 min"}, "grace": {"5 min"}}).
		has("A ping is expected within 1 h 30 min of the last one. After that the check is late; it goes down 5 min later.")
	b.post(s.path("preview/schedule"), url.Values{"timeout": {"90"}}).has("data-problem", "Interval has no unit")
	b.post(s.path("preview/schedule"), url.Values{"timeout": {"1 h"}, "grace": {"x"}}).has("within 1 h of the last one.").hasNo("down", "data-problem")

	// The button for browsers without scripts shows the same, and changes nothing.
	form := b.get(s.path("checks/new")).inputs("edit")
	form.Set("kind", "schedule")
	form.Set("schedule", "15 5 * * *")
	form.Set("preview", "1")
	b.post(s.path("checks/new"), form).is(http.StatusOK).has("at 05:15 every day", "15 5 * * *")
	b.get(s.path("")).has("No checks yet")
	c := s.create(checks.Spec{Name: new("backup")})
	path := "/checks/" + c.ID.String() + "/edit"
	form = b.get(path).inputs("edit")
	form.Set("name", "other")
	form.Set("preview", "1")
	b.post(path, form).is(http.StatusOK).has(`value="other"`, "Edit backup")
	if got := s.check(c.ID).Name; got != "backup" {
		t.Errorf("a preview changed the name to %q", got)
	}
}

// TestCrontabLine creates and changes checks with a whole line of a crontab as the schedule.
func TestCrontabLine(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	form := b.get(s.path("checks/new")).inputs("edit")
	command := "/usr/bin/backup --to /srv " + strings.Repeat("x", 100)
	form.Set("kind", "schedule")
	form.Set("schedule", "CRON_TZ=Europe/Riga 30 3 * * MON-FRI "+command+" # nightly")
	c := s.checkAt(b.post(s.path("checks/new"), form))
	if c.Schedule != "30 3 * * MON-FRI" || c.TZ != "Europe/Riga" || c.Desc != command {
		t.Errorf("%q in %s: %q", c.Schedule, c.TZ, c.Desc)
	}
	path := "/checks/" + c.ID.String() + "/edit"
	form = b.get(path).inputs("edit")
	form.Set("schedule", "@hourly /usr/bin/other")
	form.Set("preview", "1")
	b.post(path, form).is(http.StatusOK).has("Its schedule is @hourly.", ">\n@hourly</textarea>")
	form.Del("preview")
	b.post(path, form)
	if c = s.check(c.ID); c.Schedule != "@hourly" || c.Desc != command {
		t.Errorf("%q: %q", c.Schedule, c.Desc)
	}
	form = b.get(path).inputs("edit")
	form.Set("schedule", "TZ=Nowhere/City 0 3 * * *")
	b.post(path, form).is(http.StatusUnprocessableEntity).has("Time zone is not a valid time zone", `value="Nowhere/City"`)
}

// TestPreviewOfDownCheck: new timing brings no check up, and the preview says so.
func TestPreviewOfDownCheck(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Timeout: new(time.Minute), Grace: new(time.Minute)})
	b := s.signedIn(s.keys.ReadWrite)
	path, stays := "/checks/"+c.ID.String()+"/edit", "The check is down and stays down until its next success, whatever its timing."
	form := b.get(path).hasNo(stays).inputs("edit")
	s.ping(c, pings.Signal{})
	s.clock.Add(time.Hour.Microseconds())
	b.get(path).has(stays)
	form.Set("timeout", "1 day")
	b.post(s.path("preview/schedule"), form).is(http.StatusOK).has("within 1 day of the last one", stays)
	form.Set("timeout", "never")
	b.post(s.path("preview/schedule"), form).has("data-problem").hasNo(stays)
	form.Set("timeout", "1 day")
	b.post(path, form)
	b.get("/checks/"+c.ID.String()).has("Down", "Its timing was changed", "it stays down until the next success.")
	form.Set("id", uuid.NewString())
	b.post(s.path("preview/schedule"), form).is(http.StatusOK).hasNo(stays)
}

func TestPreviewSlug(t *testing.T) {
	s := newSite(t)
	c := s.create(checks.Spec{Name: new("<u>mail"), Slug: new("mail")})
	b := s.signedIn(s.keys.ReadWrite)
	preview := func(slug, id string) *answer {
		t.Helper()
		return b.post(s.path("preview/slug"), url.Values{"slug": {slug}, "id": {id}}).is(http.StatusOK)
	}
	preview("mail", "").has("&lt;u&gt;mail already has this slug", "/ping/"+s.project.PingKey+"/mail")
	preview("mail", c.ID.String()).hasNo("as well")
	preview("post", "").has("/post").hasNo("as well")
	preview("", "").hasNo("/ping/")
	preview("Not a slug", "").hasNo("/ping/")
}

func TestPreviewWeek(t *testing.T) {
	s := newSite(t) // Sunday noon in UTC
	b := s.signedIn(s.keys.ReadWrite)
	preview := func(hours, tz string) *answer {
		t.Helper()
		return b.post(s.path("preview/week"), url.Values{"quiet_hours": {hours}, "tz": {tz}}).is(http.StatusOK)
	}
	preview("", "UTC").has("No quiet hours: alerts are sent at any time.").hasNo("<svg")
	preview("Mon..Fri 22:00-06:00; Sat,Sun 00:00-24:00", "UTC").has("Quiet now, until Mon 23 Nov 00:00.", "Sun 22 Nov", "Sat 28 Nov",
		"00:00–24:00", "00:00–06:00, 22:00–24:00", `x="91.67%" width="8.33%"`, `class="now" x1="50.00%"`)
	preview("22:00-06:00", "UTC").has("Not quiet now. Next from Sun 22 Nov 22:00 to Mon 23 Nov 06:00, for 8 h.")
	preview("2026-12-24 18:00/2026-12-27 06:00", "Europe/Riga").has("Next from Thu 24 Dec 18:00 to Sun 27 Dec 06:00, for 2 days 12 h.", "not quiet")
	preview("2020-12-24 18:00/2020-12-27 06:00", "UTC").has("No more quiet hours")
	preview("25:00-26:00", "UTC").has("data-problem", "25:00 is not a time of day")
	preview("<b>22:00-06:00", "UTC").has("data-problem").hasNo("<b>")
	preview("22:00-06:00", "Mars").has("data-problem", "is not a time zone of the IANA database")
	preview("00:00-24:00", "UTC").has("data-problem", "no alert would ever be sent")

	b = s.at("2027-10-30T12:00:00Z")
	preview("22:00-06:00", "Europe/Riga").has("for 9 h", "Sun 31 Oct <small>clocks change</small>")
	b = s.at("2027-10-31T00:40:00Z") // 03:40 for the first time
	preview("03:30-03:50", "Europe/Riga").has("03:30–03:50")
}

func TestPreviewTry(t *testing.T) {
	s := newSite(t)
	b := s.signedIn(s.keys.ReadWrite)
	preview := func(pairs ...string) *answer {
		t.Helper()
		form := url.Values{"start_kw": {"begin"}, "success_kw": {"done, all <b>fine"}, "failure_kw": {"ERROR, fatal"}}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return b.post(s.path("preview/try"), form).is(http.StatusOK)
	}
	preview("sample_body", "done").has("Choose above where to look for keywords.")
	preview("filter_http_body", "on").has("Paste what your job sends")
	preview("filter_http_body", "on", "sample_body", "it is done").has("As an HTTP ping", "<strong>a success</strong>", "keyword “done”", "it is <mark>done</mark>").hasNo("e-mail")
	preview("filter_http_body", "on", "sample_body", "done: ERROR, fatal ERROR").has("<strong>a failure</strong>", "failure keywords “ERROR”, “fatal”",
		"done: <mark>ERROR</mark>, <mark>fatal</mark> <mark>ERROR</mark>")
	preview("filter_http_body", "on", "sample_body", "begin").has("<strong>a start</strong>")
	preview("filter_http_body", "on", "sample_body", "error").has("<strong>ignored</strong>", "none of the keywords")
	preview("filter_http_body", "on", "filter_default_fail", "on", "sample_body", "error").has("<strong>a failure</strong>", "none of the keywords")
	preview("filter_http_body", "on", "sample_body", "all <b>fine<script>").has("<mark>all &lt;b&gt;fine</mark>&lt;script&gt;").hasNo("<script>", "<b>")
	preview("filter_subject", "on", "sample_subject", "done", "sample_body", "ERROR").has("As an e-mail", "<strong>a success</strong>", "<mark>done</mark>").hasNo("HTTP", "<mark>ERROR")
	preview("filter_subject", "on", "filter_body", "on", "sample_subject", "done", "sample_body", "ERROR").has("<strong>a failure</strong>", "<mark>ERROR</mark>").hasNo("<mark>done")
	preview("filter_http_body", "on", "sample_body", strings.Repeat("x", 9998)+"done").has("<strong>ignored</strong>", "first 10,000 bytes").hasNo("<mark>")
	preview("filter_body", "on", "sample_body", strings.Repeat("x", 100_001)).has("The sample is too long").hasNo("xxxx")
	preview("filter_http_body", "on", "sample_body", strings.Repeat("done", 3000)).has("<strong>a success</strong>")
}
