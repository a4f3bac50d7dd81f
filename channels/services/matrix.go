package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func matrixService() service {
	return service{
		info: channels.Type{
			Kind: "matrix", Title: "Matrix", Category: channels.CategoryChat,
			Doc: "Sends messages to Matrix rooms as the user of an access token, and joins the rooms if need be. " +
				"The messages are not encrypted.",
			Setup: "In Element: All settings > Help & About > Access Token. Use an account that only sends alerts, because the token opens " +
				"all its messages; signing out ends the token.",
			Settings: []channels.Setting{
				address(required("homeserver", "The URL of the homeserver, such as https://matrix.example.org.", serverWithout("/_matrix"))),
				secret("access_token", "The access token of the user.", token),
				required("rooms", "The rooms: IDs such as !abc:example.org, or aliases such as #ops:example.org, "+
					"separated by commas.",
					each(pattern(`[!#][^\s,]{1,254}`, "has a room that is neither an ID (!…) nor an alias (#…)"))),
			},
		},
		limit: 16_000, // of 65,536 bytes of an event, in which a character can take six
		send: func(ctx context.Context, m *delivery) error {
			return m.each("rooms", func(room string) error { return sendMatrix(ctx, m, room) })
		},
	}
}

// sendMatrix sends to one room. It joins the room only if the user is not in it.
func sendMatrix(ctx context.Context, m *delivery, room string) error {
	id := room
	if strings.HasPrefix(room, "#") {
		answer, err := m.matrix(ctx, http.MethodGet, nil, "directory", "room", room)
		if err != nil {
			return err
		}
		if id = answer.RoomID; id == "" {
			return errAnswer
		}
	}
	err := postMatrix(ctx, m, id)
	if e, found := errors.AsType[matrixError](err); !found || e.Code != "M_FORBIDDEN" && e.Code != "M_NOT_FOUND" {
		return err
	}
	if _, err := m.matrix(ctx, http.MethodPost, struct{}{}, "join", room); err != nil {
		return err
	}
	return postMatrix(ctx, m, id)
}

func postMatrix(ctx context.Context, m *delivery, roomID string) error {
	// Servers may take a transaction for the same one in another room, so its ID names the room.
	hash := sha256.Sum256([]byte(roomID))
	transaction := "rollcall-" + m.n.ID + "-" + hex.EncodeToString(hash[:8])
	// An empty mention list: even @room mentions nobody.
	event := map[string]any{"msgtype": "m.text", "body": m.titleAndText(), "m.mentions": struct{}{}}
	answer, err := m.matrix(ctx, http.MethodPut, event, "rooms", roomID, "send", "m.room.message", transaction)
	if err == nil && answer.EventID == "" {
		return errAnswer
	}
	return err
}

type matrixAnswer struct {
	RoomID  string `json:"room_id"`
	EventID string `json:"event_id"`
}

// matrix calls an endpoint of the homeserver.
func (m *delivery) matrix(ctx context.Context, method string, body any, path ...string) (matrixAnswer, error) {
	content, err := m.do(ctx, request{
		method: method,
		url:    join(m.settings["homeserver"], append([]string{"_matrix", "client", "v3"}, path...)...),
		header: map[string]string{"Authorization": bearer(m.settings["access_token"])},
		json:   body,
	})
	if err != nil {
		return matrixAnswer{}, explainMatrix(err, content, path[0])
	}
	var answer matrixAnswer
	if json.Unmarshal(content, &answer) != nil {
		return matrixAnswer{}, errAnswer
	}
	return answer, nil
}

// A matrixError is an error with the code that the homeserver gives it.
type matrixError struct {
	error
	Code string
}

func (e matrixError) Unwrap() error { return e.error }

// explainMatrix adds what the homeserver says in the body: a code and the pause, which older homeservers send nowhere
// else.
func explainMatrix(err error, content []byte, endpoint string) error {
	var result struct {
		Code       string `json:"errcode"`
		RetryAfter int64  `json:"retry_after_ms"`
	}
	if json.Unmarshal(content, &result) != nil || result.Code == "" {
		return err
	}
	err = matrixError{err, result.Code}
	_, marked := channels.RetryDelay(err)
	switch result.Code {
	case "M_USER_DEACTIVATED", "M_TOO_LARGE":
		return channels.Permanent(err)
	case "M_NOT_FOUND":
		if endpoint == "directory" { // no room has the alias
			return channels.Permanent(err)
		}
	case "M_LIMIT_EXCEEDED":
		if !marked && result.RetryAfter > 0 {
			return channels.RetryAfter(err, time.Duration(min(result.RetryAfter, 86_400_000))*time.Millisecond)
		}
	}
	return err
}
