package services_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

func gotifySample() sample {
	return sample{
		settings: values{"server_url": "http://push.example.org:8080/sub/", "token": "As3cr3tX1234567"},
		answers:  ok(`{"id":1}`),
		want: []request{{"POST", "http://push.example.org:8080/sub/message", values{"X-Gotify-Key": "As3cr3tX1234567"},
			raw(`{"title":"` + title + `","message":"` + body + `","priority":8,
				"extras":{"client::notification":{"click":{"url":"https://rollcall.example.org/c/1"}}}}`)}},
	}
}

type gotifyMessage struct {
	Title    string         `json:"title"`
	Message  string         `json:"message"`
	Priority int            `json:"priority"`
	Extras   map[string]any `json:"extras"`
}

// gotifyServer has the rules of a server of version 3.0:
// https://github.com/gotify/server/blob/v3.0.0/api/message.go and auth/token.go.
func gotifyServer(t *testing.T, tokens ...string) (*service, *[]gotifyMessage) {
	var messages []gotifyMessage
	extra := regexp.MustCompile(`^[a-z]+::([a-z]+::)?[a-z]+$`) // https://gotify.net/docs/msgextras
	return pretend(t, func(w http.ResponseWriter, r *http.Request) {
		var m gotifyMessage
		known := false
		for _, token := range tokens {
			known = known || r.Header.Get("X-Gotify-Key") == token
		}
		switch {
		case r.URL.Path != "/message" || r.Method != http.MethodPost:
			reply(w, 404, `{"error":"Not Found","errorCode":404,"errorDescription":"page not found"}`)
		case !known:
			reply(w, 401, `{"error":"Unauthorized","errorCode":401,"errorDescription":"you need to provide a valid access token"}`)
		case !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") || decode(r, &m) != nil || m.Message == "":
			reply(w, 400, `{"error":"Bad Request","errorCode":400,"errorDescription":"Field 'message' is required"}`)
		default:
			for name := range m.Extras {
				if !extra.MatchString(name) {
					t.Errorf("the extra %q has no namespace", name)
				}
			}
			messages = append(messages, m)
			reply(w, 200, `{"id":25,"appid":5,"message":"m","title":"t","priority":8,"date":"2018-02-27T19:36:10Z"}`)
		}
	}), &messages
}

func TestGotify(t *testing.T) {
	old, enhanced := "A1234567890.-_a", "gtfya.e2NcJK7AenXBPIRB3S03JsBlmy0V6xP8h0hwSiAJae8"
	s, messages := gotifyServer(t, old, enhanced)
	settings := func(token string, more ...string) values {
		v := values{"server_url": "https://push.example.org", "token": token}
		for i := 0; i < len(more); i += 2 {
			v[more[i]] = more[i+1]
		}
		return v
	}
	if err := s.send("gotify", settings(old), down()); err != nil {
		t.Fatal(err)
	}
	if err := s.send("gotify", settings(enhanced), up()); err != nil {
		t.Fatal(err)
	}
	if err := s.send("gotify", settings(enhanced, "priority", "2"), up()); err != nil {
		t.Fatal(err)
	}
	if err := s.send("gotify", settings(enhanced, "priority_up", "0"), up()); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, m := range *messages {
		got = append(got, m.Priority)
	}
	if diff := cmp.Diff([]int{8, 5, 2, 0}, got); diff != "" {
		t.Error(diff)
	}
	err := s.send("gotify", settings("A12345678901234"), down())
	if err == nil || channels.IsPermanent(err) || !strings.Contains(err.Error(), "valid access token") {
		t.Error(err)
	}
}

// TestGotifyTokens has the tokens of all versions: https://github.com/gotify/server/blob/v2.9.1/auth/token.go and
// https://github.com/gotify/server/blob/v3.0.0/auth/token.go. A client's token cannot send without more settings.
func TestGotifyTokens(t *testing.T) {
	const key = "e2NcJK7AenXBPIRB3S03JsBlmy0V6xP8h0hwSiAJae8"
	for token, want := range map[string]bool{
		"A1234567890.-_a": true, "gtfya." + key: true,
		"C1234567890.-_a": false, "gtfyc." + key: false, "gtfya." + key + "x": false, "gtfya." + key[:42] + ".": false,
		"A1234567890.-_": false, "": false,
	} {
		_, err := channels.Validate(services.New(nil), "gotify", values{"server_url": "http://h", "token": token}, nil)
		if (err == nil) != want {
			t.Errorf("%q: %v", token, err)
		}
	}
}
