package services_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func telegramSample() sample {
	return sample{
		settings: values{"token": "123456:s3cr3tX-abc", "chats": "-100123", "thread_id": "7", "silent": "yes"},
		answers:  ok(`{"ok":true}`),
		want: []request{{"POST", "https://api.telegram.org/bot123456:s3cr3tX-abc/sendMessage", values{},
			raw(`{"chat_id":"-100123","text":"` + full + `","message_thread_id":7,"disable_notification":true,
				"link_preview_options":{"is_disabled":true}}`)}},
	}
}

type telegramMessage struct {
	Chat    string `json:"chat_id"`
	Text    string `json:"text"`
	Thread  int    `json:"message_thread_id"`
	Silent  bool   `json:"disable_notification"`
	Preview struct {
		Disabled bool `json:"is_disabled"`
	} `json:"link_preview_options"`
}

// telegramAPI has the rules of https://core.telegram.org/bots/api#sendmessage and #making-requests, with the errors of
// https://github.com/tdlib/telegram-bot-api/blob/01a3679/telegram-bot-api/Client.cpp: check_chat, check_chat_access,
// check_message_topic and fail_query_with_error. The token is 1:aaaaaaaaaa. Chats without an error exist.
type telegramAPI struct {
	errors map[string]telegramError
	got    []telegramMessage // accepted
	asked  []string          // the chat of each request
}

type telegramError struct {
	code        int
	description string
	parameters  string
}

