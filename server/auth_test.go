package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

const unknownUUID = "11111111-2222-4333-8444-555555555555"

func TestKeys(t *testing.T) {
	each(t, nil, func(s *site) {
		const list, wrong = "/api/v3/checks/", "rcw_0123456789012345678901234567"
		s.send("GET", list, nil).refused(401, "missing api key")
		s.send("GET", list, nil, "X-Api-Key", "").refused(401, "missing api key")
		s.send("GET", list, nil, "X-Api-Key", s.keys.ReadWrite[:31]).refused(401, "missing api key")
		s.send("GET", list, nil, "X-Api-Key", s.keys.ReadWrite+"x").refused(401, "missing api key")
		s.send("GET", list, nil, "X-Api-Key", wrong).refused(401, "wrong api key")
		s.send("GET", list, nil, "X-Api-Key", strings.ToUpper(s.keys.ReadWrite)).refused(401, "wrong api key")
		s.send("GET", list, nil, "X-Api-Key", strings.Repeat("é", 32)).refused(401, "wrong api key")
		s.send("GET", list, nil, "x-api-key", s.keys.ReadWrite).is(200)
		s.send("GET", list+"?api_key="+s.keys.ReadWrite, nil).refused(401, "missing api key")

		// In the body of a POST.
		s.send("POST", list, object{"api_key": s.keys.ReadWrite}).is(201)
		s.send("POST", list, object{"api_key": wrong}).refused(401, "wrong api key")
		s.send("POST", list, object{"api_key": "x"}).refused(401, "missing api key")
		s.send("POST", list, object{"API_KEY": s.keys.ReadWrite}).refused(401, "missing api key")
		s.send("POST", list, object{"api_key": 5}).refusedField("api_key", "api_key is not a string")
		s.send("POST", list, object{"api_key": nil}).refusedField("api_key", "api_key is not a string")
		s.send("POST", list, nil).refused(401, "missing api key")
		s.send("POST", list, "{").is(400)

		// The header wins. A malformed body matters only after the key.
		s.send("POST", list, object{"api_key": s.keys.ReadWrite}, "X-Api-Key", wrong).refused(401, "wrong api key")
		s.send("POST", list, object{"api_key": s.keys.ReadWrite}, "X-Api-Key", "").refused(401, "missing api key")
		s.send("POST", list, object{"api_key": wrong}, "X-Api-Key", s.keys.ReadWrite).is(201)
		s.send("POST", list, "{", "X-Api-Key", wrong).refused(401, "wrong api key")
		s.api("POST", list, "{").is(400)

		// Every POST takes the key in the body; DELETE and GET do not.
		check := s.create(nil)
		key := object{"api_key": s.keys.ReadWrite}
		s.send("POST", path(check), key).is(200)
		s.send("POST", path(check)+"/pause", key).is(200)
		s.send("POST", path(check)+"/resume", key).is(200)
		s.send("POST", path(check)+"/pause", object{"api_key": s.keys.ReadWrite, "name": 5}).is(200)
		s.send("POST", path(check)+"/resume", "[]").refused(400, "the body is not a JSON object")
		s.send("DELETE", path(check), key).refused(401, "missing api key")
		s.send("GET", path(check), key).refused(401, "missing api key")
		s.api("POST", path(check)+"/resume", "not looked at").is(200)
	})
}

func TestRevokedKey(t *testing.T) {
	each(t, nil, func(s *site) {
		text, key, err := s.mon.Project(s.project.ID).CreateKey(s.Context(), checks.ReadWrite)
		s.must(err)
		s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", text).is(200)
		s.must(s.mon.Project(s.project.ID).DeleteKey(s.Context(), key.ID))
		s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", text).refused(401, "wrong api key")
	})
}

