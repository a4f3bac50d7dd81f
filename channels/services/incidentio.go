package services

import (
	"context"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

func incidentioService() service {
	return service{
		info: channels.Type{
			Kind: "incidentio", Title: "incident.io", Category: channels.CategoryOnCall,
			Doc: "Sends an alert event to an HTTP alert source of incident.io when a check goes down, and resolves the alert " +
				"when the check goes up again.",
			Setup: "In incident.io, create an alert source of the type HTTP. It shows the URL, whose end is the ID of the source, and the " +
				"token.",
			Settings: []channels.Setting{
				required("source_id", "The ID of the alert source: the end of its URL, after /v2/alert_events/http/.",
					pattern(`[A-Za-z0-9_-]{1,64}`, "is not the ID of an alert source")),
				secret("token", "The token of the alert source.", token),
			},
		},
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendIncidentio(ctx, m, key))
		},
	}
}

func sendIncidentio(ctx context.Context, m *delivery, key string) error {
	event := map[string]any{
		"title": m.title, "description": codeBlock(m.text), "deduplication_key": key, "status": "firing",
		"metadata": map[string]any{
			"check": m.n.Check.Name, "slug": m.n.Check.Slug, "project": m.n.Check.Project,
			"tags": append([]string{}, m.n.Check.Tags...), "reason": message.Reason(m.n),
		},
	}
	if m.isUp() {
		event["status"] = "resolved"
	}
	if page := m.n.Check.URL; page != "" {
		event["source_url"] = page
	}
	res, body, err := m.fetch(ctx, request{
		url:    join("https://api.incident.io/v2/alert_events/http", m.settings["source_id"]),
		header: map[string]string{"Authorization": bearer(m.settings["token"])},
		json:   event,
	})
	if err != nil {
		return err
	}
	return checkEvent(res, body)
}
