package server_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

const windows = "/api/v3/windows/"

// TestWindows plans, lists, reads and ends maintenance windows and snoozes.
func TestWindows(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"slug": "nightly", "tags": "db"})
		who := "the API key " + s.keys.ReadWrite[:8] + "…"
		past := []object{}
		kinds := []gate.WindowKind{gate.Maintenance, gate.Snooze}
		for i, kind := range kinds {
			now := time.Duration(i) * time.Minute
			of, ofOther := windows+"?kind="+string(kind), windows+"?kind="+string(kinds[1-i])
			added := s.api("POST", windows, object{"kind": kind, "checks": []string{"nightly", check["uuid"].(string)}, "tags": "db  web", "duration": 7200, "note": " New disks "}).object(201)
			want := object{
				"id": added["id"], "kind": string(kind), "checks": []any{check["uuid"]}, "tags": "db web", "note": "New disks", "by": who,
				"start": at(now), "end": at(now + 2*time.Hour), "created_at": at(now), "active_until": at(now + 2*time.Hour), "next_start": nil,
			}
			s.equal("added", added, want)
			for list, found := range map[string][]object{windows: {want}, of: {want}, ofOther: {}, of + "&past=1": {}} {
				s.equal(list, s.api("GET", list, nil).list(200, "windows"), found)
			}
			one := windows + added["id"].(string)
			s.equal("read", s.api("GET", one, nil).object(200), want)
			seen := s.send("GET", one, nil, "X-Api-Key", s.keys.ReadOnly).object(200)
			s.equal("with a read-only key", []any{seen["checks"], seen["by"]}, []any{[]any{checks.UniqueKey(uuid.MustParse(check["uuid"].(string)))}, nil})

			later := s.api("POST", windows, object{"kind": kind, "start": at(time.Hour), "end": at(3 * time.Hour)}).object(201)
			s.equal("coming", []any{later["active_until"], later["next_start"]}, []any{nil, at(time.Hour)})
			s.api("DELETE", windows+later["id"].(string), nil).object(200)
			s.api("GET", windows+later["id"].(string), nil).refused(404, "not found")

			s.clock.Advance(time.Minute)
			ended := s.api("DELETE", one, nil).object(200)
			s.equal("ended", []any{ended["end"], ended["active_until"]}, []any{at(now + time.Minute), nil})
			for list, found := range map[string][]object{windows: {}, of: {}, of + "&past=1": {ended}, ofOther + "&past=1": past} {
				s.equal(list, s.api("GET", list, nil).list(200, "windows"), found)
			}
			past = append(past, ended)
		}
		recurring := s.api("POST", windows, object{"kind": "maintenance", "schedule": "0 3 * * *", "duration": 3600, "tz": "Europe/Riga"}).object(201)
		s.equal("recurring", []any{recurring["end"], recurring["next_start"], recurring["tz"]}, []any{nil, "2026-03-16T01:00:00+00:00", "Europe/Riga"})
	})
}

