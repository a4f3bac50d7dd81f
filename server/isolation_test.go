package server_test

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/gate"
	"github.com/rollcall-dev/rollcall/server"
)

// access is the status of a route for each kind of key, on a check of another project or on the key's own project.
type accessRow struct {
	none      int // no key, or a malformed one
	unknown   int // a key that does not exist, or no longer
	foreignRW int
	foreignRO int
	ownRO     int
	ownRW     int

	foreignAdmin int
	ownIDs       int // a key of the scope read-ids
	ownAdmin     int
	installation int // a key of the installation, with the project
}

// accessTable has a row for every route of the server (server/API.md sections 4 and 5). Every new route needs one. A request of
// a foreign key has no body; one of an own key has that of [victim.request].
var accessTable = map[[2]string]accessRow{
	{"GET", "/api/v3/checks"}:                    {401, 401, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3/checks/:id"}:                {401, 401, 403, 403, 200, 200, 403, 200, 200, 200},
	{"POST", "/api/v3/checks"}:                   {401, 401, 201, 401, 401, 201, 201, 401, 201, 201},
	{"POST", "/api/v3/checks/:id"}:               {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"POST", "/api/v3/checks/:id/pause"}:         {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"POST", "/api/v3/checks/:id/resume"}:        {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"POST", "/api/v3/checks/:id/acknowledge"}:   {401, 401, 403, 403, 403, 409, 403, 403, 409, 409},
	{"DELETE", "/api/v3/checks/:id/acknowledge"}: {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"POST", "/api/v3/acknowledge"}:              {401, 401, 400, 403, 403, 200, 400, 403, 200, 200},
	{"DELETE", "/api/v3/checks/:id"}:             {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"GET", "/api/v3/checks/:id/pings"}:          {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"GET", "/api/v3/checks/:id/pings/:n/body"}:  {401, 401, 403, 403, 403, 200, 403, 403, 200, 200},
	{"GET", "/api/v3/checks/:id/flips"}:          {401, 401, 403, 403, 200, 200, 403, 200, 200, 200},
	{"GET", "/api/v3/checks/:id/stats"}:          {401, 401, 403, 403, 200, 200, 403, 200, 200, 200},
	{"GET", "/api/v3/channels"}:                  {401, 401, 200, 401, 401, 200, 200, 401, 200, 200},
	{"POST", "/api/v3/channels"}:                 {401, 401, 403, 403, 403, 403, 400, 403, 201, 201},
	{"GET", "/api/v3/channels/:id"}:              {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"PUT", "/api/v3/channels/:id"}:              {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"DELETE", "/api/v3/channels/:id"}:           {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"GET", "/api/v3/channel-kinds"}:             {401, 401, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3/projects"}:                  {401, 401, 403, 403, 403, 403, 200, 403, 200, 200},
	{"POST", "/api/v3/projects"}:                 {401, 401, 403, 403, 403, 403, 403, 403, 403, 201},
	{"GET", "/api/v3/projects/:id"}:              {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"PUT", "/api/v3/projects/:id"}:              {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"POST", "/api/v3/projects/:id/ping-key"}:    {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"DELETE", "/api/v3/projects/:id"}:           {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"GET", "/api/v3/status-pages"}:              {401, 401, 403, 403, 403, 403, 200, 403, 200, 200},
	{"POST", "/api/v3/status-pages"}:             {401, 401, 403, 403, 403, 403, 400, 403, 201, 201},
	{"GET", "/api/v3/status-pages/:id"}:          {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"PUT", "/api/v3/status-pages/:id"}:          {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"DELETE", "/api/v3/status-pages/:id"}:       {401, 401, 403, 403, 403, 403, 403, 403, 200, 200},
	{"GET", "/api/v3/escalation"}:                {401, 401, 200, 403, 403, 200, 200, 403, 200, 200},
	{"PUT", "/api/v3/escalation"}:                {401, 401, 403, 403, 403, 403, 400, 403, 200, 200},
	{"GET", "/api/v3/windows"}:                   {401, 401, 200, 200, 200, 200, 200, 200, 200, 200},
	{"POST", "/api/v3/windows"}:                  {401, 401, 400, 403, 403, 201, 400, 403, 201, 201},
	{"GET", "/api/v3/windows/:id"}:               {401, 401, 404, 404, 200, 200, 404, 200, 200, 200},
	{"DELETE", "/api/v3/windows/:id"}:            {401, 401, 404, 403, 403, 200, 404, 403, 200, 200},
	{"GET", "/api/v3/badges"}:                    {401, 401, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3/metrics"}:                   {401, 401, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3/status"}:                    {200, 200, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3"}:                           {200, 200, 200, 200, 200, 200, 200, 200, 200, 200},
	{"GET", "/api/v3/openapi.json"}:              {200, 200, 200, 200, 200, 200, 200, 200, 200, 200},
}

func TestAccessTableIsWhole(t *testing.T) {
	known := slices.SortedFunc(maps.Keys(accessTable), compareRoutes)
	routes := slices.SortedFunc(slices.Values(server.Routes()), compareRoutes)
	if !slices.Equal(known, routes) {
		t.Errorf("routes of the server:\n%q\nroutes of accessTable:\n%q", routes, known)
	}
}

func compareRoutes(a, b [2]string) int {
	return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
}

// victim is a project with something of every kind, and the texts that identify it in an answer.
type victim struct {
	s       *site // with its keys
	check   object
	marks   []string
	channel channels.Channel
	page    checks.StatusPage
	windows map[gate.WindowKind]gate.Window
	before  []any
}

func newVictim(s *site) *victim {
	s.Helper()
	v := &victim{s: s}
	var err error
	if v.channel, err = s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: "ops-VICTIM", Settings: map[string]string{"to": "ops@victim.example"}}); err != nil {
		s.Fatal(err)
	}
	if v.page, err = s.mon.Project(s.project.ID).CreateStatusPage(s.Context(), checks.StatusPage{Slug: "victim-page", Title: "VICTIM page"}); err != nil {
		s.Fatal(err)
	}
	v.windows = make(map[gate.WindowKind]gate.Window)
	for _, kind := range []gate.WindowKind{gate.Maintenance, gate.Snooze} {
		v.windows[kind], err = s.mon.Project(s.project.ID).AddWindow(s.Context(), gate.Window{Kind: kind, Duration: time.Hour, Note: "VICTIM window"})
		s.must(err)
	}
	v.check = s.create(object{"name": "VICTIM name", "slug": "victim-slug", "tags": "VICTIM-tag", "desc": "VICTIM desc", "channels": "*"})
	s.send("POST", v.check["ping_url"].(string), "VICTIM body", "User-Agent", "VICTIM agent").text(200, "OK")
	readOnly := s.send("GET", path(v.check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
	badgeKey := strings.TrimSuffix(v.check["badge_url"].(string)[strings.LastIndex(v.check["badge_url"].(string), "/")+1:], ".svg")
	v.marks = []string{
		"VICTIM", "victim", v.check["uuid"].(string), readOnly["unique_key"].(string), badgeKey, s.project.ID.String(), s.project.Name,
		s.project.PingKey, s.project.BadgeKey, s.keys.ReadWrite, s.keys.ReadOnly, v.channel.ID.String(),
		v.page.ID.String(), v.windows[gate.Maintenance].ID.String(), v.windows[gate.Snooze].ID.String(),
	}
	v.before = v.state()
	return v
}

// state returns all that the API shows of the project.
func (v *victim) state() []any {
	v.s.Helper()
	return []any{
		v.s.api("GET", "/api/v3/checks/", nil).list(200, "checks"), v.s.pings(v.check), v.s.flips(v.check, ""),
		v.s.api("GET", "/api/v3/channels/", nil).list(200, "channels"), v.s.badges(), v.admin(v.s),
		v.s.api("GET", "/api/v3/windows/", nil).list(200, "windows"),
	}
}

// untold asserts that an answer reveals nothing of the victim beyond the request.
func (v *victim) untold(r reply, sent ...string) {
	v.s.Helper()
	said := r.what + strings.Join(sent, "\n")
	all := r.body
	for name, values := range r.header {
		all += "\n" + name + ": " + strings.Join(values, ", ")
	}
	for _, mark := range v.marks {
		if strings.Contains(all, mark) && !strings.Contains(said, mark) {
			v.s.Errorf("%s: the answer %d reveals %q:\n%s", r.what, r.status, mark, all)
		}
	}
}

// admin returns what only admin keys see of the project.
func (v *victim) admin(s *site) []any {
	s.Helper()
	project, err := s.mon.Projects().ByID(s.Context(), s.project.ID)
	s.must(err)
	list, err := s.mon.Project(s.project.ID).Channels(s.Context())
	s.must(err)
	settings := []map[string]string{}
	for _, c := range list {
		settings = append(settings, c.Settings)
	}
	pages, err := s.mon.Project(s.project.ID).StatusPages(s.Context())
	s.must(err)
	return []any{project, settings, pages}
}

// in fills in the path of a route for the victim's check, or for what else the route is about.
func (v *victim) in(path string) string {
	id := v.check["uuid"].(string)
	switch {
	case strings.HasPrefix(path, "/api/v3/channels"):
		id = v.channel.ID.String()
	case strings.HasPrefix(path, "/api/v3/projects"):
		id = v.s.project.ID.String()
	case strings.HasPrefix(path, "/api/v3/status-pages"):
		id = v.page.ID.String()
	case strings.HasPrefix(path, "/api/v3/windows"):
		id = v.windows[gate.Maintenance].ID.String()
	}
	return strings.NewReplacer(":id", id, ":n", "1").Replace(path)
}

// TestNobodyGetsIn sends every request with every kind of foreign key, in every place for a key. The status is that of the
// table, and nothing of the project is revealed or changed.
func TestNobodyGetsIn(t *testing.T) {
	both(t, nil, func(s *site) {
		v := newVictim(s)
		other, foreign := s.otherProject("Foreign")
		admin := s.newKey(other.ID, checks.Admin)
		revoked, key, err := s.mon.Project(s.project.ID).CreateKey(s.Context(), checks.ReadWrite)
		if err == nil {
			err = s.mon.Project(s.project.ID).DeleteKey(s.Context(), key.ID)
		}
		s.must(err)
		for route, row := range accessTable {
			method, path := route[0], v.in(route[1])
			bearer := row.none
			if path == "/api/v3/metrics" { // as Prometheus sends keys
				bearer = row.foreignRW
			}
			for what, use := range map[string]struct {
				status  int
				headers []string
			}{
				"no key":              {row.none, nil},
				"empty":               {row.none, []string{"X-Api-Key", ""}},
				"short":               {row.none, []string{"X-Api-Key", s.keys.ReadWrite[:31]}},
				"with a space":        {row.none, []string{"X-Api-Key", s.keys.ReadWrite + " x"}},
				"short bearer":        {row.none, []string{"Authorization", "Bearer " + s.keys.ReadWrite[:31]}},
				"bearer":              {bearer, []string{"Authorization", "Bearer " + foreign.ReadWrite}},
				"basic":               {row.none, []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+s.keys.ReadWrite))}},
				"cookie":              {row.none, []string{"Cookie", "api_key=" + s.keys.ReadWrite + "; X-Api-Key=" + s.keys.ReadWrite}},
				"ping key":            {row.none, []string{"X-Api-Key", s.project.PingKey}},
				"badge key":           {row.none, []string{"X-Api-Key", s.project.BadgeKey}},
				"project":             {row.none, []string{"X-Api-Key", s.project.ID.String()}},
				"SQL":                 {row.none, []string{"X-Api-Key", "' OR 1=1 --"}},
				"unknown":             {row.unknown, []string{"X-Api-Key", "rcw_" + strings.Repeat("a", 28)}},
				"SQL of a key's form": {row.unknown, []string{"X-Api-Key", "rcw_' OR hash IS NOT NULL OR '1'='"}},
				"padded ping key":     {row.unknown, []string{"X-Api-Key", "rcw_" + s.project.PingKey + "aaaaaa"}},
				"other case":          {row.unknown, []string{"X-Api-Key", strings.ToUpper(s.keys.ReadWrite)}},
				"prefix exchanged":    {row.unknown, []string{"X-Api-Key", "rcw_" + s.keys.ReadOnly[4:]}},
				"revoked":             {row.unknown, []string{"X-Api-Key", revoked}},
				"the first counts":    {row.unknown, []string{"X-Api-Key", revoked, "X-Api-Key", s.keys.ReadWrite}},
				"foreign read-write":  {row.foreignRW, []string{"X-Api-Key", foreign.ReadWrite}},
				"foreign read-only":   {row.foreignRO, []string{"X-Api-Key", foreign.ReadOnly}},
				"foreign admin":       {row.foreignAdmin, []string{"X-Api-Key", admin}},
				"admin made up":       {row.unknown, []string{"X-Api-Key", "rca_" + s.keys.ReadWrite[4:]}},
				"foreign for real": {row.foreignRW, []string{"X-Api-Key", foreign.ReadWrite, "X-Forwarded-For", "127.0.0.1", "X-Original-URL", "/api/v3/checks/",
					"X-Rewrite-URL", "/api/v3/checks/", "X-HTTP-Method-Override", "DELETE", "Cookie", "api_key=" + s.keys.ReadWrite}},
			} {
				if what == "SQL of a key's form" && len(use.headers[1]) != 32 {
					use.headers[1] = (use.headers[1] + strings.Repeat("-", 32))[:32]
				}
				r := s.send(method, path, nil, use.headers...)
				if r.status != use.status {
					s.Errorf("%s: %s: status %d %.200s, want %d", what, r.what, r.status, r.body, use.status)
				}
				v.untold(r)
				// A key in the query never counts.
				if row.none == 401 && what == "no key" {
					v.untold(s.send(method, path+"?api_key="+s.keys.ReadWrite+"&key="+s.keys.ReadWrite, nil).is(401))
				}
			}
			if method == "POST" {
				for text, status := range map[string]int{
					foreign.ReadWrite: row.foreignRW, foreign.ReadOnly: row.foreignRO, revoked: row.unknown, s.project.PingKey: row.none, admin: row.foreignAdmin,
				} {
					v.untold(s.send(method, path, object{"api_key": text}).is(status))
				}
				// The header counts.
				v.untold(s.send(method, path, object{"api_key": s.keys.ReadWrite}, "X-Api-Key", foreign.ReadWrite).is(row.foreignRW))
			}
		}
		v.atCapabilities(other, foreign)
		s.equal("the victim", v.state(), v.before)
	})
}

