package services_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func wecomSample() sample {
	return sample{
		settings: values{"key": "s3cr3tX-key"},
		answers:  ok(`{"errcode":0,"errmsg":"ok"}`),
		rules:    wecomRules,
		want: []request{{"POST", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=s3cr3tX-key", values{},
			raw(`{"msgtype":"text","text":{"content":"` + full + `"}}`)}},
	}
}

// wecomRules are those of https://developer.work.weixin.qq.com/document/path/91770: at most 2,048 bytes, and <@userid> in
// the text is a mention.
func wecomRules(r *http.Request, body any) *answer {
	if r.URL.Query().Get("key") == "" {
		return refuse(200, `{"errcode":93000,"errmsg":"invalid webhook url"}`)
	}
	fields, _ := body.(map[string]any)
	text, _ := fields["text"].(map[string]any)
	content, _ := text["content"].(string)
	switch {
	case fields["msgtype"] != "text":
		return refuse(200, `{"errcode":40008,"errmsg":"invalid message type"}`)
	case content == "":
		return refuse(200, `{"errcode":44004,"errmsg":"text content is empty"}`)
	case len(content) > 2048:
		return refuse(200, `{"errcode":40058,"errmsg":"text.content exceed max length 2048"}`)
	case strings.Contains(content, "<@"):
		return refuse(200, `{"errcode":40058,"errmsg":"a mention"}`)
	}
	return nil
}

// TestWeComErrors uses the codes of https://developer.work.weixin.qq.com/document/path/90313.
func TestWeComErrors(t *testing.T) {
	testAnswers(t, wecomSample(), "wecom", []outcome{
		{name: "no robot", answer: ok(`{"errcode":93000,"errmsg":"invalid webhook url"}`)[0], failed: true, permanent: true},
		{name: "too fast", answer: ok(`{"errcode":45009,"errmsg":"api freq out of limit"}`)[0], failed: true, delay: time.Minute},
		{name: "busy", answer: ok(`{"errcode":-1,"errmsg":"system busy"}`)[0], failed: true},
		{name: "sign-in page", answer: ok("<html>")[0], failed: true},
		{name: "no code", answer: ok("{}")[0], failed: true},
		{name: "null", answer: ok(`{"errcode":null}`)[0], failed: true},
	})
}

func TestWeComMention(t *testing.T) {
	n := down()
	n.Check.Name = "<@all> a < b <@<@u>"
	if err := serveSample(t, wecomSample()).send("wecom", wecomSample().settings, n); err != nil {
		t.Error(err)
	}
}
