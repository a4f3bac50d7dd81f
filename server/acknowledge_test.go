package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/checks"
	"github.com/rollcall-dev/rollcall/checks/audit"
	"github.com/rollcall-dev/rollcall/checks/monitor"
	"github.com/rollcall-dev/rollcall/pings"
	"github.com/rollcall-dev/rollcall/server"
)

func TestAcknowledge(t *testing.T) {
	both(t, nil, func(s *site) {
		check := s.create(object{"slug": "nightly"})
		before := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
		at := path(check) + "/acknowledge"
		s.api("POST", at, object{}).refused(409, "check is not down")
		s.ping(check, "/fail")
		down := s.get(check)
		if _, some := down["acknowledged"]; some {
			t.Error("a check without an acknowledgement has the key")
		}
		for body, want := range map[string]string{
			`{"for": 59}`: "for is too small: 59, the minimum is 60", `{"for": 2592001}`: "for is too large: 2592001, the maximum is 2592000",
			`{"for": "4h"}`: "for is not a number", `{"note": 1}`: "note is not a string", `{"take_over": 1}`: "take_over is not a boolean",
			`{"by": "` + strings.Repeat("x", 101) + `"}`: "by is too long: 101 characters, the maximum is 100", `{"for": null}`: "for is not a number",
		} {
			s.api("POST", at, body).refusedField(strings.Split(want, " ")[0], want)
		}
		s.api("POST", at, object{"note": strings.Repeat("x", 1_000_000)}).is(413)
		s.equal("nothing has changed", s.get(check), down)
		s.equal("by the key", s.api("POST", at, nil).object(200)["acknowledged"].(map[string]any)["by"], any("the API key "+s.keys.ReadWrite[:8]+"…"))
		s.api("DELETE", at, nil).is(200)
		acked := s.api("POST", at, object{"by": "Anna", "for": 14400, "note": "disk <b>full"}).object(200)
		want := map[string]any{"by": "Anna", "at": "2026-03-15T12:00:00+00:00", "until": "2026-03-15T16:00:00+00:00", "note": "disk <b>full"}
		s.equal("the answer", acked["acknowledged"], any(want))
		s.equal("the check", s.get(check)["acknowledged"], any(want))
		unnamed := map[string]any{"at": want["at"], "until": want["until"], "note": want["note"]}
		s.equal("with a read-only key", s.send("GET", "/api/v3/checks/"+before["unique_key"].(string), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["acknowledged"], any(unnamed))
		if body := s.send("GET", "/api/v3/checks/", nil, "X-Api-Key", s.keys.ReadOnly).is(200).body; strings.Contains(body, "Anna") {
			t.Error(body)
		}
		s.api("POST", at, object{"by": "Bert"}).refused(409, "already acknowledged by Anna since 2026-03-15 12:00 UTC")
		s.equal("taken over", s.api("POST", at, object{"by": "Bert", "take_over": true}).object(200)["acknowledged"].(map[string]any)["until"], any(nil))
		s.equal("given back", s.api("DELETE", at, nil).object(200)["status"], any("down"))
		s.api("POST", at, object{"by": "Anna", "for": 60}).is(200)
		s.clock.Advance(time.Minute)
		s.equal("after its end", s.get(check), down)
	})
}

// TestAcknowledgeMany acknowledges what a request selects, and nothing of another project, whatever the request names.
func TestAcknowledgeMany(t *testing.T) {
	both(t, nil, func(s *site) {
		const at = "/api/v3/acknowledge/"
		victim := *s
		victim.project, victim.keys = s.otherProject("Victim")
		theirs := victim.create(object{"slug": "a", "tags": "db eu"})
		victim.ping(theirs, "/fail")
		before := victim.get(theirs)
		slugs := func(list any) (slugs []string) {
			for _, c := range list.([]any) {
				slugs = append(slugs, c.(map[string]any)["slug"].(string))
			}
			return slugs
		}
		many := func(body any, acknowledged, taken []string) {
			s.Helper()
			answer := s.api("POST", at, body).object(200)
			s.equal(fmt.Sprint(body), []any{slugs(answer["acknowledged"]), slugs(answer["taken"])}, []any{acknowledged, taken})
		}
		many(object{"all": true}, nil, nil)
		ids := make(map[string]string)
		for slug, tags := range map[string]string{"a": "db eu", "b": "db", "c": "db-2 eu"} {
			check := s.create(object{"slug": slug, "tags": tags})
			ids[slug] = check["uuid"].(string)
			s.ping(check, "/fail")
		}
		s.create(object{"slug": "up", "tags": "db"})
		for body, want := range map[string]string{
			``: "all must be true", `{}`: "all must be true", `{"all": false}`: "all must be true", `{"all": 1}`: "all is not a boolean",
			`{"all": "true"}`: "all is not a boolean", `{"note": "x", "ALL": true, "tag": "db"}`: "all must be true",
			`{"tags": ""}`: "tags is empty", `{"tags": " \t\u0085"}`: "tags is empty", `{"tags": ["db"]}`: "tags is not a string", `{"slug": "", "tags": "db"}`: "slug is empty",
			`{"checks": []}`: "checks is empty", `{"checks": "x"}`: "checks is not an array", `{"checks": ["x"]}`: `checks has an item that is not a UUID: "x"`,
			`{"checks": ["{` + ids["a"] + `}"]}`: "checks has an item that is not a UUID", `{"checks": ["` + strings.ReplaceAll(ids["a"], "-", "") + `"]}`: "checks has an item that is not a UUID",
			`{"checks": [` + strings.Repeat(`"`+unknownUUID+`",`, checks.MaxAckChecks) + `"` + unknownUUID + `"]}`: "checks has 10001 items, the maximum is 10000",
			`{"all": true, "tags": "db"}`: "tags and all exclude each other", `{"all": true, "checks": ["` + ids["a"] + `"]}`: "checks and all exclude each other",
			`{"all": true, "for": 59}`: "for is too small", `{"all": true, "by": "` + strings.Repeat("x", 101) + `"}`: "by is too long", `{"all": true, "take_over": 1}`: "take_over is not a boolean",
		} {
			r := s.api("POST", at, body).is(400)
			if got := r.object(400); !strings.HasPrefix(fmt.Sprint(got["error"]), want) || got["field"] != strings.Split(want, " ")[0] {
				t.Errorf("%.200s: %v, want %s", body, got, want)
			}
		}
		s.api("POST", at+"?tag=db&all=1", object{}).refusedField("all", "all must be true if neither slug, tags nor checks is set")
		s.api("POST", at, object{"all": true, "note": strings.Repeat("x", 1_000_000)}).is(413)
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			s.undocumented(method, at, "X-Api-Key", s.keys.ReadWrite).is(405)
		}
		s.api("POST", "/api/v3/checks/acknowledge", object{"all": true}).is(404)
		for _, key := range [][]string{
			{"X-Api-Key", s.keys.ReadOnly}, {"X-Api-Key", s.newKey(s.project.ID, checks.ReadIDs)}, {"X-Ping-Key", s.project.PingKey}, {"X-Api-Key", s.project.PingKey},
		} {
			if r := s.send("POST", at, object{"all": true}, key...); r.status != 401 && r.status != 403 {
				t.Errorf("with %s: %d %s", key[0], r.status, r.body)
			}
		}
		s.api("POST", at, object{"slug": "\x00"}).refusedField("slug", "slug has a NUL character")
		s.api("POST", at, object{"tags": "db \x00"}).refusedField("tags", "tags has a NUL character")
		s.api("POST", at, object{"slug": strings.Repeat("s", 101)}).refusedField("slug", "slug is too long: 101 characters, the maximum is 100")
		s.api("POST", at, object{"tags": strings.Repeat("t", 501)}).refusedField("tags", "tags is too long: 501 characters, the maximum is 500")
		many(object{"checks": []string{theirs["uuid"].(string), unknownUUID}}, nil, nil)
		many(object{"checks": []string{theirs["uuid"].(string), strings.ToUpper(ids["a"])}, "tags": " eu  db "}, []string{"a"}, nil)
		s.equal("the field of the check", s.get(object{"uuid": ids["a"]})["acknowledged"].(map[string]any)["by"], any("the API key "+s.keys.ReadWrite[:8]+"…"))
		for slug := range ids {
			if _, some := s.get(object{"uuid": ids[slug]})["acknowledged"]; some != (slug == "a") {
				t.Errorf("%s is acknowledged: %v", slug, some)
			}
		}
		many(object{"tags": "db", "by": "Anna", "for": 3600}, []string{"b"}, []string{"a"})
		many(object{"tags": "db", "by": "Anna"}, []string{"b"}, []string{"a"}) // once more
		if until := s.get(object{"uuid": ids["b"]})["acknowledged"].(map[string]any)["until"]; until != "2026-03-15T13:00:00+00:00" {
			t.Errorf("a repeated request sets the end to %v", until)
		}
		many(object{"slug": "a", "by": "Anna", "take_over": true}, []string{"a"}, nil)
		answer := s.api("POST", at, object{"all": true, "by": "Bert"}).object(200)
		s.equal("all", slugs(answer["acknowledged"]), []string{"c"})
		s.equal("who has the rest", answer["taken"].([]any)[0].(map[string]any)["acknowledged"].(map[string]any)["by"], any("Anna"))
		s.equal("the other project", victim.get(theirs), before)
	})
}

