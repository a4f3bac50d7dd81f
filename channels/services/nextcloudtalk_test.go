package services_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func nextcloudtalkSample() sample {
	return sample{
		settings: values{"server_url": "https://cloud.example.org/sub/", "rooms": "n3xtc10ud", "username": "u", "password": "s3cr3tX:ž"},
		answers:  []answer{{status: 201, body: `{"ocs":{"meta":{"status":"ok","statuscode":201,"message":"OK"},"data":{"id":7}}}`}},
		want: []request{{"POST", "https://cloud.example.org/sub/ocs/v2.php/apps/spreed/api/v1/chat/n3xtc10ud",
			values{"Authorization": "Basic dTpzM2NyM3RYOsW+"}, raw(`{"message":"` + full + `","silent":false}`)}},
	}
}

// talk has the rules of https://nextcloud-talk.readthedocs.io/en/latest/chat/#sending-a-new-chat-message and
// https://nextcloud-talk.readthedocs.io/en/latest/bots/#sending-a-chat-message, with the checks of getBotFromHeaders in
// https://github.com/nextcloud/spreed/blob/main/lib/Controller/BotController.php. Mentions are those of
// https://github.com/nextcloud/server/blob/master/lib/private/Comments/Comment.php.
type talk struct {
	t    *testing.T
	fail map[string]answer // by conversation; others exist
	got  []string
	text string
}

var talkMention = regexp.MustCompile(`(?i)(^|[^a-z0-9_\-@.'])@("[a-z0-9_/\-@.' ]+"|[a-z0-9_\-@.']+)`)

func (s *talk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Message     string `json:"message"`
		ReferenceID string `json:"referenceId"`
		ReplyTo     int    `json:"replyTo"`
		Silent      bool   `json:"silent"`
	}
	refuse := func(status int) {
		reply(w, status, fmt.Sprintf(`{"ocs":{"meta":{"status":"failure","statuscode":%d,"message":null},"data":null}}`, status))
	}
	path := regexp.MustCompile(`^/ocs/v2\.php/apps/spreed/api/v1/(?:(chat)/([a-z0-9]{4,30})|(bot)/([a-z0-9]{4,30})/message)$`).
		FindStringSubmatch(r.URL.Path)
	if path == nil || r.Method != http.MethodPost {
		reply(w, 404, `{"ocs":{"meta":{"status":"failure","statuscode":998,"message":"Invalid query"},"data":[]}}`)
		return
	}
	if r.Header.Get("OCS-APIRequest") != "true" {
		reply(w, 412, `{"message":"CSRF check failed"}`)
		return
	}
	if r.Header.Get("Accept") != "application/json" {
		s.t.Error("the answer would be XML")
	}
	if err := decode(r, &body); err != nil || strings.TrimSpace(body.Message) == "" {
		refuse(400)
		return
	}
	if path[3] == "bot" {
		random, signature := r.Header.Get("X-Nextcloud-Talk-Bot-Random"), r.Header.Get("X-Nextcloud-Talk-Bot-Signature")
		if len(random) < 32 || signature == "" {
			refuse(400)
			return
		}
		mac := hmac.New(sha256.New, []byte("right"))
		mac.Write([]byte(random + body.Message))
		if signature != hex.EncodeToString(mac.Sum(nil)) {
			refuse(401)
			return
		}
	} else if name, password, _ := r.BasicAuth(); name != "u" || password != "right" {
		refuse(401)
		return
	}
	room := path[2] + path[4]
	if a, found := s.fail[room]; found {
		reply(w, a.status, a.body)
		return
	}
	if utf8.RuneCountInString(body.Message) > 32_000 {
		refuse(413)
		return
	}
	if mention := talkMention.FindString(body.Message); mention != "" {
		s.t.Errorf("the message mentions %q", mention)
	}
	s.text = body.Message
	s.got = append(s.got, path[1]+path[3]+" "+room)
	if path[3] == "bot" {
		reply(w, 201, `{"ocs":{"meta":{"status":"ok","statuscode":201,"message":"OK"},"data":null}}`)
		return
	}
	reply(w, 201, `{"ocs":{"meta":{"status":"ok","statuscode":201,"message":"OK"},"data":{"id":7,"token":"`+room+`"}}}`)
}

