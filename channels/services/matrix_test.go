package services_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func matrixSample() sample {
	return sample{
		settings: values{"homeserver": "https://matrix.example.org/", "access_token": "s3cr3tX", "rooms": "#ops/1:example.org"},
		answers:  []answer{{status: 200, body: `{"room_id":"!a/b?:example.org","servers":["example.org"]}`}, {status: 200, body: `{"event_id":"$1"}`}},
		want: []request{
			{"GET", "https://matrix.example.org/_matrix/client/v3/directory/room/%23ops%2F1:example.org", values{"Authorization": "Bearer s3cr3tX"}, ""},
			{"PUT", "https://matrix.example.org/_matrix/client/v3/rooms/%21a%2Fb%3F:example.org/send/m.room.message/rollcall-n-1-59874d767c20c8a5",
				values{"Authorization": "Bearer s3cr3tX"}, raw(`{"msgtype":"m.text","body":"` + full + `","m.mentions":{}}`)},
		},
	}
}

// homeserver has the rules of https://spec.matrix.org/v1.18/client-server-api/: the endpoints
// PUT /rooms/{roomId}/send, GET /directory/room and POST /join, transaction identifiers, standard errors and the limit
// of an event. Transactions are those of a device, whatever the room, as homeservers of the Conduit family keep them.
type homeserver struct {
	t       *testing.T
	aliases map[string]string // the room of an alias
	members map[string]string // by room: joined, invited, banned; other rooms do not exist
	fail    map[string]answer // by room, of sending
	done    map[string]string // event by transaction
	events  map[string]int    // messages by room
	asked   []string
}

func (s *homeserver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/_matrix/client/v3/"), "/")
	for i := range path {
		path[i], _ = url.PathUnescape(path[i])
	}
	s.asked = append(s.asked, r.Method+" "+strings.Join(path[:2], " "))
	fail := func(status int, code, text string) {
		reply(w, status, fmt.Sprintf(`{"errcode":%q,"error":%q}`, code, text))
	}
	switch endpoint := r.Method + " " + path[0]; {
	case r.Header.Get("Authorization") != "Bearer right":
		fail(401, "M_UNKNOWN_TOKEN", "Unrecognised access token.")
	case endpoint == "GET directory":
		if body, _ := io.ReadAll(r.Body); len(body) > 0 {
			s.t.Errorf("a body of GET: %s", body)
		}
		if id := s.aliases[path[2]]; id != "" {
			reply(w, 200, fmt.Sprintf(`{"room_id":%q,"servers":["example.org"]}`, id))
			return
		}
		fail(404, "M_NOT_FOUND", "Room alias "+path[2]+" not found.")
	case endpoint == "POST join":
		if err := decode(r, &struct{}{}); err != nil {
			fail(400, "M_NOT_JSON", err.Error())
			return
		}
		id := path[1]
		if strings.HasPrefix(id, "#") {
			id = s.aliases[id]
		}
		switch s.members[id] {
		case "joined", "invited":
			s.members[id] = "joined"
			reply(w, 200, fmt.Sprintf(`{"room_id":%q}`, id))
		case "banned":
			fail(403, "M_FORBIDDEN", "You have been banned from this room.")
		default:
			fail(403, "M_FORBIDDEN", "You are not invited to this room.")
		}
	case endpoint == "PUT rooms" && len(path) == 5 && path[2] == "send" && path[3] == "m.room.message":
		s.send(w, r, path[1], path[4])
	default:
		fail(404, "M_UNRECOGNIZED", "Unrecognized request")
	}
}