func (s *telegramAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	fail := func(e telegramError) {
		answer := fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q`, e.code, e.description)
		if e.parameters != "" {
			answer += `,"parameters":` + e.parameters
		}
		reply(w, e.code, answer+"}")
	}
	token := regexp.MustCompile(`^/bot([^/]*)/sendMessage$`).FindStringSubmatch(r.URL.Path)
	var m telegramMessage
	if token == nil || r.URL.Host != "api.telegram.org" {
		fail(telegramError{404, "Not Found", ""})
		return
	}
	if token[1] != "1:aaaaaaaaaa" {
		fail(telegramError{401, "Unauthorized", ""})
		return
	}
	if err := decode(r, &m); err != nil {
		fail(telegramError{400, "Bad Request: can't parse JSON object", ""})
		return
	}
	s.asked = append(s.asked, m.Chat)
	e, found := s.errors[m.Chat]
	switch length := len(utf16.Encode([]rune(m.Text))); {
	case found:
		fail(e)
	case m.Chat == "":
		fail(telegramError{400, "Bad Request: chat_id is empty", ""})
	case m.Thread == 1:
		fail(telegramError{400, "Bad Request: message thread not found", ""})
	case strings.TrimSpace(m.Text) == "":
		fail(telegramError{400, "Bad Request: message text is empty", ""})
	case length > 4096:
		fail(telegramError{400, "Bad Request: message is too long", ""})
	default:
		s.got = append(s.got, m)
		reply(w, 200, `{"ok":true,"result":{"message_id":7,"date":1773547200,"chat":{"id":1,"type":"private"},"text":"…"}}`)
	}
}

func TestTelegram(t *testing.T) {
	blocked := telegramError{403, "Forbidden: bot was blocked by the user", ""}
	fast := telegramError{429, "Too Many Requests: retry after 5", `{"retry_after":5}`}
	moved := telegramError{400, "Bad Request: group chat was upgraded to a supergroup chat", `{"migrate_to_chat_id":-1009}`}
	forbidden := func(description string) telegramError { return telegramError{403, "Forbidden: " + description, ""} }
	bad := func(description string) telegramError { return telegramError{400, "Bad Request: " + description, ""} }
	type chats = []string
	type errs = map[string]telegramError
	tests := []struct {
		name      string
		errors    errs
		done      chats
		asked     chats
		failed    bool
		permanent bool
		delay     time.Duration
		accepted  chats
	}{
		{"all", nil, nil, chats{"1", "@a", "-5"}, false, false, 0, nil},
		{"the rest", nil, chats{"@a"}, chats{"1", "-5"}, false, false, 0, nil},
		{"one has blocked the bot", errs{"1": blocked}, nil, chats{"1", "@a", "-5"}, true, true, 0, chats{"@a", "-5"}},
		{"one is too fast", errs{"@a": fast}, nil, chats{"1", "@a", "-5"}, true, false, 5 * time.Second, chats{"1", "-5"}},
		{"blocked and too fast", errs{"1": blocked, "@a": fast}, nil, chats{"1", "@a", "-5"}, true, false, 5 * time.Second, chats{"-5"}},
		{"moved", errs{"-5": moved}, nil, chats{"1", "@a", "-5", "-1009"}, false, false, 0, nil},
		{"moved twice", errs{"-5": moved, "-1009": moved}, nil, chats{"1", "@a", "-5", "-1009"}, true, false, 0, chats{"1", "@a"}},
		{"the token is wrong", errs{"1": {401, "Unauthorized", ""}}, nil, chats{"1", "@a", "-5"}, true, false, 0, chats{"@a", "-5"}},
		{"trouble", errs{"1": {500, "Internal Server Error: restart", ""}}, nil, chats{"1", "@a", "-5"}, true, false, 0, chats{"@a", "-5"}},
	}
	for description, permanent := range map[string]bool{
		"bot was kicked from the supergroup chat":      true,
		"bot is not a member of the channel chat":      true,
		"user is deactivated":                          true,
		"the group chat was deleted":                   true,
		"bot can't initiate conversation with a user":  true,
		"bots can't send messages to bots":             true,
		"not enough rights to send text messages":      false,
		"something that no version says as of writing": false,
	} {
		test := tests[0]
		test.name, test.errors, test.failed, test.permanent = description, errs{"1": forbidden(description)}, true, permanent
		test.accepted = chats{"@a", "-5"}
		tests = append(tests, test)
	}
	for description, permanent := range map[string]bool{
		"chat not found":                true,
		"private chat not found":        true,
		"message thread not found":      false,
		"TOPIC_CLOSED":                  false,
		"CHAT_WRITE_FORBIDDEN":          false,
		"have no rights to send a text": false,
	} {
		test := tests[0]
		test.name, test.errors, test.failed, test.permanent = description, errs{"1": bad(description)}, true, permanent
		test.accepted = chats{"@a", "-5"}
		tests = append(tests, test)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := &telegramAPI{errors: tt.errors}
			n := down()
			n.Done = tt.done
			err := pretend(t, api.ServeHTTP).send("telegram", values{"token": "1:aaaaaaaaaa", "chats": "1,@a,-5"}, n)
			if diff := cmp.Diff(tt.asked, api.asked); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.accepted, channels.Accepted(err)); diff != "" {
				t.Error(diff)
			}
			delay, _ := channels.RetryDelay(err)
			if (err != nil) != tt.failed || channels.IsPermanent(err) != tt.permanent || delay != tt.delay {
				t.Error(err, delay)
			}
		})
	}
}

// TestTelegramRules sends the longest possible message to a topic.
func TestTelegramRules(t *testing.T) {
	for thread, want := range map[string]int{"": 0, "1": 0, "7": 7} {
		api := &telegramAPI{}
		n := longNotification()
		if err := pretend(t, api.ServeHTTP).send("telegram", values{"token": "1:aaaaaaaaaa", "chats": "1", "thread_id": thread}, n); err != nil {
			t.Fatal(err)
		}
		if m := api.got[0]; m.Thread != want || m.Silent || !m.Preview.Disabled || !strings.HasSuffix(m.Text, "\n"+n.Check.URL) {
			t.Errorf("thread %q: %+v", thread, m)
		}
	}
}

// TestTelegramAnswers uses answers that no bot API sends.
func TestTelegramAnswers(t *testing.T) {
	const odd = "the answer is not in the format of this service, check the URL"
	tests := []struct {
		name   string
		status int
		answer string
		want   string
	}{
		{"a login page", 200, "<html>", odd},
		{"nothing", 200, "", odd},
		{"another service", 200, "{}", odd},
		{"not ok", 200, `{"ok":false,"error_code":400,"description":"chat not found"}`, "the service refuses the message: 400 chat not found"},
		{"a proxy", 403, "<html>bot was blocked", "the receiver answered with status 403 Forbidden: <html>bot was blocked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pretend(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, tt.status, tt.answer) })
			err := s.send("telegram", values{"token": "1:aaaaaaaaaa", "chats": "1"}, down())
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" || channels.IsPermanent(err) {
				t.Error(diff, err)
			}
		})
	}
}
