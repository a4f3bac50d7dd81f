package services

import (
	"context"
	"net/http"
	"net/url"

	"github.com/rollcall-dev/rollcall/channels"
)

func goalertService() service {
	return service{
		info: channels.Type{
			Kind: "goalert", Title: "GoAlert", Category: channels.CategoryOnCall,
			Doc: "Creates an alert in GoAlert when a check goes down, and closes it when the check goes up again.",
			Setup: "In GoAlert, open the service and create an integration key of the type Generic API. The URL that it shows has the key " +
				"after token=.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server, such as https://goalert.example.org.", serverWithout("/api/v2"))),
				secret("token", "The key of a Generic API integration: the token in its URL.", token),
			},
		},
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendGoAlert(ctx, m, key))
		},
	}
}

func sendGoAlert(ctx context.Context, m *delivery, key string) error {
	form := url.Values{
		"token": {m.settings["token"]}, "dedup": {key},
		// Markdown is allowed in details. A close needs a summary, too.
		"summary": {m.title}, "details": {codeBlock(m.text)},
	}
	if m.isUp() {
		form.Set("action", "close")
	}
	res, _, err := m.fetch(ctx, request{url: join(m.settings["server_url"], "api", "v2", "generic", "incoming"), form: form})
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusNoContent:
		return errAnswer
	}
	return nil
}
