package server_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/server"
)

// newKey creates a key of a project, or, with [uuid.Nil], of the installation.
func (s *site) newKey(project uuid.UUID, scope checks.Scope) string {
	s.Helper()
	if project == uuid.Nil {
		text, _, err := s.mon.Installation().CreateKey(s.Context())
		s.must(err)
		return text
	}
	text, _, err := s.mon.Project(project).CreateKey(s.Context(), scope)
	s.must(err)
	return text
}

// admin is a site with an admin key of its project and one of the installation.
type admin struct {
	*site
	own, installation string
}

// eachAdmin runs a test with admin keys on both databases.
func eachAdmin(t *testing.T, config *server.Config, test func(a *admin)) {
	t.Helper()
	each(t, config, func(s *site) { test(s.admin()) })
}

func (s *site) admin() *admin {
	s.Helper()
	return &admin{s, s.newKey(s.project.ID, checks.Admin), s.newKey(uuid.Nil, checks.Admin)}
}

// as sends a request with the admin key of the project.
func (a *admin) as(method, path string, body any) reply {
	a.Helper()
	return a.send(method, path, body, "X-Api-Key", a.own)
}

// everywhere sends a request with the key of the installation, for the project of the site.
func (a *admin) everywhere(method, path string, body any) reply {
	a.Helper()
	return a.send(method, path+"?project="+a.project.ID.String(), body, "X-Api-Key", a.installation)
}

// bodies are what the routes of admin keys need. An own key that may not use the route sends them too.
func bodies(n int) map[[2]string]any {
	page := object{"slug": fmt.Sprint("page-", n), "title": "Acme"}
	return map[[2]string]any{
		{"POST", "/api/v3/channels"}:        object{"kind": "email", "name": "new", "settings": object{"to": "a@example.org"}},
		{"PUT", "/api/v3/channels/:id"}:     object{"name": "changed", "settings": object{"to": "b@example.org"}},
		{"POST", "/api/v3/projects"}:        object{"name": fmt.Sprint("Project ", n)},
		{"PUT", "/api/v3/projects/:id"}:     object{"name": fmt.Sprint("Renamed ", n)},
		{"POST", "/api/v3/status-pages"}:    page,
		{"PUT", "/api/v3/status-pages/:id"}: page,
		{"PUT", "/api/v3/escalation"}:       object{"steps": []object{}},
		{"POST", "/api/v3/acknowledge"}:     object{"all": true},
		{"POST", "/api/v3/windows"}:         object{"kind": "maintenance", "duration": 60},
	}
}

// TestEveryScope sends every request with every kind of key of the project, and of the installation.
func TestEveryScope(t *testing.T) {
	each(t, nil, func(s *site) {
		kinds := map[string]struct {
			key  func(own *site) string
			want func(accessRow) int
		}{
			"read-only":    {func(own *site) string { return own.keys.ReadOnly }, func(r accessRow) int { return r.ownRO }},
			"read-write":   {func(own *site) string { return own.keys.ReadWrite }, func(r accessRow) int { return r.ownRW }},
			"read-ids":     {func(own *site) string { return own.newKey(own.project.ID, checks.ReadIDs) }, func(r accessRow) int { return r.ownIDs }},
			"admin":        {func(own *site) string { return own.newKey(own.project.ID, checks.Admin) }, func(r accessRow) int { return r.ownAdmin }},
			"installation": {func(own *site) string { return own.newKey(uuid.Nil, checks.Admin) }, func(r accessRow) int { return r.installation }},
		}
		n := 0
		for route, row := range accessTable {
			for kind, use := range kinds {
				n++
				own := *s
				own.project, own.keys = s.otherProject(fmt.Sprint("Own ", n))
				v := newVictim(&own)
				if strings.HasSuffix(route[1], "/resume") {
					own.api("POST", path(v.check)+"/pause", nil).is(200)
					v.before = v.state()
				}
				r := s.send(route[0], v.in(route[1])+"?project="+own.project.ID.String(), bodies(n)[route], "X-Api-Key", use.key(&own))
				if r.status != use.want(row) {
					s.Errorf("%s: %s: status %d %.200s, want %d", kind, r.what, r.status, r.body, use.want(row))
				}
				if r.status >= 400 {
					v.untold(r)
					s.equal(kind+": "+r.what, v.state(), v.before)
				}
				if err := s.mon.Projects().Delete(s.Context(), own.project.ID); err != nil && !errors.Is(err, checks.ErrNotFound) {
					s.Fatal(err)
				}
			}
		}
	})
}

