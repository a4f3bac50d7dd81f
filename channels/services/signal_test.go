package services_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rollcall-dev/rollcall/channels"
)

// signalGroup is the name of a group as the server lists it.
func signalGroup(id byte) string {
	inner := base64.StdEncoding.EncodeToString(slices.Repeat([]byte{id}, 32))
	return "group." + base64.StdEncoding.EncodeToString([]byte(inner))
}

func signalSample() sample {
	return sample{
		settings: values{"server_url": "http://signal.example.org:8080", "number": "+37120000000", "recipients": "+37129999999, +37128888888",
			"username": "u", "password": "s3cr3tX:ž"},
		answers: []answer{{status: 201, body: `[{"timestamp":"1"}]`}},
		want: []request{{"POST", "http://signal.example.org:8080/v2/send", values{"Authorization": "Basic dTpzM2NyM3RYOsW+"},
			raw(`{"message":"` + full + `","number":"+37120000000","recipients":["+37129999999","+37128888888"],"text_mode":"normal"}`)}},
	}
}

// signalAPI has the rules of SendV2 in
// https://github.com/bbernhard/signal-cli-rest-api/blob/a08db23/src/client/client.go and src/api/api.go, as of August
// 2026. Releases up to 0.100 answer with one object in place of a list, and without errors.
type signalAPI struct {
	got      [][]string        // the recipients of each accepted request
	failures map[string]string // reason by recipient
	down     map[string]bool   // recipients of requests that fail as a whole
	old      bool
}

func (s *signalAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Message, Number string
		Recipients      []string
		TextMode        string `json:"text_mode"`
	}
	if r.URL.Path != "/v2/send" || r.Method != http.MethodPost {
		reply(w, 404, "404 page not found")
		return
	}
	if err := decode(r, &body); err != nil || body.Number == "" || len(body.Recipients) == 0 || body.TextMode != "normal" {
		reply(w, 400, `{"error":"Couldn't process request - invalid request"}`)
		return
	}
	kinds := make(map[string]int)
	for _, recipient := range body.Recipients {
		kind, err := signalKind(recipient)
		if err != nil || s.down[recipient] {
			reply(w, 400, fmt.Sprintf(`{"error":"%v"}`, err))
			return
		}
		kinds[kind]++
	}
	if len(kinds) > 1 {
		reply(w, 400, `{"error":"... cannot be specified together in one request! Please split them up into multiple REST API calls."}`)
		return
	}
	if kinds["group"] > 1 {
		reply(w, 400, `{"error":"A signal message cannot be sent to more than one group at once!"}`)
		return
	}
	s.got = append(s.got, body.Recipients)
	if s.old {
		reply(w, 201, `{"timestamp":"1786912311000"}`)
		return
	}
	var failed []values
	for recipient, reason := range s.failures {
		if kinds["group"] == 1 || slices.Contains(body.Recipients, recipient) {
			failed = append(failed, values{"number": strings.ReplaceAll(recipient, " ", ""), "uuid": uuid.NewString(), "reason": reason})
		}
	}
	result := map[string]any{"timestamp": "1786912311000"}
	if failed != nil {
		result["errors"] = map[string]any{"recipients": failed}
	}
	answer, _ := json.Marshal([]any{result})
	reply(w, 201, string(answer))
}

// signalKind is getRecipientType of the server.
func signalKind(recipient string) (string, error) {
	if group, found := strings.CutPrefix(recipient, "group."); found {
		inner, err := base64.StdEncoding.DecodeString(group)
		id, err2 := base64.StdEncoding.DecodeString(string(inner))
		if err != nil || err2 != nil || len(id) != 32 {
			return "", fmt.Errorf("invalid identifier %s", recipient)
		}
		return "group", nil
	}
	if regexp.MustCompile(`^\+[0-9 ]*$`).MatchString(recipient) || uuid.Validate(recipient) == nil {
		return "number", nil
	}
	return "username", nil
}