// TestExpiredKey: a key is refused from its end on, with a text that says so, by every server on the database, and after its clock is set.
func TestExpiredKey(t *testing.T) {
	both(t, nil, func(s *site) {
		other := s.another(s.store, monitor.Config{}, server.Config{})
		project := s.mon.Project(s.project.ID)
		_, _, err := project.CreateKeyUntil(s.Context(), checks.ReadWrite, s.clock.Now())
		if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "expires" {
			t.Errorf("a key that ends now: %v", err)
		}
		_, _, err = project.CreateKeyUntil(s.Context(), checks.ReadWrite, s.clock.Now().Add(checks.MaxKeyAge+time.Second))
		if field, ok := errors.AsType[*checks.FieldError](err); !ok || field.Field != "expires" {
			t.Errorf("a key that ends too late: %v", err)
		}
		const age = 30 * 24 * time.Hour
		text, key, err := project.CreateKeyUntil(s.Context(), checks.ReadWrite, s.clock.Now().Add(age))
		s.must(err)
		admin, _, err := s.mon.Installation().CreateKeyUntil(s.Context(), s.clock.Now().Add(age))
		s.must(err)
		status := func(want int) {
			t.Helper()
			for _, on := range []*site{s, other} {
				for name, r := range map[string]reply{
					"header":       on.send("GET", "/api/v3/checks/", nil, "X-Api-Key", text),
					"body":         on.send("POST", "/api/v3/checks/", object{"api_key": text}),
					"metrics":      on.send("GET", "/api/v3/metrics", nil, "Authorization", "Bearer "+text),
					"installation": on.send("GET", "/api/v3/projects/", nil, "X-Api-Key", admin),
				} {
					if want == 401 {
						r.refused(401, "the api key has expired")
					} else if r.status >= 300 {
						t.Errorf("%s: status %d before the end", name, r.status)
					}
				}
			}
		}
		status(200)
		s.clock.Advance(age - time.Microsecond)
		status(200)
		s.clock.Advance(time.Microsecond) // also for what the servers remember
		status(401)
		s.clock.Advance(-time.Second)
		status(200)
		s.clock.Advance(365 * 24 * time.Hour)
		status(401)
		restarted := s.another(s.store, monitor.Config{}, server.Config{})
		restarted.send("GET", "/api/v3/checks/", nil, "X-Api-Key", text).refused(401, "the api key has expired")
		s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", s.keys.ReadWrite).is(200) // it has no end

		list, err := project.Keys(s.Context())
		s.must(err)
		if i := slices.IndexFunc(list, func(k checks.Key) bool { return k.ID == key.ID }); i < 0 || !list[i].ExpiresAt.Equal(key.ExpiresAt) {
			t.Errorf("the expired key is not listed: %+v", list)
		}
		s.must(project.DeleteKey(s.Context(), key.ID))
		s.clock.Advance(time.Minute)
		s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", text).refused(401, "wrong api key")
	})
}

// route is an endpoint with its status codes for insufficient keys.
type route struct {
	method, path      string
	readOnly, foreign int
	missing           int // for a check that does not exist
}

// routes is the table of server/API.md section 4. {id} is the UUID of a check, {key} its unique_key.
var routes = []route{
	{"GET", "/api/v3/checks/", 200, 200, 200},
	{"GET", "/api/v3/checks/{id}", 200, 403, 404},
	{"GET", "/api/v3/checks/{key}", 200, 404, 404},
	{"POST", "/api/v3/checks/", 401, 201, 201},
	{"POST", "/api/v3/checks/{id}", 403, 403, 404},
	{"POST", "/api/v3/checks/{id}/pause", 403, 403, 404},
	{"POST", "/api/v3/checks/{id}/resume", 403, 403, 404},
	{"DELETE", "/api/v3/checks/{id}", 403, 403, 404},
	{"GET", "/api/v3/checks/{id}/pings/", 403, 403, 404},
	{"GET", "/api/v3/checks/{id}/pings/1/body", 403, 403, 404},
	{"GET", "/api/v3/checks/{id}/flips/", 200, 403, 404},
	{"GET", "/api/v3/checks/{key}/flips/", 200, 404, 404},
	{"GET", "/api/v3/checks/{id}/stats/", 200, 403, 404},
	{"GET", "/api/v3/checks/{key}/stats/", 200, 404, 404},
	{"GET", "/api/v3/channels/", 401, 200, 200},
	{"GET", "/api/v3/badges/", 200, 200, 200},
	{"GET", "/api/v3/status/", 200, 200, 200},
	// A unique_key is accepted nowhere else.
	{"POST", "/api/v3/checks/{key}", 403, 404, 404},
	{"POST", "/api/v3/checks/{key}/pause", 403, 404, 404},
	{"DELETE", "/api/v3/checks/{key}", 403, 404, 404},
	{"GET", "/api/v3/checks/{key}/pings/", 403, 404, 404},
}

