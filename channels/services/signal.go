package services

import (
	"context"

	"github.com/rollcall-dev/rollcall/channels"
)

func signalService() service {
	return service{
		info: channels.KindInfo{
			Kind: "signal", Title: "Signal", Category: channels.Chat,
			Doc: "Sends Signal messages through a signal-cli-rest-api server. " +
				"Credentials are either token, or username and password.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server.", server)),
				required("number", "The phone number to send from, in international form.", phone),
				required("recipients", "The phone numbers, user names or groups (group.…), separated by commas.", each(text)),
				notRequired(secret("token", "The bearer token.", token)),
				optional("username", "The user name for basic authentication.", user),
				notRequired(secret("password", "The password for basic authentication.", nil)),
			},
			Check: tokenOrPassword,
		},
		send: func(ctx context.Context, m *delivery) error {
			header := make(map[string]string)
			if m.settings["token"] != "" {
				header["Authorization"] = "Bearer " + m.settings["token"]
			} else if m.settings["username"] != "" {
				header["Authorization"] = basic(m.settings["username"], m.settings["password"])
			}
			_, err := m.do(ctx, request{url: join(m.settings["server_url"], "v2", "send"), header: header, json: map[string]any{
				"message": m.titleAndText(), "number": m.settings["number"], "recipients": list(m.settings["recipients"]),
			}})
			return err
		},
	}
}
