package services_test

import (
	"net/http"
	"testing"
	"time"
)

// dingtalkSign is the HMAC of "1800000000000\nSECs3cr3tX" with the key "SECs3cr3tX".
const dingtalkSign = "ndkQJT8Tt92D6t3Oqt1XkJRiYcUjm7Std/i7m/xwmR4="

func dingtalkSample() sample {
	return sample{
		settings: values{"webhook_url": "https://oapi.dingtalk.com/robot/send?access_token=s3cr3tXtoken", "secret": "SECs3cr3tX"},
		answers:  ok(`{"errcode":0,"errmsg":"ok"}`),
		rules:    dingtalkRules,
		want: []request{{"POST", "https://oapi.dingtalk.com/robot/send?access_token=s3cr3tXtoken" +
			"&sign=ndkQJT8Tt92D6t3Oqt1XkJRiYcUjm7Std%2Fi7m%2FxwmR4%3D&timestamp=1800000000000", values{},
			raw(`{"msgtype":"text","text":{"content":"` + full + `"},"at":{"isAtAll":false}}`)}},
	}
}

// dingtalkRules are those of https://open.dingtalk.com/document/robots/custom-robot-access and
// https://open.dingtalk.com/document/robots/customize-robot-security-settings, for a robot with a signature.
func dingtalkRules(r *http.Request, body any) *answer {
	query := r.URL.Query()
	if r.URL.Path != "/robot/send" || query.Get("access_token") == "" {
		return refuse(200, `{"errcode":300001,"errmsg":"token is not exist"}`)
	}
	if query.Get("timestamp") != "1800000000000" || query.Get("sign") != dingtalkSign {
		return refuse(200, `{"errcode":310000,"errmsg":"sign not match"}`)
	}
	fields, _ := body.(map[string]any)
	text, _ := fields["text"].(map[string]any)
	content, _ := text["content"].(string)
	at, _ := fields["at"].(map[string]any)
	switch {
	case fields["msgtype"] != "text" || content == "":
		return refuse(200, `{"errcode":40035,"errmsg":"missing parameter"}`)
	case r.ContentLength > 20_000:
		return refuse(200, `{"errcode":460101,"errmsg":"message too long, exceed 20000 bytes"}`)
	case at["isAtAll"] != false:
		return refuse(200, `{"errcode":40035,"errmsg":"a mention"}`)
	}
	return nil
}

func TestDingTalkUnsigned(t *testing.T) {
	const hook = "https://oapi.dingtalk.com/robot/send?access_token=s3cr3tXtoken"
	sample := dingtalkSample()
	sample.rules = nil
	s := serveSample(t, sample)
	if err := s.send("dingtalk", values{"webhook_url": hook}, up()); err != nil || s.got[0].URL != hook {
		t.Error(err, s.got)
	}
}

// TestDingTalkErrors uses the codes of https://open.dingtalk.com/document/robots/custom-robot-access. A robot that sends
// too fast is blocked for 10 minutes.
func TestDingTalkErrors(t *testing.T) {
	testAnswers(t, dingtalkSample(), "dingtalk", []outcome{
		{name: "no token", answer: ok(`{"errcode":300001,"errmsg":"token is not exist"}`)[0], failed: true, permanent: true},
		{name: "no group", answer: ok(`{"errcode":400013,"errmsg":"group disbanded"}`)[0], failed: true, permanent: true},
		{name: "too fast", answer: ok(`{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}`)[0], failed: true, delay: 10 * time.Minute},
		{name: "security settings", answer: ok(`{"errcode":310000,"errmsg":"keywords not in content"}`)[0], failed: true},
		{name: "robot stopped", answer: ok(`{"errcode":400102,"errmsg":"robot stopped"}`)[0], failed: true},
		{name: "busy", answer: ok(`{"errcode":-1,"errmsg":"busy"}`)[0], failed: true},
		{name: "sign-in page", answer: ok("<html>")[0], failed: true},
		{name: "no code", answer: ok(`{"errmsg":"ok"}`)[0], failed: true},
	})
}
