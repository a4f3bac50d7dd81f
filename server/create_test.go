package server_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// defaults is the document of a check that was created without any field, without the fields that the server chooses.
func (s *site) defaults(check object) object {
	id, _ := check["uuid"].(string)
	if !uuidForm.MatchString(id) {
		s.Errorf("uuid is %q, want a canonical UUID", id)
	}
	badge, _ := check["badge_url"].(string)
	if key, found := strings.CutPrefix(badge, s.url+"/b/2/"); !found || !uuidForm.MatchString(strings.TrimSuffix(key, ".svg")) {
		s.Errorf("badge_url is %q", badge)
	}
	return object{
		"name": "", "slug": "", "tags": "", "desc": "", "grace": 3600.0, "timeout": 86400.0,
		"n_pings": 0.0, "status": "new", "started": false, "last_ping": nil, "next_ping": nil,
		"manual_resume": false, "methods": "", "start_kw": "", "success_kw": "", "failure_kw": "",
		"filter_subject": false, "filter_body": false, "filter_http_body": false, "filter_default_fail": false,
		"badge_url": badge, "uuid": id, "ping_url": s.url + "/ping/" + id,
		"update_url": s.url + "/api/v3/checks/" + id, "pause_url": s.url + "/api/v3/checks/" + id + "/pause",
		"resume_url": s.url + "/api/v3/checks/" + id + "/resume", "channels": "", "subject": "", "subject_fail": "",
	}
}

func without(o object, keys ...string) object {
	rest := object{}
	for key, value := range o {
		rest[key] = value
	}
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}

// TestPastedSchedules: what can mean only one thing is taken, and returned as it was given. The error of the rest says what to
// write.
func TestPastedSchedules(t *testing.T) {
	each(t, nil, func(s *site) {
		for expr, next := range map[string]string{"@midnight": "2026-03-16T00:00:00+00:00", "OnCalendar=*-*-* 23:00": "2026-03-15T23:00:00+00:00", "0 22 * * * # late": "2026-03-15T22:00:00+00:00"} {
			check := s.create(object{"schedule": expr})
			s.equal("schedule", check["schedule"], any(expr))
			s.ping(check, "")
			s.equal("next_ping", s.get(check)["next_ping"], any(next))
			s.equal("updated", s.api("POST", path(check), object{"schedule": expr}).object(200)["schedule"], any(expr))
		}
		for expr, want := range map[string]string{
			"TZ=Europe/London 0 9 * * *": `write "Europe/London" as the time zone and "0 9 * * *" as the schedule`,
			"cron(0 3 * * ? *)":          "write 0 3 * * *",
			"@every 1h":                  "give the check a timeout of 1h instead",
			"@reboot":                    "names no time",
			"0 3 * * * /usr/bin/backup":  `write "0 3 * * *" alone`,
		} {
			text, _ := s.api("POST", "/api/v3/checks/", object{"schedule": expr}).object(400)["error"].(string)
			if !strings.Contains(text, want) {
				s.Errorf("%s: %s, want %s", expr, text, want)
			}
		}
	})
}

func TestCreateDefaults(t *testing.T) {
	each(t, nil, func(s *site) {
		for _, body := range []any{nil, "", "{}", " {\n} ", `{"nothing": null, "NAME": 5, "unique": []}`} {
			check := s.api("POST", "/api/v3/checks/", body).object(201)
			want := s.defaults(check)
			s.equal("created", check, want)
			s.equal("read", s.get(check), without(want, "subject", "subject_fail"))
		}
		check := s.create(object{"schedule": "0 3 * * *"})
		want := without(s.defaults(check), "timeout")
		want["schedule"], want["tz"] = "0 3 * * *", "UTC"
		s.equal("created", check, want)
	})
}

