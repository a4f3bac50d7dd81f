package shoutrrr

import (
	"context"
	"errors"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// eventServices returns the services that process events by rules of their users.
func eventServices() []service {
	return []service{iftttService(), notifiarrService(), opsgenieService()}
}

func iftttService() service {
	return service{
		info: channels.KindInfo{
			Kind: "ifttt", Title: "IFTTT", Category: channels.Custom,
			Doc: "Triggers an event of IFTTT's Webhooks service, with the title as value1, the text as value2 and " +
				"the status, up or down, as value3.",
			Settings: []channels.Setting{
				secret("key", "The key of the Webhooks service.",
					pattern(`[\w-]{10,100}`, "is not a key of the Webhooks service")),
				required("event", "The name of the event.",
					pattern(`\w{1,100}`, "is not 1 to 100 letters, digits and _")),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			_, err := m.do(ctx, request{
				url:  join("https://maker.ifttt.com/trigger", m.settings["event"], "with", "key", m.settings["key"]),
				json: map[string]string{"value1": m.title, "value2": m.text, "value3": string(m.n.Status)},
			})
			return err
		},
	}
}

func notifiarrService() service {
	return service{
		info: channels.KindInfo{
			Kind: "notifiarr", Title: "Notifiarr", Category: channels.Chat,
			Doc: "Posts to a Discord channel through Notifiarr's passthrough integration.",
			Settings: []channels.Setting{
				secret("api_key", "The API key.", pattern(`[\w-]{10,100}`, "is not an API key")),
				required("channel", "The ID of the Discord channel.",
					pattern(`[1-9]\d{0,19}`, "is not an ID, which has digits only")),
			},
		},
		escape: markdownEscape,
		limit:  1900,
		send: func(ctx context.Context, m *delivery) error {
			color := "D60510"
			if m.isUp() {
				color = "2EB67D"
			}
			_, err := m.do(ctx, request{
				url: join("https://notifiarr.com/api/v1/notification/passthrough", m.settings["api_key"]),
				json: map[string]any{
					"notification": map[string]any{"name": "Rollcall", "event": m.n.ID},
					"discord": map[string]any{
						"color": color,
						"text":  map[string]string{"title": m.title, "description": m.text},
						"ids":   map[string]any{"channel": integer(m.settings["channel"])},
					},
				},
			})
			return err
		},
	}
}

// integer is a JSON number too large for a float.
type integer string

func (n integer) MarshalJSON() ([]byte, error) { return []byte(n), nil }

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
