package services_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

func homeassistantSample() sample {
	return sample{
		settings: values{"server_url": "http://home:8123", "token": "s3cr3tX.token", "action": "notify.mobile_app_phone"},
		answers:  ok(`[]`),
		rules:    homeassistantRules,
		want: []request{{"POST", "http://home:8123/api/services/notify/mobile_app_phone", values{"Authorization": "Bearer s3cr3tX.token"},
			raw(`{"title":"` + title + `","message":"` + body + `","data":{"tag":"rollcall-00000000-0000-0000-0000-000000000000",
				"url":"https://rollcall.example.org/c/1","clickAction":"https://rollcall.example.org/c/1"}}`)}},
	}
}

// homeassistantRules are those of https://developers.home-assistant.io/docs/api/rest/ and of the schemas of
// https://github.com/home-assistant/core/blob/dev/homeassistant/components/notify/const.py and
// persistent_notification/__init__.py, which evaluate templates. The data of mobile_app are those of
// https://companion.home-assistant.io/docs/notifications/notifications-basic.
func homeassistantRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	schemas := map[string][]string{
		"/api/services/persistent_notification/create": {"title", "message", "notification_id"},
		"/api/services/notify/mobile_app_phone":        {"title", "message", "target", "data"},
		"/api/services/notify/send_message":            {"title", "message", "entity_id"},
		"/api/services/notify/smtp":                    {"title", "message", "target", "data"},
		"/api/services/script/alert":                   {"title", "message"},
	}
	known, found := schemas[r.URL.Path]
	switch {
	case r.Header.Get("Authorization") != "Bearer s3cr3tX.token":
		return refuse(401, "401: Unauthorized")
	case !found || !isObject || fields["message"] == "":
		return refuse(400, "400: Bad Request")
	case r.URL.Path == "/api/services/notify/send_message" && fields["entity_id"] == nil:
		return refuse(400, "400: Bad Request")
	}
	for name, value := range fields {
		if !strings.Contains(" "+strings.Join(known, " ")+" ", " "+name+" ") {
			return refuse(400, "400: Bad Request")
		}
		if regexp.MustCompile(`{[{%#]`).MatchString(fmt.Sprint(value)) {
			return refuse(500, "the template was evaluated")
		}
	}
	return nil
}

func TestHomeAssistant(t *testing.T) {
	const id = "rollcall-00000000-0000-0000-0000-000000000000"
	tests := []struct {
		name     string
		settings values
		path     string
		field    string
		want     any
	}{
		{"by default", values{"action": ""}, "/api/services/persistent_notification/create", "notification_id", id},
		{"entities", values{"action": "notify.send_message", "entities": "notify.a, notify.b"}, "/api/services/notify/send_message",
			"entity_id", []any{"notify.a", "notify.b"}},
		{"another notifier", values{"action": "notify.smtp"}, "/api/services/notify/smtp", "data", nil},
		{"a script", values{"action": "script.alert"}, "/api/services/script/alert", "title", "UP: nightly backup"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveSample(t, homeassistantSample())
			tt.settings["server_url"], tt.settings["token"] = "https://h", "s3cr3tX.token"
			if err := s.send("homeassistant", tt.settings, up()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.got[0].Body.(map[string]any)[tt.field]); diff != "" || s.got[0].URL != "https://h"+tt.path {
				t.Error(diff, s.got[0].URL)
			}
		})
	}
}

// TestHomeAssistantTemplates sends names and output that Home Assistant would evaluate or show as markup.
func TestHomeAssistantTemplates(t *testing.T) {
	n := down()
	n.Check.Name = "{{{ states('person.me') }} {% for x in y %} {# c #} <b>x</b> **y**"
	n.Ping.End = []byte("{{ 1 }}\n{%raw%}")
	for _, action := range []string{"notify.mobile_app_phone", "persistent_notification.create"} {
		s := serveSample(t, homeassistantSample())
		if err := s.send("homeassistant", values{"server_url": "https://h", "token": "s3cr3tX.token", "action": action}, n); err != nil {
			t.Error(err)
		}
		got := s.got[0].Body.(map[string]any)["title"].(string)
		if strings.Contains(got, "<b") || action == "persistent_notification.create" && strings.Contains(got, " **y") {
			t.Errorf("%s: %s", action, got)
		}
	}
}

func TestHomeAssistantAnswers(t *testing.T) {
	testAnswers(t, homeassistantSample(), "homeassistant", []outcome{
		{"a page", answer{200, "<html>", nil}, true, false, 0},
		{"an object", answer{200, "{}", nil}, true, false, 0},
		{"null", answer{200, "null", nil}, true, false, 0},
		{"no such action", answer{400, "400: Bad Request", nil}, true, false, 0},
		{"states", answer{200, `[{"entity_id":"light.a","state":"on"}]`, nil}, false, false, 0},
	})
}

func TestHomeAssistantSettings(t *testing.T) {
	for _, tt := range []struct{ action, entities, want string }{
		{"notify", "", "homeassistant: action is not an action, such as notify.mobile_app_phone"},
		{"notify.a/../b", "", "homeassistant: action is not an action, such as notify.mobile_app_phone"},
		{"notify.send_message", "", "homeassistant: entities is missing, notify.send_message needs it"},
		{"notify.phone", "notify.a", "homeassistant: entities needs the action notify.send_message"},
		{"notify.send_message", "light.a", "homeassistant: entities has an entity that is not like notify.phone"},
	} {
		settings := values{"server_url": "http://h", "token": "t", "action": tt.action, "entities": tt.entities}
		if _, err := channels.Validate(services.New(nil), "homeassistant", settings, nil); fmt.Sprint(err) != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
