package server_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

var badgeKinds = map[string]string{
	"svg": "image/svg+xml", "svg3": "image/svg+xml", "json": "application/json", "json3": "application/json",
	"shields": "application/json", "shields3": "application/json",
}

// badges reads the list of badges.
func (s *site) badges() map[string]map[string]string {
	s.Helper()
	var document struct {
		Badges map[string]map[string]string `json:"badges"`
	}
	s.api("GET", "/api/v3/badges/", nil).is(200).decode(&document)
	return document.Badges
}

func TestBadgeList(t *testing.T) {
	each(t, nil, func(s *site) {
		s.equal("no tags", slices.Sorted(maps.Keys(s.badges())), []string{"*"})
		tags := []string{
			"prod", "größe", "日本", "a/b", "..", ".", "100%", "%2F", "a&b", "<svg>", `"q"`, "#1", "?x=y", "a+b", "a;b", "svg", "x.svg",
			"\U0001F389", "e\u0301", "-2", "\u202e",
		}
		s.create(object{"tags": strings.Join(tags, " ")})
		s.create(object{"tags": "prod * prod"})
		list := s.badges()
		s.equal("tags", slices.Sorted(maps.Keys(list)), slices.Sorted(slices.Values(append(tags, "*"))))
		s.equal("with the read-only key", s.send("GET", "/api/v3/badges/", nil, "X-Api-Key", s.keys.ReadOnly).body,
			s.api("GET", "/api/v3/badges/", nil).body)
		seen := map[string]bool{}
		for tag, set := range list {
			s.equal("kinds of "+tag, slices.Sorted(maps.Keys(set)), slices.Sorted(maps.Keys(badgeKinds)))
			for kind, address := range set {
				if seen[address] || !strings.HasPrefix(address, s.url+"/badge/") {
					s.Errorf("address of the %s badge of %s is another's, or elsewhere: %s", kind, tag, address)
				}
				seen[address] = true
				r := s.send("GET", address, nil).is(200)
				s.equal("headers", []string{
					r.header.Get("Content-Type"), r.header.Get("Cache-Control"), r.header.Get("Access-Control-Allow-Origin"),
					r.header.Get("X-Content-Type-Options"),
				}, []string{badgeKinds[kind], "no-store, no-cache, max-age=0", "*", "nosniff"})
				label := tag
				if tag == "*" {
					label = "Backups"
				}
				s.checkBadge(kind, r.body, label)
				head := s.send("HEAD", address, nil).is(200)
				s.equal("HEAD", []string{head.body, head.header.Get("Content-Length")}, []string{"", r.header.Get("Content-Length")})
			}
		}
	})
}

// checkBadge asserts that a document is well formed and has the label.
func (s *site) checkBadge(kind, document, label string) {
	s.Helper()
	switch {
	case strings.HasPrefix(kind, "svg"):
		d := xml.NewDecoder(strings.NewReader(document))
		var text strings.Builder
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				s.Fatalf("SVG is not well-formed: %v: %s", err, document)
			}
			if chars, ok := token.(xml.CharData); ok {
				text.Write(chars)
			}
		}
		if !strings.Contains(text.String(), label) {
			s.Errorf("SVG has the text %q, want %q in it", text.String(), label)
		}
	case strings.HasPrefix(kind, "shields"):
		var o object
		s.must(json.Unmarshal([]byte(document), &o))
		s.equal("label", []any{o["schemaVersion"], o["label"], o["message"]}, []any{1.0, label, "up"})
	default:
		s.equal("json", strings.HasPrefix(document, `{"status":"up","total":`), true)
	}
}

// TestBadgeWithoutChecks deletes the last check with a tag. Its badge is not green.
func TestBadgeWithoutChecks(t *testing.T) {
	each(t, nil, func(s *site) {
		c := s.create(object{"tags": "db"})
		badge := s.badges()["db"]
		s.api("DELETE", "/api/v3/checks/"+c["uuid"].(string), nil).is(200)
		for kind, want := range map[string]string{
			"svg": "db: no checks", "svg3": "db: no checks", "shields": `"message":"no checks","color":"inactive"`,
			"shields3": `"message":"no checks","color":"inactive"`, "json": `"total":0`,
		} {
			if body := s.send("GET", badge[kind], nil).is(200).body; !strings.Contains(body, want) {
				s.Errorf("%s: %s", kind, body)
			}
		}
	})
}

