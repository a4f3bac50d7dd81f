package services

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/rollcall-dev/rollcall/channels"
)

func splunkoncallService() service {
	return service{
		info: channels.Type{
			Kind: "splunkoncall", Title: "Splunk On-Call", Category: channels.CategoryOnCall,
			Doc: "Opens an incident in Splunk On-Call (VictorOps) when a check goes down, and resolves it when the check goes " +
				"up again. It uses the integration REST – Generic.",
			Setup: "In Splunk On-Call, turn on the integration REST – Generic: its URL has the key between /alert/ and /$routing_key. The " +
				"routing keys are in the settings.",
			Settings: []channels.Setting{
				secret("api_key", "The key of the integration: the part of its URL between /alert/ and /$routing_key.",
					pattern(`[A-Za-z0-9-]{1,100}`, "is not the key of an integration")),
				required("routing_key", "The routing key, which decides whom Splunk On-Call alerts.", text),
				withDefault(choice("type", "CRITICAL opens an incident; WARNING does so if the account is set up for it.",
					"CRITICAL", "WARNING"), "CRITICAL"),
			},
		},
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendSplunk(ctx, m, key))
		},
	}
}

func sendSplunk(ctx context.Context, m *delivery, key string) error {
	event := map[string]any{
		"message_type": m.settings["type"], "entity_id": key, "entity_display_name": m.title, "state_message": m.text,
		"state_start_time": m.n.At.Unix(), "monitoring_tool": "Rollcall",
	}
	if m.isUp() {
		event["message_type"] = "RECOVERY"
	}
	if page := m.n.Check.URL; page != "" {
		event["vo_annotate.u.Check"] = page
	}
	res, body, err := m.fetch(ctx, request{
		url: join("https://alert.victorops.com/integrations/generic/20131114/alert",
			m.settings["api_key"], m.settings["routing_key"]),
		json: event,
	})
	if err != nil {
		return err
	}
	var answer struct {
		Result  string `json:"result"`
		Message string `json:"message"`
	}
	switch {
	case res.StatusCode != http.StatusOK || json.Unmarshal(body, &answer) != nil || answer.Result == "":
		return errAnswer
	case answer.Result != "success":
		return refused(answer.Result, answer.Message)
	}
	return nil
}