func (s *homeserver) send(w http.ResponseWriter, r *http.Request, room, transaction string) {
	fail := func(status int, code string) { reply(w, status, fmt.Sprintf(`{"errcode":%q,"error":"…"}`, code)) }
	var event struct {
		Type     string `json:"msgtype"`
		Body     string `json:"body"`
		Mentions *struct {
			Users []string `json:"user_ids"`
			Room  bool     `json:"room"`
		} `json:"m.mentions"`
	}
	if id := s.done[transaction]; id != "" {
		reply(w, 200, fmt.Sprintf(`{"event_id":%q}`, id))
		return
	}
	if a, found := s.fail[room]; found {
		reply(w, a.status, a.body)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 65_536)
	err := decode(r, &event)
	switch {
	case !regexp.MustCompile(`^![^:]+(:.+)?$`).MatchString(room):
		fail(400, "M_INVALID_PARAM")
	case err != nil && strings.Contains(err.Error(), "too large"):
		fail(413, "M_TOO_LARGE")
	case err != nil:
		fail(400, "M_NOT_JSON")
	case s.members[room] == "":
		fail(404, "M_NOT_FOUND")
	case s.members[room] != "joined":
		fail(403, "M_FORBIDDEN")
	default:
		if event.Type != "m.text" || event.Body == "" || event.Mentions == nil || event.Mentions.Room || event.Mentions.Users != nil {
			s.t.Errorf("the event is %+v", event)
		}
		s.done[transaction] = fmt.Sprintf("$%d", len(s.done))
		s.events[room]++
		reply(w, 200, fmt.Sprintf(`{"event_id":%q}`, s.done[transaction]))
	}
}

// newHomeserver has a room to send to, one with an invitation, one with a ban, and one in which only others may send.
func newHomeserver(t *testing.T) *homeserver {
	return &homeserver{
		t:       t,
		aliases: map[string]string{"#ops:h": "!in:h", "#new:h": "!invited:h"},
		members: map[string]string{"!in:h": "joined", "!v12": "joined", "!invited:h": "invited", "!banned:h": "banned", "!quiet:h": "joined"},
		fail:    map[string]answer{"!quiet:h": {status: 403, body: `{"errcode":"M_FORBIDDEN","error":"power level"}`}},
		done:    make(map[string]string),
		events:  make(map[string]int),
	}
}