func TestBadgeStates(t *testing.T) {
	each(t, nil, func(s *site) {
		s.create(object{"tags": "db"})
		late := s.create(object{"tags": "db web", "timeout": 60, "grace": 60})
		read := func(address string) string {
			s.Helper()
			return s.send("GET", address, nil).is(200).body
		}
		own := strings.TrimSuffix(late["badge_url"].(string), ".svg")
		list := s.badges()
		for _, step := range []struct {
			wait               time.Duration
			signal             string
			two, three, counts string
		}{
			{0, "", "up", "up", `"grace":0,"down":0`},
			{time.Minute, "/log", "up", "late", `"grace":1,"down":0`},
			{time.Minute, "/log", "down", "down", `"grace":0,"down":1`},
			{0, "", "up", "up", `"grace":0,"down":0`},
			{0, "/fail", "down", "down", `"grace":0,"down":1`},
		} {
			s.clock.Advance(step.wait)
			s.ping(late, step.signal)
			for tag, total := range map[string]string{"db": "2", "web": "1", "*": "2"} {
				s.equal("json of "+tag, read(list[tag]["json"]), `{"status":"`+step.two+`","total":`+total+`,`+step.counts+`}`)
				s.equal("json3 of "+tag, read(list[tag]["json3"]), `{"status":"`+step.three+`","total":`+total+`,`+step.counts+`}`)
				s.equal("svg of "+tag, strings.Contains(read(list[tag]["svg"]), ">"+step.two+"<"), true)
				s.equal("svg3 of "+tag, strings.Contains(read(list[tag]["svg3"]), ">"+step.three+"<"), true)
				s.equal("shields of "+tag, strings.Contains(read(list[tag]["shields"]), `"message":"`+step.two+`"`), true)
				s.equal("shields3 of "+tag, strings.Contains(read(list[tag]["shields3"]), `"message":"`+step.three+`"`), true)
			}
			s.equal("own", read(own+".json"), `{"status":"`+step.two+`","total":1,`+step.counts+`}`)
			s.equal("own with three states", read(strings.Replace(own, "/b/2/", "/b/3/", 1)+".json"), `{"status":"`+step.three+`","total":1,`+step.counts+`}`)
			s.equal("own picture", strings.Contains(read(own+".svg"), ">"+step.two+"<"), true)
		}
	})
}

// TestBadgesOfRuns: a run that begins, or a pause, is not among the states of a badge (server/API.md section 2.5).
func TestBadgesOfRuns(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"slug": "job", "tags": "db", "timeout": 60, "grace": 3600})
		two := strings.TrimSuffix(check["badge_url"].(string), ".svg")
		three := strings.Replace(two, "/b/2/", "/b/3/", 1)
		tagged := s.badges()["db"]
		shows := func(what, withTwo, withThree string) {
			s.Helper()
			for _, badge := range []struct{ shields, json, label, want string }{
				{two + ".shields", two + ".json", "job", withTwo},
				{three + ".shields", three + ".json", "job", withThree},
				{tagged["shields"], tagged["json"], "db", withTwo},
				{tagged["shields3"], tagged["json3"], "db", withThree},
			} {
				color := map[string]string{"up": "success", "late": "important", "down": "critical"}[badge.want]
				s.equal(what, s.send("GET", badge.shields, nil).object(200),
					object{"schemaVersion": 1.0, "label": badge.label, "message": badge.want, "color": color})
				counts := s.send("GET", badge.json, nil).object(200)
				s.equal(what, []any{counts["status"], counts["total"]}, []any{badge.want, 1.0})
			}
		}
		shows("new", "up", "up")
		s.ping(check, "/start")
		shows("running for the first time", "up", "up")
		s.ping(check, "")
		s.clock.Advance(time.Minute)
		s.ping(check, "/start")
		shows("late and running", "up", "late")
		s.ping(check, "/fail")
		s.ping(check, "/start")
		shows("down and running", "down", "down")
		s.api("POST", path(check)+"/pause", nil).is(200)
		shows("paused", "up", "up")
	})
}

