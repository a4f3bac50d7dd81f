package services

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func larkService() service {
	result := codes{
		field: "code", text: "msg",
		gone:    []int{19001},       // no such webhook
		tooFast: []int{9499, 11232}, // 100 messages a minute
		pause:   time.Minute,
	}
	return service{
		info: channels.Type{
			Kind: "lark", Title: "Lark", Category: channels.CategoryChat,
			Doc: "Posts to a Lark or Feishu group as a custom bot.",
			Setup: "In the Lark group: Settings > Bots > Add Bot > Custom Bot; copy its webhook URL. If you turn on signature " +
				"verification, copy its key too.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the bot, https://open.larksuite.com/open-apis/bot/v2/hook/…, "+
					"or the same at open.feishu.cn.",
					hookAt(`/open-apis/bot/v2/hook/[\w-]+`, "open.larksuite.com", "open.feishu.cn")),
				notRequired(secret("secret", "The key of the bot's signature verification.", nil)),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			// Lark interprets <at> in a plain message, but not in a post.
			paragraph := [][]any{{map[string]string{"tag": "text", "text": m.text}}}
			body := map[string]any{
				"msg_type": "post",
				"content": map[string]any{
					"post": map[string]any{"en_us": map[string]any{"title": m.title, "content": paragraph}},
				},
			}
			if secret := m.settings["secret"]; secret != "" {
				stamp := strconv.FormatInt(m.now().Unix(), 10)
				sum := hmac.New(sha256.New, []byte(stamp+"\n"+secret)).Sum(nil) // Lark signs the empty text
				body["timestamp"], body["sign"] = stamp, base64.StdEncoding.EncodeToString(sum)
			}
			answer, err := m.do(ctx, request{url: m.settings["webhook_url"], json: body})
			return result.check(answer, err)
		},
	}
}