// TestReadIDs compares the documents that keys see.
func TestReadIDs(t *testing.T) {
	each(t, nil, func(s *site) {
		key := s.newKey(s.project.ID, checks.ReadIDs)
		if !strings.HasPrefix(key, "rci_") || len(key) != 32 {
			t.Errorf("the key is %s", key)
		}
		check := s.create(object{"name": "job"})
		unique := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"].(string)
		for _, address := range []string{path(check), "/api/v3/checks/" + unique, "/api/v3/checks/"} {
			s.equal(address, s.send("GET", address, nil, "X-Api-Key", key).is(200).body, s.api("GET", address, nil).is(200).body)
		}
		s.send("POST", path(check), object{"name": "x"}, "X-Api-Key", key).refused(403, "the api key is read-only")
	})
}

// TestInstallationKey chooses projects by the query.
func TestInstallationKey(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		other, _ := a.otherProject("Other")
		check := a.create(object{"name": "job"})
		use := func(method, path string, body any) reply {
			return a.send(method, path, body, "X-Api-Key", a.installation)
		}
		const missing = "project is missing: a key of the installation needs ?project=<uuid>"
		use("GET", "/api/v3/checks/", nil).refusedField("project", missing)
		use("GET", "/api/v3/checks/?project=", nil).refusedField("project", missing)
		use("GET", "/api/v3/checks/?project=Backups", nil).refusedField("project", "project is not a UUID")
		use("GET", "/api/v3/checks/?project="+unknownUUID, nil).refused(404, "not found")
		use("GET", path(check)+"?project="+other.ID.String(), nil).refused(403, "the check belongs to another project")
		use("GET", path(check)+"?project="+strings.ToUpper(a.project.ID.String()), nil).is(200)
		a.equal("by the query", len(use("GET", "/api/v3/checks/?project="+a.project.ID.String(), nil).list(200, "checks")), 1)
		a.send("POST", "/api/v3/checks/?project="+other.ID.String(), object{"api_key": a.installation}).is(201)
		a.as("GET", "/api/v3/checks/?project=Backups", nil).refusedField("project", "project is not a UUID")
		a.equal("of a project's key", len(a.as("GET", "/api/v3/checks/?project="+other.ID.String(), nil).list(200, "checks")), 1)
		for _, key := range []string{a.own, a.installation} {
			if !strings.HasPrefix(key, "rca_") || len(key) != 32 {
				t.Errorf("the key is %s", key)
			}
		}
		keys, err := a.mon.Installation().Keys(a.Context())
		if err != nil || len(keys) != 1 || keys[0].Scope != checks.Admin || keys[0].Hint != a.installation[:8] {
			t.Fatalf("%+v, %v", keys, err)
		}
		a.must(a.mon.Installation().DeleteKey(a.Context(), keys[0].ID))
		use("GET", "/api/v3/projects/", nil).refused(401, "wrong api key")
		if err := a.mon.Installation().DeleteKey(a.Context(), keys[0].ID); !errors.Is(err, checks.ErrNotFound) {
			t.Errorf("revoked twice: %v", err)
		}
	})
}

