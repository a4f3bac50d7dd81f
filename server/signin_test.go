package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// program is a program with sessions of its own, which are cookies.
type program struct {
	*site
	sessions map[string]server.Access
	failures map[string]error
	asked    atomic.Int64 // calls of Authorize
}

// program returns a server on the site's database behind the sign-in of a program, with a session for each right.
func (s *site) program(config server.Config) *program {
	s.Helper()
	p := &program{
		sessions: map[string]server.Access{"own": may(s.project, checks.Own), "rw": may(s.project, checks.Edit), "ro": may(s.project, checks.Read)},
		failures: map[string]error{},
	}
	config.Authorize = func(r *http.Request) (server.Access, error) {
		p.asked.Add(1)
		cookie, err := r.Cookie("session")
		if err != nil {
			return server.Access{}, fmt.Errorf("no cookie: %w", server.ErrSignedOut)
		}
		if err := p.failures[cookie.Value]; err != nil {
			return server.Access{}, err
		}
		access, ok := p.sessions[cookie.Value]
		if !ok {
			return server.Access{}, server.ErrSignedOut
		}
		return access, nil
	}
	config.Logger = s.logger()
	p.site = s.another(s.store, monitor.Config{}, config)
	return p
}

// may returns a right in one project.
func may(project checks.Project, right checks.Right) server.Access {
	return server.Access{Projects: []server.ProjectAccess{{ProjectID: project.ID, Right: right}}}
}

// as sends a request with a session.
func (p *program) as(session, method, path string, body any, headers ...string) reply {
	p.Helper()
	return p.send(method, path, body, append([]string{"Cookie", "session=" + session}, headers...)...)
}

// TestSignInAccess: a session may do what a key of its project and its kind may, on every route.
func TestSignInAccess(t *testing.T) {
	each(t, nil, func(s *site) {
		v := newVictim(s)
		p := s.program(server.Config{})
		other, _ := s.otherProject("Foreign")
		p.sessions["foreign rw"] = may(other, checks.Edit)
		p.sessions["foreign ro"] = may(other, checks.Read)
		p.sessions["deleted"] = may(checks.Project{ID: uuid.New()}, checks.Own)
		p.sessions["foreign own"] = may(other, checks.Own)
		p.sessions["zero"] = server.Access{}
		p.sessions["no right"] = may(s.project, checks.None)
		p.sessions["no such right"] = may(s.project, checks.Own+1)
		p.failures["broken"] = errors.New("a mistake in the sessions")
		for route, row := range accessTable {
			broken, nothing, foreign := 500, 403, row.foreignRO
			if row.none == 200 {
				broken, nothing = 200, 200
			}
			if row.foreignRO == 401 { // without a key, it cannot be the wrong one
				foreign = 403
			}
			for session, want := range map[string]int{
				"none": row.none, "": row.none, "foreign own": row.foreignAdmin, "foreign rw": row.foreignRW, "foreign ro": foreign,
				"deleted": nothing, "zero": nothing, "no right": nothing, "no such right": nothing, "broken": broken,
			} {
				r := p.as(`"`+session+`"`, route[0], v.in(route[1]), nil)
				if r.status != want {
					t.Errorf("session %q: %s: status %d %.200s, want %d", session, r.what, r.status, r.body, want)
				}
				v.untold(r)
			}
		}
		s.equal("the victim", v.state(), v.before)
		n := 0
		for route, row := range accessTable {
			if route[0] == "DELETE" {
				continue
			}
			n++
			for session, want := range map[string]int{"rw": row.ownRW, "own": row.ownAdmin} {
				if route[1] == "/api/v3/checks/:id/resume" {
					p.api("POST", path(v.check)+"/pause", nil).is(200)
				}
				if r := p.as(session, route[0], v.in(route[1]), bodies(n)[route]); r.status != want {
					t.Errorf("session %q: %s: status %d %.200s, want %d", session, r.what, r.status, r.body, want)
				}
			}
			if row.ownRO == 401 { // a key of the wrong kind, and no key at all
				p.as("ro", route[0], v.in(route[1]), nil).refused(403, "you are signed in to view this project, not to change it")
			} else {
				p.as("ro", route[0], v.in(route[1]), nil).is(row.ownRO)
			}
		}
		if got := p.as("ro", "GET", path(v.check), nil).object(200); got["uuid"] != nil || got["unique_key"] == nil {
			t.Errorf("a read-only session sees %v", got)
		}
		p.as("rw", "DELETE", path(v.check), nil).is(200)
	})
}

