package services_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/services"
)

// TestSettings changes one setting of a valid channel.
func TestSettings(t *testing.T) {
	tests := []struct {
		kind        channels.Kind
		name, value string
		want        string
	}{
		{"bark", "device_key", "a/b", "bark: device_key is not the key of a device"},
		{"dingtalk", "webhook_url", "https://oapi.dingtalk.com/robot/send", "dingtalk: webhook_url has no access_token"},
		{"dingtalk", "webhook_url", "https://oapi.dingtalk.com/robot/sendBySession?access_token=x",
			"dingtalk: webhook_url is not the URL of a webhook of this service, on oapi.dingtalk.com"},
		{"discord", "webhook_url", "", "discord: webhook_url is missing"},
		{"discord", "webhook_url", "https://discord.com.evil.org/api/webhooks/1/t",
			"discord: webhook_url is not the URL of a webhook of this service, on discord.com or discordapp.com or ptb.discord.com or canary.discord.com"},
		{"discord", "webhook_url", "https://u:p@discord.com/api/webhooks/1/t", "discord: webhook_url contains credentials"},
		{"discord", "webhook_url", "http://discord.com/api/webhooks/1/t", "discord: webhook_url is not an https:// URL"},
		{"discord", "webhook_url", "https://%zz", "discord: webhook_url is not a URL"},
		{"discord", "thread_id", "5&x=y", "discord: thread_id is not an ID, which has digits only"},
		{"discord", "username", "a\nb", "discord: username contains a control character"},
		{"discord", "username", strings.Repeat("ž", 81), "discord: username is not a name of 1 to 80 characters"},
		{"discord", "username", "My Discord", "discord: username contains the word discord, which Discord refuses"},
		{"discord", "username", "CLYDE", "discord: username contains the word clyde, which Discord refuses"},
		{"gotify", "token", "short", "gotify: token is not the token of an application, which is A and 14 characters or gtfya. and 43"},
		{"gotify", "server_url", "https://h/?x", "gotify: server_url has a query or a fragment"},
		{"gotify", "server_url", "ftp://h", "gotify: server_url is not an http:// or https:// URL"},
		{"gotify", "priority", "11", "gotify: priority is not a number from 0 to 10"},
		{"ifttt", "event", "a/b", "ifttt: event is not 1 to 100 letters, digits and _"},
		{"lark", "webhook_url", "https://open.feishu.cn/open-apis/bot/v2/hook/../x",
			"lark: webhook_url is not the URL of a webhook of this service, on open.larksuite.com or open.feishu.cn"},
		{"line", "to", "@name", "line: to has an item that is no ID: U, C or R and 32 hexadecimal digits"},
		{"matrix", "rooms", "ops", "matrix: rooms has a room that is neither an ID (!…) nor an alias (#…)"},
		{"matrix", "rooms", ",;", "matrix: rooms is not a list of 1 to 20 items, separated by commas"},
		{"matrix", "rooms", strings.Repeat("!a,", 21), "matrix: rooms is not a list of 1 to 20 items, separated by commas"},
		{"matrix", "access_token", "a\r\nX: y", "matrix: access_token contains a space, a control character or a non-ASCII character"},
		{"mattermost", "webhook_url", "https://h/x/y", "mattermost: webhook_url is not the URL of an incoming webhook"},
		{"nextcloudtalk", "rooms", "a/b", "nextcloudtalk: rooms has an item that is not the token of a conversation"},
		{"nextcloudtalk", "username", "", "nextcloudtalk: username and bot_secret are both missing"},
		{"nextcloudtalk", "password", "", "nextcloudtalk: password is missing, username needs it"},
		{"nextcloudtalk", "bot_secret", "x", "nextcloudtalk: bot_secret cannot be combined with username"},
		{"ntfy", "topic", "a/b", "ntfy: topic is not 1 to 64 letters, digits, _ and -"},
		{"ntfy", "priority", "loud", "ntfy: priority is not min, low, default, high or max"},
		{"ntfy", "token", "t", "ntfy: token cannot be combined with username"},
		{"ntfy", "username", "", "ntfy: username is missing, password needs it"},
		{"ntfy", "username", "a:b", "ntfy: username contains a colon"},
		{"opsgenie", "priority", "P6", "opsgenie: priority is not P1, P2, P3, P4 or P5"},
		{"pushover", "user", "x", "pushover: user is not a key, which has 30 letters and digits"},
		{"pushover", "priority", "3", "pushover: priority is not a number from -2 to 2"},
		{"pushover", "retry", "29", "pushover: retry is not a number from 30 to 10800"},
		{"pushover", "expire", "10801", "pushover: expire is not a number from 30 to 10800"},
		{"rocketchat", "webhook_url", "ftp://h/hooks/a/b", "rocketchat: webhook_url is not an http:// or https:// URL"},
		{"rocketchat", "webhook_url", "https://h/hooks/a", "rocketchat: webhook_url is not the URL of an incoming webhook"},
		{"signal", "number", "20000000", "signal: number is not a phone number: + and 7 to 15 digits, such as +37120000000"},
		{"slack", "token", "xoxb", "slack: webhook_url cannot be combined with token"},
		{"slack", "webhook_url", "", "slack: webhook_url and token are both missing"},
		{"teams", "webhook_url", "https://acme.webhook.office.com/webhookb2/1@2/IncomingWebhook/3/4",
			"teams: webhook_url belongs to a connector, which Microsoft has retired: create a webhook with Workflows in Teams"},
		{"teams", "webhook_url", "https://outlook.office.com/webhook/1",
			"teams: webhook_url belongs to a connector, which Microsoft has retired: create a webhook with Workflows in Teams"},
		{"telegram", "token", "987", "telegram: token is not the token of a bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u"},
		{"telegram", "token", "123456:s3cr3tX-abc/../x", "telegram: token is not the token of a bot, such as 123456:ABC-DEF1234ghIkl-zyx57W2v1u"},
		{"telegram", "chats", "ops", "telegram: chats has a chat that is neither an ID nor an @name"},
		{"webex", "recipients", "", "webex: recipients is missing, token needs it"},
		{"webex", "recipients", "ops", "webex: recipients has an item that is neither the ID of a room nor an e-mail address"},
		{"webex", "webhook_url", webexHook, "webex: webhook_url cannot be combined with token"},
		{"webex", "token", "", "webex: webhook_url and token are both missing"},
		{"wecom", "key", "a&b=cdefg", "wecom: key is not the key of a robot"},
		{"zulip", "stream", "", "zulip: stream and users are both missing"},
		{"zulip", "users", "a@example.org,10", "zulip: users is neither a list of e-mail addresses nor one of IDs"},
		{"zulip", "users", ",", "zulip: users is not a list of 1 to 20 items, separated by commas"},
		{"zulip", "topic", strings.Repeat("x", 61), "zulip: topic is not one line of at most 60 characters"},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind)+" "+tt.name, func(t *testing.T) {
			settings := maps.Clone(samples()[tt.kind].settings)
			settings[tt.name] = tt.value
			_, err := channels.Validate(services.New(nil), tt.kind, settings, nil)
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The client prints the request to ntfy and answers it without a network.
func Example() {
	types := services.New(&services.Config{Client: &http.Client{Transport: printer{}}})
	settings, err := channels.Validate(types, "ntfy", map[string]string{"topic": "alerts"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ntfy := types[slices.IndexFunc(types, func(t channels.Type) bool { return t.Kind == "ntfy" })]
	n := channels.Notification{
		Check:  channels.Check{Name: "nightly backup"},
		Status: channels.Down,
		At:     time.Date(2026, time.March, 15, 4, 0, 0, 0, time.UTC),
		Reason: "the expected ping did not arrive in time",
	}
	err = ntfy.Notifier.Notify(context.Background(), channels.Channel{Kind: "ntfy", Settings: settings}, n)
	fmt.Println(err, channels.IsPermanent(err))
	// Output:
	// POST https://ntfy.sh/
	// the receiver answered with status 410 Gone true
}

// printer is a service that prints its requests and refuses more.
type printer struct{}

func (printer) RoundTrip(req *http.Request) (*http.Response, error) {
	fmt.Println(req.Method, req.URL)
	return &http.Response{StatusCode: http.StatusGone, Body: http.NoBody, Request: req}, nil
}

func ExampleNew() {
	for _, info := range services.New(nil) {
		if info.Kind == "ifttt" {
			fmt.Println(info.Doc)
			for _, s := range info.Settings {
				fmt.Printf("%s: %s\n", s.Name, s.Doc)
			}
		}
	}
	// Output:
	// Triggers an event of IFTTT's Webhooks service, with the title as value1, the text as value2 and the status, up or down, as value3.
	// key: The key of the Webhooks service.
	// event: The name of the event.
}

// TestPathsTwice refuses URLs with a path that the notifier adds, and says what to write.
func TestPathsTwice(t *testing.T) {
	for _, tt := range []struct {
		kind      channels.Kind
		name, url string
		want      string
	}{
		{"matrix", "homeserver", "https://m.example.org/_matrix", "has the path /_matrix, which is added by itself: write https://m.example.org"},
		{"matrix", "homeserver", "https://m.example.org/sub/_matrix/client/v3/", "has the path /_matrix, which is added by itself: write https://m.example.org/sub"},
		{"matrix", "homeserver", "https://m.example.org/_matrixed", ""},
		{"apprise", "server_url", "http://apprise:8000/notify", "has the path /notify, which is added by itself: write http://apprise:8000"},
		{"apprise", "server_url", "http://apprise:8000/notify/team", "has the path /notify, which is added by itself: write http://apprise:8000"},
		{"zulip", "site", "https://z.example.org/api/v1/messages", "has the path /api/v1, which is added by itself: write https://z.example.org"},
		{"signal", "server_url", "http://signal:8080/v2/send", "has the path /v2/send, which is added by itself: write http://signal:8080"},
		{"gitlab", "server_url", "https://g.example.org/gitlab/api/v4/", "has the path /api/v4, which is added by itself: write https://g.example.org/gitlab"},
		{"nextcloudtalk", "server_url", "https://c.example.org/ocs/v2.php", "has the path /ocs, which is added by itself: write https://c.example.org"},
		{"goalert", "server_url", "https://g.example.org/api/v2/generic/incoming", "has the path /api/v2, which is added by itself: write https://g.example.org"},
		{"homeassistant", "server_url", "https://h.example.org/api/services/x", "has the path /api/services, which is added by itself: write https://h.example.org"},
	} {
		got := ""
		for _, info := range services.New(nil) {
			for _, s := range info.Settings {
				if info.Kind == tt.kind && s.Name == tt.name {
					if err := s.Check(tt.url); err != nil {
						got = err.Error()
					}
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.url, diff)
		}
	}
}