func TestCreateEveryField(t *testing.T) {
	each(t, nil, func(s *site) {
		fields := object{
			"name": "Ночь <b>&amp; \"quotes\" \u2028 🎉", "slug": "nightly_backup-1", "tags": " db  prod ", "desc": "line\nline\ttab\\",
			"grace": 60, "timeout": 31536000, "manual_resume": true, "methods": "POST",
			"start_kw": "begin, START", "success_kw": "done", "failure_kw": "ERROR,fatal",
			"filter_subject": true, "filter_body": true, "filter_http_body": true, "filter_default_fail": true,
		}
		check := s.create(fields)
		want := s.defaults(check)
		for field, value := range fields {
			if n, ok := value.(int); ok {
				value = float64(n)
			}
			want[field] = value
		}
		s.equal("created", check, want)
		s.equal("read", s.get(check), without(want, "subject", "subject_fail"))

		// A schedule wins over a timeout, in either order.
		for _, body := range []string{
			`{"schedule":"*/5 * * * *","tz":"Europe/Riga","timeout":60}`, `{"timeout":60,"tz":"Europe/Riga","schedule":"*/5 * * * *"}`,
		} {
			check = s.api("POST", "/api/v3/checks/", body).object(201)
			s.equal("kind", []any{check["schedule"], check["tz"], check["timeout"]}, []any{"*/5 * * * *", "Europe/Riga", nil})
		}
		check = s.create(object{"timeout": 60, "tz": "Europe/Riga"})
		s.equal("tz alone", []any{check["schedule"], check["tz"], check["timeout"]}, []any{nil, nil, 60.0})
		check = s.create(object{"schedule": "Mon..Fri *-*-* 09:00"})
		s.equal("OnCalendar", check["schedule"], any("Mon..Fri *-*-* 09:00"))
	})
}

func TestReadableJSON(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(object{"name": "<a> & <b>"})
		if r := s.api("GET", path(check), nil); !strings.Contains(r.body, `"name":"<a> & <b>"`) {
			s.Errorf("the name is escaped beyond need: %s", r.body)
		}
	})
}