func TestSignInOrAPIKey(t *testing.T) {
	each(t, nil, func(s *site) {
		p := s.program(server.Config{})
		const list = "/api/v3/checks/"
		p.send("GET", list, nil).refused(401, "missing api key")
		p.as("nobody", "GET", list, nil).refused(401, "missing api key")
		p.as("rw", "POST", list, "{").is(400)
		p.as("rw", "POST", list, object{"name": "mine"}).is(201)
		asked := p.asked.Load()
		// A key in the header counts alone.
		p.api("GET", list, nil).is(200)
		p.as("rw", "GET", list, nil, "X-Api-Key", "").refused(401, "missing api key")
		p.as("rw", "GET", list, nil, "X-Api-Key", "rcw_0123456789012345678901234567").refused(401, "wrong api key")
		p.as("rw", "POST", list, "{}", "X-Api-Key", s.keys.ReadOnly).refused(401, "the api key is read-only")
		p.send("GET", "/api/v3/status/", nil).is(200)
		s.equal("calls of Authorize", p.asked.Load(), asked)
		// A session wins over a key in the body, and over a bearer token.
		p.as("ro", "POST", list, object{"api_key": s.keys.ReadWrite}).refused(403, "you are signed in to view this project, not to change it")
		p.as("nobody", "POST", list, object{"api_key": s.keys.ReadWrite}).is(201)
		p.as("nobody", "GET", "/api/v3/metrics", nil, "Authorization", "Bearer "+s.keys.ReadOnly).is(200)
		p.as("ro", "GET", "/api/v3/metrics", nil, "Authorization", "Bearer x").is(200)
		// Pings and badges need no sign-in.
		check := p.api("POST", list, "{}").object(201)
		asked = p.asked.Load()
		p.send("GET", "/ping/"+check["uuid"].(string), nil).text(200, "OK")
		p.send("GET", check["badge_url"].(string), nil).is(200)
		s.equal("calls of Authorize", p.asked.Load(), asked)
	})
}

// TestSignInFailures: no error but ErrSignedOut is 401, and none is a pass, whatever it wraps.
func TestSignInFailures(t *testing.T) {
	each(t, nil, func(s *site) {
		p := s.program(server.Config{})
		p.failures = map[string]error{
			"mistake": errors.New("secret detail"), "not found": fmt.Errorf("secret detail: %w", checks.ErrNotFound), "limit": checks.ErrCheckLimit,
			"field":       &checks.FieldError{Field: "name", Reason: "secret detail"},
			"unavailable": fmt.Errorf("secret detail: %w", checks.ErrUnavailable), "timeout": context.DeadlineExceeded, "cancelled": context.Canceled,
		}
		for session, status := range map[string]int{
			"mistake": 500, "not found": 500, "limit": 500, "field": 500, "unavailable": 503, "timeout": 503, "cancelled": 503,
		} {
			for _, method := range []string{"GET", "POST"} {
				r := p.as(`"`+session+`"`, method, "/api/v3/checks/", object{"api_key": s.keys.ReadWrite})
				text := map[int]string{500: "internal error", 503: "unavailable"}[status]
				r.refused(status, text)
				s.equal("Retry-After", r.header.Get("Retry-After") != "", status == 503)
			}
		}
		s.equal("the checks", s.api("GET", "/api/v3/checks/", nil).list(200, "checks"), []object{})
		if !strings.Contains(s.log.String(), "secret detail") {
			s.Error("no cause was logged")
		}
	})
}

