package webhook_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-dev/rollcall/channels/webhook"
)

// key is a secret in the form of Standard Webhooks.
var key = "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdefghijklmn"))

func TestSignature(t *testing.T) {
	got := send(t, down(), settings{
		"url_down": "http://receiver/", "secret": key,
		"headers_down": "webhook-id: mine\nwebhook-signature: v1,mine\nidempotency-key: mine",
	})
	equal(t, "headers", []any{got.Header["Webhook-Id"], got.Header["Webhook-Timestamp"], got.Header["Idempotency-Key"]},
		[]any{[]string{"n1"}, []string{fmt.Sprint(now.Unix())}, []string{"n1"}})
	if err := webhook.Verify(key, got.Header, []byte(got.Body), now); err != nil {
		t.Error(err)
	}
	get := send(t, down(), settings{"url_down": "http://receiver/", "method_down": "GET", "secret": key})
	if err := webhook.Verify(key, get.Header, nil, now); err != nil {
		t.Error(err)
	}
	const old, next = "the_old_secret_16+", "the_new_secret_16+"
	both := send(t, down(), settings{"url_down": "http://receiver/", "secret": old + " " + next})
	for _, secret := range []string{old, next, next + " " + key} {
		if err := webhook.Verify(secret, both.Header, []byte(both.Body), now); err != nil {
			t.Error(err)
		}
	}
	if err := webhook.Verify(key, both.Header, []byte(both.Body), now); !errors.Is(err, webhook.ErrSignature) {
		t.Error(err)
	}
}

// TestStandard uses the example of the reference libraries of Standard Webhooks.
func TestStandard(t *testing.T) {
	header := http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	at := time.Unix(1614265330, 0)
	if err := webhook.Verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", header, []byte(`{"test": 2432232314}`), at); err != nil {
		t.Error(err)
	}
}

func TestVerify(t *testing.T) {
	request := send(t, down(), settings{"url_down": "http://receiver/", "secret": key})
	body, signature := request.Body, request.Header.Get("Webhook-Signature")
	tests := []struct {
		name   string
		change func(h http.Header)
		body   string
		now    time.Time
		want   string
	}{
		{"right", nil, body, now, ""},
		{"5 minutes late", nil, body, now.Truncate(time.Second).Add(5 * time.Minute), ""},
		{"5 minutes early", nil, body, now.Truncate(time.Second).Add(-5 * time.Minute), ""},
		{"too late", nil, body, now.Add(5*time.Minute + time.Second), "the timestamp is more than 5m0s off"},
		{"too early", nil, body, now.Add(-5*time.Minute - time.Second), "the timestamp is more than 5m0s off"},
		{"another body", nil, body + " ", now, "no signature matches the secret"},
		{"another identifier", func(h http.Header) { h.Set("Webhook-Id", "n3") }, body, now, "no signature matches the secret"},
		{"another time", func(h http.Header) { h.Set("Webhook-Timestamp", fmt.Sprint(now.Unix()+1)) }, body, now, "no signature matches the secret"},
		{"no number", func(h http.Header) { h.Set("Webhook-Timestamp", "now") }, body, now, "the timestamp is not a number"},
		{"no identifier", func(h http.Header) { h.Del("Webhook-Id") }, body, now, "Webhook-Id, Webhook-Timestamp or Webhook-Signature is missing"},
		{"no timestamp", func(h http.Header) { h.Del("Webhook-Timestamp") }, body, now, "Webhook-Id, Webhook-Timestamp or Webhook-Signature is missing"},
		{"no signature", func(h http.Header) { h.Del("Webhook-Signature") }, body, now, "Webhook-Id, Webhook-Timestamp or Webhook-Signature is missing"},
		{"another version", func(h http.Header) { h.Set("Webhook-Signature", strings.Replace(signature, "v1", "v2", 1)) }, body, now, "no signature matches the secret"},
		{"one of several", func(h http.Header) { h.Set("Webhook-Signature", "v1a,x v1,AAAA  "+signature+" v1,") }, body, now, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := request.Header.Clone()
			if tt.change != nil {
				tt.change(header)
			}
			err := webhook.Verify(key, header, []byte(tt.body), tt.now)
			text := ""
			if err != nil {
				text = strings.TrimPrefix(err.Error(), webhook.ErrSignature.Error()+": ")
			}
			equal(t, "error", text, tt.want)
			equal(t, "type", errors.Is(err, webhook.ErrSignature), tt.want != "")
		})
	}
	for _, secret := range []string{"", " ", "whsec_", "whsec_s3cret*"} {
		err := webhook.Verify(secret, request.Header, []byte(body), now)
		if err == nil || errors.Is(err, webhook.ErrSignature) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", secret, err)
		}
	}
}
