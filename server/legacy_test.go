package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/server"
)

// versioned returns a site whose requests need not be in the OpenAPI document, which describes version 3 alone.
func (s *site) versioned() *site {
	plain := *s
	plain.client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return &plain
}

// TestVersions compares the documents of versions 1 and 2 with those of version 3: only what server/INTEGRATE.md
// lists differs.
func TestVersions(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		check := s.create(object{"name": "job", "success_kw": "done", "filter_subject": true})
		s.ping(check, "/start")
		s.clock.Advance(10 * time.Second)
		id := check["uuid"].(string)
		for version, status := range map[string]string{"v1": "started", "v2": "new"} {
			want := s.get(check)
			want["started"], want["status"], want["subject"], want["subject_fail"] = true, status, "done", ""
			for _, name := range []string{"update_url", "pause_url", "resume_url"} {
				want[name] = strings.Replace(want[name].(string), "/v3/", "/"+version+"/", 1)
			}
			root := "/api/" + version
			s.equal(version, s.api("GET", root+"/checks/"+id, nil).object(200), want)
			s.equal(version+" list", s.api("GET", root+"/checks/", nil).list(200, "checks"), []object{want})
			s.equal(version+" update", s.api("POST", root+"/checks/"+id, object{}).object(200), want)

			readOnly := s.send("GET", root+"/checks/"+id, nil, "X-Api-Key", s.keys.ReadOnly).object(200)
			s.equal(version+" read-only", []any{readOnly["status"], readOnly["uuid"], readOnly["unique_key"] == nil}, []any{status, nil, false})
			s.equal(version+" by unique key", s.send("GET", root+"/checks/"+readOnly["unique_key"].(string), nil,
				"X-Api-Key", s.keys.ReadOnly).object(200), readOnly)
		}
		s.ping(check, "")
		for _, version := range []string{"v1", "v2"} {
			now := s.api("GET", "/api/"+version+"/checks/"+id, nil).object(200)
			s.equal(version+" after the run", []any{now["status"], now["started"], now["last_duration"]}, []any{"up", false, 10.0})
		}
		if _, has := s.get(check)["last_duration"]; has {
			s.Error("version 3 has last_duration")
		}
	})
}

// TestStartedBeatsDown: version 1 says "started" also of a check that is down, until the run takes too long.
func TestStartedBeatsDown(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		check := s.create(object{"grace": 60})
		status := func(version string) any {
			return s.api("GET", "/api/"+version+"/checks/"+check["uuid"].(string), nil).object(200)["status"]
		}
		s.ping(check, "/fail")
		s.ping(check, "/start")
		s.equal("running", []any{status("v1"), status("v2"), status("v3")}, []any{"started", "down", "down"})
		s.clock.Advance(time.Minute)
		s.equal("too long", []any{status("v1"), status("v2"), status("v3")}, []any{"down", "down", "down"})
	})
}

// TestSlugsOfVersions: versions 1 and 2 make the slug from the name.
func TestSlugsOfVersions(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		for name, slug := range map[string]string{
			"Nightly Backup": "nightly-backup", "Zürich (ß) № 5 – DB_1!": "zurich-no-5-db_1", "  --__x  ": "x", "日本": "", "a  -  b": "a-b",
		} {
			for _, version := range []string{"v1", "v2"} {
				check := s.api("POST", "/api/"+version+"/checks/", object{"name": name}).object(201)
				s.equal(version+" "+name, []any{check["name"], check["slug"]}, []any{name, slug})
			}
			s.equal("v3 "+name, s.create(object{"name": name})["slug"], any(""))
		}
		check := s.api("POST", "/api/v1/checks/", object{"name": "First", "slug": "own"}).object(201)
		s.equal("own slug", check["slug"], any("own"))
		path := "/api/v2/checks/" + check["uuid"].(string)
		s.equal("other fields", s.api("POST", path, object{"desc": "x"}).object(200)["slug"], any("own"))
		s.equal("renamed", s.api("POST", path, object{"name": "Second"}).object(200)["slug"], any("second"))
	})
}

// TestSubjects: versions 1 and 2 take subject and subject_fail for the keywords of a subject.
func TestSubjects(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		fields := []string{"subject", "subject_fail", "success_kw", "failure_kw", "filter_subject"}
		values := func(check object) (list []any) {
			for _, name := range fields {
				list = append(list, check[name])
			}
			return list
		}
		check := s.api("POST", "/api/v1/checks/", object{"subject": "OK"}).object(201)
		s.equal("created", values(check), []any{"OK", "", "OK", "", true})
		path := "/api/v2/checks/" + check["uuid"].(string)
		s.equal("second", values(s.api("POST", path, object{"subject_fail": "ERROR"}).object(200)), []any{"OK", "ERROR", "OK", "ERROR", true})
		s.equal("first emptied", values(s.api("POST", path, object{"subject": ""}).object(200)), []any{"", "ERROR", "", "ERROR", true})
		s.equal("both emptied", values(s.api("POST", path, object{"subject_fail": ""}).object(200)), []any{"", "", "", "", false})
		s.equal("newer names win", values(s.api("POST", path, object{"subject": "a", "success_kw": "b", "filter_subject": false}).object(200)),
			[]any{"", "", "b", "", false})
		s.api("POST", path, object{"subject": 5}).refusedField("subject", "subject is not a string")
		s.equal("v3 ignores them", values(s.create(object{"subject": "x"})), []any{"", "", "", "", false})
	})
}

