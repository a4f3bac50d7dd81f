package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/checks/sqlstore"
	"github.com/rollcall-dev/rollcall/checks/sqlstore/dbtest"
	"github.com/rollcall-dev/rollcall/server"
)

func TestStatusEndpoint(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(nil)
		s.equal("ok", s.send("GET", "/api/v3/status/", nil).object(200), object{"status": "ok"})
		s.send("GET", "/api/v3/status", nil, "X-Api-Key", "nonsense").is(200)

		s.must(s.store.Close())
		s.must(s.bun.Close())
		s.send("GET", "/api/v3/status/", nil).refused(500, "the database does not answer")
		s.api("GET", "/api/v3/checks/", nil).refused(500, "internal error")
		s.send("GET", check["badge_url"].(string), nil).refused(500, "internal error")
		s.send("GET", check["ping_url"].(string), nil).text(503, "unavailable")
		if log := s.log.String(); !strings.Contains(log, "database is closed") || strings.Contains(log, s.keys.ReadWrite) {
			s.Errorf("the log lacks the cause, or has the key: %s", log)
		}
	})
}

// outage is a store that fails to write, and to read keys and badges. Without an error it panics when it writes or reads badges.
func outage(s *sqlstore.Store, err error) *dbtest.Hooked {
	return &dbtest.Hooked{Store: s, Around: func(op string, do func() error) error {
		switch op {
		case "ByBadge", "Update":
			if err == nil {
				panic("a mistake")
			}
			return err
		case "Keys":
			return err
		}
		return do()
	}}
}

// during returns a site whose server has a store with an outage.
func (s *site) during(err error) *site {
	return s.another(outage(s.store, err), monitor.Config{}, server.Config{})
}

func TestOutage(t *testing.T) {
	both(t, nil, func(s *site) {
		id := s.create(nil)["uuid"].(string)
		badge := s.signer.Path(s.project.BadgeKey, "*", badges.SVG, true)
		for _, err := range []error{checks.ErrUnavailable, context.DeadlineExceeded} {
			out := s.during(err)
			for _, r := range []reply{
				out.api("GET", "/api/v3/checks/", nil), out.api("POST", "/api/v3/checks/", "{}"),
				out.api("GET", "/api/v3/checks/"+id+"/pings/1/body", nil), out.send("GET", badge, nil),
			} {
				r.refused(503, "unavailable")
				s.equal("Retry-After of "+r.what, r.header.Get("Retry-After"), "5")
			}
			ping := out.send("POST", "/ping/"+id, nil)
			ping.text(503, "unavailable")
			s.equal("Retry-After of a ping", ping.header.Get("Retry-After"), "5")
			s.equal("CORS of a ping", ping.header.Get("Access-Control-Allow-Origin"), "*")
		}
		secret := s.during(io.ErrNoProgress)
		secret.api("GET", "/api/v3/checks/", nil).refused(500, "internal error")
		secret.send("GET", "/ping/"+id, nil).text(503, "unavailable") // an error that nobody knows is no fault of the ping
		if !strings.Contains(s.log.String(), io.ErrNoProgress.Error()) {
			s.Error("the cause was not logged")
		}
		s.during(nil).send("GET", badge, nil).refused(http.StatusInternalServerError, "internal error")
		if !strings.Contains(s.log.String(), "a mistake") {
			s.Error("the panic was not logged")
		}
	})
}

// TestOutageInTheLog sends many pings during an outage: the log has one line a second, with the number of unlogged ones.
func TestOutageInTheLog(t *testing.T) {
	both(t, nil, func(s *site) {
		id := s.create(nil)["uuid"].(string)
		out := s.during(checks.ErrUnavailable)
		refuse := func(n int) (logged string) {
			before := s.log.String()
			for range n {
				out.send("POST", "/ping/"+id, nil).text(503, "unavailable")
			}
			return strings.TrimPrefix(s.log.String(), before)
		}
		const line = "a request failed"
		if log := refuse(20); strings.Count(log, line) != 1 || strings.Contains(log, "unlogged") {
			s.Errorf("log of 20 refused pings, want one line: %s", log)
		}
		s.clock.Advance(999 * time.Millisecond)
		if log := refuse(1); log != "" {
			s.Errorf("log of another ping within the second, want none: %s", log)
		}
		s.clock.Advance(time.Millisecond)
		if log := refuse(5); strings.Count(log, line) != 1 || !strings.Contains(log, "unlogged=20") {
			s.Errorf("log a second later, want one line with 20 unlogged: %s", log)
		}
		s.clock.Advance(-time.Hour)
		if log := refuse(2); strings.Count(log, line) != 1 {
			s.Errorf("log after the clock was set back, want one line: %s", log)
		}
		out.api("GET", "/api/v3/checks/", nil).refused(503, "unavailable")
	})
}

// TestClientGoesAway: a ping counts although its job hangs up as soon as it is sent.
func TestClientGoesAway(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"slug": "job"})
		open := make(chan struct{})
		_, srv := newServer(s, &dbtest.Hooked{Store: s.store, Around: func(op string, do func() error) error {
			if op == "BySlug" {
				<-open
			}
			return do()
		}}, monitor.Config{}, server.Config{})
		arrived, served := make(chan context.Context), make(chan struct{})
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			arrived <- r.Context()
			srv.ServeHTTP(w, r)
			close(served)
		}))
		s.Cleanup(web.Close)
		ctx, hangUp := context.WithCancel(s.Context())
		defer hangUp()
		request, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/ping/"+s.project.PingKey+"/job", strings.NewReader("all done"))
		s.must(err)
		answered := make(chan error)
		go func() {
			response, err := web.Client().Do(request)
			if err == nil {
				response.Body.Close()
			}
			answered <- err
		}()
		seen := <-arrived
		hangUp()
		if err := <-answered; err == nil {
			s.Error("the client got an answer")
		}
		<-seen.Done() // the server has noticed
		close(open)
		<-served
		s.equal("n_pings", s.get(check)["n_pings"], any(1.0))
	})
}

// brokenPages fail.
type brokenPages struct{}

func (brokenPages) Pages(_ *monitor.Monitor, c server.Config) (http.Handler, string, error) {
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") }), c.BaseURL, nil
}

// TestFailureOfPages: a link that signs in is not in the log when the handler of the pages fails.
func TestFailureOfPages(t *testing.T) {
	both(t, nil, func(s *site) {
		s.another(s.store, monitor.Config{}, server.Config{Dashboard: brokenPages{}}).undocumented("GET", "/signin/t0ken.s1gnature").is(500)
		if log := s.log.String(); !strings.Contains(log, "/signin/(key)") || strings.Contains(log, "s1gnature") {
			s.Errorf("the log has the link, or not its route: %.300s", log)
		}
	})
}