// atCapabilities tries what needs no API key, or that of another project: names, badges and pings of the victim.
func (v *victim) atCapabilities(other checks.Project, foreign checks.ProjectKeys) {
	s := v.s
	s.Helper()
	id, slug := v.check["uuid"].(string), v.check["slug"].(string)
	as := func(method, path string, body any) reply {
		return s.send(method, path, body, "X-Api-Key", foreign.ReadWrite)
	}
	unique := s.send("GET", path(v.check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"].(string)

	v.untold(as("GET", "/api/v3/checks/"+unique, nil).is(404))
	v.untold(as("GET", "/api/v3/checks/"+unique+"/flips/", nil).is(404))
	v.untold(as("GET", "/api/v3/checks/"+unique+"/stats/", nil).is(404))
	for _, query := range []string{"?slug=" + slug, "?tag=VICTIM-tag", "?slug=victim-slug&tag=", "?project=" + s.project.ID.String()} {
		for _, check := range as("GET", "/api/v3/checks/"+query, nil).list(200, "checks") {
			if check["slug"] != "" {
				s.Errorf("%s lists %v", query, check)
			}
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		v.untold(as(method, "/api/v3/windows/"+v.windows[gate.Snooze].ID.String(), nil).is(404))
	}
	// An upsert finds nothing there. A channel of another project is as unknown as a missing one.
	made := as("POST", "/api/v3/checks/", object{"name": "VICTIM name", "slug": slug, "tags": "VICTIM-tag", "unique": []string{"name", "slug", "tags"}}).object(201)
	if made["uuid"] == id {
		s.Error("an upsert has found a check of another project")
	}
	as("DELETE", path(made), nil).is(200)
	for _, channel := range []string{v.channel.ID.String(), v.channel.Name} {
		there := as("POST", "/api/v3/checks/", object{"channels": channel}).is(400)
		missing := as("POST", "/api/v3/checks/", object{"channels": strings.Repeat("x", len(channel)-1) + "y"})
		if strings.Contains(channel, "-4") { // a UUID
			missing = as("POST", "/api/v3/checks/", object{"channels": unknownUUID})
			s.equal("the refusal", strings.ReplaceAll(there.body, channel, "?"), strings.ReplaceAll(missing.body, unknownUUID, "?"))
		}
		v.untold(there, channel)
		v.untold(missing)
	}
	own := as("POST", "/api/v3/checks/", object{"channels": "*"}).object(201)
	s.equal("all channels", own["channels"], any(""))
	// Pings by slug stay within the project of the ping key, and no API key works in its place.
	for _, path := range []string{
		"/ping/" + other.PingKey + "/" + slug, "/ping/" + other.PingKey + "/" + id, "/ping/" + s.project.BadgeKey + "/" + slug, "/ping/" + s.keys.ReadWrite + "/" + slug,
		"/ping/" + strings.ToUpper(s.project.PingKey) + "/" + slug, "/ping/" + s.project.ID.String() + "/" + slug, "/ping/" + other.PingKey + "/" + slug + "/../" + id,
		"/ping/" + unique, "/ping/" + strings.ToUpper(id), "/ping/" + strings.ReplaceAll(id, "-", ""), "/ping/" + id + "/pings", "/ping/" + s.project.PingKey + "/%25",
	} {
		v.untold(s.send("POST", path, "x").is(404))
	}
	// A signature is for one tag of one project.
	badge := strings.TrimPrefix(s.badges()["VICTIM-tag"]["svg3"], s.url)
	signature := strings.Split(badge, "/")[3]
	for _, path := range []string{
		strings.Replace(badge, s.project.BadgeKey, other.BadgeKey, 1), strings.Replace(badge, "VICTIM-tag", "other", 1),
		strings.Replace(badge, signature, strings.Repeat("0", 32), 1),
		"/badge/" + s.project.BadgeKey + "/" + signature + ".svg", "/b/2/" + id + ".svg", "/b/2/" + unique + ".json", "/badge/" + s.project.BadgeKey + "/VICTIM-tag.svg",
		strings.Replace(badge, signature, strings.ToUpper(signature), 1), strings.Replace(badge, signature, signature[:31], 1),
	} {
		v.untold(s.send("GET", path, nil).is(404))
	}
	// What anyone may read reveals no project.
	for _, path := range []string{"/", "/livez?verbose", "/readyz?verbose", "/api/v3/", "/api/v3/openapi.json", "/favicon.ico", "/metrics", "/debug/pprof/", "/.env"} {
		v.untold(s.undocumented("GET", path))
	}
}
