package shoutrrr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/discord"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/mattermost"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/chat/rocketchat"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/gotify"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/ntfy"
	"github.com/nicholas-fedor/shoutrrr/pkg/services/push/pushover"
	"github.com/nicholas-fedor/shoutrrr/pkg/types"
	"github.com/rollcall-dev/rollcall/channels"
)

// libraryServices returns the services for which the library accepts an HTTP client. Each message initializes a library
// service with a placeholder URL and then sets its configuration directly, which needs no escaping.
func libraryServices() []service {
	return []service{
		discordService(), gotifyService(), mattermostService(), ntfyService(), pushoverService(), rocketchatService(),
	}
}

func discordService() service {
	return service{
		info: channels.KindInfo{
			Kind: "discord", Title: "Discord", Category: channels.Chat,
			Doc: "Posts to a Discord channel with a webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, https://discord.com/api/webhooks/ID/TOKEN.",
					hookAt(`/api(/v\d+)?/webhooks/\d+/[\w-]+/?`,
						"discord.com", "discordapp.com", "ptb.discord.com", "canary.discord.com")),
				optional("thread_id", "The ID of a thread of the channel to post to.",
					pattern(`\d{1,20}`, "is not an ID, which has digits only")),
				optional("username", "The name to post as, instead of the webhook's.", text),
				optional("avatar_url", "The https URL of the picture to post with.", hook),
			},
		},
		escape: markdownEscape,
		limit:  1900, // a longer text becomes several embeds
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			parts := strings.Split(strings.Trim(u.Path, "/"), "/")
			if len(parts) < 2 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &discord.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "discord", Host: "id", User: url.User("token")}, nil); err != nil {
				return err
			}
			s.HTTPClient, s.Sleeper = client, noSleep{}
			s.Config.WebhookID, s.Config.Token = parts[len(parts)-2], parts[len(parts)-1]
			s.Config.ThreadID, s.Config.SplitLines = m.settings["thread_id"], false
			s.Config.Username, s.Config.Avatar = m.settings["username"], m.settings["avatar_url"]
			s.Config.Color = 0xd60510
			if m.isUp() {
				s.Config.Color = 0x2eb67d
			}
			if s.Config.ThreadID == "" {
				s.Config.ThreadID = u.Query().Get("thread_id")
			}
			return client.finish(s.Send(m.text, &types.Params{"title": m.title}))
		},
	}
}

// noSleep keeps the library from waiting minutes between retries; the outbox retries instead.
type noSleep struct{}

func (noSleep) Sleep(time.Duration) {}

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

func mattermostService() service {
	return service{
		info: channels.KindInfo{
			Kind: "mattermost", Title: "Mattermost", Category: channels.Chat,
			Doc: "Posts to a Mattermost channel with an incoming webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the webhook, which ends in /hooks/ and a key.",
					incoming(`.*/hooks/[A-Za-z0-9]+`, "http", "https")),
				optional("channel", "The channel to post to, instead of the webhook's.", text),
				optional("username", "The name to post as, instead of the webhook's.", text),
				optional("icon", "The picture to post with: an https URL, or the name of an emoji.", text),
			},
		},
		escape: markdownEscape,
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			at := strings.LastIndex(u.Path, "/hooks/")
			if at < 0 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &mattermost.Service{}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "mattermost", Host: "host", Path: "/token"}, nil); err != nil {
				return err
			}
			*s.GetHTTPClient() = http.Client{Transport: client}
			s.Config.Host = u.Host + u.EscapedPath()[:strings.LastIndex(u.EscapedPath(), "/hooks/")]
			s.Config.Token, s.Config.DisableTLS = u.Path[at+len("/hooks/"):], u.Scheme == "http"
			s.Config.Channel, s.Config.UserName = m.settings["channel"], m.settings["username"]
			s.Config.Icon = m.settings["icon"]
			return client.finish(s.Send(m.titleAndText(), nil))
		},
	}
}

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

