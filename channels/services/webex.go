package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func webexService() service {
	return service{
		info: channels.Type{
			Kind: "webex", Title: "Webex", Category: channels.CategoryChat,
			Doc: "Posts to Webex, with an incoming webhook (webhook_url) or as a bot (token and recipients).",
			Setup: "In the Webex App Hub, connect Incoming Webhooks, choose a space and copy the URL. For a bot, create one at " +
				"https://developer.webex.com; its token is shown once.",
			Settings: []channels.Setting{
				notRequired(secret("webhook_url", "The URL of the incoming webhook, https://webexapis.com/v1/webhooks/incoming/….",
					hookAt(`/v1/webhooks/incoming/[\w-]+`, "webexapis.com", "api.ciscospark.com"))),
				notRequired(secret("token", "The access token of the bot.", token)),
				optional("recipients", "The IDs of rooms that the bot is in, or the e-mail addresses of people, separated by commas. "+
					"Needed with token.",
					each(pattern(`[\w=-]{20,200}|[^\s@,;]+@[^\s@,;]+`, "has an item that is neither the ID of a room nor an e-mail address"))),
			},
			Check: func(settings map[string]string) *channels.SettingError {
				switch {
				case settings["webhook_url"] == "" && settings["token"] == "":
					return &channels.SettingError{Setting: "webhook_url", Reason: "and token are both missing"}
				case settings["webhook_url"] != "" && settings["token"] != "":
					return conflict("webhook_url", "token")
				case settings["token"] != "" && settings["recipients"] == "":
					return missing("recipients", "token")
				}
				return nil
			},
		},
		limit: 7000, // the limit of the service is 7,439 bytes
		send:  sendWebex,
	}
}

func sendWebex(ctx context.Context, m *delivery) error {
	if m.settings["token"] == "" {
		res, answer, err := m.fetch(ctx, request{url: m.settings["webhook_url"], json: map[string]string{"text": m.titleAndText()}})
		if err == nil && res.StatusCode != http.StatusNoContent && strings.HasPrefix(strings.TrimSpace(string(answer)), "<") {
			return errAnswer
		}
		return webexError(err, answer)
	}
	recipients := list(m.settings["recipients"])
	if len(recipients) == 0 {
		return errors.New("recipients is empty")
	}
	return channels.Each(m.n, recipients, func(recipient string) error {
		body := map[string]string{"roomId": recipient, "text": m.titleAndText()}
		if strings.Contains(recipient, "@") {
			body = map[string]string{"toPersonEmail": recipient, "text": m.titleAndText()}
		}
		header := map[string]string{"Authorization": bearer(m.settings["token"])}
		answer, err := m.do(ctx, request{url: "https://webexapis.com/v1/messages", header: header, json: body})
		var message struct {
			ID string `json:"id"`
		}
		if err == nil && (json.Unmarshal(answer, &message) != nil || message.ID == "") {
			return errAnswer
		}
		return webexError(err, answer)
	})
}

// webexError marks the error by [channels.Permanent] if Webex says that the webhook, the room or the person does not
// exist.
func webexError(err error, answer []byte) error {
	var refusal struct {
		TrackingID string `json:"trackingId"`
	}
	status, failed := errors.AsType[*outbound.StatusError](err)
	if failed && status.Status == http.StatusNotFound && json.Unmarshal(answer, &refusal) == nil && refusal.TrackingID != "" {
		return channels.Permanent(err)
	}
	return err
}