// TestFlipsOfVersions: flips are an object in versions 1 and 2, and in version 3 where the configuration says so.
func TestFlipsOfVersions(t *testing.T) {
	for _, object := range []bool{false, true} {
		each(t, &server.Config{FlipsObject: object}, func(s *site) {
			s = s.versioned()
			check := s.create(nil)
			id := check["uuid"].(string)
			s.equal("none", s.api("GET", "/api/v1/checks/"+id+"/flips/", nil).body, "{\"flips\":[]}\n")
			s.ping(check, "")
			const flip = `{"timestamp":"2026-03-15T12:00:00+00:00","up":1}`
			for version, want := range map[string]string{"v1": `{"flips":[` + flip + "]}\n", "v2": `{"flips":[` + flip + "]}\n", "v3": "[" + flip + "]\n"} {
				if object {
					want = `{"flips":[` + flip + "]}\n"
				}
				s.equal(version, s.api("GET", "/api/"+version+"/checks/"+id+"/flips/", nil).body, want)
			}
		})
	}
}

// TestEndpointsOfVersions sends the requests of each endpoint to each version, and compares status and headers.
func TestEndpointsOfVersions(t *testing.T) {
	each(t, nil, func(s *site) {
		s = s.versioned()
		check := s.create(object{"name": "x"})
		s.send("POST", "/ping/"+check["uuid"].(string), "body").is(200)
		id := "/checks/" + check["uuid"].(string)
		for _, request := range []string{
			"GET /checks/", "GET /checks/?slug=x&tag=y", "GET " + id, "GET " + id + "/pings/", "GET " + id + "/pings/1/body", "GET " + id + "/flips/",
			"GET /channels/", "GET /badges/", "GET /status/", "GET /metrics/", "HEAD /checks/", "OPTIONS /checks/", "OPTIONS " + id,
			"POST " + id, "POST " + id + "/pause", "POST " + id + "/resume", "POST /checks/",
			"PUT /checks/", "GET /nothing/", "GET " + id + "/pings/7/body", "GET /checks/00000000-0000-4000-8000-000000000000",
		} {
			method, path, _ := strings.Cut(request, " ")
			var seen []string
			for _, version := range []string{"v1", "v2", "v3"} {
				if path == id+"/resume" { // which works once
					s.api("POST", "/api/v3"+id+"/pause", nil)
				}
				r := s.api(method, "/api/"+version+path, nil)
				h := r.header
				answer := strings.Join([]string{http.StatusText(r.status), h.Get("Content-Type"), h.Get("Access-Control-Allow-Origin"),
					h.Get("Access-Control-Allow-Headers"), sorted(h.Get("Access-Control-Allow-Methods")), h.Get("Access-Control-Max-Age")}, "|")
				seen = append(seen, answer)
			}
			if len(slices.Compact(slices.Clone(seen))) != 1 {
				s.Errorf("%s differs: %q", request, seen)
			}
		}
		for _, path := range []string{"/", "/openapi.json", id + "/stats/"} { // Rollcall's own
			s.api("GET", "/api/v1"+path, nil).refused(404, "no such path")
		}
		pings := s.api("GET", "/api/v2"+id+"/pings/", nil).list(200, "pings")
		s.equal("address of a body", pings[len(pings)-1]["body_url"], any(s.url+"/api/v2"+id+"/pings/1/body"))
		s.send("GET", "/api/v1/checks/", nil).refused(401, "missing api key")
		s.api("DELETE", "/api/v1"+id, nil).is(200)
		s.api("GET", "/api/v3"+id, nil).is(404)
	})
}

func sorted(list string) string {
	items := strings.Split(list, ", ")
	slices.Sort(items)
	return strings.Join(items, ", ")
}

// TestNoLegacyAPI turns versions 1 and 2 off.
func TestNoLegacyAPI(t *testing.T) {
	each(t, &server.Config{NoLegacyAPI: true}, func(s *site) {
		s = s.versioned()
		var statuses []int
		for _, version := range []string{"v1", "v2", "v3", "v4"} {
			statuses = append(statuses, s.api("GET", "/api/"+version+"/checks/", nil).status)
		}
		if diff := cmp.Diff([]int{404, 404, 200, 404}, statuses); diff != "" {
			s.Error(diff)
		}
	})
}