// TestChannelsByAPI creates, reads, replaces and deletes a channel. No answer and no line of the log has its secret.
func TestChannelsByAPI(t *testing.T) {
	eachAdmin(t, &server.Config{AccessLog: true}, func(a *admin) {
		const list, secret = "/api/v3/channels/", "tk_hunter2"
		as := func(method, path string, body any) reply {
			a.Helper()
			r := a.as(method, path, body)
			if strings.Contains(r.body, secret) {
				a.Errorf("%s: %s", r.what, r.body)
			}
			return r
		}
		created := as("POST", list, object{"kind": "ntfy", "name": "chat", "settings": object{"topic": "jobs", "token": secret}, "other": 1}).object(201)
		id := created["id"].(string)
		a.equal("created", created, object{"id": id, "name": "chat", "kind": "ntfy", "secrets": []any{"token"},
			"state": "notified", "failed_at": nil, "error": "",
			"settings": object{"server_url": "https://ntfy.sh", "topic": "jobs", "priority": "high"}})
		a.equal("read", as("GET", list+id, nil).object(200), created)
		a.equal("everywhere", a.everywhere("GET", list+id, nil).object(200), created)
		a.equal("listed", as("GET", list, nil).list(200, "channels"), []object{{"id": id, "name": "chat", "kind": "ntfy"}})
		stored := func(name string) string {
			list, err := a.mon.Project(a.project.ID).Channels(a.Context())
			a.must(err)
			return list[0].Settings[name]
		}

		put := func(body any) reply { a.Helper(); return as("PUT", list+id, body) }
		renamed := put(object{"name": "pager", "settings": object{"topic": "other", "tags": "skull"}}).object(200)
		a.equal("renamed", []any{renamed["name"], renamed["secrets"], stored("token"), stored("tags")}, []any{"pager", []any{"token"}, secret, "skull"})
		put(object{"name": "pager", "settings": object{"server_url": "https://evil.example", "topic": "other"}}).refusedField("settings",
			"ntfy: token must be given again, because server_url changes: it could send the stored value elsewhere")
		a.equal("not moved", []string{stored("server_url"), stored("tags")}, []string{"https://ntfy.sh", "skull"})
		put(object{"name": "pager", "settings": object{"server_url": "https://other.example", "topic": "jobs", "token": "tk_2"}}).object(200)
		a.equal("moved", stored("token"), "tk_2")
		put(object{"name": "pager", "settings": object{"server_url": "https://other.example", "topic": "a b"}}).refusedField("settings",
			"ntfy: topic is not 1 to 64 letters, digits, _ and -")
		cleared := put(object{"kind": "ntfy", "name": "", "settings": object{"server_url": "https://third.example", "topic": "jobs", "token": ""}}).object(200)
		a.equal("cleared", []any{cleared["secrets"], stored("token")}, []any{[]any{}, ""})

		put(object{"kind": "email", "name": "x", "settings": object{}}).refusedField("kind", `kind cannot change: it is "ntfy"`)
		put(object{"settings": object{}}).refusedField("name", "name is missing")
		put(object{"name": "x"}).refusedField("settings", "settings is missing")
		put(nil).is(400)
		a.equal("deleted", as("DELETE", list+id, nil).object(200), cleared)
		as("GET", list+id, nil).refused(404, "not found")
		as("DELETE", list+unknownUUID, nil).refused(404, "not found")
		as("GET", list+"x", nil).refused(404, "not found")
		if strings.Contains(a.log.String(), secret) {
			t.Error("the log has a secret")
		}
	})
}

// TestChannelWarning warns of a webhook whose body breaks at a name with a quote, where it is created and replaced.
func TestChannelWarning(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const list = "/api/v3/channels/"
		hook := func(body string) object {
			return object{"kind": "webhook", "name": "hook", "settings": object{"url_down": "https://x.example", "body_down": body}}
		}
		warned := func(r reply) bool {
			return strings.Contains(r.header.Get("Warning"), "body_down: is not JSON where the value of $NAME has a quote")
		}
		created := a.as("POST", list, hook(`{"text": "$NAME"}`))
		id := created.object(201)["id"].(string)
		replaced, right := a.as("PUT", list+id, hook(`{"text": "$NAME!"}`)), a.as("PUT", list+id, hook(`{"text": $NAME_JSON}`))
		if !warned(created) || !warned(replaced) || right.header.Get("Warning") != "" {
			t.Errorf("warnings %q, %q, %q", created.header.Get("Warning"), replaced.header.Get("Warning"), right.header.Get("Warning"))
		}
	})
}