// TestBadWindows sends windows that are refused. None is added.
func TestBadWindows(t *testing.T) {
	both(t, nil, func(s *site) {
		other, _ := s.otherProject("Other")
		theirs, err := s.mon.Project(other.ID).Create(s.Context(), checks.Spec{Slug: new("theirs")})
		s.must(err)
		s.create(object{"slug": "twice"})
		s.create(object{"slug": "twice"})
		many := make([]string, 101)
		for _, test := range []struct {
			fields      object
			field, text string
		}{
			{object{"kind": ""}, "kind", `kind is neither "maintenance" nor "snooze": ""`},
			{object{"kind": "Snooze"}, "kind", `kind is neither "maintenance" nor "snooze": "Snooze"`},
			{object{"kind": 1}, "kind", "kind is not a string"},
			{object{}, "end", "end is missing: a maintenance window always ends; set an end, or a duration"},
			{object{"duration": 0}, "duration", "duration is too small: 0, the minimum is 1"},
			{object{"duration": "1h"}, "duration", "duration is not a number"},
			{object{"end": at(-time.Hour)}, "end", "end is not after the start: 2026-03-15T11:00:00Z, the start is 2026-03-15T12:00:00Z"},
			{object{"end": "tomorrow"}, "end", `end is not a time such as 2026-03-15T12:00:00+00:00: "tomorrow"`},
			{object{"duration": 60, "checks": "nightly"}, "checks", "checks is not an array"},
			{object{"duration": 60, "checks": []string{"nightly"}}, "checks", `checks has "nightly", which is neither the UUID nor the slug of one check`},
			{object{"duration": 60, "checks": []string{"a\x00b"}}, "checks", `checks has "a\x00b", which is neither the UUID nor the slug of one check`},
			{object{"duration": 60, "checks": []string{"twice"}}, "checks", `checks has "twice", which is neither the UUID nor the slug of one check`},
			{object{"duration": 60, "checks": []string{theirs.ID.String()}}, "checks", "checks has a check that is not in the project: " + theirs.ID.String()},
			{object{"duration": 60, "checks": many}, "checks", "checks has 101 items, the maximum is 100: select by tags"},
			{object{"duration": 60, "schedule": "0 0 30 2 *"}, "schedule", "schedule is not valid: day of month: no month of the expression has a day 30"},
		} {
			fields := object{"kind": "maintenance"}
			maps.Copy(fields, test.fields)
			s.api("POST", windows, fields).refusedField(test.field, test.text)
		}
		s.api("POST", windows, object{"duration": 60}).refusedField("kind", `kind is neither "maintenance" nor "snooze": ""`)
		s.api("POST", windows, object{"kind": "snooze"}).refusedField("end", "end is missing: a snooze always ends; set an end, or a duration")
		s.api("GET", windows+"?kind=snoozes", nil).refusedField("kind", `kind is neither "maintenance" nor "snooze": "snoozes"`)
		s.api("GET", windows+"?kind=", nil).refusedField("kind", "kind is empty: leave it out for all windows")
		s.equal("windows", s.api("GET", windows, nil).list(200, "windows"), []object{})
	})
}

// TestSnoozeByPingKey snoozes as a deploy script does, with one line of curl.
func TestSnoozeByPingKey(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.another(s.store, monitor.Config{AuditRetention: time.Hour}, server.Config{RateLimit: 8})
		s.create(object{"slug": "nightly"})
		key := []string{"X-Ping-Key", s.project.PingKey}
		added := s.send("POST", windows, object{"kind": "snooze", "checks": []string{"nightly"}, "duration": 86400}, key...).object(201)
		s.equal("who added it", added["by"], any("the ping key"))
		late := "end is too late: with a ping key, a snooze ends within 24 hours"
		s.send("POST", windows, object{"kind": "snooze", "duration": 86401}, key...).refusedField("end", late)
		s.send("POST", windows, object{"kind": "snooze", "end": at(25 * time.Hour)}, key...).refusedField("end", late)
		s.send("POST", windows, object{"kind": "snooze", "start": at(time.Hour), "duration": 86400}, key...).refusedField("end", late)

		// It opens nothing else, and a wrong one is as unknown as that of a ping.
		for _, route := range [][2]string{{"GET", windows}, {"GET", windows + added["id"].(string)}, {"POST", "/api/v3/checks/"}, {"GET", "/api/v3/checks/"}} {
			s.send(route[0], route[1], nil, key...).refused(401, "missing api key")
		}
		for _, wrong := range []string{"", "x", "aaaaaaaaaaaaaaaaaaaaaa", s.project.BadgeKey, s.keys.ReadWrite} {
			s.send("POST", windows, object{"kind": "snooze", "duration": 60}, "X-Ping-Key", wrong).refused(404, "not found")
		}
		s.send("POST", windows, object{"kind": "snooze", "duration": 60}, "X-Ping-Key", s.project.PingKey, "X-Api-Key", "").refused(401, "missing api key")

		log, err := s.mon.Installation().Audit(s.Context(), audit.Query{Project: s.project.ID})
		s.must(err)
		s.equal("the audit log", []any{len(log), log[0].Action, log[0].Actor}, []any{2, "snooze.create", audit.Actor{Kind: audit.PingKey, Address: "127.0.0.1"}})
		for range 4 {
			s.send("POST", windows, object{"kind": "snooze", "duration": 60}, key...).is(201)
		}
		s.send("POST", windows, object{"kind": "snooze", "duration": 60}, key...).is(429)
	})
}