func TestSignal(t *testing.T) {
	const a, b, id = "+37129999999", "+371 28 888 888", "6f1f8c0e-8d0c-4d5b-9f3e-2d9a1c3b5a70"
	group, other := signalGroup(1), signalGroup(2)
	mixed := strings.Join([]string{a, "anna.42", group, b, other, id, "bert.07"}, ",")
	tests := []struct {
		name       string
		recipients string
		api        signalAPI
		done       []string
		got        [][]string
		failed     bool
		permanent  bool
		accepted   []string
	}{
		{"mixed", mixed, signalAPI{}, nil, [][]string{{group}, {other}, {a, b, id}, {"anna.42", "bert.07"}}, false, false, nil},
		{"a release before the list", mixed, signalAPI{old: true}, nil,
			[][]string{{group}, {other}, {a, b, id}, {"anna.42", "bert.07"}}, false, false, nil},
		{"the rest", mixed, signalAPI{}, []string{a, group, "bert.07"}, [][]string{{other}, {b, id}, {"anna.42"}}, false, false, nil},
		{"all done", a, signalAPI{}, []string{a}, nil, false, false, nil},
		{"a group fails", mixed, signalAPI{down: map[string]bool{other: true}}, nil, [][]string{{group}, {a, b, id}, {"anna.42", "bert.07"}},
			true, false, []string{a, "anna.42", group, b, id, "bert.07"}},
		{"a number is away", a + "," + b, signalAPI{failures: values{b: "NETWORK_FAILURE"}}, nil, [][]string{{a, b}}, true, false, []string{a}},
		{"a number is not registered", a + "," + b, signalAPI{failures: values{b: "UNREGISTERED_FAILURE"}}, nil, [][]string{{a, b}}, true, true, []string{a}},
		{"one of each", a + "," + b, signalAPI{failures: values{a: "IDENTITY_FAILURE", b: "UNREGISTERED_FAILURE"}}, nil, [][]string{{a, b}},
			true, false, nil},
		{"a member of a group is away", group, signalAPI{failures: values{a: "NETWORK_FAILURE"}}, nil, [][]string{{group}}, false, false, nil},
		{"not a group", "group.YWJj/+==", signalAPI{}, nil, nil, true, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pretend(t, tt.api.ServeHTTP)
			n := down()
			n.Done = tt.done
			err := s.send("signal", values{"server_url": "http://s", "number": "+37120000000", "recipients": tt.recipients}, n)
			if diff := cmp.Diff(tt.got, tt.api.got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.accepted, channels.Accepted(err)); diff != "" {
				t.Error(diff)
			}
			nobody := tt.got == nil && !tt.failed
			if errors.Is(err, channels.ErrNobody) != nobody || (err != nil) != (tt.failed || nobody) || channels.IsPermanent(err) != tt.permanent {
				t.Error(err)
			}
		})
	}
}

// TestSignalAnswers uses answers with status 201 to a message for two user names.
func TestSignalAnswers(t *testing.T) {
	const odd = "the answer is not in the format of this service, check the URL"
	tests := []struct{ name, answer, want string }{
		{"a login page", `<html>`, odd},
		{"nothing", ``, odd},
		{"another service", `{"ok":true}`, odd},
		{"no results", `[]`, odd},
		{"no timestamp", `[{"errors":{}}]`, odd},
		{"a failure of nobody known", `[{"timestamp":"1","errors":{"recipients":[{"uuid":"6f1f8c0e-8d0c-4d5b-9f3e-2d9a1c3b5a70","reason":"NETWORK_FAILURE"}]}}]`,
			"the message was not delivered: NETWORK_FAILURE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := pretend(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, 201, tt.answer) })
			err := s.send("signal", values{"server_url": "http://s", "number": "+37120000000", "recipients": "anna.42,bert.07"}, down())
			if diff := cmp.Diff("anna.42: "+tt.want, fmt.Sprint(err)); diff != "" || channels.Accepted(err) != nil || channels.IsPermanent(err) {
				t.Error(diff, channels.Accepted(err))
			}
		})
	}
}