// TestBounds tests every field on both sides of its bounds.
func TestBounds(t *testing.T) {
	of := func(n int, text string) string { return strings.Repeat(text, n) }
	cases := []struct {
		field   string
		value   any
		refused string // start of the error, "" if the value is accepted
	}{
		{"timeout", 60, ""},
		{"timeout", 59, "timeout is too small: 59, the minimum is 60"},
		{"timeout", 31536000, ""},
		{"timeout", 31536001, "timeout is too large: 31536001, the maximum is 31536000"},
		{"timeout", 0, "timeout is too small: 0, the minimum is 60"},
		{"timeout", -60, "timeout is too small: -60, the minimum is 60"},
		{"max_runtime", 0, ""},
		{"max_runtime", 60, ""},
		{"max_runtime", 59, "max_runtime is too small: 59, the minimum is 60"},
		{"max_runtime", -1, "max_runtime is too small: -1, the minimum is 60"},
		{"max_runtime", 31536000, ""},
		{"max_runtime", 31536001, "max_runtime is too large: 31536001, the maximum is 31536000"},
		{"alert_after", 0, ""},
		{"alert_after", 100, ""},
		{"alert_after", 101, "alert_after is too large: 101, the maximum is 100"},
		{"alert_after", -1, "alert_after is too small: -1, the minimum is 0"},
		{"repeat_every", 0, ""},
		{"repeat_every", 60, ""},
		{"repeat_every", 59, "repeat_every is too small: 59, the minimum is 60"},
		{"repeat_every", -1, "repeat_every is too small: -1, the minimum is 60"},
		{"repeat_every", 31536000, ""},
		{"repeat_every", 31536001, "repeat_every is too large: 31536001, the maximum is 31536000"},
		{"record_only", true, ""},
		{"record_only", "on", "record_only is not a boolean"},
		{"after", "", ""},
		{"after", "nothing", "after names a check that this project does not have: \"nothing\""},
		{"after", []any{"a"}, "after is not a string"},
		{"after", "a b,c d e f g h i j k", "after names too many checks: 11, the maximum is 10"},
		{"quiet_hours", "", ""},
		{"quiet_hours", "22:00-06:00; Sat,Sun 00:00-24:00", ""},
		{"quiet_hours", "22:00-06:00" + of(189, ";"), ""},
		{"quiet_hours", "22:00-06:00" + of(190, ";"), "quiet_hours is too long: 201 characters, the maximum is 200"},
		{"quiet_hours", "22:00", "quiet_hours cannot be read: \"22:00\": it has no end"},
		{"quiet_hours", "00:00-24:00", "quiet_hours cannot be read: the windows cover all time"},
		{"quiet_hours", "22:00-06:00\x00", "quiet_hours has a NUL character"},
		{"grace", 60, ""},
		{"grace", 59, "grace is too small: 59, the minimum is 60"},
		{"grace", 31536000, ""},
		{"grace", 31536001, "grace is too large: 31536001, the maximum is 31536000"},
		{"name", of(100, "é"), ""},
		{"name", of(101, "é"), "name is too long: 101 characters, the maximum is 100"},
		{"name", "a\x00b", "name has a NUL character"},
		{"slug", of(100, "a"), ""},
		{"slug", of(101, "a"), "slug is too long: 101 characters, the maximum is 100"},
		{"slug", "Abc", `slug may only have a-z, 0-9, hyphen and underscore: "Abc"`},
		{"slug", "a b", `slug may only have a-z, 0-9, hyphen and underscore: "a b"`},
		{"slug", "a\n", `slug may only have a-z, 0-9, hyphen and underscore: "a\n"`},
		{"slug", "a-z_09", ""},
		{"tags", of(500, "t"), ""},
		{"tags", of(501, "t"), "tags is too long: 501 characters, the maximum is 500"},
		{"desc", of(10000, "ü"), ""},
		{"desc", of(10001, "ü"), "desc is too long: 10001 characters, the maximum is 10000"},
		{"desc", "\x00", "desc has a NUL character"},
		{"start_kw", of(200, "k"), ""},
		{"start_kw", of(201, "k"), "start_kw is too long: 201 characters, the maximum is 200"},
		{"success_kw", of(200, "k"), ""},
		{"success_kw", of(201, "k"), "success_kw is too long: 201 characters, the maximum is 200"},
		{"failure_kw", of(200, "k"), ""},
		{"failure_kw", of(201, "k"), "failure_kw is too long: 201 characters, the maximum is 200"},
		{"methods", "", ""},
		{"methods", "POST", ""},
		{"methods", "GET", `methods must be "" or "POST": "GET"`},
		{"methods", "post", `methods must be "" or "POST": "post"`},
		{"schedule", "0 0 1 1 *", ""},
		{"schedule", of(101, "*"), "schedule is too long: 101 characters, the maximum is 100"},
		{"schedule", "* * * *", "schedule is not a valid cron or OnCalendar expression"},
		{"schedule", "", "schedule is not a valid cron or OnCalendar expression"},
		{"schedule", "every day at 3:00", "schedule is not a valid cron or OnCalendar expression"}, // words are for people
		{"schedule", "0 0 31 2 *", "schedule"},
		{"tz", "Europe/Riga", ""},
		{"tz", "Mars/Olympus", "tz is not a valid time zone"},
		{"tz", "", "tz is not a valid time zone"},
		{"tz", "Local", "tz is not a valid time zone"},
		{"tz", "../etc/passwd", "tz is not a valid time zone"},
		{"unique", []string{"name", "slug", "tags", "timeout", "grace"}, ""},
		{"unique", []string{"name", "desc"}, `unique has an unexpected item: "desc", the allowed ones are name, slug, tags, timeout and grace`},
		{"channels", "", ""},
		{"channels", "*", ""},
		{"channels", "none", `channels: no integration has the id or name "none"`},
		{"channels", unknownUUID, `channels: no integration has the id or name "` + unknownUUID + `"`},
		{"channels", "x\x00", "channels has a NUL character"},
	}
	each(t, nil, func(s *site) {
		check := s.create(nil)
		before := s.get(check)
		for _, c := range cases {
			body := object{c.field: c.value}
			if c.refused == "" {
				s.api("POST", "/api/v3/checks/", body).is(201)
				continue
			}
			for _, path := range []string{"/api/v3/checks/", path(check)} {
				if c.field == "unique" && path != "/api/v3/checks/" {
					continue // not a parameter of update
				}
				r := s.api("POST", path, body)
				var o object
				r.is(400).decode(&o)
				if text, _ := o["error"].(string); !strings.HasPrefix(text, c.refused) || o["field"] != c.field {
					s.Errorf("%s=%v: error %v, want %q", c.field, c.value, o, c.refused)
				}
			}
		}
		s.equal("after refused updates", s.get(check), before)
	})
}

