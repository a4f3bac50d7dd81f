package services_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

const (
	lineUser  = "U206d25c2ea6bd87c17655609a1c37cb8"
	lineGroup = "Cb7e3ed2ea6bd87c17655609a1c37cb80"
	lineGone  = "U00000000000000000000000000000000"
)

func lineSample() sample {
	return sample{
		settings: values{"token": "s3cr3tX/abc+=", "to": lineUser, "silent": "yes"},
		answers:  ok(`{"sentMessages":[{"id":"461230966842064897"}]}`),
		want: []request{{"POST", "https://api.line.me/v2/bot/message/push", values{"Authorization": "Bearer s3cr3tX/abc+="},
			raw(`{"to":"` + lineUser + `","messages":[{"type":"text","text":"` + full + `"}],"notificationDisabled":true}`)}},
	}
}

// lineAPI has the rules of https://developers.line.biz/en/reference/messaging-api/#send-push-message, #error-responses
// and https://developers.line.biz/en/docs/messaging-api/retrying-api-request/. A text is counted as in
// https://developers.line.biz/en/docs/messaging-api/text-character-count/.
type lineAPI struct {
	t        *testing.T
	fail     map[string]answer // by recipient
	lost     bool              // the answers to accepted messages are lost
	accepted map[string]bool   // retry keys
	got      []string          // recipients of messages
	asked    []string
}

func (s *lineAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		To       string `json:"to"`
		Messages []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"messages"`
		NotificationDisabled bool `json:"notificationDisabled"`
	}
	key := r.Header.Get("X-Line-Retry-Key")
	err := decode(r, &body)
	s.asked = append(s.asked, body.To)
	a, failed := s.fail[body.To]
	switch {
	case r.URL.String() != "https://api.line.me/v2/bot/message/push" || r.Method != http.MethodPost:
		reply(w, 404, `{"message":"Not found"}`)
	case r.Header.Get("Authorization") != "Bearer right":
		reply(w, 401, `{"message":"Authentication failed. Confirm that the access token in the authorization header is valid."}`)
	case err != nil || r.Header.Get("Content-Type") != "application/json":
		reply(w, 400, `{"message":"The request body could not be parsed as JSON (line: 1, column: 1)"}`)
	case uuid.Validate(key) != nil:
		reply(w, 400, `{"message":"Invalid retry key"}`)
	case failed:
		reply(w, a.status, a.body)
	case s.accepted[key]:
		w.Header().Set("X-Line-Accepted-Request-Id", "123e4567-e89b-12d3-a456-426655440001")
		reply(w, 409, `{"message":"The retry key is already accepted","sentMessages":[{"id":"461230966842064897"}]}`)
	case !regexp.MustCompile(`^[UCR][0-9a-f]{32}$`).MatchString(body.To):
		reply(w, 400, `{"message":"The property, 'to', in the request body is invalid (line: -, column: -)"}`)
	case body.To == lineGone:
		reply(w, 400, `{"message":"Failed to send messages"}`)
	case len(body.Messages) != 1 || body.Messages[0].Type != "text" || body.Messages[0].Text == "",
		len(utf16.Encode([]rune(body.Messages[0].Text))) > 5000:
		s.t.Errorf("the messages are %+v", body.Messages)
		reply(w, 400, `{"message":"The request body has 1 error(s)","details":[{"message":"Length must be between 0 and 5000"}]}`)
	default:
		s.accepted[key] = true
		s.got = append(s.got, body.To)
		if s.lost {
			reply(w, 500, `{"message":"Internal Server Error"}`)
			return
		}
		reply(w, 200, `{"sentMessages":[{"id":"461230966842064897","quoteToken":"IStG5h1Tz7b..."}]}`)
	}
}

func TestLine(t *testing.T) {
	both := lineUser + "," + lineGroup
	tests := []struct {
		name      string
		to        string
		token     string
		fail      map[string]answer
		done      []string
		got       []string
		failed    bool
		permanent bool
		accepted  []string
	}{
		{"both", both, "right", nil, nil, []string{lineUser, lineGroup}, false, false, nil},
		{"the rest", both, "right", nil, []string{lineUser}, []string{lineGroup}, false, false, nil},
		{"nobody", lineGone + "," + lineUser, "right", nil, nil, []string{lineUser}, true, true, []string{lineUser}},
		{"the token is wrong", lineUser, "wrong", nil, nil, nil, true, false, nil},
		{"trouble", both, "right", map[string]answer{lineUser: {status: 500}}, nil, []string{lineGroup}, true, false, []string{lineGroup}},
		{"the month's messages are used up", both, "right", map[string]answer{lineUser: {status: 429, body: `{"message":"You have reached your monthly limit."}`}},
			nil, []string{lineGroup}, true, false, []string{lineGroup}},
		{"not in the plan", lineUser, "right", map[string]answer{lineUser: {status: 403, body: `{"message":"Access to this API is not available for your account"}`}},
			nil, nil, true, false, nil},
		{"a login page", lineUser, "right", map[string]answer{lineUser: {status: 200, body: "<html>"}}, nil, nil, true, false, nil},
		{"another service", lineUser, "right", map[string]answer{lineUser: {status: 200, body: "{}"}}, nil, nil, true, false, nil},
		{"a proxy", lineUser, "right", map[string]answer{lineUser: {status: 400, body: "<html>"}}, nil, nil, true, false, nil},
		{"another conflict", lineUser, "right", map[string]answer{lineUser: {status: 409, body: `{"message":"x"}`}}, nil, nil, true, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			api := &lineAPI{t: t, fail: tt.fail, accepted: make(map[string]bool)}
			n := longNotification()
			n.Done = tt.done
			err := pretend(t, api.ServeHTTP).send("line", values{"token": tt.token, "to": tt.to}, n)
			if diff := cmp.Diff(tt.got, api.got); diff != "" {
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

// TestLineRetry repeats an alert whose answers were lost, and sends the next one.
func TestLineRetry(t *testing.T) {
	api := &lineAPI{t: t, lost: true, accepted: make(map[string]bool)}
	s := pretend(t, api.ServeHTTP)
	settings := values{"token": "right", "to": lineUser + "," + lineGroup}
	if err := s.send("line", settings, down()); err == nil || channels.Accepted(err) != nil {
		t.Errorf("the first attempt: %v", err)
	}
	api.lost = false
	if err := s.send("line", settings, down()); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
	next := up()
	next.ID = "n-2"
	if err := s.send("line", settings, next); err != nil {
		t.Errorf("the next alert: %v", err)
	}
	want := []string{lineUser, lineGroup}
	if diff := cmp.Diff(slices.Concat(want, want), api.got); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(api.asked, " "); got != strings.Join(slices.Concat(want, want, want), " ") {
		t.Error(got)
	}
}