func tokenOrPassword(settings map[string]string) *channels.SettingError {
	switch {
	case settings["token"] != "" && settings["username"] != "":
		return conflict("token", "username")
	case settings["password"] != "" && settings["username"] == "":
		return missing("username", "password")
	}
	return nil
}

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

func rocketchatService() service {
	return service{
		info: channels.KindInfo{
			Kind: "rocketchat", Title: "Rocket.Chat", Category: channels.Chat,
			Doc: "Posts to a Rocket.Chat channel with an incoming webhook.",
			Settings: []channels.Setting{
				secret("webhook_url", "The https URL of the webhook, which ends in /hooks/, an ID and a token.",
					incoming(`.*/hooks/[\w-]+/[\w-]+`, "https")),
				optional("channel", "The channel (#name) or user (@name) to post to, instead of the webhook's.", text),
				optional("username", "The name to post as, instead of the webhook's.", text),
			},
		},
		escape: rocketEscape,
		send: func(ctx context.Context, m *delivery) error {
			u, err := url.Parse(m.settings["webhook_url"])
			if err != nil {
				return errors.New("webhook_url is malformed")
			}
			parts := strings.Split(u.EscapedPath(), "/")
			if len(parts) < 4 {
				return errors.New("webhook_url is malformed")
			}
			s, client := &rocketchat.Service{Client: &http.Client{}}, m.forLibrary(ctx)
			if err := s.Initialize(&url.URL{Scheme: "rocketchat", Host: "host", Path: "/a/b"}, nil); err != nil {
				return err
			}
			s.Client.Transport = client
			keys := parts[len(parts)-2:]
			s.Config.Host = u.Host + strings.Join(parts[:len(parts)-3], "/")
			s.Config.TokenA, s.Config.TokenB = keys[0], keys[1]
			s.Config.Channel, s.Config.UserName = m.settings["channel"], m.settings["username"]
			return client.finish(s.Send(m.titleAndText(), nil))
		},
	}
}

// incoming accepts URLs of incoming webhooks on any host, with a matching path.
func incoming(path string, schemes ...string) func(string) error {
	return func(value string) error {
		u, err := parse(value, schemes...)
		if err != nil {
			return err
		}
		if u.RawQuery != "" || u.Fragment != "" || pattern(path, "x")(u.EscapedPath()) != nil {
			return errors.New("is not the URL of an incoming webhook")
		}
		return nil
	}
}

// libraryTransport is the library's HTTP transport for one message. It sends with the client of the delivery, under the
// context of Notify, and keeps the error: the library's errors contain URLs with tokens, but not the status.
type libraryTransport struct {
	ctx      context.Context // of one call of Notify; the library passes no context
	delivery *delivery
	sent     bool
	err      error
}

var _ http.RoundTripper = (*libraryTransport)(nil)

// forLibrary returns the transport for one message.
func (m *delivery) forLibrary(ctx context.Context) *libraryTransport {
	return &libraryTransport{ctx: ctx, delivery: m}
}

// errOpaque replaces every error for the library, which does not retry after it.
var errOpaque = errors.New("the request failed")

// RoundTrip sends a request. After a failure it refuses all further requests.
func (l *libraryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if l.err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, errOpaque
	}
	res, body, err := l.delivery.exchange(req.Clone(l.ctx))
	if err != nil {
		l.err = err
		return nil, errOpaque
	}
	l.sent = true
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// Do calls RoundTrip. The library's Discord service needs this method.
func (l *libraryTransport) Do(req *http.Request) (*http.Response, error) { return l.RoundTrip(req) }

// finish turns the library's error into that of Notify.
func (l *libraryTransport) finish(err error) error {
	switch {
	case l.err != nil:
		return l.err
	case err != nil && l.sent:
		return errAnswer
	case err != nil: // the library refused the configuration
		return fmt.Errorf("build the message: %w", err)
	}
	return nil
}