// TestHostileChannels sends bodies that must not pass.
func TestHostileChannels(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const list = "/api/v3/channels/"
		email := func(settings any) object { return object{"kind": "email", "name": "x", "settings": settings} }
		for _, test := range []struct {
			body        any
			field, text string
		}{
			{nil, "kind", "kind is missing"},
			{object{"kind": nil}, "kind", "kind is not a string"},
			{object{"kind": "email", "name": nil}, "name", "name is not a string"},
			{email(nil), "settings", "settings is not an object"},
			{email([]string{}), "settings", "settings is not an object"},
			{email("{}"), "settings", "settings is not an object"},
			{email(object{"to": nil}), "settings", "settings has a value that is not a string"},
			{email(object{"to": []string{"a@example.org"}}), "settings", "settings has a value that is not a string"},
			{email(object{"to": "a\x00@example.org"}), "settings", "email: to contains a NUL character"},
			{email(object{}), "settings", "email: to is missing"},
			{object{"kind": "email", "name": "a\x00", "settings": object{"to": "a@example.org"}}, "name", "name has a control character"},
			{object{"kind": "email", "name": strings.Repeat("x", 101), "settings": object{"to": "a@example.org"}}, "name", "name is too long: 101 characters, the maximum is 100"},
			{object{"kind": "email", "api_key": 5}, "api_key", "api_key is not a string"},
			{`{"kind":"email","settings":{"to":"\ud800"}}`, "settings", `settings is not valid Unicode: \ud800 stands alone`},
		} {
			a.as("POST", list, test.body).refusedField(test.field, test.text)
		}
		unknown := a.as("POST", list, object{"kind": strings.Repeat("pigeon", 1000), "settings": object{}}).object(400)
		a.equal("field of an unknown kind", unknown["field"], any("kind"))
		a.as("POST", list, email(object{"to": "a@example.org", strings.Repeat("x", 5000): "y"})).is(400)
		a.as("POST", list, "[]").refused(400, "the body is not a JSON object")
		a.as("POST", list, object{"kind": "email", "settings": object{"to": strings.Repeat("x", 1_000_000)}}).is(413)
		// A group takes neither itself nor what another project has.
		member := a.as("POST", list, email(object{"to": "a@example.org"})).object(201)["id"].(string)
		group := a.as("POST", list, object{"kind": "group", "name": "all", "settings": object{"channels": member}}).object(201)["id"].(string)
		a.equal("group", a.as("PUT", list+group, object{"name": "all", "settings": object{"channels": group}}).object(400)["field"], any("settings"))
		a.as("PUT", list+group, object{"name": "all", "settings": object{"channels": unknownUUID}}).is(400)
		listed := a.as("GET", list, nil).list(200, "channels")
		a.equal("what is left", len(listed), 2)
	})
}

// TestPrivilegedKinds: kinds that reach further than alerts need a key of the installation.
func TestPrivilegedKinds(t *testing.T) {
	eachAdmin(t, &server.Config{ChannelKinds: []channels.Kind{channels.Email, "shell"}}, func(a *admin) {
		const list = "/api/v3/channels/"
		shell := object{"kind": "shell", "name": "sh", "settings": object{"command_down": "true"}}
		hook := object{"kind": "webhook", "name": "hook", "settings": object{"url_down": "https://example.org"}}
		for _, body := range []object{shell, hook} {
			text := fmt.Sprintf("channels of the kind %q need an api key of the installation", body["kind"])
			a.as("POST", list, body).refused(403, text)
			id := a.everywhere("POST", list, body).object(201)["id"].(string)
			a.as("GET", list+id, nil).is(200)
			a.as("PUT", list+id, body).refused(403, text)
			a.everywhere("PUT", list+id, body).is(200)
			a.as("DELETE", list+id, nil).is(200)
		}
		a.as("POST", list, object{"kind": "email", "settings": object{"to": "a@example.org"}}).is(201)
		kinds := map[string]object{}
		for _, kind := range a.send("GET", "/api/v3/channel-kinds/", nil, "X-Api-Key", a.installation).list(200, "kinds") {
			kinds[kind["kind"].(string)] = kind
		}
		a.equal("privileged", []any{kinds["email"]["privileged"], kinds["webhook"]["privileged"], kinds["shell"]["privileged"]}, []any{false, true, true})
		a.equal("needs_browser", []any{kinds["webpush"]["needs_browser"], kinds["email"]["needs_browser"]}, []any{true, false})
		a.equal("configured", kinds["email"]["configured"], any(false)) // this monitor has no mail server
		for _, setting := range kinds["webhook"]["settings"].([]any) {
			if s := setting.(object); s["name"] == "headers_down" {
				a.equal("headers_down", fields(s, "secret", "lines", "required"), []any{true, true, false})
			}
		}
	})
}

