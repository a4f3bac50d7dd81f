package services

import (
	"context"
	"net/url"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func wecomService() service {
	result := codes{
		field: "errcode", text: "errmsg",
		gone:    []int{93000}, // the key is not that of a robot
		tooFast: []int{45009}, // 20 messages a minute
		pause:   time.Minute,
	}
	return service{
		info: channels.Type{
			Kind: "wecom", Title: "WeCom", Category: channels.CategoryChat,
			Doc:   "Posts to a WeCom (WeChat Work) group as a group robot.",
			Setup: "In the WeCom group, add a group robot. Its webhook URL ends in key= and the key.",
			Settings: []channels.Setting{
				secret("key", "The key of the robot, which is at the end of its URL.",
					pattern(`[\w-]{8,100}`, "is not the key of a robot")),
			},
		},
		escape: wecomEscape,
		limit:  2048, // the limit of the service, in bytes
		send: func(ctx context.Context, m *delivery) error {
			answer, err := m.do(ctx, request{
				url:  "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?" + url.Values{"key": {m.settings["key"]}}.Encode(),
				json: map[string]any{"msgtype": "text", "text": map[string]string{"content": m.titleAndText()}},
			})
			return result.check(answer, err)
		},
	}
}
