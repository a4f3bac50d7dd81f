package services

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func matrixService() service {
	return service{
		info: channels.KindInfo{
			Kind: "matrix", Title: "Matrix", Category: channels.Chat,
			Doc: "Sends messages to Matrix rooms as the user of an access token, and joins the rooms if need be.",
			Settings: []channels.Setting{
				address(required("homeserver", "The URL of the homeserver, such as https://matrix.example.org.", server)),
				secret("access_token", "The access token of the user.", token),
				required("rooms", "The rooms: IDs such as !abc:example.org, or aliases such as #ops:example.org, "+
					"separated by commas.",
					each(pattern(`[!#][^\s,]{1,254}`, "has a room that is neither an ID (!…) nor an alias (#…)"))),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			rooms := list(m.settings["rooms"])
			if len(rooms) == 0 {
				return errors.New("rooms is empty")
			}
			var first error
			for _, room := range rooms {
				if err := sendMatrix(ctx, m, room); err != nil && first == nil {
					first = err
				}
			}
			return first // a retry has the same transaction ID, so no room shows the message twice
		},
	}
}

func sendMatrix(ctx context.Context, m *delivery, room string) error {
	base := m.settings["homeserver"]
	header := map[string]string{"Authorization": "Bearer " + m.settings["access_token"]}
	address := join(base, "_matrix", "client", "v3", "join", room)
	answer, err := m.do(ctx, request{url: address, header: header, json: struct{}{}})
	if err != nil {
		return matrixError(err, answer)
	}
	var joined struct {
		RoomID string `json:"room_id"`
	}
	if json.Unmarshal(answer, &joined) != nil || joined.RoomID == "" {
		return errAnswer
	}
	answer, err = m.do(ctx, request{
		method: http.MethodPut,
		url:    join(base, "_matrix", "client", "v3", "rooms", joined.RoomID, "send", "m.room.message", "rollcall-"+m.n.ID),
		header: header,
		// An empty mention list: even @room mentions nobody.
		json: map[string]any{"msgtype": "m.text", "body": m.titleAndText(), "m.mentions": struct{}{}},
	})
	return matrixError(err, answer)
}

// matrixError adds the pause, which older homeservers send only in the body.
func matrixError(err error, answer []byte) error {
	var result struct {
		Code       string `json:"errcode"`
		RetryAfter int64  `json:"retry_after_ms"`
	}
	if _, marked := channels.RetryDelay(err); err == nil || marked || json.Unmarshal(answer, &result) != nil {
		return err
	}
	if result.Code != "M_LIMIT_EXCEEDED" || result.RetryAfter <= 0 {
		return err
	}
	return channels.RetryAfter(err, time.Duration(min(result.RetryAfter, 86_400_000))*time.Millisecond)
}
