package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/badges"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/server"
)

// in fills in the parameters of the path.
func (o *operation) in(values map[string]string) string {
	pairs := []string{}
	for name, value := range values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	path := strings.NewReplacer(pairs...).Replace(o.Path)
	if o.pings {
		return "/ping" + path
	}
	return path
}

// keyed reports whether the operation needs an API key.
func (o *operation) keyed() bool { return len(o.Security) > 0 }

// addresses returns values of path parameters that name an existing check.
func (s *site) addresses() map[string]string {
	s.Helper()
	check := s.create(object{"slug": "job", "tags": "prod"})
	tagged := strings.Split(s.signer.Path(s.project.BadgeKey, "prod", badges.SVG, true), "/")
	own := strings.Split(strings.TrimSuffix(check["badge_url"].(string), ".svg"), "/")
	return map[string]string{
		"id": check["uuid"].(string), "n": "1", "uuid": check["uuid"].(string),
		"ping_key": s.project.PingKey, "slug": "job", "exit_status": "1",
		"badge_key": tagged[2], "signature": tagged[3], "tag": "prod", "format": "svg",
		"states": "2", "check_badge_key": own[len(own)-1],
	}
}

// with returns a copy of the values, some replaced by name and value pairs.
func with(values map[string]string, pairs ...string) map[string]string {
	values = maps.Clone(values)
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return values
}

// TestDocumentedPings tests every ping endpoint with every method.
func TestDocumentedPings(t *testing.T) {
	both(t, nil, func(s *site) {
		values := s.addresses()
		s.create(object{"slug": "twice"})
		s.create(object{"slug": "twice"})
		limited := s.another(s.store, monitor.Config{CreateRate: 60}, server.Config{})
		for i := range 60 {
			limited.send("GET", fmt.Sprintf("/ping/%s/job-%d?create=1", s.project.PingKey, i), nil).is(201)
		}
		for _, o := range documented().operations {
			if !o.pings {
				continue
			}
			s.send(o.Method, o.in(values), nil).is(200)
			s.send(o.Method, o.in(values)+"?rid=x", nil).is(400)
			s.send(o.Method, o.in(with(values, "uuid", unknownUUID, "slug", "none")), nil).is(404)
			if slices.Contains(o.names, "slug") {
				s.send(o.Method, o.in(with(values, "slug", "twice")), nil).is(409)
				fresh := with(values, "slug", strings.ToLower(o.OperationID))
				limited.send(o.Method, o.in(fresh)+"?create=1", nil).is(429)
				s.send(o.Method, o.in(fresh)+"?create=1", nil).is(201)
			}
		}
	})
}

// TestDocumentedFailures tests what every request can meet: no key, the rate limit, a database that fails or is away.
func TestDocumentedFailures(t *testing.T) {
	both(t, &server.Config{RateLimit: 2}, func(s *site) {
		values := s.addresses()
		s.api("GET", "/api/v3/checks/", nil).is(200)
		failing, away, panicking := s.during(io.ErrNoProgress), s.during(checks.ErrUnavailable), s.during(nil)
		for _, o := range documented().operations {
			values := values
			if strings.HasPrefix(o.OperationID, "getProjectBadge") {
				all := strings.Split(s.signer.Path(s.project.BadgeKey, badges.AllTags, badges.SVG, true), "/")
				values = with(values, "signature", strings.TrimSuffix(all[3], ".svg"))
			}
			if o.keyed() {
				s.send(o.Method, o.in(values), nil).is(401)
				s.api(o.Method, o.in(values), nil).is(429)
			}
			if slices.Contains(o.Tags, "Service") {
				continue
			}
			unknown := 500
			if slices.Contains(o.Tags, "Pings") {
				unknown = 503 // an error that nobody knows is no fault of the ping
				panicking.api(o.Method, o.in(values), nil).is(500)
			}
			failing.api(o.Method, o.in(values), nil).is(unknown)
			away.api(o.Method, o.in(values), nil).is(503)
		}
		for _, action := range []string{"pause", "resume"} {
			path := "/api/v3/checks/" + values["id"] + "/" + action
			s.send("POST", path, "[]").is(400)
			s.send("POST", path, `{"x":"`+strings.Repeat("a", 1_000_000)+`"}`).is(413)
		}
	})
}

