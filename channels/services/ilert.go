package services

import (
	"context"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels"
)

func ilertService() service {
	return service{
		info: channels.Type{
			Kind: "ilert", Title: "ilert", Category: channels.CategoryOnCall,
			Doc:   "Creates an alert in ilert when a check goes down, and resolves it when the check goes up again.",
			Setup: "In ilert, create an alert source of the type API. Its page shows the integration key.",
			Settings: []channels.Setting{
				secret("integration_key", "The integration key of an alert source of the type API.", token),
				choice("priority", "The priority of the alert, HIGH or LOW; that of the alert source by default.", "HIGH", "LOW"),
			},
		},
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendIlert(ctx, m, key))
		},
	}
}

func sendIlert(ctx context.Context, m *delivery, key string) error {
	event := map[string]any{
		"integrationKey": m.settings["integration_key"], "eventType": "ALERT", "alertKey": key,
		"summary": m.title, "details": m.text,
	}
	if m.isUp() {
		event["eventType"] = "RESOLVE"
	} else if priority := m.settings["priority"]; priority != "" {
		event["priority"] = priority
	}
	if page := m.n.Check.URL; page != "" {
		event["links"] = []any{map[string]string{"href": page, "text": "The check in Rollcall"}}
	}
	res, _, err := m.fetch(ctx, request{url: "https://api.ilert.com/api/events", json: event})
	switch {
	case hasStatus(err, http.StatusBadRequest):
		return channels.Permanent(err) // by the document, the event must not be sent again
	case err != nil:
		return err
	case res.StatusCode != http.StatusAccepted:
		return errAnswer
	}
	return nil
}
