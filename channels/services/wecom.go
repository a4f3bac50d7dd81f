package services

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/message"
)

func wecomService() service {
	return service{
		info: channels.KindInfo{
			Kind: "wecom", Title: "WeCom", Category: channels.Chat,
			Doc: "Posts to a WeCom (WeChat Work) group as a group robot.",
			Settings: []channels.Setting{
				secret("key", "The key of the robot, which is at the end of its URL.",
					pattern(`[\w-]{8,100}`, "is not the key of a robot")),
			},
		},
		limit: 2000,
		send: func(ctx context.Context, m *delivery) error {
			answer, err := m.do(ctx, request{
				url:  "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?" + url.Values{"key": {m.settings["key"]}}.Encode(),
				json: map[string]any{"msgtype": "text", "text": map[string]string{"content": message.Cut(m.titleAndText(), 2000)}},
			})
			if err != nil {
				return err
			}
			var result struct {
				Code *int   `json:"errcode"`
				Msg  string `json:"errmsg"`
			}
			return codeError(json.Unmarshal(answer, &result), result.Code, result.Msg, 45009)
		},
	}
}

// codeError returns the error of an answer with a code, which is 0 for success. The codes for "too fast" ask for a
// pause of a minute.
func codeError(malformed error, code *int, text string, tooFast ...int) error {
	if malformed != nil || code == nil {
		return errAnswer
	}
	if *code == 0 {
		return nil
	}
	err := refused(*code, text)
	for _, c := range tooFast {
		if c == *code {
			return channels.RetryAfter(err, time.Minute)
		}
	}
	return err
}
