package services

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
	"github.com/rollcall-dev/rollcall/channels/prose"
)

func pagerdutyService() service {
	return service{
		info: channels.Type{
			Kind: "pagerduty", Title: "PagerDuty", Category: channels.CategoryOnCall,
			Doc: "Triggers an alert in PagerDuty when a check goes down, and resolves it when the check goes up again.",
			Setup: "In PagerDuty, open the service, then Integrations, and add the integration Events API V2. It shows the integration " +
				"key.",
			Settings: []channels.Setting{
				secret("routing_key", "The integration key of an Events API v2 integration, 32 letters and digits.",
					pattern(`[A-Za-z0-9]{32}`, "is not an integration key, which has 32 letters and digits")),
				withDefault(choice("severity", "The severity of the alert: critical, error, warning or info.",
					"critical", "error", "warning", "info"), "critical"),
				withDefault(choice("region", "The service region of the PagerDuty account: us or eu.", "us", "eu"), "us"),
			},
		},
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendPagerDuty(ctx, m, key))
		},
	}
}

func sendPagerDuty(ctx context.Context, m *delivery, key string) error {
	address := "https://events.pagerduty.com/v2/enqueue"
	if m.settings["region"] == "eu" {
		address = "https://events.eu.pagerduty.com/v2/enqueue"
	}
	event := map[string]any{"routing_key": m.settings["routing_key"], "event_action": "resolve", "dedup_key": key}
	if !m.isUp() { // PagerDuty ignores the other fields when it resolves
		event["event_action"] = "trigger"
		event["payload"] = pagerdutyPayload(m)
		event["client"] = "Rollcall"
		if page := m.n.Check.URL; page != "" {
			event["client_url"] = page
			event["links"] = []any{map[string]string{"href": page, "text": "The check in Rollcall"}}
		}
	}
	res, body, err := m.fetch(ctx, request{url: address, json: event})
	switch {
	case hasStatus(err, http.StatusBadRequest):
		return channels.Permanent(err) // by the document, the event must not be sent again
	case err != nil:
		return err
	}
	return checkEvent(res, body)
}

// maxSummary is the limit of a summary, in characters for PagerDuty and in bytes here.
const maxSummary = 1024

func pagerdutyPayload(m *delivery) map[string]any {
	n := m.n
	severity := m.settings["severity"]
	switch {
	case n.Test:
		severity = "info"
	case severity == "":
		severity = "critical"
	}
	payload := map[string]any{
		"summary":        prose.Cut(m.title+". "+message.Short(n), maxSummary),
		"source":         message.Name(n.Check),
		"severity":       severity,
		"timestamp":      n.At.UTC().Format(time.RFC3339),
		"class":          "dead man's switch",
		"custom_details": pagerdutyDetails(m),
	}
	for name, value := range map[string]string{"component": n.Check.Slug, "group": n.Check.Project} {
		if value != "" {
			payload[name] = value
		}
	}
	return payload
}

func pagerdutyDetails(m *delivery) map[string]any {
	n := m.n
	details := map[string]any{"text": m.text}
	for name, value := range map[string]string{
		"check": n.Check.Name, "uuid": n.Check.ID.String(), "slug": n.Check.Slug, "tags": strings.Join(n.Check.Tags, " "),
		"project": n.Check.Project, "expected": n.Check.Timing, "reason": message.Reason(n), "last_ping_kind": n.Ping.Kind,
	} {
		if value != "" {
			details[name] = value
		}
	}
	if !n.Ping.At.IsZero() {
		details["last_ping"] = n.Ping.At.UTC().Format(time.RFC3339)
	}
	if n.Ping.ExitStatus != nil {
		details["exit_status"] = *n.Ping.ExitStatus
	}
	if n.Reminder > 0 {
		details["reminder"] = n.Reminder
	}
	return details
}
