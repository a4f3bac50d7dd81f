package services

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
	"time"

	"github.com/rollcall-dev/rollcall/channels"
)

func dingtalkService() service {
	result := codes{
		field: "errcode", text: "errmsg",
		gone:    []int{300001, 300005, 400013, 400101, 400106}, // no such token, group or robot
		tooFast: []int{130101, 410100},                         // 20 messages a minute
		pause:   10 * time.Minute,
	}
	return service{
		info: channels.Type{
			Kind: "dingtalk", Title: "DingTalk", Category: channels.CategoryChat,
			Doc: "Posts to a DingTalk group as a custom robot. A robot secured by keywords needs the keywords DOWN " +
				"and UP.",
			Setup: "In the DingTalk group, open the settings, add a robot of the type Custom, and copy its webhook URL. If you secure it " +
				"by a signature, copy that secret too.",
			Settings: []channels.Setting{
				secret("webhook_url", "The URL of the robot, https://oapi.dingtalk.com/robot/send?access_token=….", dingtalkHook),
				notRequired(secret("secret", "The secret of a robot secured by a signature, which begins with SEC.", token)),
			},
		},
		send: func(ctx context.Context, m *delivery) error {
			address, err := dingtalkURL(m)
			if err != nil {
				return err
			}
			answer, err := m.do(ctx, request{url: address, json: map[string]any{
				"msgtype": "text",
				"text":    map[string]string{"content": m.titleAndText()},
				"at":      map[string]bool{"isAtAll": false},
			}})
			return result.check(answer, err)
		},
	}
}

// dingtalkHook accepts the URLs of robots.
func dingtalkHook(value string) error {
	if err := hookAt(`/robot/send`, "oapi.dingtalk.com")(value); err != nil {
		return err
	}
	if u, err := url.Parse(value); err != nil || u.Query().Get("access_token") == "" {
		return errors.New("has no access_token")
	}
	return nil
}

// dingtalkURL returns the URL of the robot with the time in milliseconds and its signature.
func dingtalkURL(m *delivery) (string, error) {
	u, err := url.Parse(m.settings["webhook_url"])
	if err != nil {
		return "", errors.New("webhook_url is malformed")
	}
	query := url.Values{"access_token": {u.Query().Get("access_token")}}
	if secret := m.settings["secret"]; secret != "" {
		stamp := strconv.FormatInt(m.now().UnixMilli(), 10)
		sum := hmac.New(sha256.New, []byte(secret))
		_, _ = sum.Write([]byte(stamp + "\n" + secret))
		query.Set("timestamp", stamp)
		query.Set("sign", base64.StdEncoding.EncodeToString(sum.Sum(nil)))
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}
