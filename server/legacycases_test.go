package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/server"
)

// legacy are the versions of the management interface before the current one.
var legacy = []string{"v1", "v2"}

// in returns the address of a check in a version of the interface.
func in(version string, check object) string {
	return strings.Replace(path(check), "/v3/", "/"+version+"/", 1)
}

// fields returns the values of some keys of an object.
func fields(o object, names ...string) (values []any) {
	for _, name := range names {
		values = append(values, o[name])
	}
	return values
}

// TestRunsInVersions: every answer with a check says that a run is in progress. A pause ends the run.
func TestRunsInVersions(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		for version, during := range map[string]map[string]any{
			"v1": {"new": "started", "up": "started", "grace": "started", "down": "started"},
			"v2": {"new": "new", "up": "up", "grace": "grace", "down": "down"},
		} {
			list := "/api/" + version + "/checks/"
			for status, shown := range during {
				check := s.create(object{"name": version + status, "timeout": 60, "grace": 3600})
				switch status {
				case "up":
					s.ping(check, "")
				case "grace":
					s.ping(check, "")
					s.clock.Advance(time.Minute)
				case "down":
					s.ping(check, "/fail")
				}
				s.ping(check, "/start")
				s.equal("in version 3", s.get(check)["status"], any(status))
				own := in(version, check)
				shows := func(what string, o object, want ...any) {
					s.Helper()
					s.equal(version+", "+status+", "+what, fields(o, "uuid", "status", "started"), append([]any{check["uuid"]}, want...))
				}
				shows("read", s.api("GET", own, nil).object(200), shown, true)
				shows("updated", s.api("POST", own, object{"desc": "x"}).object(200), shown, true)
				upsert := object{"name": check["name"], "unique": []string{"name"}}
				shows("upserted", s.api("POST", list, upsert).object(200), shown, true)
				shows("paused", s.api("POST", own+"/pause", nil).object(200), "paused", false)
				shows("resumed", s.api("POST", own+"/resume", nil).object(200), "new", false)
				s.ping(check, "/start")
				last := map[string]any{"v1": "started", "v2": "new"}[version]
				shows("deleted", s.api("DELETE", own, nil).object(200), last, true)
				s.api("GET", own, nil).refused(404, "not found")
			}
		}
	})
}

// TestLastDuration: last_duration is that of the last run which the job has ended, in whole seconds. It is absent if the
// last ping ended no run.
func TestLastDuration(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		check := s.create(object{"timeout": 60, "grace": 60})
		const run = "?rid=aaaaaaaa-0000-4000-8000-000000000000"
		for _, step := range []struct {
			signal string
			wait   time.Duration
			want   any
		}{
			{"/start", 0, nil},
			{"", 9900 * time.Millisecond, 9.0},
			{"/log", 0, 9.0},
			{"/start", 0, 9.0},
			{"/fail", 20 * time.Second, 20.0},
			{"", time.Second, nil},
			{"/start" + run, 0, nil},
			{run, 500 * time.Millisecond, 0.0},
			{"/log", time.Hour, 0.0}, // down, because no ping came
		} {
			s.clock.Advance(step.wait)
			s.ping(check, step.signal)
			for _, version := range legacy {
				got, there := s.api("GET", in(version, check), nil).object(200)["last_duration"]
				if got != step.want || there != (step.want != nil) {
					s.Errorf("%s after %s: last_duration is %v, want %v", version, step.signal, got, step.want)
				}
			}
		}
		s.status(check, "down", "")
	})
}

// TestSubjectRules: the bounds of subject and subject_fail, and how they go together with the fields that replaced them.
func TestSubjectRules(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		for _, version := range legacy {
			list := "/api/" + version + "/checks/"
			kept := s.create(object{"name": version, "failure_kw": "ERROR", "filter_subject": true})
			own := in(version, kept)
			for _, field := range []string{"subject", "subject_fail"} {
				for _, address := range []string{list, own} {
					s.api("POST", address, object{field: nil}).refusedField(field, field+" is not a string")
					s.api("POST", address, object{field: []string{"x"}}).refusedField(field, field+" is not a string")
					s.api("POST", address, object{field: strings.Repeat("k", 201)}).
						refusedField(field, field+" is too long: 201 characters, the maximum is 200")
					s.api("POST", address, object{field: "a\x00"}).refusedField(field, field+" has a NUL character")
				}
			}
			shown := []string{"subject", "subject_fail", "success_kw", "failure_kw", "filter_subject"}
			s.equal("as it was", fields(s.api("GET", own, nil).object(200), shown...), []any{"", "ERROR", "", "ERROR", true})
			created := s.api("POST", list, object{"subject": "OK", "subject_fail": "BAD", "filter_subject": false}).object(201)
			s.equal("the switch wins", fields(created, shown...), []any{"", "", "OK", "BAD", false})
			// An upsert counts what the check has, as an update does.
			upsert := func(more object) object {
				more["name"], more["unique"] = version, []string{"name"}
				return s.api("POST", list, more).object(200)
			}
			s.equal("upserted", fields(upsert(object{"subject": ""}), shown...), []any{"", "ERROR", "", "ERROR", true})
			s.equal("upserted", fields(upsert(object{"subject_fail": ""}), shown...), []any{"", "", "", "", false})
			s.equal("upserted", fields(upsert(object{"subject": "OK"}), shown...), []any{"OK", "", "OK", "", true})
			s.equal("upserted", fields(upsert(object{"subject_fail": ""}), shown...), []any{"OK", "", "OK", "", true})
		}
	})
}