// TestChannelSources: a value that comes from the environment is a secret of the API.
func TestChannelSources(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		c, err := a.mon.Project(a.project.ID).CreateChannel(a.Context(), channels.Channel{Kind: "ntfy", Name: "chat",
			Settings: map[string]string{"topic": "hidden"}, Sources: map[string]string{"topic": "$TOPIC"}})
		a.must(err)
		address := "/api/v3/channels/" + c.ID.String()
		put := func(body object) reply { a.Helper(); return a.as("PUT", address, body) }
		a.equal("secrets", put(object{"name": "kept", "settings": object{}}).object(200)["secrets"], any([]any{"topic"}))
		put(object{"name": "moved", "settings": object{"server_url": "https://evil.example"}}).refusedField("settings",
			"ntfy: topic must be given again, because server_url changes: it could send the stored value elsewhere")
		given := put(object{"name": "given", "settings": object{"topic": "shown"}}).object(200)
		a.equal("given", []any{given["secrets"], given["settings"].(object)["topic"], given["sources"]}, []any{[]any{}, "shown", nil})
		sourced := object{"name": "sourced", "settings": object{"topic": "hidden"}, "sources": object{"topic": "file topic"}}
		hidden := []any{[]any{"topic"}, object{"topic": "file topic"}}
		a.equal("with a source", fields(put(sourced).object(200), "secrets", "sources"), hidden)
		a.equal("kept with its source", fields(put(object{"name": "kept", "settings": object{"priority": "low"}}).object(200), "secrets", "sources"), hidden)
		sourced["kind"] = "ntfy"
		a.equal("created", fields(a.as("POST", "/api/v3/channels/", sourced).object(201), "secrets", "sources"), hidden)
		sourced["settings"] = object{}
		put(sourced).refusedField("sources", `sources has "topic", which settings lacks`)
	})
}

// TestUniqueChannel: a request that creates a channel can be repeated, at once too.
func TestUniqueChannel(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const list = "/api/v3/channels/"
		mail := func(to string) object {
			return object{"kind": "email", "name": "ops", "settings": object{"to": to}, "unique": []string{"name"}}
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got := a.everywhere("POST", list, mail("a@example.org")); got.status != 201 {
					got.is(200)
				}
			})
		}
		wg.Wait()
		a.as("POST", list, mail("b@example.org")).is(200)
		listed := a.as("GET", list, nil).list(200, "channels")
		a.equal("channels", len(listed), 1)
		a.equal("settings", a.as("GET", list+listed[0]["id"].(string), nil).object(200)["settings"].(object)["to"], any("b@example.org"))
		other := object{"kind": "ntfy", "name": "ops", "settings": object{"topic": "x"}, "unique": []string{"name"}}
		a.as("POST", list, other).refusedField("kind", `kind cannot change: the channel "ops" has the kind "email", not "ntfy"`)
		other["unique"] = []string{"kind"}
		a.as("POST", list, other).refusedField("unique", `unique may only be ["name"]`)
	})
}

// TestPutsAtOnce: of two requests that replace a channel, one after the other wins as a whole.
func TestPutsAtOnce(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		id := a.as("POST", "/api/v3/channels/", object{"kind": "email", "settings": object{"to": "0@example.org"}}).object(201)["id"].(string)
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				a.as("PUT", "/api/v3/channels/"+id, object{"name": fmt.Sprint(i), "settings": object{"to": fmt.Sprint(i, "@example.org")}}).is(200)
			})
		}
		wg.Wait()
		got := a.as("GET", "/api/v3/channels/"+id, nil).object(200)
		a.equal("settings", got["settings"].(object)["to"], any(got["name"].(string)+"@example.org"))
	})
}