func TestTypes(t *testing.T) {
	kinds := map[string][]string{
		"string":  {"name", "slug", "tags", "desc", "schedule", "tz", "methods", "channels", "start_kw", "success_kw", "failure_kw", "quiet_hours", "api_key"},
		"number":  {"timeout", "grace", "max_runtime", "alert_after", "repeat_every"},
		"boolean": {"manual_resume", "filter_subject", "filter_body", "filter_http_body", "filter_default_fail"},
		"array":   {"unique"},
	}
	values := map[string][]string{
		"string":  {"null", "5", "true", "{}", "[]", `["a"]`},
		"number":  {"null", `"60"`, "true", "{}", "[60]"},
		"boolean": {"null", "0", "1", `"true"`, "{}", "[]"},
		"array":   {"null", `"name"`, "{}", "1", "true"},
	}
	each(t, nil, func(s *site) {
		check := s.create(nil)
		for kind, fields := range kinds {
			article := "a "
			if kind == "array" {
				article = "an "
			}
			for _, field := range fields {
				for _, value := range values[kind] {
					body := `{"` + field + `":` + value + `}`
					s.api("POST", "/api/v3/checks/", body).refusedField(field, field+" is not "+article+kind)
					if field == "unique" {
						s.api("POST", path(check), body).is(200) // unknown there, so ignored
						continue
					}
					s.api("POST", path(check), body).refusedField(field, field+" is not "+article+kind)
				}
			}
		}
		s.api("POST", "/api/v3/checks/", `{"unique":["name",5]}`).refusedField("unique", "unique has an item that is not a string")
		s.api("POST", "/api/v3/checks/", `{"unique":[null]}`).refusedField("unique", "unique has an item that is not a string")
		s.api("POST", "/api/v3/checks/", `{"name":"\ud800"}`).refusedField("name", `name is not valid Unicode: \ud800 stands alone`)
		s.api("POST", "/api/v3/checks/", `{"timeout":60.5}`).refusedField("timeout", "timeout is not a whole number: 60.5")
		s.api("POST", "/api/v3/checks/", `{"timeout":1e400}`).refusedField("timeout", "timeout is too large: 1e400, the maximum is 31536000")
		s.equal("36e2", s.api("POST", "/api/v3/checks/", `{"timeout":36e2,"grace":3600.0}`).object(201)["timeout"], any(3600.0))
	})
}

func TestMalformedBodies(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		for body, text := range map[string]string{
			"[]":                  "the body is not a JSON object",
			"null":                "the body is not a JSON object",
			`"{}"`:                "the body is not a JSON object",
			"{}{}":                "the body is not valid JSON: ",
			" ":                   "the body is not valid JSON: ",
			"name=x":              "the body is not valid JSON: ",
			"{\"name\":\"\xff\"}": "the body is not valid UTF-8",
			"--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nbackup\r\n--x--": "the body is not valid JSON: ",
			strings.Repeat(`{"a":`, 100_000):                                              "the body is not valid JSON: ",
		} {
			for _, path := range []string{"/api/v3/checks/", path(check)} {
				// encoding/json writes the text after the colon.
				o := s.api("POST", path, body).object(400)
				if got, _ := o["error"].(string); !strings.HasPrefix(got, text) || len(o) != 1 {
					s.Errorf("body %.40q: error %v, want %q without a field", body, o, text)
				}
			}
		}
		s.send("POST", "/api/v3/checks/", "name=x", "X-Api-Key", s.keys.ReadWrite, "Content-Type", "application/x-www-form-urlencoded").is(400)
		s.send("POST", "/api/v3/checks/", "{}", "X-Api-Key", s.keys.ReadWrite, "Content-Type", "text/plain").is(201)
		// A text that quotes the request is cut.
		long := s.api("POST", "/api/v3/checks/", object{"methods": strings.Repeat("é", 100_000)}).object(400)["error"].(string)
		if len(long) > 1010 || !strings.HasPrefix(long, "methods must be") {
			s.Errorf("the error has %d bytes, want 1010 at most: %.100s", len(long), long)
		}
	})
}

func TestLargeBody(t *testing.T) {
	each(t, nil, func(s *site) {
		check := s.create(nil)
		body := func(size int) string { return `{"x":"` + strings.Repeat("a", size-8) + `"}` }
		const text = "the body is too large: the maximum is 1000000 bytes"
		for _, path := range []string{"/api/v3/checks/", path(check)} {
			if status := s.api("POST", path, body(1_000_000)).status; status != 200 && status != 201 {
				s.Errorf("body at the limit: status %d, want success", status)
			}
			s.api("POST", path, body(1_000_001)).refused(413, text)
			s.api("POST", path, body(5_000_000)).refused(413, text)
			s.send("POST", path, body(1_000_001)).refused(413, text)
			s.send("POST", path, body(1_000_001), "X-Api-Key", "wrong").is(401) // the header comes first
		}
	})
}