// TestSnoozesByPingKey: those of a script that runs again and again are one, take no room of others, and the key ends them.
func TestSnoozesByPingKey(t *testing.T) {
	both(t, nil, func(s *site) {
		s.create(object{"slug": "nightly", "tags": "web db"})
		key := []string{"X-Ping-Key", s.project.PingKey}
		snooze := func(fields object) object {
			s.Helper()
			fields["kind"] = "snooze"
			return s.send("POST", windows, fields, key...).object(201)
		}
		first := snooze(object{"tags": "web db", "duration": 1800})
		s.equal("the same again", snooze(object{"tags": "db web", "duration": 1800}), first)
		s.clock.Advance(20 * time.Minute)
		extended := snooze(object{"tags": "web db", "duration": 1800})
		s.equal("extended", []any{extended["id"], extended["start"], extended["end"]}, []any{first["id"], first["start"], at(50 * time.Minute)})
		shorter := snooze(object{"tags": "web db", "duration": 60})
		s.equal("never shortened", []any{shorter["id"], shorter["end"]}, []any{first["id"], at(50 * time.Minute)})
		for _, other := range []object{{"tags": "web", "duration": 1800}, {"tags": "web db", "duration": 1800, "note": "x"}, {"checks": []string{"nightly"}, "duration": 1800}, {"duration": 1800}} {
			if snooze(other)["id"] == first["id"] {
				s.Errorf("%v is one with another selection", other)
			}
		}
		later := snooze(object{"tags": "web db", "start": at(2 * time.Hour), "duration": 60})
		own := s.api("POST", windows, object{"kind": "snooze", "tags": "web db", "duration": 1800}).object(201)
		if later["id"] == first["id"] || own["id"] == first["id"] {
			s.Error("a later one, or one of the owner, is one with it")
		}
		s.equal("snoozes", len(s.api("GET", windows+"?kind=snooze", nil).list(200, "windows")), 7)

		s.send("DELETE", windows+own["id"].(string), nil, key...).refused(404, "not found")
		s.send("DELETE", windows+unknownUUID, nil, key...).refused(404, "not found")
		s.send("DELETE", windows+first["id"].(string), nil, "X-Ping-Key", s.project.BadgeKey).refused(404, "not found")
		maintenance := s.api("POST", windows, object{"kind": "maintenance", "duration": 60}).object(201)
		s.send("DELETE", windows+maintenance["id"].(string), nil, key...).refused(404, "not found")
		for _, fields := range []object{{"kind": "maintenance", "duration": 60}, {"kind": "maintenance"}, {"duration": 60}} {
			s.send("POST", windows, fields, key...).refusedField("kind", `kind is not "snooze", the only kind that a ping key adds`)
		}
		ended := s.send("DELETE", windows+first["id"].(string), nil, key...).object(200)
		s.equal("ended", ended["active_until"], any(nil))
		s.equal("left", len(s.api("GET", windows+"?kind=snooze", nil).list(200, "windows")), 6)

		for i := range 100 {
			r := s.send("POST", windows, object{"kind": "snooze", "note": fmt.Sprint(i), "duration": 1800}, key...)
			if i >= 95 {
				r.refusedField("project", "project has 100 snoozes by ping key that have not ended, the maximum")
			} else {
				r.is(201)
			}
		}
		s.api("POST", windows, object{"kind": "maintenance", "duration": 60}).is(201)
	})
}

