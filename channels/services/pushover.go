package services

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/rollcall-dev/rollcall/channels"
)

func pushoverService() service {
	key := pattern(`[A-Za-z0-9]{30}`, "is not a key, which has 30 letters and digits")
	return service{
		info: channels.KindInfo{
			Kind: "pushover", Title: "Pushover", Category: channels.Push,
			Doc: "Sends a push message through Pushover.",
			Settings: []channels.Setting{
				secret("token", "The API token of the application.", key),
				secret("user", "The key of the user or group.", key),
				optional("devices", "The names of the devices, separated by commas; all of them by default.",
					each(pattern(`[\w-]{1,25}`, "has a device that is not 1 to 25 letters, digits, _ and -"))),
				withDefault(optional("priority", "The priority, from -2 (silent) to 1 (high).", number(-2, 1)), "0"),
			},
		},
		limit: 1000,
		send: func(ctx context.Context, m *delivery) error {
			s, client := &pushover.Service{}, m.forLibrary(ctx)
			address := &url.URL{Scheme: "pushover", Host: "user", User: url.UserPassword("", "token")}
			if err := s.Initialize(address, nil); err != nil {
				return err
			}
			s.Client = &http.Client{Transport: client}
			s.Config.Token, s.Config.User = m.settings["token"], m.settings["user"]
			s.Config.Devices = list(m.settings["devices"])
			priority, _ := strconv.ParseInt(m.settings["priority"], 10, 8)
			s.Config.Priority = int8(priority)
			return client.finish(s.Send(m.text, &types.Params{"title": m.title}))
		},
	}
}