func TestChannels(t *testing.T) {
	each(t, nil, func(s *site) {
		s.equal("none", s.api("GET", "/api/v3/channels/", nil).list(200, "channels"), []object{})
		var ids []string
		var want []object
		for _, name := range []string{"Ops", "On call ", "Twice", "Twice", ""} {
			c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: map[string]string{"to": "ops@example.org"}})
			s.must(err)
			s.clock.Advance(time.Microsecond) // sets the order of the list
			ids = append(ids, c.ID.String())
			want = append(want, object{"id": c.ID.String(), "name": name, "kind": "email"})
		}
		s.equal("channels", s.api("GET", "/api/v3/channels/", nil).list(200, "channels"), want)
		_, other := s.otherProject("Other")
		s.equal("other", s.send("GET", "/api/v3/channels", nil, "X-Api-Key", other.ReadWrite).list(200, "channels"), []object{})
		s.send("POST", "/api/v3/checks/", object{"channels": ids[0]}, "X-Api-Key", other.ReadWrite).is(400)

		all := strings.Join(ids, ",")
		check := s.create(nil)
		for _, c := range []struct {
			selection, want string
		}{
			{"*", all},
			{"", ""},
			{ids[1], ids[1]},
			{strings.ToUpper(ids[1]), ids[1]},
			{ids[2] + "," + ids[0], ids[0] + "," + ids[2]},
			{"Ops", ids[0]},
			{"On call ,Ops," + ids[4], ids[0] + "," + ids[1] + "," + ids[4]},
			{"Ops,Ops", ids[0]},
		} {
			s.equal("created with "+c.selection, s.create(object{"channels": c.selection})["channels"], any(c.want))
			s.equal("updated with "+c.selection, s.api("POST", path(check), object{"channels": c.selection}).object(200)["channels"], any(c.want))
			s.equal("kept", s.api("POST", path(check), object{"name": "x"}).object(200)["channels"], any(c.want))
			s.equal("read", s.get(check)["channels"], any(c.want))
		}
		s.equal("omitted", s.create(object{})["channels"], any(""))
		before := s.get(check)
		for selection, text := range map[string]string{
			"ops":       `channels: no integration has the id or name "ops"`,
			"On call":   `channels: no integration has the id or name "On call"`,
			"Ops, Ops":  `channels: no integration has the id or name " Ops"`,
			"Ops,":      "channels: empty identifier",
			",":         "channels: empty identifier",
			"Twice":     `channels: 2 integrations have the name "Twice", use the id`,
			"*,Ops":     `channels: no integration has the id or name "*"`,
			unknownUUID: `channels: no integration has the id or name "` + unknownUUID + `"`,
		} {
			s.api("POST", "/api/v3/checks/", object{"channels": selection}).refusedField("channels", text)
			s.api("POST", path(check), object{"channels": selection, "name": "changed"}).refusedField("channels", text)
		}
		s.equal("after refused updates", s.get(check), before)
	})
}

// TestChannelNamedLikeID: the text of a UUID selects an integration by its name, if none has this identifier.
func TestChannelNamedLikeID(t *testing.T) {
	each(t, nil, func(s *site) {
		channel := func(name string) string {
			c, err := s.mon.Project(s.project.ID).CreateChannel(s.Context(), channels.Channel{Kind: channels.Email, Name: name, Settings: map[string]string{"to": "ops@example.org"}})
			s.must(err)
			return c.ID.String()
		}
		first := channel("Ops")
		named, shadowed := channel(unknownUUID), channel(first)
		check := s.create(object{"channels": unknownUUID})
		s.equal("by name", check["channels"], any(named))
		update := func(selection string) any {
			return s.api("POST", path(check), object{"channels": selection}).object(200)["channels"]
		}
		s.equal("by identifier", update(first), any(first))
		s.equal("by its own identifier", update(shadowed), any(shadowed))
		s.equal("twice", update(named+","+unknownUUID), any(named))
	})
}

// TestZoneNames: the old name of a time zone is saved as its current one.
func TestZoneNames(t *testing.T) {
	each(t, nil, func(s *site) {
		for sent, want := range map[string]string{
			"Europe/Kiev": "Europe/Kyiv", "US/Pacific": "America/Los_Angeles", "UCT": "Etc/UTC", "UTC": "UTC", "CET": "CET",
		} {
			check := s.create(object{"schedule": "0 4 * * *", "tz": sent})
			s.equal(sent, check["tz"], any(want))
			s.equal("read", s.get(check)["tz"], any(want))
		}
	})
}

// TestAfter reads what a check follows with each key: a read-only one does not show the UUID, which takes pings.
func TestAfter(t *testing.T) {
	each(t, nil, func(s *site) {
		parent := s.create(object{"name": "no slug"})
		check := s.create(object{"after": parent["uuid"], "record_only": true})
		s.equal("after", check["after"], parent["uuid"])
		s.equal("record_only", check["record_only"], true)
		answer := s.send("GET", path(check), nil, "X-Api-Key", s.keys.ReadOnly).object(200)
		unique := s.send("GET", path(parent), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["unique_key"]
		s.equal("after", answer["after"], unique)
	})
}