// in fills the path of a route.
func (r route) in(id, key string) string {
	return strings.NewReplacer("{id}", id, "{key}", key).Replace(r.path)
}

func TestAccess(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"tags": "nightly"})
		s.send("POST", check["ping_url"].(string), "a body").text(200, "OK")
		id := check["uuid"].(string)
		key := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"].(string)
		_, other := s.otherProject("Other")
		before := s.get(check)
		for _, r := range routes {
			for _, use := range []struct {
				key    string
				status int
			}{{s.keys.ReadOnly, r.readOnly}, {other.ReadWrite, r.foreign}} {
				got := s.send(r.method, r.in(id, key), nil, "X-Api-Key", use.key).is(use.status)
				switch {
				case use.status == 403 && use.key == s.keys.ReadOnly:
					got.refused(403, "the api key is read-only")
				case use.status == 403:
					got.refused(403, "the check belongs to another project")
				case use.status == 401:
					got.refused(401, "the api key is read-only")
				case use.status == 404:
					got.refused(404, "not found")
				}
			}
			missing := s.api(r.method, r.in(unknownUUID, strings.Repeat("0", 40)), nil).is(r.missing)
			if r.missing == 404 {
				missing.refused(404, "not found")
			}
			if r.readOnly == 403 { // also for a missing check
				s.send(r.method, r.in(unknownUUID, strings.Repeat("0", 40)), nil, "X-Api-Key", s.keys.ReadOnly).is(403)
			}
			if !strings.Contains(r.path, "status") {
				s.send(r.method, r.in(id, key), nil).refused(401, "missing api key")
			}
		}
		s.equal("the check", s.get(check), before)

		// A read-write key may use the unique_key of its own checks where that is accepted.
		s.equal("by unique_key", s.api("GET", "/api/v3/checks/"+key, nil).object(200), before)
		s.api("GET", "/api/v3/checks/"+key+"/flips", nil).is(200)
		s.api("DELETE", "/api/v3/checks/"+key, nil).refused(404, "not found")

		// A read-only key of another project.
		s.send("GET", path(check), nil, "X-Api-Key", other.ReadOnly).is(403)
		s.send("GET", "/api/v3/checks/"+key, nil, "X-Api-Key", other.ReadOnly).is(404)
		s.send("POST", path(check), "{", "X-Api-Key", s.keys.ReadOnly).is(403) // permission before body
		s.send("POST", path(check), "{", "X-Api-Key", other.ReadWrite).is(403)
		s.api("POST", "/api/v3/checks/"+unknownUUID, "{").is(404)
	})
}

func TestReadOnlyDocuments(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, fields := range []object{{"timeout": 60}, {"schedule": "* * * * *", "tz": "Europe/Riga"}} {
			check := s.create(fields)
			want := s.get(check)
			for _, key := range []string{"uuid", "ping_url", "update_url", "pause_url", "resume_url", "channels"} {
				if _, there := want[key]; !there {
					s.Errorf("a document with a read-write key has no %s", key)
				}
				delete(want, key)
			}
			got := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
			want["unique_key"] = got["unique_key"]
			s.equal("read-only document", got, want)
			again := s.send("GET", "/api/v3/checks/"+got["unique_key"].(string), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
			s.equal("by unique_key", again, want)
		}
		for _, check := range s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", s.keys.ReadOnly).list(200, "checks") {
			if check["uuid"] != nil || len(check["unique_key"].(string)) != 40 {
				s.Errorf("the list with a read-only key has %v", check)
			}
		}
	})
}

// The unique_key is the SHA-1 of the first half of the UUID. Clients may rely on this pair.
func TestUniqueKey(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		read := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
		s.equal("unique_key", read["unique_key"], any(sha1Hex(strings.ReplaceAll(check["uuid"].(string), "-", "")[:16])))
		if len(s.keys.ReadOnly) != 32 {
			s.Errorf("a key has %d characters, want %d", len(s.keys.ReadOnly), 32)
		}
	})
}
