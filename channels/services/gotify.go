package services

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/rollcall-dev/rollcall/channels"
)

func gotifyService() service {
	return service{
		info: channels.Type{
			Kind: "gotify", Title: "Gotify", Category: channels.CategoryPush,
			Doc:   "Sends a push message through a Gotify server.",
			Setup: "In the web interface of Gotify: Apps > Create Application. The list of applications then shows the token.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server.", server)),
				secret("token", "The token of the application: A and 14 more characters, or since Gotify 3 gtfya. and 43 more.",
					pattern(`A[a-zA-Z0-9._-]{14}|gtfya\.[a-zA-Z0-9_-]{43}`,
						"is not the token of an application, which is A and 14 characters or gtfya. and 43")),
				withDefault(optional("priority", "The priority if the check is down, from 0 to 10.", number(0, 10)), "8"),
				optional("priority_up", "The priority if the check is up again, from 0 to 10. By default that of priority, "+
					"but at most 5.", number(0, 10)),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			priority, _ := strconv.Atoi(m.settings["priority"])
			if m.isUp() {
				priority = upPriority(m, priority, 5)
			}
			body := map[string]any{"title": m.title, "message": m.text, "priority": priority}
			if m.hasPage() {
				body["extras"] = map[string]any{
					"client::notification": map[string]any{"click": map[string]string{"url": m.n.Check.URL}},
				}
			}
			answer, err := m.do(ctx, request{
				url:    join(m.settings["server_url"], "message"),
				header: map[string]string{"X-Gotify-Key": m.settings["token"]},
				json:   body,
			})
			if err != nil {
				return err
			}
			var result struct {
				ID int64 `json:"id"`
			}
			if json.Unmarshal(answer, &result) != nil || result.ID <= 0 {
				return errAnswer
			}
			return nil
		},
	}
}

// upPriority returns the setting priority_up, or else the given priority of alerts that a check is down, but at most
// limit.
func upPriority(m *delivery, down, limit int) int {
	if up, err := strconv.Atoi(m.settings["priority_up"]); err == nil {
		return up
	}
	return min(down, limit)
}
