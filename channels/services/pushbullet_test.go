package services_test

import (
	"net/http"
	"testing"
	"time"
)

func pushbulletSample() sample {
	return sample{
		settings: values{"token": "s3cr3tX", "target": "#ops"},
		answers:  ok(`{"active":true,"iden":"ujpah72o0sjAoRtnM0jc","type":"note"}`),
		rules:    pushbulletRules,
		want: []request{{"POST", "https://api.pushbullet.com/v2/pushes", values{"Access-Token": "s3cr3tX"},
			raw(`{"type":"note","title":"` + title + `","body":"` + body + `","guid":"n-1","channel_tag":"ops"}`)}},
	}
}

// pushbulletRules are those of https://docs.pushbullet.com/#create-push.
func pushbulletRules(r *http.Request, body any) *answer {
	fields, isObject := body.(map[string]any)
	targets := 0
	for _, name := range []string{"device_iden", "email", "channel_tag", "client_iden"} {
		if fields[name] != nil {
			targets++
		}
	}
	switch {
	case r.Header.Get("Access-Token") != "s3cr3tX":
		return refuse(401, `{"error":{"type":"invalid_access_token","message":"Access token is missing or invalid."}}`)
	case !isObject || fields["type"] != "note" || targets > 1:
		return refuse(400, `{"error":{"type":"invalid_request","message":"The param 'type' has an invalid value."}}`)
	}
	return nil
}

// TestPushbulletAnswers has the statuses of https://docs.pushbullet.com/#http-status-codes and #ratelimiting. The clock
// of the tests is at 1,800,000,000.
func TestPushbulletAnswers(t *testing.T) {
	const invalid = `{"error":{"type":"invalid_request","message":"The param 'device_iden' is invalid."}}`
	testAnswers(t, pushbulletSample(), "pushbullet", []outcome{
		{"a page", answer{200, "<html>", nil}, true, false, 0},
		{"no push", answer{200, "{}", nil}, true, false, 0},
		{"invalid", answer{400, invalid, nil}, true, true, 0},
		{"a proxy's 400", answer{400, "<html>", nil}, true, false, 0},
		{"wrong token", answer{401, invalid, nil}, true, false, 0},
		{"too fast", answer{429, "{}", values{"X-Ratelimit-Reset": "1800000090"}}, true, false, 90 * time.Second},
		{"too fast until long after", answer{429, "{}", values{"X-Ratelimit-Reset": "1900000000"}}, true, false, 24 * time.Hour},
		{"too fast until the past", answer{429, "{}", values{"X-Ratelimit-Reset": "1"}}, true, false, 0},
		{"too fast until some time", answer{429, "{}", values{"X-Ratelimit-Reset": "x"}}, true, false, 0},
	})
}