// TestAcknowledgeLink follows the link of an alert as mail scanners and people do.
func TestAcknowledgeLink(t *testing.T) {
	each(t, &server.Config{BaseURL: "https://rollcall.example.org/ops", AccessLog: true}, func(s *site) {
		project := s.mon.Project(s.project.ID)
		c, err := project.Create(s.Context(), checks.Spec{Name: new("<b>nightly"), Desc: new("VICTIM"), Tags: []string{"VICTIM"}})
		s.must(err)
		fail := func(kind pings.Kind) string {
			s.clock.Advance(time.Minute)
			_, err := s.mon.Ping(s.Context(), c.ID, pings.Signal{Kind: kind, Body: []byte("VICTIM")})
			s.must(err)
			c, err = project.Check(s.Context(), c.ID)
			s.must(err)
			return strings.TrimPrefix(s.server.AcknowledgeURL(s.Context(), *c.Check), "https://rollcall.example.org")
		}
		who := func() string {
			c, err := project.Check(s.Context(), c.ID)
			s.must(err)
			return c.Ack.By + "|" + c.Ack.Note
		}
		shows := func(r reply, want ...string) {
			s.Helper()
			for _, part := range want {
				if !strings.Contains(r.body, part) {
					s.Errorf("%s: %d lacks %q: %s", r.what, r.status, part, r.body)
				}
			}
			if strings.Contains(r.body, "VICTIM") || strings.Contains(r.body, c.ID.String()) || strings.Contains(r.body, "<script>") {
				s.Errorf("%s reveals something: %s", r.what, r.body)
			}
		}
		form := func(values ...string) string {
			sent := url.Values{}
			for i := 0; i < len(values); i += 2 {
				sent.Set(values[i], values[i+1])
			}
			return sent.Encode()
		}
		post := func(path string, values ...string) reply {
			return s.send("POST", path, form(values...), "Content-Type", "application/x-www-form-urlencoded")
		}
		s.equal("an address while it is up", fail(pings.Success), "")
		link := fail(pings.Failure)
		for range 2 {
			s.send("HEAD", link, nil).is(200)
			shows(s.send("GET", link+"?name=Bot&note=x", nil).is(200), "&lt;b&gt;nightly", "I have it", "Your name")
		}
		shows(post(link, "note", "x").is(422), "Say who you are.")
		shows(post(link, "name", strings.Repeat("x", 101)).is(422), "The name is too long")
		shows(post(link, "name", "Anna", "note", strings.Repeat("x", 501)).is(422), "note is too long")
		post(link, "name", strings.Repeat("x", 20_000)).is(400)
		s.equal("nobody has it", who(), "|")
		shows(post(link, "name", "<script>Anna", "note", "disk <b>full").is(200), "You have it.", "stop until it is up again.")
		s.clock.Advance(time.Minute)
		s.equal("who has it", who(), "<script>Anna (name given by link)|disk <b>full")
		shows(post(link, "name", "Bert").is(422), "Someone else already has it.")
		shows(s.send("GET", link, nil).is(200), "&lt;script&gt;Anna (name given by link) has had it since", "until it is up again", "take_over", "Take it over")
		shows(post(link, "name", "Bert", "take_over", "1", "hours", "4").is(200), "stop until 15 Mar 16:", ", or until it is up again.")
		s.equal("taken over", who(), "Bert (name given by link)|")
		s.clock.Advance(time.Minute)
		for range 10 {
			post(link).is(422)
		}
		s.equal("Retry-After", post(link, "name", "Eve", "take_over", "1").is(429).header.Get("Retry-After"), "6")
		s.equal("still", who(), "Bert (name given by link)|")
		// Who types the name of somebody else does not have what that one has, and the API says that nobody has proved the name.
		at := "/ops" + path(object{"uuid": c.ID.String()}) + "/acknowledge"
		s.api("POST", at, object{"by": "Bert", "take_over": true}).is(200)
		s.clock.Advance(time.Minute)
		shows(post(link, "name", "Bert", "note", "mine").is(422), "Someone else already has it.")
		s.equal("still Bert's", who(), "Bert|")
		long := strings.Repeat("y", 100)
		shows(post(link, "name", long, "take_over", "1").is(200), "You have it.")
		by := s.api("GET", strings.TrimSuffix(at, "/acknowledge"), nil).object(200)["acknowledged"].(map[string]any)["by"].(string)
		if len([]rune(by)) > 100 || !strings.HasPrefix(by, "yyyy") || !strings.HasSuffix(by, " (name given by link)") {
			s.Errorf("by %q", by)
		}
		s.equal("Allow", s.send("DELETE", link, nil).is(405).header.Get("Allow"), "GET, HEAD, POST")
		if log := s.log.String(); strings.Contains(log, strings.TrimPrefix(link, "/ops/acknowledge/")) || !strings.Contains(log, "/acknowledge") {
			s.Error(log)
		}

		// Another outage has another link.
		fail(pings.Success)
		shows(post(link, "name", "Anna").is(200), "This outage is over.")
		next := fail(pings.Failure)
		shows(post(link, "name", "Anna").is(200), "This outage is over.")
		s.equal("nobody has the next outage", who(), "|")
		s.clock.Advance(7*24*time.Hour + time.Second)
		shows(post(next, "name", "Anna").is(200), "This link has expired.")
		s.equal("nobody has it after the link has expired", who(), "|")

		good := strings.TrimPrefix(next, "/ops/acknowledge/")
		raw, err := base64.RawURLEncoding.DecodeString(good)
		s.must(err)
		for _, token := range []string{"", "x", "..", good + "A", good[1:], good + "/x", strings.Repeat("A", 10_000), "%00"} {
			post("/ops/acknowledge/"+token, "name", "Eve").is(404)
		}
		for i := range raw { // the signature, the project, the check, the outage and the expiry
			forged := []byte(string(raw))
			forged[i] ^= 1
			post("/ops/acknowledge/"+base64.RawURLEncoding.EncodeToString(forged), "name", "Eve").is(404)
		}
		s.equal("nobody has it", who(), "|")
	})
}

