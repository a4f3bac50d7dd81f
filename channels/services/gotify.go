package services

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/rollcall-dev/rollcall/channels"
)

func gotifyService() service {
	return service{
		info: channels.KindInfo{
			Kind: "gotify", Title: "Gotify", Category: channels.Push,
			Doc: "Sends a push message through a Gotify server.",
			Settings: []channels.Setting{
				address(required("server_url", "The URL of the server.", server)),
				secret("token", "The token of the application, A and 14 more characters.",
					pattern(`A[a-zA-Z0-9._-]{14}`,
						"is not the token of an application, which is A and 14 letters, digits, dots, _ or -")),
				withDefault(optional("priority", "The priority, from 0 to 10.", number(0, 10)), "8"),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["server_url"])
			if err != nil {
				return errors.New("server_url is malformed")
			}
			s, client := &gotify.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "gotify", Host: "host", Path: "/token"}, nil); err != nil {
				return err
			}
			*s.GetHTTPClient() = http.Client{Transport: client}
			s.Config.Host, s.Config.Path = u.Host, strings.TrimRight(u.Path, "/")
			s.Config.DisableTLS, s.Config.UseHeader = u.Scheme == "http", true
			s.Config.Token = m.settings["token"]
			s.Config.Priority, _ = strconv.Atoi(m.settings["priority"])
			return client.finish(s.Send(m.text, &types.Params{"title": m.title}))
		},
	}
}
