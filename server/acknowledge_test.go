package server_test

import (
	"strings"
	"testing"
	"time"
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
		s.equal("nothing has changed", s.get(check), down)
		s.equal("by the key", s.api("POST", at, nil).object(200)["acknowledged"].(map[string]any)["by"], any("the API key "+s.keys.ReadWrite[:8]+"…"))
		s.api("DELETE", at, nil).is(200)
		acked := s.api("POST", at, object{"by": "Anna", "for": 14400, "note": "disk <b>full"}).object(200)
		want := map[string]any{"by": "Anna", "at": "2026-03-15T12:00:00+00:00", "until": "2026-03-15T16:00:00+00:00", "note": "disk <b>full"}
		s.equal("the answer", acked["acknowledged"], any(want))
		s.equal("the check", s.get(check)["acknowledged"], any(want))
		s.equal("with a read-only key", s.send("GET", "/api/v3/checks/"+before["unique_key"].(string), nil, "X-Api-Key", s.keys.ReadOnly).object(200)["acknowledged"], any(want))
		s.api("POST", at, object{"by": "Bert"}).refused(409, "already acknowledged by Anna since 2026-03-15 12:00 UTC")
		s.equal("taken over", s.api("POST", at, object{"by": "Bert", "take_over": true}).object(200)["acknowledged"].(map[string]any)["until"], any(nil))
		s.equal("given back", s.api("DELETE", at, nil).object(200)["status"], any("down"))
		s.api("POST", at, object{"by": "Anna", "for": 60}).is(200)
		s.clock.Advance(time.Minute)
		s.equal("after its end", s.get(check), down)
	})
}
