package services

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

func homeassistantService() service {
	return service{
		info: channels.Type{
			Kind: "homeassistant", Title: "Home Assistant", Category: channels.CategoryPush,
			Doc: "Performs an action of Home Assistant with the title and the message of the alert: a notification in its pages, " +
				"on a phone, or a script.",
			Setup: "In Home Assistant, open your profile and create a token under Security > Long-lived access tokens. It is shown once.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of Home Assistant, such as https://home.example.org:8123.", serverWithout("/api/services"))),
				secret("token", "A long-lived access token, from the profile of a user.", token),
				withDefault(optional("action", "The action, such as notify.mobile_app_phone, notify.send_message or script.alert.",
					pattern(`[a-z0-9_]{1,100}\.[a-z0-9_]{1,100}`, "is not an action, such as notify.mobile_app_phone")),
					"persistent_notification.create"),
				optional("entities", "With notify.send_message, the entities to notify, separated by commas.",
					each(pattern(`notify\.[a-z0-9_]{1,200}`, "has an entity that is not like notify.phone"))),
			},
			Check: func(settings map[string]string) *channels.SettingError {
				switch sends := settings["action"] == "notify.send_message"; {
				case sends && settings["entities"] == "":
					return missing("entities", "notify.send_message")
				case !sends && settings["entities"] != "":
					return &channels.SettingError{Setting: "entities", Reason: "needs the action notify.send_message"}
				}
				return nil
			},
		},
		escape: homeassistantEscape,
		each:   true, // an alert replaces the previous one of its check
		send: func(ctx context.Context, m *delivery) error {
			domain, action, _ := strings.Cut(m.settings["action"], ".")
			answer, err := m.do(ctx, request{
				url:    join(m.settings["server_url"], "api", "services", domain, action),
				header: map[string]string{"Authorization": bearer(m.settings["token"])},
				json:   homeassistantData(m),
			})
			if err != nil {
				return err
			}
			var states []json.RawMessage // that the action has changed
			if json.Unmarshal(answer, &states) != nil || states == nil {
				return errAnswer
			}
			return nil
		},
	}
}

// homeassistantData returns the data of the action. An alert replaces the previous one of the check where that is
// possible.
func homeassistantData(m *delivery) map[string]any {
	body := map[string]any{"title": m.title, "message": m.text}
	id := "rollcall-" + m.n.Check.ID.String()
	switch action := m.settings["action"]; {
	case action == "persistent_notification.create": // shows Markdown
		body["title"], body["message"] = message.Render(m.n, func(text string) string {
			return homeassistantEscape(markdownEscape(text))
		}, maxText)
		body["notification_id"] = id
	case action == "notify.send_message":
		body["entity_id"] = list(m.settings["entities"])
	case strings.HasPrefix(action, "notify.mobile_app_"):
		data := map[string]string{"tag": id}
		if m.hasPage() {
			data["url"], data["clickAction"] = m.n.Check.URL, m.n.Check.URL // on iOS and Android
		}
		body["data"] = data
	}
	return body
}

// homeassistantEscape prevents templates, which Home Assistant would evaluate, and the tags of HTML that its app on
// Android shows.
func homeassistantEscape(text string) string {
	return strings.NewReplacer("{", "{"+gap, "<", "<"+gap).Replace(text)
}