// TestDocumentedExamples sends the examples of request bodies.
func TestDocumentedExamples(t *testing.T) {
	both(t, nil, func(s *site) {
		for _, name := range []string{"Ops", "On call"} {
			_, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: map[string]string{"to": "ops@example.org"}})
			s.must(err)
		}
		admin, sent := s.admin(), 0
		for _, o := range documented().operations {
			body := o.RequestBody
			if body == nil || o.pings {
				continue
			}
			values := s.addresses()
			for _, name := range slices.Sorted(maps.Keys(body.Content["application/json"].Examples)) {
				data, err := json.Marshal(body.Content["application/json"].Examples[name].Value)
				s.must(err)
				if strings.HasSuffix(o.Path, "/resume") {
					s.api("POST", "/api/v3/checks/"+values["id"]+"/pause", nil).is(200)
				}
				if strings.HasSuffix(o.Path, "/acknowledge") {
					s.api("DELETE", "/api/v3/checks/"+values["id"]+"/acknowledge", nil).is(200)
					s.send("POST", "/ping/"+values["id"]+"/fail", nil).is(200)
				}
				if answer := admin.sendTo(o, values, string(data)); answer.status >= http.StatusMultipleChoices {
					s.Errorf("example %s of %s is refused: %d %s", name, o.OperationID, answer.status, answer.body)
				}
				sent++
			}
		}
		if sent < 10 {
			s.Errorf("sent %d examples, want 10 at least", sent)
		}
	})
}

// sendTo sends a request for an operation with a key of the installation, about a new channel or status page if it is about
// one.
func (a *admin) sendTo(o *operation, values map[string]string, body any) reply {
	a.Helper()
	switch {
	case strings.HasPrefix(o.Path, "/api/v3/channels/{"):
		values = with(values, "id", a.as("POST", "/api/v3/channels/", object{"kind": "ntfy", "settings": object{"topic": "new"}}).object(201)["id"].(string))
	case strings.HasPrefix(o.Path, "/api/v3/status-pages/{"):
		values = with(values, "id", a.as("POST", "/api/v3/status-pages/", object{"slug": uuid.NewString(), "title": "New"}).object(201)["id"].(string))
	case strings.HasPrefix(o.Path, "/api/v3/projects/{"):
		values = with(values, "id", a.project.ID.String())
	}
	return a.everywhere(o.Method, o.in(values), body)
}

// TestDocumentedBounds sends every field of every request and every query parameter at its bounds and beyond, in another type
// and with other characters. The client of a site compares what the server accepts with what the document allows.
func TestDocumentedBounds(t *testing.T) {
	both(t, nil, func(s *site) {
		values, admin, sent := s.addresses(), s.admin(), 0
		for _, o := range documented().operations {
			for _, p := range o.Parameters {
				if p.In == "query" && o.Method == "GET" && !o.pings {
					for _, v := range around(p.Schema) {
						s.send("GET", o.in(values)+"?"+p.Name+"="+url.QueryEscape(fmt.Sprint(v)), nil, "X-Api-Key", admin.own)
						sent++
					}
				}
			}
			if o.RequestBody == nil || o.pings {
				continue
			}
			media := o.RequestBody.Content["application/json"]
			body := example(media)
			for _, name := range slices.Sorted(maps.Keys(media.Schema.Properties)) {
				for _, v := range around(media.Schema.Properties[name]) {
					changed := object(maps.Clone(body))
					for _, unique := range []string{"name", "slug"} {
						if body[unique] != nil {
							changed[unique] = uuid.NewString()
						}
					}
					changed[name] = v
					if r := admin.sendTo(o, values, changed); r.status == 400 && r.object(400)["field"] != name {
						s.Errorf("%s: %s: %.100v: the answer names another field: %.300s", o.OperationID, name, v, r.body)
					}
					sent++
				}
				s.empty()
			}
		}
		if sent < 500 {
			s.Errorf("sent %d requests, want 500 at least", sent)
		}
	})
}

// empty deletes the integrations, status pages and windows of the project, of which it can have only so many.
func (s *site) empty() {
	s.Helper()
	project := s.mon.Project(s.project.ID)
	list, err := project.Channels(s.Context())
	s.must(err)
	for _, c := range list {
		s.must(project.DeleteChannel(s.Context(), c.ID))
	}
	pages, err := project.StatusPages(s.Context())
	s.must(err)
	for _, p := range pages {
		s.must(project.DeleteStatusPage(s.Context(), p.ID))
	}
	windows, err := project.Windows(s.Context(), checks.WindowQuery{})
	s.must(err)
	for _, w := range windows {
		_, err := project.EndWindow(s.Context(), w.ID)
		s.must(err)
	}
}

// example returns a valid request: the first example if some field is required, as one of two that a window ends by, or one that selects
// outages.
func example(media media) object {
	if len(media.Schema.Required) > 0 || media.Schema.Properties["end"] != nil || media.Schema.Properties["all"] != nil {
		for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
			return media.Examples[name].Value.(object)
		}
	}
	return object{}
}