// TestWindowWarnings: what selects nothing is refused, and a tag that no check has is said.
func TestWindowWarnings(t *testing.T) {
	both(t, nil, func(s *site) {
		s.create(object{"tags": "web"})
		for _, kind := range []gate.WindowKind{gate.Maintenance, gate.Snooze} {
			for _, empty := range []string{"", "  "} {
				s.api("POST", windows, object{"kind": kind, "tags": empty, "duration": 60}).refusedField("tags", "tags is empty: leave it out, or to cover the whole project both checks and tags")
			}
			s.api("POST", windows, object{"kind": kind, "checks": []string{}, "duration": 60}).refusedField("checks", "checks is empty: leave it out, or to cover the whole project both checks and tags")
			r := s.api("POST", windows, object{"kind": kind, "tags": "web wbe dß", "duration": 60})
			s.equal("warnings", r.is(201).header["Warning"], []string{`299 - "no check has the tag \"wbe\""`, `299 - "no check has the tag \"d\u00df\""`})
			if r := s.api("POST", windows, object{"kind": kind, "tags": "web", "duration": 60}).is(201); r.header["Warning"] != nil {
				s.Errorf("a warning about nothing: %v", r.header["Warning"])
			}
		}
	})
}

// TestFollowWarnings warns of a parent that holds no alert back, when a check is made to follow it.
func TestFollowWarnings(t *testing.T) {
	both(t, nil, func(s *site) {
		_, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "ops", Settings: map[string]string{"to": "ops@example.org"}})
		s.must(err)
		dump := s.create(object{"slug": "dump", "name": "Dümp"})
		upload := s.create(object{"slug": "upload"})
		warns := func(r reply, status int, want ...string) {
			s.Helper()
			s.equal("warnings", r.is(status).header["Warning"], want)
		}
		const nobody = `299 - "D\u00fcmp alerts nobody, so no alert waits for it"`
		warns(s.api("POST", path(upload), object{"after": "dump"}), 200, nobody)
		warns(s.api("POST", path(upload), object{"grace": 60}), 200)
		warns(s.api("POST", "/api/v3/checks/", object{"slug": "test", "after": "dump,upload"}), 201, nobody, `299 - "upload alerts nobody, so no alert waits for it"`)
		warns(s.api("POST", "/api/v3/checks/", object{"slug": "test", "unique": []string{"slug"}, "after": "dump"}), 200, nobody)
		s.api("POST", path(dump), object{"channels": "*", "record_only": true}).is(200)
		warns(s.api("POST", path(upload), object{"after": "dump"}), 200, `299 - "D\u00fcmp never alerts, so no alert waits for it"`)
		s.api("POST", path(dump), object{"record_only": false, "alert_after": 3, "quiet_hours": "22:00-06:00"}).is(200)
		warns(s.api("POST", path(upload), object{"after": "dump"}), 200, `299 - "no alert waits for D\u00fcmp in its quiet hours"`,
			`299 - "no alert waits for D\u00fcmp before it has failed 3 times in a row"`)
		warns(s.api("POST", path(upload), object{"after": "dump", "record_only": true}), 200)
		s.api("POST", path(dump), object{"alert_after": 0, "quiet_hours": ""}).is(200)
		warns(s.api("POST", path(upload), object{"after": "dump", "record_only": false}), 200)
		warns(s.api("POST", path(upload), object{"after": ""}), 200)
	})
}

// TestNothingUndoesASnooze updates a check by the API and sends it failures.
func TestNothingUndoesASnooze(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"slug": "nightly"})
		added := s.api("POST", windows, object{"kind": "snooze", "checks": []string{"nightly"}, "duration": 3600}).object(201)
		s.api("POST", path(check), object{"name": "renamed", "timeout": 600, "tags": "x"}).is(200)
		s.api("POST", "/api/v3/checks/", object{"slug": "nightly", "unique": []string{"slug"}, "grace": 60}).is(200)
		for _, signal := range []string{"/fail", "", "/start", "/log", "/3"} {
			s.ping(check, signal)
		}
		s.api("POST", path(check)+"/pause", nil).is(200)
		s.api("POST", path(check)+"/resume", nil).is(200)
		s.equal("the snooze", s.api("GET", windows+"?kind=snooze", nil).list(200, "windows"), []object{added})
		w, err := s.mon.Project(s.project.ID).Windows(s.Context(), checks.WindowQuery{Kind: gate.Snooze})
		s.must(err)
		if !w[0].Covers(uuid.MustParse(check["uuid"].(string)), nil) {
			s.Error("the snooze is no longer about the check")
		}
	})
}
