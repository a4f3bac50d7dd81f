package services

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

func opsgenieService() service {
	return service{
		info: channels.Type{
			Kind: "opsgenie", Title: "Opsgenie", Category: channels.CategoryOnCall,
			Doc: "Creates an alert in Opsgenie when a check goes down, and closes it when the check goes up again. " +
				"Opsgenie ends on 2027-04-05: use jsm with the same API key.",
			Setup: "In Opsgenie, add an integration of the type API to your team. Its settings show the API key.",
			Settings: append([]channels.Setting{
				secret("api_key", "The API key of an API integration.", token),
				withDefault(choice("region", "The region of the account: us or eu.", "us", "eu"), "us"),
			}, alertSettings()...),
		},
		escape:    tagEscape,
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			base := "https://api.opsgenie.com/v2/alerts"
			if m.settings["region"] == "eu" {
				base = "https://api.eu.opsgenie.com/v2/alerts"
			}
			key := m.key()
			return m.settle(key, sendAlert(ctx, m, base, key))
		},
	}
}

// tagEscape prevents tags of HTML, which Opsgenie shows.
func tagEscape(text string) string { return strings.ReplaceAll(text, "<", "<"+gap) }

// alertSettings returns the settings that Opsgenie and Jira Service Management have in common.
func alertSettings() []channels.Setting {
	return []channels.Setting{
		withDefault(choice("priority", "The priority of the alert, from P1 to P5.", "P1", "P2", "P3", "P4", "P5"), "P3"),
		optional("tags", "Tags of the alert, separated by commas.", each(text)),
	}
}

// sendAlert creates or closes an alert at Opsgenie or Jira Service Management, which have the same requests. Creating an
// alert that is open adds to its count.
func sendAlert(ctx context.Context, m *delivery, base, alias string) error {
	r := request{url: base, header: map[string]string{"Authorization": "GenieKey " + m.settings["api_key"]}}
	if m.isUp() {
		r.url = join(base, alias, "close") + "?identifierType=alias"
		r.json = map[string]string{"source": "Rollcall", "note": m.text}
	} else {
		tags := []string{}
		for _, tag := range list(m.settings["tags"]) {
			tags = append(tags, prose.Cut(tag, 50))
		}
		r.json = map[string]any{
			"message": prose.Cut(m.title, 130), "description": m.text, "alias": alias, "source": "Rollcall",
			"entity": m.n.Check.Slug, "priority": m.settings["priority"], "tags": tags,
		}
	}
	res, body, err := m.fetch(ctx, r)
	switch {
	case m.isUp() && hasStatus(err, http.StatusNotFound):
		return nil // no such alert
	case hasStatus(err, http.StatusUnprocessableEntity):
		return channels.Permanent(err) // an error in the content, which stays the same
	case err != nil:
		return err
	}
	var answer struct {
		RequestID string `json:"requestId"`
	}
	if res.StatusCode != http.StatusAccepted || json.Unmarshal(body, &answer) != nil || answer.RequestID == "" {
		return errAnswer
	}
	return nil
}
