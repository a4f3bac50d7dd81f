package services_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// larkSign is the HMAC of the empty text with the key "1800000000\ns3cr3tX ž/@".
const larkSign = "TTNM5Vm7sfQ4jxbJTgMeruQzQTyqSXkeFprZt/Ai1yM="

func larkSample() sample {
	return sample{
		settings: values{"webhook_url": "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3tX-1", "secret": "s3cr3tX ž/@"},
		answers:  ok(`{"code":0,"msg":"success","data":{}}`),
		rules:    larkRules,
		want: []request{{"POST", "https://open.larksuite.com/open-apis/bot/v2/hook/s3cr3tX-1", values{},
			raw(`{"msg_type":"post","timestamp":"1800000000","sign":"` + larkSign + `",
				"content":{"post":{"en_us":{"title":"` + title + `","content":[[{"tag":"text","text":"` + body + `"}]]}}}}`)}},
	}
}

// larkRules are those of https://open.feishu.cn/document/ukTMukTMukTM/ucTM5YjL3ETO24yNxkjN: requests of at most 20 KB,
// with a signature that is at most an hour old.
func larkRules(r *http.Request, body any) *answer {
	document, _ := json.Marshal(body)
	var message struct {
		Type      string `json:"msg_type"`
		Timestamp string `json:"timestamp"`
		Sign      string `json:"sign"`
		Content   struct {
			Post map[string]struct {
				Title   string
				Content [][]struct{ Tag, Text string }
			}
		}
	}
	if !regexp.MustCompile(`^/open-apis/bot/v2/hook/[\w-]+$`).MatchString(r.URL.Path) {
		return refuse(200, `{"code":19001,"data":{},"msg":"param invalid: incoming webhook access token invalid"}`)
	}
	if json.Unmarshal(document, &message) != nil || message.Type != "post" || len(message.Content.Post) == 0 || r.ContentLength > 20_000 {
		return refuse(200, `{"code":9499,"msg":"Bad Request","data":{}}`)
	}
	for _, post := range message.Content.Post {
		for _, paragraph := range post.Content {
			for _, node := range paragraph {
				if node.Tag != "text" || node.Text == "" {
					return refuse(200, `{"code":9499,"msg":"Bad Request","data":{}}`)
				}
			}
		}
	}
	if message.Sign != larkSign || message.Timestamp != "1800000000" {
		return refuse(200, `{"code":19021,"data":{},"msg":"sign match fail or timestamp is not within one hour from current time"}`)
	}
	return nil
}

func TestLarkErrors(t *testing.T) {
	testAnswers(t, larkSample(), "lark", []outcome{
		{name: "no webhook", answer: ok(`{"code":19001,"data":{},"msg":"param invalid: incoming webhook access token invalid"}`)[0], failed: true, permanent: true},
		{name: "wrong signature", answer: ok(`{"code":19021,"data":{},"msg":"sign match fail or timestamp is not within one hour from current time"}`)[0], failed: true},
		{name: "address not allowed", answer: ok(`{"code":19022,"data":{},"msg":"Ip Not Allowed"}`)[0], failed: true},
		{name: "no keyword", answer: ok(`{"code":19024,"data":{},"msg":"Key Words Not Found"}`)[0], failed: true},
		{name: "too fast", answer: ok(`{"code":11232,"msg":"frequency limited"}`)[0], failed: true, delay: time.Minute},
		{name: "no webhook, by status", answer: answer{status: 400, body: `{"code":19001,"msg":"param invalid: incoming webhook access token invalid"}`}, failed: true, permanent: true},
		{name: "bad request", answer: answer{status: 400, body: `{"code":1,"msg":"Bad Request"}`}, failed: true},
		{name: "odd success", answer: answer{status: 500, body: `{"code":0}`}, failed: true},
		{name: "sign-in page", answer: ok("<html>")[0], failed: true},
	})
}
