package client_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/client"
	"github.com/rollcall-dev/rollcall/flips"
	"github.com/rollcall-dev/rollcall/server"
)

// answer is a response of some program.
type answer struct {
	status     int
	kind, body string
	headers    []string
}

// clients returns a client and a pinger that get this answer to every request.
func (a answer) clients(t *testing.T) (*client.Client, *client.Pinger) {
	t.Helper()
	config := &client.Config{Tries: 1, HTTPClient: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		return respond(r, a.status, a.kind, a.body, a.headers...), nil
	})}}
	c, err := client.New("https://rollcall.example.org", someKey, config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := client.NewPinger("https://rollcall.example.org/ping/x", &client.PingerConfig{Tries: 1, HTTPClient: config.HTTPClient})
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// calls makes one call of each kind. All are about something that does not exist.
func calls(ctx context.Context, c *client.Client, p *client.Pinger) map[string]error {
	errs := make(map[string]error)
	_, errs["list"] = c.Checks(ctx, checks.Query{})
	_, errs["get"] = c.Check(ctx, someID)
	_, errs["get by key"] = c.CheckByUniqueKey(ctx, checks.UniqueKey(someID))
	_, errs["create"] = c.Create(ctx, checks.Spec{})
	_, _, errs["upsert"] = c.Upsert(ctx, checks.Spec{Slug: new("x")}, checks.UniqueSlug)
	_, errs["update"] = c.Update(ctx, someID, checks.Spec{})
	_, errs["pause"] = c.Pause(ctx, someID)
	_, errs["resume"] = c.Resume(ctx, someID)
	_, errs["delete"] = c.Delete(ctx, someID)
	_, errs["pings"] = checks.Collect(c.Pings(ctx, someID, checks.PingQuery{}))
	_, errs["body"] = c.PingBody(ctx, someID, 1)
	_, errs["flips"] = checks.Collect(c.Flips(ctx, someID, flips.Range{}))
	_, errs["channels"] = c.Channels(ctx)
	_, errs["badges"] = c.Badges(ctx)
	errs["status"] = c.Probe(ctx)
	_, errs["kinds"] = c.ChannelKinds(ctx)
	_, errs["windows"] = c.Windows(ctx, checks.WindowQuery{})
	_, errs["window"] = c.Window(ctx, someID)
	_, errs["add window"] = c.AddWindow(ctx, gate.Window{Kind: gate.Snooze, Duration: time.Hour})
	_, errs["end window"] = c.EndWindow(ctx, someID)
	_, errs["policy"] = c.Escalation(ctx)
	maps.Copy(errs, adminCalls(ctx, c))
	if p != nil {
		errs["ping"] = p.Success(ctx, nil)
	}
	return errs
}

// adminCalls makes one call of each kind that needs an admin key.
func adminCalls(ctx context.Context, c *client.Client) map[string]error {
	errs := make(map[string]error)
	_, errs["channel"] = c.Channel(ctx, someID)
	_, errs["create channel"] = c.CreateChannel(ctx, channels.Channel{Kind: "email", Name: "x"})
	_, _, errs["upsert channel"] = c.UpsertChannel(ctx, channels.Channel{Kind: "email", Name: "x"})
	_, errs["update channel"] = c.UpdateChannel(ctx, someID, func(c channels.Channel) (channels.Channel, error) { return c, nil })
	errs["delete channel"] = c.DeleteChannel(ctx, someID)
	_, errs["pages"] = c.StatusPages(ctx)
	_, errs["create page"] = c.CreateStatusPage(ctx, checks.StatusPage{Slug: "x", Title: "x"})
	_, errs["update page"] = c.UpdateStatusPage(ctx, checks.StatusPage{ID: someID, Slug: "x", Title: "x"})
	errs["delete page"] = c.DeleteStatusPage(ctx, someID)
	errs["set policy"] = c.SetEscalation(ctx, nil)
	_, errs["projects"] = c.Projects().List(ctx)
	_, errs["project"] = c.Projects().ByID(ctx, someID)
	_, _, errs["create project"] = c.Projects().Create(ctx, checks.ProjectSpec{Name: "x"})
	_, errs["rename project"] = c.Projects().Update(ctx, someID, checks.ProjectUpdate{Name: new("y")})
	_, errs["rotate ping key"] = c.Projects().RotatePingKey(ctx, someID)
	errs["delete project"] = c.Projects().Delete(ctx, someID)
	return errs
}

// meanings are the errors that a program may act on.
var meanings = []error{
	checks.ErrNotFound, checks.ErrCheckLimit, checks.ErrNotPaused, checks.ErrAmbiguousSlug, checks.ErrExists,
	client.ErrUnauthorized, client.ErrRateLimited, client.ErrNotRollcall, checks.ErrUnavailable,
}

// only reports whether an error is the wanted one of meanings, and no other of them. Nil wants none of them.
func only(err, want error) bool {
	for _, meaning := range meanings {
		if errors.Is(err, meaning) != (meaning == want) {
			return false
		}
	}
	return err != nil
}

const nginx = "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"

// The answers of other programs mean nothing to a check: a program that prunes must not believe them.
func TestAnswersOfOtherPrograms(t *testing.T) {
	const login = "<!doctype html><title>Sign in</title><form></form>"
	for name, a := range map[string]answer{
		"nginx":               {404, "text/html", nginx, nil},
		"nginx, with CORS":    {404, "text/html", nginx, []string{"Access-Control-Allow-Headers", "X-Api-Key"}},
		"net/http":            {404, "text/plain; charset=utf-8", "404 page not found\n", nil},
		"Django":              {404, "text/html; charset=utf-8", "<!doctype html><h1>Not Found</h1><p>The requested resource was not found on this server.</p>", []string{"X-Frame-Options", "DENY"}},
		"Spring":              {404, "application/json", `{"timestamp": "2026-03-15T12:00:00Z", "status": 404, "error": "Not Found", "path": "/api/v3/checks/"}`, nil},
		"Spring, forbidden":   {403, "application/json", `{"timestamp": "2026-03-15T12:00:00Z", "status": 403, "error": "Forbidden", "path": "/api/v3/checks/"}`, nil},
		"FastAPI":             {404, "application/json", `{"detail": "Not Found"}`, nil},
		"JSON:API":            {404, "application/vnd.api+json", `{"errors": [{"status": "404"}]}`, nil},
		"other object":        {404, "application/json", `{"error": {"code": 404, "message": "not found"}}`, nil},
		"empty":               {404, "", "", nil},
		"path of no API":      {404, "application/json", `{"error": "no such path"}`, nil},
		"firewall":            {403, "text/html; charset=UTF-8", "<title>Attention required</title>", nil},
		"firewall, empty":     {403, "", "", nil},
		"basic authorization": {401, "text/html", "<h1>401 Authorization Required</h1>", []string{"Www-Authenticate", `Basic realm="x"`}},
		"conflict":            {409, "text/plain", "conflict", nil},
		"gone":                {410, "text/html", "gone", nil},
		"bad request":         {400, "text/html", "<h1>400 Bad Request</h1>", nil},
		"body too large":      {413, "text/html", "<h1>413 Request Entity Too Large</h1>", nil},
		"method":              {405, "text/html", "<h1>405 Not Allowed</h1>", nil},
		"login page":          {200, "text/html; charset=utf-8", login, nil},
		"login page, Created": {201, "text/html; charset=utf-8", login, nil},
		"catch-all":           {200, "application/json", `{"ok": true}`, nil},
		"no content":          {204, "", "", nil},
		"to another origin":   {302, "", "", []string{"Location", "https://login.example.org/"}},
		"in a circle":         {302, "", "", []string{"Location", "/login"}},
		"see other":           {303, "", "", []string{"Location", "/login"}},
		"not modified":        {304, "", "", nil},
	} {
		c, p := a.clients(t)
		for call, err := range calls(t.Context(), c, p) {
			if !only(err, client.ErrNotRollcall) {
				t.Errorf("%s, %s: %v", name, call, err)
			}
		}
	}
	// A proxy speaks for a server that is down, and limits requests in its place.
	for status, want := range map[int]error{429: client.ErrRateLimited, 500: nil, 502: checks.ErrUnavailable, 503: checks.ErrUnavailable, 504: checks.ErrUnavailable, 530: nil} {
		c, p := answer{status, "text/html", nginx, []string{"Retry-After", "3600"}}.clients(t)
		for call, err := range calls(t.Context(), c, p) {
			if e, ok := errors.AsType[*client.Error](err); !only(err, want) || !ok || e.StatusCode != status {
				t.Errorf("%d, %s: %v", status, call, err)
			}
		}
	}
}

// Healthchecks answers with these (hc/api/views.py): some errors have no body and are known by a header.
func TestAnswersOfHealthchecks(t *testing.T) {
	cors := []string{"Access-Control-Allow-Origin", "*", "Access-Control-Allow-Headers", "X-Api-Key", "Access-Control-Allow-Methods", "GET, OPTIONS"}
	html := "text/html; charset=utf-8"
	for _, test := range []struct {
		call string
		answer
		want error // one of meanings, or nil
	}{
		{"list", answer{401, "application/json", `{"error": "wrong api key"}`, cors}, client.ErrUnauthorized},
		{"get", answer{401, "application/json", `{"error": "missing api key"}`, cors}, client.ErrUnauthorized},
		{"get", answer{403, html, "", cors}, client.ErrUnauthorized},
		{"get by key", answer{404, html, "", cors}, checks.ErrNotFound},
		{"create", answer{403, html, "", cors}, checks.ErrCheckLimit},
		{"upsert", answer{403, html, "", cors}, checks.ErrCheckLimit},
		{"create", answer{400, "application/json", `{"error": "json validation error: tz is not a valid timezone"}`, cors}, nil},
		{"flips", answer{400, html, "", cors}, nil},
		{"resume", answer{409, html, "check is not paused", cors}, checks.ErrNotPaused},
		{"body", answer{503, html, "", cors}, checks.ErrUnavailable},
		{"list", answer{429, "text/html", nginx, nil}, client.ErrRateLimited},
		{"ping", answer{404, html, "not found", nil}, checks.ErrNotFound},
		{"ping", answer{400, html, "invalid url format", nil}, nil},
		{"ping", answer{400, html, "invalid uuid format", nil}, nil},
		{"ping", answer{409, html, "ambiguous slug", nil}, checks.ErrAmbiguousSlug},
		{"ping", answer{429, "text/html", nginx, nil}, client.ErrRateLimited},
		{"ping", answer{200, "text/plain; charset=utf-8", "OK (not found)", nil}, checks.ErrNotFound},
		{"ping", answer{200, "text/plain; charset=utf-8", "OK (rate limited)", nil}, client.ErrRateLimited},
		// A missing check has the page of any wrong address, so nothing is known.
		{"delete", answer{404, html, "<!doctype html><title>Not Found</title>", nil}, client.ErrNotRollcall},
	} {
		if test.status == 429 {
			test.headers = []string{"Retry-After", "3600"}
		}
		c, p := test.answer.clients(t)
		if err := calls(t.Context(), c, p)[test.call]; !only(err, test.want) {
			t.Errorf("%s %+v: %v, want %v", test.call, test.answer, err, test.want)
		}
	}
	for _, ok := range []answer{{200, html, "OK", nil}, {201, html, "Created", nil}, {200, "text/plain", "OK\n", nil}} {
		c, p := ok.clients(t)
		if err := p.Success(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := c.Probe(t.Context()); (err == nil) != (ok.status == 200) {
			t.Error(err)
		}
	}
}

// A wrong base URL or ping URL on the right host finds no Rollcall.
func TestWrongBaseURL(t *testing.T) {
	s := serve(t, server.Config{}, "paid")
	for _, path := range []string{"", "/", "/api/v3", "/watch/api/v3", "/watch/x", "/watch/ping"} {
		base := s.url[:len(s.url)-len("/watch")] + path
		c, err := client.New(base, s.keys.ReadWrite, nil)
		if err != nil {
			t.Fatal(err)
		}
		for call, err := range calls(t.Context(), c, nil) {
			if !only(err, client.ErrNotRollcall) {
				t.Errorf("%s, %s: %v", base, call, err)
			}
		}
	}
	for _, path := range []string{"/ping/", "/watch/", "/watch/pings/", "/watch/api/"} {
		url := s.url[:len(s.url)-len("/watch")] + path + someID.String()
		if err := s.pinger(url).Success(t.Context(), nil); !only(err, client.ErrNotRollcall) {
			t.Errorf("%s: %v", url, err)
		}
	}
	// At the right URL, something that does not exist is not found, and a read-only key is refused.
	// So is a read-write key where the server wants an admin key.
	needsAdmin := adminCalls(t.Context(), s.client)
	for call, err := range calls(t.Context(), s.client, s.pinger(s.url+"/ping/"+someID.String())) {
		_, admin := needsAdmin[call]
		switch {
		case admin:
			if !only(err, client.ErrUnauthorized) {
				t.Errorf("%s: %v", call, err)
			}
		case slices.Contains([]string{"list", "create", "upsert", "channels", "badges", "status", "kinds", "windows", "add window", "policy"}, call):
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
		default:
			if !only(err, checks.ErrNotFound) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
	for call, err := range calls(t.Context(), s.reader, nil) {
		switch call {
		case "create", "upsert", "channels", "policy", "add window", "end window", "pause", "resume", "delete", "update", "pings", "body":
			if !only(err, client.ErrUnauthorized) {
				t.Errorf("read-only key, %s: %v", call, err)
			}
		}
	}
}

// The message tells what to look at.
func TestErrNotRollcallText(t *testing.T) {
	c, p := answer{404, "text/html", nginx, nil}.clients(t)
	_, err := c.Check(t.Context(), someID)
	equal(t, "404", fmt.Sprint(err), "client: get check 11111111-2222-4333-8444-555555555555: not found (status 404): the answer is not Rollcall's, check the URL")
	equal(t, "ping", fmt.Sprint(p.Failure(t.Context(), nil)), "client: fail ping: not found (status 404): the answer is not Rollcall's, check the URL")
	c, p = answer{200, "text/html", "<html>", nil}.clients(t)
	_, err = c.Check(t.Context(), someID)
	equal(t, "200", fmt.Sprint(err), "client: get check 11111111-2222-4333-8444-555555555555: the answer is not Rollcall's, check the URL: invalid character '<' looking for beginning of value")
	equal(t, "ping", fmt.Sprint(p.Log(t.Context(), nil)), "client: log ping: the answer is not Rollcall's, check the URL")
}
