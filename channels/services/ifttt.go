package services

import (
	"context"
	"strings"

	"github.com/rollcall-dev/rollcall/channels"
)

func iftttService() service {
	return service{
		info: channels.Type{
			Kind: "ifttt", Title: "IFTTT", Category: channels.CategoryCustom,
			Doc: "Triggers an event of IFTTT's Webhooks service, with the title as value1, the text as value2 and " +
				"the status, up or down, as value3.",
			Setup: "In IFTTT, connect the service Webhooks; its Documentation shows your key. Then create an applet with the trigger " +
				"Receive a web request, and use the name of its event here.",
			Settings: []channels.Setting{
				secret("key", "The key of the Webhooks service.",
					pattern(`[\w-]{10,100}`, "is not a key of the Webhooks service")),
				required("event", "The name of the event.",
					pattern(`\w{1,100}`, "is not 1 to 100 letters, digits and _")),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			answer, err := m.do(ctx, request{
				url:  join("https://maker.ifttt.com/trigger", m.settings["event"], "with", "key", m.settings["key"]),
				json: map[string]string{"value1": m.title, "value2": m.text, "value3": string(m.n.Status)},
			})
			if err == nil && !strings.HasPrefix(string(answer), "Congratulations!") {
				return errAnswer
			}
			return err
		},
	}
}