func TestProjectsByAPI(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const list = "/api/v3/projects/"
		use := func(method, path string, body any) reply {
			return a.send(method, path, body, "X-Api-Key", a.installation)
		}
		created := use("POST", list, object{"name": "Jobs", "account": "acme", "plan": "free", "max_checks": 7}).object(201)
		id, key := created["id"].(string), created["api_key"].(string)
		a.send("GET", "/api/v3/checks/", nil, "X-Api-Key", key).is(200)
		a.send("POST", "/api/v3/checks/", nil, "X-Api-Key", created["api_key_readonly"].(string)).is(401)
		delete(created, "api_key")
		delete(created, "api_key_readonly")
		a.equal("read", use("GET", list+id, nil).object(200), created)
		a.equal("fields", fields(created, "name", "account", "plan", "max_checks"), []any{"Jobs", "acme", "free", 7.0})
		a.equal("all", len(use("GET", list, nil).list(200, "projects")), 2)
		a.equal("own", a.as("GET", list, nil).list(200, "projects")[0]["name"], any("Backups"))
		a.as("GET", list+id, nil).refused(403, "the api key belongs to another project")
		a.as("GET", list+unknownUUID, nil).refused(404, "not found")
		a.as("POST", list, object{"name": "x"}).refused(403, "this needs an api key of the installation")
		a.send("POST", list, object{"name": "By the body", "api_key": a.installation}).is(201)

		use("POST", list, object{"name": "Jobs"}).refused(409, "already exists")
		use("POST", list, object{}).refusedField("name", "name is missing")
		use("POST", list, object{"name": ""}).refusedField("name", "name is empty")
		use("POST", list, object{"name": "a\x00b"}).refusedField("name", "name has a control character")
		use("POST", list, object{"name": "x", "plan": "gold"}).refusedField("plan", `plan must be free or paid: "gold"`)
		use("POST", list, object{"name": "x", "max_checks": -1}).refusedField("max_checks", "max_checks is too small: -1, the minimum is 0")
		use("POST", list, object{"name": "x", "max_checks": "5"}).refusedField("max_checks", "max_checks is not a number")
		use("POST", list, object{"name": strings.Repeat("x", 1_000_000)}).is(413)

		use("PUT", list+id, object{"name": "Backups"}).refused(409, "already exists")
		use("PUT", list+id, object{"name": "Jobs 2", "plan": "paid"}).refusedField("plan", `plan cannot change: it is "free"`)
		use("PUT", list+id, object{"name": "Jobs 2", "account": "x"}).refusedField("account", `account cannot change: it is "acme"`)
		use("PUT", list+id, object{"name": "Jobs 2", "max_checks": 8}).refusedField("max_checks", "max_checks cannot change: it is 7")
		created["name"] = "Jobs 2"
		a.equal("renamed", use("PUT", list+id, created).object(200), created)
		a.equal("read again", use("GET", list+id, nil).object(200), created)
		a.equal("deleted", use("DELETE", list+id, nil).object(200), created)
		use("DELETE", list+id, nil).refused(404, "not found")
		a.send("GET", "/api/v3/checks/", nil, "X-Api-Key", key).refused(401, "wrong api key")

		// A project's own key, which goes with it.
		a.as("PUT", list+a.project.ID.String(), object{"name": "Renamed"}).is(200)
		a.as("DELETE", list+a.project.ID.String(), nil).is(200)
		a.as("GET", list, nil).refused(401, "wrong api key")
	})
}