func TestBadgesRefused(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"tags": "db web"})
		list := s.badges()
		tagged, all, own := list["db"]["svg3"], list["*"]["svg3"], check["badge_url"].(string)
		_, other := s.otherProject("Other")
		var foreign struct{ Badges map[string]map[string]string }
		s.send("GET", "/api/v3/badges/", nil, "X-Api-Key", other.ReadOnly).is(200).decode(&foreign)
		parts := func(address string) []string { return strings.Split(strings.TrimPrefix(address, s.url), "/") }
		for _, address := range []string{
			"/badge", "/badge/", "/b", "/b/", "/b/2/", "/badge/x", "/badge/x/y/z.svg", "/b/2/x.svg",
			strings.Replace(tagged, "/db.", "/web.", 1),
			strings.Replace(tagged, "/db.", ".", 1),
			strings.Replace(all, ".svg", "/db.svg", 1),
			strings.Replace(tagged, ".svg", ".png", 1),
			strings.TrimSuffix(tagged, ".svg"),
			tagged + "/",
			strings.Replace(tagged, parts(tagged)[2], parts(foreign.Badges["*"]["svg"])[2], 1),
			strings.Replace(own, "/b/2/", "/b/4/", 1),
			strings.Replace(own, "/b/2/", "/b/", 1),
			strings.Replace(own, ".svg", ".png", 1),
			"/b/2/" + strings.ToUpper(strings.TrimSuffix(own, ".svg")[len(s.url+"/b/2/"):]) + ".svg",
			"/b/2/" + unknownUUID + ".svg",
			"/b/2/" + check["uuid"].(string) + ".svg",
			"/b/2/" + url.PathEscape("\xff") + ".svg",
		} {
			r := s.send("GET", address, nil)
			r.refused(404, "not found")
			s.equal("Cache-Control", r.header.Get("Cache-Control"), "no-store, no-cache, max-age=0")
		}
		for _, address := range []string{tagged, own, "/badge/nothing"} {
			r := s.send("POST", address, nil)
			r.refused(405, "method not allowed")
			s.equal("Allow", r.header.Get("Allow"), "GET, HEAD, OPTIONS")
			s.equal("CORS", s.send("OPTIONS", address, nil).is(204).header.Get("Access-Control-Allow-Origin"), "*")
		}
		// A badge ends with its check or project.
		s.api("DELETE", path(check), nil).is(200)
		formats := []string{".svg", ".json", ".shields"}
		for _, format := range formats {
			s.send("GET", strings.Replace(own, ".svg", format, 1), nil).refused(404, "not found")
		}
		s.send("GET", tagged, nil).is(200)
		s.must(s.mon.Projects().Delete(s.Context(), s.project.ID))
		for _, format := range formats {
			for _, address := range []string{tagged, all} {
				s.send("GET", strings.Replace(address, ".svg", format, 1), nil).refused(404, "not found")
			}
		}
	})
}

// TestBadgeLabels reads badges of checks with a name, a slug or neither, and of tags (server/API.md section 2.5).
func TestBadgeLabels(t *testing.T) {
	each(t, nil, func(s *site) {
		shields := func(address string) []any {
			s.Helper()
			var o object
			s.send("GET", address, nil).is(200).decode(&o)
			return []any{o["label"], o["message"]}
		}
		for want, settings := range map[string]object{
			"a": {"name": "a", "slug": "x", "tags": "db ünï"}, "b": {"slug": "b", "tags": "db"}, "check": {"tags": "none"},
		} {
			own := strings.TrimSuffix(s.create(settings)["badge_url"].(string), ".svg")
			s.equal("label of a check", shields(own+".shields"), []any{want, "up"})
		}
		list := s.badges()
		for tag, want := range map[string]string{"*": "Backups", "db": "db", "ünï": "ünï"} {
			s.equal("label of a tag", shields(list[tag]["shields"]), []any{want, "up"})
		}
		c := s.create(object{"name": "c", "tags": "gone"})
		gone := s.badges()["gone"]["json"]
		s.equal("a tag of one check", s.send("GET", gone, nil).is(200).body, `{"status":"up","total":1,"grace":0,"down":0}`)
		s.send("GET", s.url+"/b/2/"+c["uuid"].(string)+".json", nil).is(404)
		s.api("DELETE", "/api/v3/checks/"+c["uuid"].(string), nil).is(200)
		s.equal("a tag of no check", s.send("GET", gone, nil).is(200).body, `{"status":"up","total":0,"grace":0,"down":0}`)
	})
}
