package server_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

func TestUpdate(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"name": "a", "slug": "a", "tags": "x", "timeout": 120, "grace": 120})
		want := s.defaults(check)
		want["name"], want["slug"], want["tags"], want["timeout"], want["grace"] = "a", "a", "x", 120.0, 120.0
		for _, step := range []struct {
			fields  object
			changed object // expected changes of the document; nil removes a key
		}{
			{object{}, object{}},
			{object{"unknown": nil}, object{}},
			{object{"name": "b"}, object{"name": "b"}},
			{object{"name": "", "slug": "", "tags": ""}, object{"name": "", "slug": "", "tags": ""}},
			{object{"timeout": 60}, object{"timeout": 60.0}},
			{object{"grace": 60, "manual_resume": true, "methods": "POST"}, object{"grace": 60.0, "manual_resume": true, "methods": "POST"}},
			{object{"manual_resume": false, "methods": ""}, object{"manual_resume": false, "methods": ""}},
			{object{"schedule": "0 0 * * *"}, object{"schedule": "0 0 * * *", "tz": "UTC", "timeout": nil}},
			{object{"tz": "Europe/Riga"}, object{"tz": "Europe/Riga"}},
			{object{"timeout": 90, "schedule": "1 0 * * *"}, object{"schedule": "1 0 * * *"}},
			{object{"desc": "d"}, object{"desc": "d"}},
			{object{"timeout": 180}, object{"timeout": 180.0, "schedule": nil, "tz": nil}},
			{object{"schedule": "0 0 * * *"}, object{"schedule": "0 0 * * *", "tz": "Europe/Riga", "timeout": nil}},
			{object{"timeout": 60, "filter_subject": true, "filter_body": true, "filter_http_body": true, "filter_default_fail": true},
				object{"timeout": 60.0, "schedule": nil, "tz": nil, "filter_subject": true, "filter_body": true, "filter_http_body": true, "filter_default_fail": true}},
			{object{"max_runtime": 7200}, object{"max_runtime": 7200.0}},
			{object{"alert_after": 3, "repeat_every": 60}, object{"alert_after": 3.0, "repeat_every": 60.0}},
			// The time zone of quiet hours is shown with them.
			{object{"quiet_hours": "22:00-06:00"}, object{"quiet_hours": "22:00-06:00", "tz": "Europe/Riga"}},
			{object{"alert_after": 0, "repeat_every": 0}, object{"alert_after": nil, "repeat_every": nil}},
			{object{"max_runtime": 0}, object{"max_runtime": nil}},
			{object{"quiet_hours": ""}, object{"quiet_hours": nil, "tz": nil}},
			{object{"start_kw": "a", "success_kw": "b", "failure_kw": "c"}, object{"start_kw": "a", "success_kw": "b", "failure_kw": "c"}},
		} {
			for key, value := range step.changed {
				want[key] = value
				if value == nil {
					delete(want, key)
				}
			}
			s.equal(fmt.Sprintf("updated with %v", step.fields), s.api("POST", path(check), step.fields).object(200), want)
			s.equal("read", s.get(check), without(want, "subject", "subject_fail"))
		}
		s.equal("no body", s.api("POST", path(check), nil).object(200), want)
		// If one field is refused, nothing changes.
		s.api("POST", path(check), object{"name": "x", "desc": "x", "grace": 59}).refusedField("grace", "grace is too small: 59, the minimum is 60")
		s.api("POST", path(check), object{"name": "x", "schedule": "61 * * * *"}).is(400)
		s.equal("after refused updates", s.get(check), without(want, "subject", "subject_fail"))
	})
}

// TestUpdateSchedules changes the language of a schedule, and refuses what is neither cron nor OnCalendar.
func TestUpdateSchedules(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"schedule": "30 4 * * 1-5", "tz": "Asia/Tokyo"})
		for _, schedule := range []string{"Mon..Fri 04:30", "04:30\n16:30", "04:30 America/New_York", "30 4 * * *"} {
			got := s.api("POST", path(check), object{"schedule": schedule}).object(200)
			s.equal("updated", []any{got["schedule"], got["tz"], got["timeout"]}, []any{schedule, "Asia/Tokyo", nil})
		}
		before := s.get(check)
		for _, schedule := range []string{
			"0 0 4 * * *", "0,75 * * * *", "* twice *", "0 4 * * fry", "0 0 30 2 *", "Monday..Sonntag 04:30", "04:30 Asia/Nowhere", "04:30\nnoon",
			"2001-01-01 04:30", "04:30\x00",
		} {
			for _, fields := range []object{{"schedule": schedule}, {"schedule": schedule, "timeout": 60}} {
				o := s.api("POST", path(check), fields).object(400)
				if text, _ := o["error"].(string); o["field"] != "schedule" || !strings.HasPrefix(text, "schedule ") {
					s.Errorf("%q: error %v, want one of the schedule", schedule, o)
				}
			}
		}
		s.equal("after refused updates", s.get(check), before)
	})
}

// TestDeletedMeanwhile: a check that is deleted while a request changes it does not exist (server/API.md section 7).
func TestDeletedMeanwhile(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, request := range []string{"POST ", "POST /pause", "POST /resume", "DELETE ", "POST ping", "GET ping/fail"} {
			check := s.create(nil)
			if request == "POST /resume" {
				s.api("POST", path(check)+"/pause", nil).is(200)
			}
			other := s.another(&dbtest.Hooked{Store: s.store, Around: func(op string, do func() error) error {
				if op == "Update" { // right before each transaction
					s.api("DELETE", path(check), nil)
				}
				return do()
			}}, monitor.Config{}, server.Config{})
			method, suffix, _ := strings.Cut(request, " ")
			if signal, isPing := strings.CutPrefix(suffix, "ping"); isPing {
				other.send(method, "/ping/"+check["uuid"].(string)+signal, nil).text(404, "not found")
				continue
			}
			other.api(method, path(check)+suffix, object{"name": "x"}).refused(404, "not found")
		}
		s.equal("left", s.api("GET", "/api/v3/checks/", nil).list(200, "checks"), []object{})
	})
}

