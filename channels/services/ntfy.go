package services

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/rollcall-dev/rollcall/channels"
)

func ntfyService() service {
	return service{
		info: channels.KindInfo{
			Kind: "ntfy", Title: "ntfy", Category: channels.Push,
			Doc: "Publishes to an ntfy topic. Credentials are either token, or username and password.",
			Settings: []channels.Setting{
				withDefault(address(optional("server_url", "The URL of the server.", server)), "https://ntfy.sh"),
				required("topic", "The topic: 1 to 64 letters, digits, _ and -.",
					pattern(`[-_A-Za-z0-9]{1,64}`, "is not 1 to 64 letters, digits, _ and -")),
				notRequired(secret("token", "The access token.", token)),
				optional("username", "The user name.", user),
				notRequired(secret("password", "The password.", nil)),
				withDefault(choice("priority", "The priority: min, low, default, high or max.",
					"min", "low", "default", "high", "max"), "high"),
				optional("tags", "Tags and emoji of the message, separated by commas.", each(text)),
			},
			Check: tokenOrPassword,
		},
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["server_url"])
			if err != nil {
				return errors.New("server_url is malformed")
			}
			s, client := &ntfy.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "ntfy", Host: "host", Path: "/topic"}, nil); err != nil {
				return err
			}
			s.SetHTTPClient(&http.Client{Transport: client})
			s.Config.Scheme, s.Config.Host = u.Scheme, u.Host
			s.Config.Topic = strings.TrimRight(u.Path, "/") + "/" + m.settings["topic"]
			s.Config.Username, s.Config.Password = m.settings["username"], m.settings["password"]
			if m.settings["token"] != "" { // ntfy takes it as a password without a user
				s.Config.Username, s.Config.Password = "", m.settings["token"]
			}
			s.Config.Tags = list(m.settings["tags"])
			return client.finish(s.Send(m.text, &types.Params{"title": m.title, "priority": m.settings["priority"]}))
		},
	}
}
