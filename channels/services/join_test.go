package services_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
	"github.com/rollcall-dev/rollcall/channels/outbound"
)

func joinSample() sample {
	return sample{
		settings: values{"api_key": "s3cr3tX%/?", "devices": "d1, d2"},
		answers:  ok(`{"success":true}`),
		rules:    joinRules,
		want:     []request{joinRequest("deviceIds", "d1,d2")},
	}
}

func joinRequest(parameter, target string) request {
	return request{"POST", "https://joinjoaomgcd.appspot.com/_ah/api/messaging/v1/sendPush?" + url.Values{
		"apikey": {"s3cr3tX%/?"}, parameter: {target}, "title": {title}, "text": {unquote(body)},
	}.Encode(), values{}, url.Values{}}
}

// joinRules are those of https://joaoapps.com/join/api/: deviceId is one device or group, and deviceIds are devices.
func joinRules(r *http.Request, _ any) *answer {
	q := r.URL.Query()
	single, several := q.Get("deviceId"), strings.Split(q.Get("deviceIds"), ",")
	switch {
	case q.Get("apikey") == "":
		return refuse(200, `{"success":false,"errorMessage":"User not authenticated","userAuthError":true}`)
	case q.Has("deviceId") == q.Has("deviceIds"), strings.Contains(single, ","),
		slices.ContainsFunc(several, func(id string) bool { return strings.HasPrefix(id, "group.") }):
		return refuse(200, `{"success":false,"errorMessage":"No devices to send to"}`)
	}
	return nil
}

func TestJoin(t *testing.T) {
	const good, bad = `{"success":true}`, `{"success":false,"errorMessage":"x"}`
	all := []request{joinRequest("deviceId", "group.android"), joinRequest("deviceId", "group.pc"), joinRequest("deviceIds", "d1,d2")}
	tests := []struct {
		name, devices string
		answers       []answer
		want          []request
		failed        bool
		done          []string
	}{
		{"a group", "group.android", ok(good), all[:1], false, nil},
		{"groups and devices", "d1,group.android,d2,group.pc", ok(good), all, false, nil},
		{"one fails", "d1,group.android,d2,group.pc", []answer{{200, good, nil}, {200, bad, nil}, {200, good, nil}}, all,
			true, []string{"group.android", "devices"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, &outbound.Config{AllowPrivateNetworks: true}, tt.answers...)
			s.rules = joinRules
			settings := values{"api_key": "s3cr3tX%/?", "devices": tt.devices}
			err := s.send("join", settings, down())
			if diff := cmp.Diff(tt.want, s.got); diff != "" || (err != nil) != tt.failed {
				t.Error(diff, err)
			}
			if diff := cmp.Diff(tt.done, channels.Accepted(err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