// TestDeletedWhileUsed deletes a project by its own key while other requests use the key.
func TestDeletedWhileUsed(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		check := a.create(nil)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r := a.as("PUT", "/api/v3/projects/"+a.project.ID.String(), object{"name": fmt.Sprint("New ", i)})
				if i == 4 {
					r = a.as("DELETE", "/api/v3/projects/"+a.project.ID.String(), nil)
				}
				if !slices.Contains([]int{200, 401, 403, 404}, r.status) {
					a.Errorf("%s: %d %s", r.what, r.status, r.body)
				}
				if r := a.as("POST", "/api/v3/channels/", object{"kind": "email", "settings": object{"to": "a@example.org"}}); !slices.Contains([]int{201, 401, 404}, r.status) {
					a.Errorf("%s: %d %s", r.what, r.status, r.body)
				}
			})
		}
		wg.Wait()
		a.as("GET", path(check), nil).refused(401, "wrong api key")
		list, err := a.mon.Projects().List(a.Context())
		if err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestStatusPagesByAPI(t *testing.T) {
	eachAdmin(t, nil, func(a *admin) {
		const list = "/api/v3/status-pages/"
		created := a.as("POST", list, object{"slug": "acme", "title": " Acme ", "description": "a\r\nb", "tags": "prod  db prod"}).object(201)
		id := created["id"].(string)
		a.equal("created", created, object{"id": id, "slug": "acme", "title": "Acme", "description": "a\nb", "tags": "prod db", "names": map[string]any{}, "min_outage": 0.0, "url": a.url + "/status/acme"})
		a.equal("read", a.as("GET", list+id, nil).object(200), created)
		a.equal("listed", a.everywhere("GET", list, nil).list(200, "status_pages"), []object{created})
		other := a.as("POST", list, object{"slug": "other", "title": "Other"}).object(201)
		a.as("POST", list, object{"slug": "acme", "title": "Twice"}).refused(409, "already exists")
		a.as("PUT", list+other["id"].(string), object{"slug": "acme", "title": "Twice"}).refused(409, "already exists")
		a.as("POST", list, object{}).refusedField("slug", "slug is empty")
		a.as("POST", list, object{"slug": "Acme", "title": "x"}).refusedField("slug", `slug may only have a-z, 0-9 and hyphen: "Acme"`)
		a.as("POST", list, object{"slug": "x", "title": 5}).refusedField("title", "title is not a string")
		a.as("POST", list, object{"slug": "x", "title": "x", "tags": []string{"a"}}).refusedField("tags", "tags is not a string")
		a.as("POST", list, object{"slug": "x", "title": "a\x00"}).is(400)
		a.as("POST", list, object{"slug": "x", "title": strings.Repeat("x", 1_000_000)}).is(413)
		shop := a.as("POST", "/api/v3/checks/", object{"name": "Shop", "slug": "shop"}).object(201)["uuid"].(string)
		for range 2 {
			a.as("POST", "/api/v3/checks/", object{"slug": "twin"}).object(201)
		}
		named := a.as("PUT", list+id, object{"slug": "acme", "title": "Acme", "names": object{"shop": " Payments <b> "}, "min_outage": 60}).object(200)
		a.equal("named", fields(named, "names", "min_outage"), []any{map[string]any{shop: "Payments <b>"}, 60.0})
		a.equal("named again", a.as("PUT", list+id, named).object(200), named)
		for field, wrong := range map[string]object{
			`names is not an object`:                                                  {"names": "x"},
			`names has a value that is not a string`:                                  {"names": object{"shop": 5}},
			`names has "nobody", which is neither the UUID nor the slug of one check`: {"names": object{"nobody": "x"}},
			`names has "twin", which is neither the UUID nor the slug of one check`:   {"names": object{"twin": "x"}},
			`names has "", which is neither the UUID nor the slug of one check`:       {"names": object{"": "x"}},
			`names has a check twice: "shop"`:                                         {"names": object{"shop": "x", shop: "y"}},
			`names has a control character`:                                           {"names": object{"shop": "a\nb"}},
			`min_outage is too large: 86401, the maximum is 86400`:                    {"min_outage": 86401},
			`min_outage is too small: -1, the minimum is 0`:                           {"min_outage": -1},
			`min_outage is not a number`:                                              {"min_outage": "1m"},
		} {
			wrong["slug"], wrong["title"] = "x", "x"
			name, _, _ := strings.Cut(field, " ")
			a.as("POST", list, wrong).refusedField(name, field)
		}
		replaced := a.as("PUT", list+id, object{"slug": "acme-2", "title": "Acme 2"}).object(200)
		a.equal("replaced", fields(replaced, "slug", "title", "description", "tags", "names", "min_outage"), []any{"acme-2", "Acme 2", "", "", map[string]any{}, 0.0})
		a.equal("deleted", a.as("DELETE", list+id, nil).object(200), replaced)
		a.as("GET", list+id, nil).refused(404, "not found")
	})
}