func TestMatrix(t *testing.T) {
	away := answer{status: 502, body: "<html>"}
	tests := []struct {
		name      string
		rooms     string
		done      []string
		fail      map[string]answer
		asked     []string
		events    map[string]int
		failed    bool
		permanent bool
		accepted  []string
	}{
		{"rooms of two versions", "!in:h,!v12", nil, nil, []string{"PUT rooms !in:h", "PUT rooms !v12"}, map[string]int{"!in:h": 1, "!v12": 1}, false, false, nil},
		{"an alias", "#ops:h", nil, nil, []string{"GET directory room", "PUT rooms !in:h"}, map[string]int{"!in:h": 1}, false, false, nil},
		{"an invitation", "!invited:h", nil, nil, []string{"PUT rooms !invited:h", "POST join !invited:h", "PUT rooms !invited:h"},
			map[string]int{"!invited:h": 1}, false, false, nil},
		{"an alias to join", "#new:h", nil, nil, []string{"GET directory room", "PUT rooms !invited:h", "POST join #new:h", "PUT rooms !invited:h"},
			map[string]int{"!invited:h": 1}, false, false, nil},
		{"a room and its alias", "#ops:h,!in:h", nil, nil, []string{"GET directory room", "PUT rooms !in:h", "PUT rooms !in:h"},
			map[string]int{"!in:h": 1}, false, false, nil},
		{"the rest", "!in:h,!v12", []string{"!in:h"}, nil, []string{"PUT rooms !v12"}, map[string]int{"!v12": 1}, false, false, nil},
		{"one is away", "!in:h,!v12", nil, map[string]answer{"!in:h": away}, []string{"PUT rooms !in:h", "PUT rooms !v12"},
			map[string]int{"!v12": 1}, true, false, []string{"!v12"}},
		{"a ban", "!banned:h,!v12", nil, nil, []string{"PUT rooms !banned:h", "POST join !banned:h", "PUT rooms !v12"},
			map[string]int{"!v12": 1}, true, false, []string{"!v12"}},
		{"no right to send", "!quiet:h", nil, nil, []string{"PUT rooms !quiet:h", "POST join !quiet:h", "PUT rooms !quiet:h"}, nil, true, false, nil},
		{"a room unknown here", "!other:h", nil, nil, []string{"PUT rooms !other:h", "POST join !other:h"}, nil, true, false, nil},
		{"no such alias", "#no:h,!v12", nil, nil, []string{"GET directory room", "PUT rooms !v12"}, map[string]int{"!v12": 1}, true, true, []string{"!v12"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHomeserver(t)
			for room, a := range tt.fail {
				h.fail[room] = a
			}
			n := down()
			n.Done = tt.done
			err := pretend(t, h.ServeHTTP).send("matrix", values{"homeserver": "https://h", "access_token": "right", "rooms": tt.rooms}, n)
			if diff := cmp.Diff(tt.asked, h.asked); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.events, h.events); diff != "" && len(tt.events)+len(h.events) > 0 {
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

// TestMatrixAttempts sends notifications again and for the first time.
func TestMatrixAttempts(t *testing.T) {
	h := newHomeserver(t)
	settings := values{"homeserver": "https://h", "access_token": "right", "rooms": "!in:h"}
	again, other, anonymous := down(), longNotification(), down()
	other.ID, anonymous.ID = "n-2", ""
	for _, n := range []channels.Notification{again, again, other, anonymous, anonymous} {
		if err := pretend(t, h.ServeHTTP).send("matrix", settings, n); err != nil {
			t.Fatal(err)
		}
	}
	if h.events["!in:h"] != 4 { // one without ID counts as new
		t.Errorf("%d messages", h.events["!in:h"])
	}
}

// TestMatrixErrors uses answers of a homeserver to the first request.
func TestMatrixErrors(t *testing.T) {
	const odd = "the answer is not in the format of this service, check the URL"
	tests := []struct {
		name      string
		answer    answer
		want      string
		permanent bool
		delay     time.Duration
	}{
		{"a login page", answer{status: 200, body: "<html>"}, odd, false, 0},
		{"another service", answer{status: 200, body: "{}"}, odd, false, 0},
		{"the token is wrong", answer{status: 401, body: `{"errcode":"M_UNKNOWN_TOKEN","error":"x"}`}, "", false, 0},
		{"the user is gone", answer{status: 403, body: `{"errcode":"M_USER_DEACTIVATED","error":"x"}`}, "", true, 0},
		{"locked", answer{status: 401, body: `{"errcode":"M_USER_LOCKED","error":"x"}`}, "", false, 0},
		{"too large", answer{status: 413, body: `{"errcode":"M_TOO_LARGE","error":"x"}`}, "", true, 0},
		{"not a homeserver", answer{status: 404, body: `{"errcode":"M_UNRECOGNIZED","error":"x"}`}, "", false, 0},
		{"too fast, in the body", answer{status: 429, body: `{"errcode":"M_LIMIT_EXCEEDED","error":"x","retry_after_ms":1500}`}, "", false, 1500 * time.Millisecond},
		{"too fast, in a header", answer{429, `{"errcode":"M_LIMIT_EXCEEDED","error":"x","retry_after_ms":1500}`, values{"Retry-After": "2"}},
			"", false, 2 * time.Second},
		{"too fast", answer{status: 429, body: `{"errcode":"M_LIMIT_EXCEEDED","error":"x"}`}, "", false, 0},
	}
	for _, tt := range tests {
		for _, room := range []string{"!in:h", "#ops:h"} {
			t.Run(tt.name+" "+room, func(t *testing.T) {
				s := pretend(t, func(w http.ResponseWriter, _ *http.Request) {
					for name, value := range tt.answer.header {
						w.Header().Set(name, value)
					}
					reply(w, tt.answer.status, tt.answer.body)
				})
				err := s.send("matrix", values{"homeserver": "https://h", "access_token": "right", "rooms": room}, down())
				delay, _ := channels.RetryDelay(err)
				if err == nil || channels.IsPermanent(err) != tt.permanent || delay != tt.delay || tt.want != "" && err.Error() != tt.want {
					t.Error(err, delay)
				}
			})
		}
	}
}
