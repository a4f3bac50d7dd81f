package services

import (
	"context"

	"github.com/rollcall-dev/rollcall/channels"
)

func jsmService() service {
	return service{
		info: channels.Type{
			Kind: "jsm", Title: "Jira Service Management", Category: channels.CategoryOnCall,
			Doc: "Creates an alert in Jira Service Management when a check goes down, and closes it when the check goes up " +
				"again. It is the successor of Opsgenie.",
			Setup: "In Jira Service Management, open the operations of your team and add an integration of the type API. Its settings show " +
				"the API key.",
			Settings: append([]channels.Setting{
				secret("api_key", "The API key of an API integration, also one that was moved from Opsgenie.", token),
			}, alertSettings()...),
		},
		escape:    tagEscape,
		incidents: true,
		send: func(ctx context.Context, m *delivery) error {
			key := m.key()
			return m.settle(key, sendAlert(ctx, m, "https://api.atlassian.com/jsm/ops/integration/v2/alerts", key))
		},
	}
}