// TestCrossOrigin: a page of another origin can neither change nor read anything with the session of its visitor.
func TestCrossOrigin(t *testing.T) {
	each(t, nil, func(s *site) {
		p := s.program(server.Config{})
		check := p.as("rw", "POST", "/api/v3/checks/", "{}", "Sec-Fetch-Site", "same-origin", "Origin", s.url).object(201)
		before := s.get(check)
		foreign := [][]string{
			{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", "same-site", "Origin", "https://www.example.org"},
			{"Sec-Fetch-Site", "cross-site", "Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		}
		asked := p.asked.Load()
		for _, headers := range foreign {
			for _, request := range [][2]string{
				{"POST", "/api/v3/checks/"}, {"POST", path(check)}, {"POST", path(check) + "/pause"}, {"POST", path(check) + "/resume"}, {"DELETE", path(check)},
			} {
				for _, kind := range []string{"application/json", "text/plain"} {
					r := p.as("rw", request[0], request[1], "{}", append(headers, "Content-Type", kind)...)
					r.refused(403, "a request from another origin needs an api key in the header X-Api-Key")
					p.unreadable(r)
				}
			}
		}
		s.equal("calls of Authorize", p.asked.Load(), asked)
		s.equal("the check", s.get(check), before)
		for _, headers := range foreign {
			p.unreadable(p.as("rw", "GET", "/api/v3/checks/", nil, headers...).is(200))
			p.unreadable(p.as("nobody", "GET", "/api/v3/checks/", nil, headers...).is(401))
			p.unreadable(p.as("rw", "OPTIONS", path(check), nil, append(headers, "Access-Control-Request-Method", "DELETE")...).is(204))
			p.unreadable(p.as("rw", "OPTIONS", path(check), nil,
				append(headers, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-api-keys")...).is(204))
			// With an API key in the header nothing that the browser adds decides.
			asked := append(headers, "Access-Control-Request-Method", "DELETE", "Access-Control-Request-Headers", "content-type,x-api-key")
			preflight := p.as("rw", "OPTIONS", path(check), nil, asked...).is(204)
			keyed := p.as("rw", "POST", path(check), "{}", append(headers, "X-Api-Key", s.keys.ReadWrite)...).is(200)
			for _, r := range []reply{preflight, keyed} {
				s.equal("CORS of "+r.what, []string{
					r.header.Get("Access-Control-Allow-Origin"), r.header.Get("Access-Control-Allow-Headers"), r.header.Get("Access-Control-Allow-Credentials"),
				}, []string{"*", "X-Api-Key", ""})
			}
			s.equal("methods", preflight.header.Get("Access-Control-Allow-Methods"), "DELETE, GET, HEAD, OPTIONS, POST")
		}
		// Programs that are no browser send none of these headers. A person who types the address sends "none".
		p.as("rw", "POST", path(check), "{}").is(200)
		p.as("rw", "POST", path(check), "{}", "Sec-Fetch-Site", "none").is(200)
		p.as("rw", "DELETE", path(check), nil, "Origin", p.url).is(200)
	})
}

// unreadable asserts that no page of another origin may read an answer.
func (p *program) unreadable(r reply) {
	p.Helper()
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"} {
		if value := r.header.Get(name); value != "" {
			p.Errorf("%s: %s: %s", r.what, name, value)
		}
	}
}

// TestSignInRateLimit: the limit is for each name in a project.
func TestSignInRateLimit(t *testing.T) {
	each(t, nil, func(s *site) {
		p := s.program(server.Config{RateLimit: 2})
		for _, name := range []string{"ann", "bob"} {
			access := may(s.project, checks.Edit)
			access.Name = name
			p.sessions[name] = access
		}
		for _, session := range []string{"ann", "bob", "rw"} {
			for range 2 {
				p.as(session, "GET", "/api/v3/checks/", nil).is(200)
			}
			p.as(session, "GET", "/api/v3/checks/", nil).refused(429, "too many requests: the limit is 2 a minute")
		}
		p.as("ro", "GET", "/api/v3/checks/", nil).is(429) // without a name, as "rw"
		p.api("GET", "/api/v3/checks/", nil).is(200)
	})
}
