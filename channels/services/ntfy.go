package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// ntfyPriorities are the names of the priorities from 1 on.
var ntfyPriorities = []string{"min", "low", "default", "high", "max"}

func ntfyService() service {
	return service{
		info: channels.Type{
			Kind: "ntfy", Title: "ntfy", Category: channels.CategoryPush,
			Doc: "Publishes to an ntfy topic, with a warning sign if the check is down and a check mark if it is up again. " +
				"Credentials are either token, or username and password.",
			Setup: "Choose a topic that is hard to guess, because anybody who knows it can read it, and subscribe to it in the ntfy app. A " +
				"protected topic needs an access token, which the web app of ntfy creates under Account.",
			Settings: []channels.Setting{
				withDefault(address(optional("server_url", "The URL of the server.", server)), "https://ntfy.sh"),
				required("topic", "The topic: 1 to 64 letters, digits, _ and -.",
					pattern(`[-_A-Za-z0-9]{1,64}`, "is not 1 to 64 letters, digits, _ and -")),
				notRequired(secret("token", "The access token.", token)),
				optional("username", "The user name.", user),
				notRequired(secret("password", "The password.", nil)),
				withDefault(choice("priority", "The priority if the check is down: min, low, default, high or max.",
					ntfyPriorities...), "high"),
				choice("priority_up", "The priority if the check is up again. By default that of priority, but at most default.",
					ntfyPriorities...),
				optional("tags", "More tags and emoji of the message, separated by commas.", each(text)),
			},
			Check: tokenOrPassword,
		},
		// The server reads 8192 bytes of JSON, in which a character may take twice its bytes.
		limit: 3000,
		send: func(ctx context.Context, m *delivery) error {
			answer, err := m.do(ctx, request{url: join(m.settings["server_url"]) + "/", header: m.authorize(nil), json: ntfyMessage(m)})
			var result struct {
				ID   string `json:"id"`
				Code int    `json:"code"` // of an error
			}
			parsed := json.Unmarshal(answer, &result) == nil
			status, failed := errors.AsType[*outbound.StatusError](err)
			switch {
			case failed && status.Status == http.StatusBadRequest && parsed && result.Code != 0:
				return channels.Permanent(err) // the server will never accept this message
			case err != nil:
				return err
			case !parsed || result.ID == "":
				return errAnswer
			}
			return nil
		},
	}
}

func ntfyMessage(m *delivery) map[string]any {
	state, priority := "warning", slices.Index(ntfyPriorities, m.settings["priority"])+1
	if m.isUp() {
		state, priority = "white_check_mark", min(priority, 3)
		if up := slices.Index(ntfyPriorities, m.settings["priority_up"]) + 1; up > 0 {
			priority = up
		}
	}
	tags := []string{state}
	for _, tag := range list(m.settings["tags"]) {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	body := map[string]any{
		"topic": m.settings["topic"], "title": m.title, "message": m.text, "priority": priority, "tags": tags,
	}
	if m.hasPage() {
		body["click"] = m.n.Check.URL
	}
	return body
}