// inbox keeps what was sent.
type inbox struct {
	mu   sync.Mutex
	list []channels.Notification
}

func (i *inbox) Notify(_ context.Context, _ channels.Channel, n channels.Notification) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, n)
	return nil
}

// last returns the last notification about several checks.
func (i *inbox) last() (n channels.Notification) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, one := range i.list {
		if len(one.Combined) > 0 {
			n = one
		}
	}
	return n
}

// TestAcknowledgeAll follows the link of a message about several checks, of which some are up, down again, gone or somebody's.
func TestAcknowledgeAll(t *testing.T) {
	both(t, nil, func(s *site) {
		got := &inbox{}
		var web *server.Server
		s = s.another(s.store, monitor.Config{
			Channels:           []channels.Type{{Kind: "chat", Notifier: got, Combines: true}},
			DeliveredElsewhere: true, AuditRetention: time.Hour,
			AckLink: func(ctx context.Context, c checks.Check) string { return web.AcknowledgeURL(ctx, c) },
			AckAllLink: func(ctx context.Context, project uuid.UUID, batch, last int64) string {
				return web.AcknowledgeAllURL(ctx, project, batch, last)
			},
		}, server.Config{BaseURL: "https://rollcall.example.org"})
		web = s.server
		project := s.mon.Project(s.project.ID)
		_, err := project.CreateChannel(s.Context(), channels.Channel{Kind: "chat", Name: "chat"})
		s.must(err)
		jobs := make(map[string]checks.Snapshot)
		tick := func(d time.Duration) {
			s.clock.Advance(d)
			s.must(s.mon.Tick(s.Context()))
		}
		signal := func(name string, kind pings.Kind) {
			s.Helper()
			s.clock.Advance(time.Second)
			_, err := s.mon.Ping(s.Context(), jobs[name].ID, pings.Signal{Kind: kind})
			s.must(err)
		}
		for i := range 34 { // the first four alerts are sent alone
			name := fmt.Sprintf("job %02d", i)
			jobs[name], err = project.Create(s.Context(), checks.Spec{Name: &name, Channels: new("*"), Desc: new("VICTIM"), RepeatEvery: new(2 * time.Hour)})
			s.must(err)
			_, err = s.mon.Ping(s.Context(), jobs[name].ID, pings.Signal{Kind: pings.Failure, Body: []byte("VICTIM")})
			s.must(err)
			tick(0)
		}
		s.equal("no link yet", got.last().AckURL, "")
		tick(2 * time.Minute)
		message := got.last()
		s.equal("checks in the message", len(message.Combined), 30)
		link, own := strings.TrimPrefix(message.AckURL, "https://rollcall.example.org"), message.Combined[0].AckURL
		if !strings.HasPrefix(link, "/acknowledge/") || len(message.AckURL) > len(own) {
			s.Fatalf("the link of all is %q, that of one %q", message.AckURL, own)
		}
		signal("job 05", pings.Success)
		signal("job 06", pings.Success)
		signal("job 06", pings.Failure) // another outage
		_, err = project.Delete(s.Context(), jobs["job 07"].ID)
		s.must(err)
		_, err = project.Acknowledge(s.Context(), jobs["job 08"].ID, checks.AckSpec{By: "Bert"})
		s.must(err)

		who := func(name string) string {
			s.Helper()
			c, err := project.Check(s.Context(), jobs[name].ID)
			s.must(err)
			return c.Ack.By
		}
		shows := func(r reply, want ...string) {
			s.Helper()
			for _, part := range want {
				if !strings.Contains(r.body, part) {
					s.Errorf("%s: %d lacks %q: %s", r.what, r.status, part, r.body)
				}
			}
			if strings.Contains(r.body, "VICTIM") || strings.Contains(r.body, jobs["job 10"].ID.String()) || strings.Contains(r.body, "job 00") {
				s.Errorf("%s reveals something: %s", r.what, r.body)
			}
		}
		post := func(path string, values url.Values) reply {
			return s.send("POST", path, values.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		}
		for range 2 {
			s.send("HEAD", link, nil).is(200)
			shows(s.send("GET", link+"?name=Bot", nil).is(200), "29 checks", "Still down, 27: job 04, job 08, job 09, ", " and 7 more", "Up already, 2: job 05, job 06", "Somebody has already, 1: job 08", "I have them")
		}
		shows(post(link, url.Values{"note": {"x"}}).is(422), "Say who you are.")
		shows(post(link, url.Values{"name": {strings.Repeat("x", 101)}}).is(422), "The name is too long")
		s.equal("nobody has it", who("job 10"), "")
		shows(post(link, url.Values{"name": {"Anna"}, "hours": {"4"}}).is(200), "You have 26 outages.", "or until they are up again", "Acknowledged, 26: job 04, job 09", "Up already, 2: job 05, job 06", "Somebody has already, 1: job 08")
		anna := "Anna (name given by link)"
		s.equal("who has them", []string{who("job 04"), who("job 33"), who("job 08"), who("job 06"), who("job 05"), who("job 00")}, []string{anna, anna, "Bert", "", "", ""})
		log, err := s.mon.Installation().Audit(s.Context(), audit.Query{Project: s.project.ID, Check: jobs["job 33"].ID, Limit: 1})
		s.must(err)
		s.equal("the audit log", []any{log[0].Action, log[0].Actor}, []any{"check.acknowledge", audit.Actor{Kind: audit.Link, Name: "Anna", Address: "127.0.0.1"}})
		shows(post(link, url.Values{"name": {"Anna"}, "take_over": {"1"}}).is(200), "You have 27 outages.", "until they are up again.")
		s.equal("taken over", who("job 08"), anna)

		for range 10 {
			post(link, nil)
		}
		post(link, url.Values{"name": {"Eve"}}).is(429)
		good := strings.TrimPrefix(link, "/acknowledge/")
		raw, err := base64.RawURLEncoding.DecodeString(good)
		s.must(err)
		for i := range raw { // the signature, the project, the deliveries and the expiry
			forged := []byte(string(raw))
			forged[i] ^= 1
			post("/acknowledge/"+base64.RawURLEncoding.EncodeToString(forged), url.Values{"name": {"Eve"}}).is(404)
		}
		for name := range jobs {
			if name != "job 07" {
				signal(name, pings.Success)
			}
		}
		shows(s.send("GET", link, nil).is(200), "These outages are over.")
		tick(0)
		tick(2 * time.Minute)
		s.equal("a message that checks are up", []any{got.last().Status, got.last().AckURL}, []any{channels.Up, ""})
		s.clock.Advance(7*24*time.Hour + time.Second)
		shows(post(link, url.Values{"name": {"Eve"}}).is(200), "This link has expired.")
	})
}