func TestPauseAndResume(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"timeout": 60, "grace": 60})
		s.api("POST", path(check)+"/resume", nil).refused(409, "check is not paused")

		want := s.defaults(check)
		want["timeout"], want["grace"], want["status"] = 60.0, 60.0, "paused"
		s.equal("paused", s.api("POST", path(check)+"/pause", nil).object(200), want)
		s.equal("paused twice", s.api("POST", path(check)+"/pause/", nil).object(200), want)
		s.clock.Advance(time.Hour)
		s.status(check, "paused", "")
		want["status"] = "new"
		s.equal("resumed", s.api("POST", path(check)+"/resume", nil).object(200), want)
		s.api("POST", path(check)+"/resume/", nil).refused(409, "check is not paused")

		// Without manual_resume, any ping but an ignored one ends the pause.
		for signal, status := range map[string]string{"": "up", "/fail": "down", "/start": "new", "/0": "up", "/1": "down"} {
			s.api("POST", path(check)+"/pause", nil).is(200)
			s.ping(check, signal)
			s.equal("after "+signal, s.get(check)["status"], any(status))
		}
		s.api("POST", path(check)+"/pause", nil).is(200)
		s.ping(check, "/log")
		s.equal("after /log", s.get(check)["status"], any("paused"))

		// Resuming forgets the last ping and keeps the log.
		resumed := s.api("POST", path(check)+"/resume", nil).object(200)
		s.equal("resumed", []any{resumed["status"], resumed["last_ping"], resumed["next_ping"], resumed["n_pings"]}, []any{"new", nil, nil, 6.0})
	})
}

func TestManualResume(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"manual_resume": true})
		s.ping(check, "")
		s.status(check, "up", at(24*time.Hour))
		s.api("POST", path(check)+"/pause", nil).is(200)
		for _, signal := range []string{"", "/fail", "/start", "/log", "/3"} {
			s.ping(check, signal)
			s.status(check, "paused", "")
		}
		s.equal("n_pings", s.get(check)["n_pings"], any(6.0))
		for _, ping := range s.pings(check)[:5] {
			s.equal("type", ping["type"], any("ign"))
		}
		s.equal("resumed", s.api("POST", path(check)+"/resume", nil).object(200)["status"], any("new"))
		s.ping(check, "")
		s.status(check, "up", at(24*time.Hour))
	})
}

func TestDelete(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"name": "gone", "timeout": 60, "grace": 60})
		s.send("POST", check["ping_url"].(string), "body").text(200, "OK")
		s.clock.Advance(90 * time.Second)
		want := s.get(check)
		s.equal("before deletion", want["status"], any("grace"))
		want["subject"], want["subject_fail"] = "", ""
		s.equal("deleted", s.api("DELETE", path(check), "not looked at").object(200), want)
		s.api("DELETE", path(check), nil).refused(404, "not found")
		for _, suffix := range []string{"", "/pings/", "/flips/", "/pings/1/body"} {
			s.api("GET", path(check)+suffix, nil).refused(404, "not found")
		}
		s.send("GET", check["ping_url"].(string), nil).text(404, "not found")
	})
}

func TestListFilters(t *testing.T) {
	each(t, nil, func(s *site) {
		s.equal("none", s.api("GET", "/api/v3/checks/", nil).body, "{\"checks\":[]}\n")
		for _, fields := range []object{
			{"name": "1", "slug": "one", "tags": "prod db"},
			{"name": "2", "slug": "two", "tags": "prod"},
			{"name": "3", "slug": "two", "tags": "Prod\tdb  größe,ß"},
			{"name": "4"},
		} {
			s.create(fields)
			s.clock.Advance(time.Microsecond)
		}
		_, other := s.otherProject("Other")
		s.send("POST", "/api/v3/checks/", object{"name": "foreign", "slug": "one", "tags": "prod"}, "X-Api-Key", other.ReadWrite).is(201)
		for query, want := range map[string]string{
			"":                                      "1 2 3 4",
			"?slug=":                                "1 2 3 4",
			"?tag=":                                 "1 2 3 4",
			"?slug=one":                             "1",
			"?slug=two":                             "2 3",
			"?slug=three":                           "",
			"?slug=ONE":                             "",
			"?slug=%00":                             "",
			"?slug=%ff":                             "",
			"?tag=prod":                             "1 2",
			"?tag=prod&tag=db":                      "1",
			"?tag=db":                               "1 3",
			"?tag=pro":                              "",
			"?tag=prod%20db":                        "",
			"?tag=%ff":                              "",
			"?tag=%00":                              "",
			"?tag=%25":                              "",
			"?tag=_rod":                             "",
			"?tag=" + url.QueryEscape("größe,ß"):    "3",
			"?tag=db&slug=two":                      "3",
			"?unknown=1&TAG=prod":                   "1 2 3 4",
			"?tag=prod&tag=" + url.QueryEscape("'"): "",
		} {
			var names string
			for i, check := range s.api("GET", "/api/v3/checks/"+query, nil).list(200, "checks") {
				if i > 0 {
					names += " "
				}
				names += check["name"].(string)
			}
			s.equal(query, names, want)
		}
	})
}