func TestNextcloudTalk(t *testing.T) {
	failure := func(status int) answer {
		return answer{status: status, body: fmt.Sprintf(`{"ocs":{"meta":{"status":"failure","statuscode":%d,"message":""},"data":[]}}`, status)}
	}
	person, bot := values{"username": "u", "password": "right"}, values{"bot_secret": "right"}
	tests := []struct {
		name      string
		as        values
		fail      map[string]answer
		done      []string
		got       []string
		failed    bool
		permanent bool
		accepted  []string
	}{
		{"a user", person, nil, nil, []string{"chat aaaa", "chat bbbb"}, false, false, nil},
		{"a bot", bot, nil, nil, []string{"bot aaaa", "bot bbbb"}, false, false, nil},
		{"the rest", bot, nil, []string{"aaaa"}, []string{"bot bbbb"}, false, false, nil},
		{"the password is wrong", values{"username": "u", "password": "wrong"}, nil, nil, nil, true, false, nil},
		{"the secret is wrong", values{"bot_secret": "wrong"}, nil, nil, nil, true, false, nil},
		{"one is away", person, map[string]answer{"aaaa": {status: 503}}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"not there", person, map[string]answer{"aaaa": failure(404)}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"read-only", person, map[string]answer{"aaaa": failure(403)}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"the lobby", person, map[string]answer{"aaaa": failure(412)}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"an old server's limit", person, map[string]answer{"aaaa": failure(413)}, nil, []string{"chat bbbb"}, true, true, []string{"bbbb"}},
		{"a proxy's limit", person, map[string]answer{"aaaa": {status: 413, body: "<html>"}}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"a login page", person, map[string]answer{"aaaa": {status: 200, body: "<html>"}}, nil, []string{"chat bbbb"}, true, false, []string{"bbbb"}},
		{"an acknowledgement in XML", bot, map[string]answer{"aaaa": {status: 201, body: "<ocs/>"}}, nil, []string{"bot bbbb"}, false, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := &talk{t: t, fail: tt.fail}
			settings := values{"server_url": "https://cloud.example.org", "rooms": "aaaa,bbbb"}
			maps.Copy(settings, tt.as)
			n := longNotification()
			n.Done = tt.done
			err := pretend(t, server.ServeHTTP).send("nextcloudtalk", settings, n)
			if diff := cmp.Diff(tt.got, server.got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.accepted, channels.Accepted(err)); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent {
				t.Error(err)
			}
		})
	}
}

// TestNextcloudTalkMarkup uses text from users that Markdown would change.
func TestNextcloudTalkMarkup(t *testing.T) {
	const gap = "\u200b"
	server := &talk{t: t}
	n := down()
	n.Check.Name = "@all @\"group/x\" <b> [x](http://evil) *b* `c` a_b_ #h"
	n.Ping = channels.Ping{At: n.At, Kind: "fail", End: []byte("# h\n- @u\n```\n")}
	settings := values{"server_url": "https://cloud.example.org", "rooms": "aaaa", "bot_secret": "right"}
	if err := pretend(t, server.ServeHTTP).send("nextcloudtalk", settings, n); err != nil {
		t.Fatal(err)
	}
	want := "DOWN: @" + gap + "all @" + gap + "\"group/x\" <" + gap + `b> \[x\](http://evil) \*b\* ` + "\\`c\\`" + ` a\_b\_ \#h`
	if title, _, _ := strings.Cut(server.text, "\n"); title != want {
		t.Error(cmp.Diff(want, title))
	}
	if !strings.Contains(server.text, "\n> "+gap+"\\# h\n> "+gap+"- @"+gap+"u\n> "+gap+"\\`\\`\\`\n") {
		t.Error(server.text)
	}
}