// TestUpsertByMadeSlug: a slug that is made from the name is not a field of the request, so it finds no check.
func TestUpsertByMadeSlug(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		for _, version := range legacy {
			list := "/api/" + version + "/checks/"
			slug := "job-" + version
			first := s.api("POST", list, object{"name": "Job " + version}).object(201)
			s.equal("slug", first["slug"], any(slug))
			s.api("POST", list, object{"name": "Job " + version, "unique": []string{"slug"}}).is(201)
			s.api("POST", list, object{"unique": []string{"slug"}}).is(201)
			found := s.api("POST", list, object{"slug": slug, "desc": "found", "unique": []string{"slug"}}).object(200)
			s.equal("by the slug given", fields(found, "uuid", "name", "desc"), []any{first["uuid"], first["name"], "found"})
			s.api("POST", list, object{"name": "x", "slug": "Job"}).
				refusedField("slug", `slug may only have a-z, 0-9, hyphen and underscore: "Job"`)
		}
	})
}

// TestAccessOfVersions: every version has the same keys (server/API.md section 5) and one rate limit together.
func TestAccessOfVersions(t *testing.T) {
	each(t, &server.Config{RateLimit: 1000}, func(s *site) {
		s = s.versioned()
		v := newVictim(s)
		_, foreign := s.otherProject("Foreign")
		for route, row := range accessTable {
			if !server.OfVersion(1, route) {
				continue
			}
			for _, version := range legacy {
				path := strings.Replace(v.in(route[1]), "/v3", "/"+version, 1)
				for key, want := range map[string]int{
					"": row.none, strings.Repeat("x", 32): row.unknown, s.project.PingKey: row.none,
					foreign.ReadWrite: row.foreignRW, foreign.ReadOnly: row.foreignRO,
				} {
					r := s.send(route[0], path, nil, "X-Api-Key", key)
					if r.status != want {
						s.Errorf("%s: status %d %s, want %d", r.what, r.status, r.body, want)
					}
					v.untold(r)
					if route[0] == "POST" && key != "" {
						v.untold(s.send(route[0], path, object{"api_key": key}).is(want))
					}
				}
				if row.ownRO >= 400 {
					s.send(route[0], path, nil, "X-Api-Key", s.keys.ReadOnly).is(row.ownRO)
				}
			}
		}
		for _, version := range legacy {
			readOnly := s.send("GET", "/api/"+version+"/checks/", nil, "X-Api-Key", s.keys.ReadOnly).list(200, "checks")[0]
			for _, name := range []string{"uuid", "ping_url", "update_url", "pause_url", "resume_url", "channels"} {
				if _, there := readOnly[name]; there {
					s.Errorf("%s: a read-only key sees %s", version, name)
				}
			}
			s.send("POST", in(version, v.check)+"/pause", "5").refused(400, "the body is not a JSON object")
			s.send("POST", "/api/"+version+"/checks/", "this").is(400)
		}
		s.equal("the victim", v.state(), v.before)
	})
}

// TestLimitsOfVersions: requests of all versions count together, and so do checks.
func TestLimitsOfVersions(t *testing.T) {
	eachPlan(t, &server.Config{RateLimit: 30}, "free", func(s *site) {
		s = s.versioned()
		for i := range 20 {
			s.api("POST", fmt.Sprintf("/api/v%d/checks/", 1+i%3), object{"name": "job"}).is(201)
		}
		for version := 1; version <= 3; version++ {
			s.api("POST", fmt.Sprintf("/api/v%d/checks/", version), object{}).refused(403, "the account has reached its check limit: 20 checks")
		}
		for i := range 7 {
			s.api("GET", fmt.Sprintf("/api/v%d/badges/", 1+i%3), nil).is(200)
		}
		for version := 1; version <= 3; version++ {
			s.api("GET", fmt.Sprintf("/api/v%d/badges/", version), nil).refused(429, "too many requests: the limit is 30 a minute")
		}
	})
}
