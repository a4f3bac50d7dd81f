package shoutrrr_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

// raw parses a JSON body.
func raw(t *testing.T, document string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(document), &v); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	return v
}

func unquote(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

// TestRequests checks the request of each service for the samples.
func TestRequests(t *testing.T) {
	bearer := values{"Authorization": "Bearer s3cr3tX"}
	none := values{}
	want := map[channels.Kind][]request{
		"bark": {{"POST", "https://api.day.app/push", none,
			raw(t, `{"device_key":"s3cr3tXkey","title":"`+title+`","body":"`+body+`"}`)}},
		"discord": {{"POST", "https://discord.com/api/webhooks/123456/s3cr3tX-token", none,
			raw(t, `{"embeds":[{"title":"`+title+`","description":"`+body+`","color":14026000}]}`)}},
		"googlechat": {{"POST", "https://chat.googleapis.com/v1/spaces/AAA/messages?key=s3cr3tXkey" +
			"&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD&token=s3cr3tXtoken", none,
			raw(t, `{"text":"`+full+`","thread":{"threadKey":"i-1"}}`)}},
		"gotify": {{"POST", "http://push.example.org:8080/sub/message", values{"X-Gotify-Key": "As3cr3tX1234567"},
			raw(t, `{"title":"`+title+`","message":"`+body+`","priority":8,"extras":null}`)}},
		"ifttt": {{"POST", "https://maker.ifttt.com/trigger/alert/with/key/s3cr3tX-key", none,
			raw(t, `{"value1":"`+title+`","value2":"`+body+`","value3":"down"}`)}},
		"join": {{"POST", "https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?" + url.Values{
			"apikey": {"s3cr3tX%/?"}, "deviceIds": {"d1,d2"}, "title": {title}, "text": {unquote(body)},
		}.Encode(), none, url.Values{}}},
		// sign is the HMAC of the empty text with the key "1800000000\ns3cr3tX ž/@".
		"lark": {{"POST", "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3tX-1", none,
			raw(t, `{"msg_type":"post","timestamp":"1800000000","sign":"`+larkSign+`",
				"content":{"post":{"en_us":{"title":"`+title+`","content":[[{"tag":"text","text":"`+body+`"}]]}}}}`)}},
		"matrix": {
			{"POST", "https://matrix.example.org/_matrix/client/v3/join/%23ops%2F1:example.org", bearer, raw(t, `{}`)},
			{"PUT", "https://matrix.example.org/_matrix/client/v3/rooms/%21a%2Fb%3F:example.org/send/m.room.message/rollcall-n-1", bearer,
				raw(t, `{"msgtype":"m.text","body":"`+full+`","m.mentions":{}}`)},
		},
		"mattermost": {{"POST", "https://chat.example.org/sub/hooks/s3cr3tXs3cr3tX", none,
			raw(t, `{"text":"`+full+`","username":"ž/@","channel":"ops/@?#%ž"}`)}},
		"notifiarr": {{"POST", "https://notifiarr.com/api/v1/notification/passthrough/s3cr3tX-key", none,
			raw(t, `{"notification":{"name":"Rollcall","event":"n-1"},"discord":{"color":"D60510",
				"text":{"title":"`+title+`","description":"`+body+`"},"ids":{"channel":1234567890123456789}}}`)}},
		"ntfy": {{"POST", "https://ntfy.example.org/sub/alerts", values{
			"Authorization": "Basic bWVAZXhhbXBsZS5vcmc6czNjcjN0WDovQD8jJSDFvg==", "Title": title, "Priority": "High", "Tags": "warning,ž",
		}, unquote(body)}},
		"opsgenie": {{"POST", "https://api.opsgenie.com/v2/alerts", values{"Authorization": "GenieKey s3cr3tX"},
			raw(t, `{"message":"`+title+`","description":"`+body+`","alias":"i-1","source":"Rollcall","entity":"backup",
				"priority":"P3","tags":["a","b"]}`)}},
		"pushbullet": {{"POST", "https://api.pushbullet.com/v2/pushes", values{"Access-Token": "s3cr3tX"},
			raw(t, `{"type":"note","title":"`+title+`","body":"`+body+`","guid":"n-1","channel_tag":"ops"}`)}},
		"pushover": {{"POST", "https://api.pushover.net/1/messages.json", none, url.Values{"token": {key30}, "user": {key30},
			"device": {"a,b"}, "priority": {"1"}, "title": {title}, "message": {unquote(body)}}}},
		"rocketchat": {{"POST", "https://chat.example.org:8443/sub/hooks/s3cr3tXid/s3cr3tXtoken", none,
			raw(t, `{"text":"`+full+`","channel":"#ž/@?"}`)}},
		"signal": {{"POST", "http://signal.example.org:8080/v2/send", values{"Authorization": "Basic dTpzM2NyM3RYOsW+"},
			raw(t, `{"message":"`+full+`","number":"+37120000000","recipients":["+37129999999","group.YWJj/+="]}`)}},
		"slack": {{"POST", slackHook, none, raw(t, `{"text":"`+title+`","mrkdwn":false,"unfurl_links":false,"username":"ž",
			"icon_emoji":":bell:","attachments":[{"color":"danger","fallback":"`+body+`","text":"`+body+`","mrkdwn_in":[]}]}`)}},
		"teams": {{"POST", "https://prod.westus.logic.azure.com/workflows/1?sig=s3cr3tX%2F%3D", none,
			raw(t, `{"type":"message","summary":"`+title+`","attachments":[{"contentType":"application/vnd.microsoft.card.adaptive",
			"contentUrl":null,"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard",
			"version":"1.4","actions":[{"type":"Action.OpenUrl","title":"The check","url":"https://rollcall.example.org/c/1"}],"body":[
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"`+title+`","weight":"Bolder","color":"Attention"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Down since 2026-03-15 04:00:00 UTC: no ping in time."}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"Last ping: none"}]},
			{"type":"RichTextBlock","inlines":[{"type":"TextRun","text":"https://rollcall.example.org/c/1"}]}]}}]}`)}},
		"telegram": {{"POST", "https://api.telegram.org/bot123456:s3cr3tX-abc/sendMessage", none,
			raw(t, `{"chat_id":"-100123","text":"`+full+`","message_thread_id":7,"disable_notification":true,
				"link_preview_options":{"is_disabled":true}}`)}},
		"wecom": {{"POST", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=s3cr3tX-key", none,
			raw(t, `{"msgtype":"text","text":{"content":"`+full+`"}}`)}},
		"zulip": {{"POST", "https://example.zulipchat.com/api/v1/messages", values{"Authorization": "Basic Ym90QGV4YW1wbGUub3JnOnMzY3IzdFg="},
			url.Values{"type": {"stream"}, "to": {"ops/@?#% ž"}, "topic": {"nightly backup"},
				"content": {"```text\n" + strings.Replace(unquote(full), "\nhttps", "\n```\nhttps", 1)}}}},
	}
	for kind, sample := range samples() {
		t.Run(string(kind), func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, sample.answers...)
			if err := s.send(kind, sample.settings, down()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[kind], s.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const larkSign = "TTNM5Vm7sfQ4jxbJTgMeruQzQTyqSXkeFprZt/Ai1yM="

// TestOther checks requests for settings and notifications that the samples do not have.
func TestOther(t *testing.T) {
	tests := []struct {
		name     string
		kind     channels.Kind
		settings values
		n        channels.Notification
		answers  []answer
		want     func(request) any
		equals   any
	}{
		{"discord thread in the URL", "discord", values{"webhook_url": "https://ptb.discord.com/api/v10/webhooks/1/t?thread_id=5"}, down(), []answer{{status: 200}},
			func(r request) any { return r.URL }, "https://discord.com/api/webhooks/1/t?thread_id=5"},
		{"discord name", "discord", values{"webhook_url": "https://discord.com/api/webhooks/1/t", "username": "a/@?#%ž", "thread_id": "6"}, down(), ok(""),
			func(r request) any { return r.Body.(map[string]any)["username"] }, "a/@?#%ž"},
		{"ntfy token", "ntfy", values{"topic": "a", "token": "tk_1"}, up(), ok("{}"),
			func(r request) any { return []string{r.URL, r.Header["Authorization"], r.Header["Title"]} },
			[]string{"https://ntfy.sh/a", "Basic OnRrXzE=", "UP: nightly backup"}},
		{"opsgenie closes", "opsgenie", values{"api_key": "k", "region": "eu"}, up(), []answer{{status: 202}},
			func(r request) any { return r.URL }, "https://api.eu.opsgenie.com/v2/alerts/i-1/close?identifierType=alias"},
		{"pushbullet address", "pushbullet", values{"token": "k", "target": "a@example.org"}, up(), ok("{}"),
			func(r request) any { return r.Body.(map[string]any)["email"] }, "a@example.org"},
		{"signal token", "signal", values{"server_url": "http://s/x/", "number": "+1234567", "recipients": "u.1", "token": "k"}, up(), ok("{}"),
			func(r request) any { return []string{r.URL, r.Header["Authorization"]} }, []string{"http://s/x/v2/send", "Bearer k"}},
		{"slack as a bot", "slack", values{"token": "xoxb-1", "channel": "#ops"}, up(), ok(`{"ok":true}`),
			func(r request) any {
				return []any{r.URL, r.Header["Authorization"], r.Body.(map[string]any)["channel"]}
			}, []any{"https://slack.com/api/chat.postMessage", "Bearer xoxb-1", "#ops"}},
		{"zulip topic", "zulip", values{"site": "http://z", "email": "b", "api_key": "k", "stream": "s", "topic": "t"}, up(), ok("{}"),
			func(r request) any { return r.Body.(url.Values).Get("topic") }, "t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, tt.answers...)
			if err := s.send(tt.kind, tt.settings, tt.n); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.equals, tt.want(s.got[0])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMentions uses check names that try to mention everybody.
func TestMentions(t *testing.T) {
	const name = "<!channel> @everyone <@1> [x](http://evil) *b* <users/all> & `c`"
	const gap = "\u200b"
	want := map[channels.Kind]string{
		"discord":    `DOWN: \<\!channel\> @` + gap + `everyone \<@` + gap + `1\> \[x\](http\://evil) \*b\* \<users/all\> & ` + "\\`c\\`",
		"googlechat": "DOWN: <" + gap + "!channel> @everyone <" + gap + "@1> [x](http://evil) *b* <" + gap + "users/all> & `c`",
		"mattermost": `DOWN: \<\!channel\> @` + gap + `everyone \<@` + gap + `1\> \[x\](http\://evil) \*b\* \<users/all\> & ` + "\\`c\\`",
		"rocketchat": "DOWN: <" + gap + "!channel> @" + gap + "everyone <" + gap + "@" + gap + "1> [x]" + gap + `(http://evil) \*b\* <` + gap + "users/all> & \\`c\\`",
		"slack":      "DOWN: &lt;!channel&gt; @everyone &lt;@1&gt; [x](http://evil) *b* &lt;users/all&gt; &amp; `c`",
		"telegram":   "DOWN: <!channel> @" + gap + "everyone <@" + gap + "1> [x](http://evil) *b* <users/all> & `c`",
		"zulip":      "```text\nDOWN: " + name + "\n",
	}
	for kind, text := range want {
		t.Run(string(kind), func(t *testing.T) {
			sample := samples()[kind]
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, sample.answers...)
			n := down()
			n.Check.Name = name
			if err := s.send(kind, sample.settings, n); err != nil {
				t.Fatal(err)
			}
			var got string
			switch fields := s.got[0].Body.(type) {
			case url.Values:
				got = fields.Get("content")
			case map[string]any:
				got, _ = fields["text"].(string)
				if embeds, found := fields["embeds"].([]any); found {
					got = embeds[0].(map[string]any)["title"].(string)
				}
			}
			if !strings.HasPrefix(got, text) {
				t.Error(cmp.Diff(text, got))
			}
		})
	}
}

// TestRefusals uses answers with status 200 that refuse the message.
func TestRefusals(t *testing.T) {
	const odd = "the answer is not in the format of this service, check the URL"
	tests := []struct {
		kind  channels.Kind
		more  values
		body  string
		want  string
		delay int
	}{
		{"bark", nil, `{"code":400,"message":"no device s3cr3tXkey"}`, "the service refuses the message: 400 no device ***", 0},
		{"bark", nil, `<html>`, odd, 0},
		{"gotify", nil, `<html>`, odd, 0},
		{"join", nil, `{"success":false,"errorMessage":"User doesn't exist"}`, "the service refuses the message:  User doesn't exist", 0},
		{"join", nil, `{}`, odd, 0},
		{"lark", nil, `{"code":19021,"msg":"sign match fail"}`, "the service refuses the message: 19021 sign match fail", 0},
		{"lark", nil, `{"code":9499,"msg":"too many"}`, "the service refuses the message: 9499 too many", 60},
		{"lark", nil, `{}`, odd, 0},
		{"matrix", nil, `{}`, odd, 0},
		{"ntfy", nil, `<html>`, odd, 0},
		{"slack", values{"webhook_url": "", "token": "s3cr3tX", "channel": "a"}, `{"ok":false,"error":"channel_not_found"}`,
			"the service refuses the message: channel_not_found ", 0},
		{"slack", values{"webhook_url": "", "token": "s3cr3tX", "channel": "a"}, `{}`, odd, 0},
		{"telegram", nil, `<html>`, odd, 0},
		{"wecom", nil, `{"errcode":93000,"errmsg":"invalid webhook url"}`, "the service refuses the message: 93000 invalid webhook url", 0},
		{"wecom", nil, `{"errcode":45009,"errmsg":"freq"}`, "the service refuses the message: 45009 freq", 60},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			settings := samples()[tt.kind].settings
			for name, value := range tt.more {
				settings[name] = value
			}
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, ok(tt.body)...)
			err := s.send(tt.kind, settings, down())
			if err == nil {
				t.Fatal("no error")
			}
			delay, _ := channels.RetryDelay(err)
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" || int(delay.Seconds()) != tt.delay || channels.IsPermanent(err) {
				t.Error(diff, delay)
			}
		})
	}
}