// around returns values at the bounds of a schema and beyond, and of other types.
func around(schema *schema) []any {
	list := []any{nil, true, "x", 1, 1.5, []any{}, object{}, object{"x": 1}}
	list = append(list, schema.Enum...)
	if schema.Type == "integer" {
		for _, bound := range []*float64{schema.Minimum, schema.Maximum} {
			if bound != nil {
				list = append(list, int64(*bound)-1, int64(*bound), int64(*bound)+1)
			}
		}
	}
	if schema.Type == "string" {
		for _, odd := range []string{"", " ", "*", "a\x00b", "a\x1fb", "a\nb\tc", "a\x7fb", "a\u0085b", "Ä", "\u200b"} {
			list = append(list, odd)
		}
		if n := schema.MaxLength; n != nil {
			list = append(list, strings.Repeat("a", *n), strings.Repeat("a", *n+1), strings.Repeat("ä", *n))
		}
	}
	if schema.Items != nil {
		for _, item := range schema.Items.Enum {
			list = append(list, []any{item}, []any{item, item})
		}
		list = append(list, []any{"x"}, []any{1})
	}
	if values := schema.additional; values != nil {
		for _, v := range around(values) {
			list = append(list, object{"topic": "jobs", "token": v})
		}
	}
	return list
}

// TestDocumentedInstallation sends every request with a key of the installation: without a project, with an unknown one, and
// with too large a body.
func TestDocumentedInstallation(t *testing.T) {
	both(t, nil, func(s *site) {
		values, admin := s.addresses(), s.admin()
		key := admin.installation
		for _, o := range documented().operations {
			if slices.ContainsFunc(o.Parameters, func(p parameter) bool { return p.In == "query" && p.Name == "project" }) {
				s.send(o.Method, o.in(values), nil, "X-Api-Key", key).refusedField("project", "project is missing: a key of the installation needs ?project=<uuid>")
				s.send(o.Method, o.in(values)+"?project="+unknownUUID, nil, "X-Api-Key", key).refused(404, "not found")
			}
			if o.keyed() && o.RequestBody != nil && !strings.HasSuffix(o.Path, "e") {
				admin.sendTo(o, values, object{"x": strings.Repeat("x", 1_000_000)}).is(413)
			}
			if strings.HasPrefix(o.Path, "/api/v3/projects/{") {
				s.send(o.Method, o.in(with(values, "id", unknownUUID)), nil, "X-Api-Key", key).refused(404, "not found")
			}
		}
	})
}

// TestDocumentedDefaults compares the documented defaults with a new check.
func TestDocumentedDefaults(t *testing.T) {
	both(t, nil, func(s *site) {
		properties := documented().document.Components.Schemas["CreateCheck"].Properties
		compared := 0
		for _, fields := range []object{nil, {"schedule": "0 3 * * *"}} {
			check := s.create(fields)
			for name, property := range properties {
				if value, there := check[name]; there && fields[name] == nil {
					s.equal("default of "+name, property.Default, value)
					compared++
				}
			}
		}
		if compared < 30 {
			s.Errorf("compared %d defaults, want 30 at least", compared)
		}
	})
}

// TestReference reads the page and the document of a server with its own addresses.
func TestReference(t *testing.T) {
	config := &server.Config{BaseURL: "https://monitor.example.net/jobs", PingBaseURL: "https://alive.example.net"}
	both(t, config, func(s *site) {
		for path, mediaType := range map[string]string{
			"/jobs/api/v3/": "text/html; charset=utf-8", "/jobs/api/v3": "text/html; charset=utf-8",
			"/jobs/api/v3/openapi.json": "application/json", "/jobs/api/v3/openapi.json/": "application/json",
		} {
			got := s.send("GET", path, nil).is(200)
			s.equal("headers of "+path, []string{
				got.header.Get("Content-Type"), got.header.Get("Cache-Control"), got.header.Get("Access-Control-Allow-Origin"),
				got.header.Get("X-Content-Type-Options"),
			}, []string{mediaType, "no-cache", "*", "nosniff"})
			for _, address := range []string{config.BaseURL, config.PingBaseURL} {
				if !strings.Contains(got.body, address) {
					s.Errorf("%s does not have %s", path, address)
				}
			}
			if strings.Contains(got.body, "rollcall.example.org") {
				s.Errorf("%s has the placeholder of the server's address", path)
			}
			same := s.send("GET", path, nil, "If-None-Match", got.header.Get("ETag")).is(304)
			s.equal("body of 304", same.body, "")
			s.send("GET", path, nil, "If-None-Match", `"x"`, "Range", "bytes=0-1").is(200)
			s.send("POST", path, nil).refused(405, "method not allowed")
		}
	})
}
