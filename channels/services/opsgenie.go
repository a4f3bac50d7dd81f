package services

import (
	"context"
	"errors"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func opsgenieService() service {
	return service{
		info: channels.KindInfo{
			Kind: "opsgenie", Title: "Opsgenie", Category: channels.OnCall,
			Doc: "Creates an alert in Opsgenie when a check goes down, and closes it when the check goes up again.",
			Settings: []channels.Setting{
				secret("api_key", "The API key of an API integration.", token),
				withDefault(choice("region", "The region of the account: us or eu.", "us", "eu"), "us"),
				withDefault(choice("priority", "The priority of the alert, from P1 to P5.",
					"P1", "P2", "P3", "P4", "P5"), "P3"),
				optional("tags", "Tags of the alert, separated by commas.", each(text)),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			base := "https://api.opsgenie.com/v2/alerts"
			if m.settings["region"] == "eu" {
				base = "https://api.eu.opsgenie.com/v2/alerts"
			}
			alias := m.n.Incident
			if alias == "" {
				alias = m.n.Check.ID.String()
			}
			header := map[string]string{"Authorization": "GenieKey " + m.settings["api_key"]}
			r := request{url: base, header: header, json: map[string]any{
				"message": message.Cut(m.title, 130), "description": m.text, "alias": alias, "source": "Rollcall",
				"entity": m.n.Check.Slug, "priority": m.settings["priority"],
				"tags": append([]string{}, list(m.settings["tags"])...),
			}}
			if m.isUp() {
				r.url = join(base, alias, "close") + "?identifierType=alias"
				r.json = map[string]string{"source": "Rollcall", "note": m.text}
			}
			_, err := m.do(ctx, r)
			status, found := errors.AsType[*outbound.StatusError](err)
			if found && status.Status == http.StatusUnprocessableEntity {
				return channels.Permanent(err) // Opsgenie will never accept this message
			}
			return err
		},
	}
}
