package channels_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollcall-dev/rollcall/channels"
)

func TestRedact(t *testing.T) {
	tests := []struct {
		text    string
		secrets []string
		want    string
	}{
		{"no secret", nil, "no secret"},
		{"no secret", []string{"", "other"}, "no secret"},
		{"s3cret and s3cret", []string{"s3cret"}, "*** and ***"},
		{"s3cret-long and s3cret", []string{"s3cret", "s3cret-long"}, "*** and ***"},
		{`a b/"ž" a+b%2F%22%C5%BE%22 a%20b%2F%22%C5%BE%22 a b/\"ž\"`, []string{`a b/"ž"`}, "*** *** *** ***"},
		{`a\u003cb a<b a\nb`, []string{"a<b", "a\nb"}, "*** *** ***"},
		{`ends in \"`, []string{`in "`}, "ends ***"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, channels.Redact(tt.text, tt.secrets...)); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
	}
}

func TestSecrets(t *testing.T) {
	kind := channels.Type{Settings: []channels.Setting{
		{Name: "to"}, {Name: "body"}, {Name: "key", Secret: true}, {Name: "url", Secret: true}, {Name: "headers", Secret: true},
	}}
	const segment = "0123456789abcdef"
	settings := map[string]string{
		"to": "ops", "key": "k", "url": "https://user:p4ssword@example.org/v1/" + segment + "?token=t0ken&n=1",
		"headers": "X-Key: 0ne!\r\nAuthorization: Bearer t w o\n", "unknown": "unkn0wn", "body": "{\n\"t\": \"fr0m a file\"\n}",
	}
	c := channels.Channel{Settings: settings, Sources: map[string]string{"body": "file token"}}
	tests := []struct{ text, want string }{
		{"to ops", "to ops"},
		{"example.org says v1 n", "example.org says v1 n"},
		{"Xey: key", "Xey: ***ey"},
		{settings["url"], "***"},
		{segment, "***"},
		{"/v1/" + segment, "***"},
		{"token=t0ken&n=1", "***"},
		{"[t0ken]", "[***]"},
		{"p4ssword", "***"},
		{"Authorization: Bearer t w o", "***"},
		{"Bearer t w o", "***"},
		{"(t w o)", "(***)"},
		{"X-Key is 0ne!", "X-Key is ***"},
		{"unkn0wn", "***"},
		{`{ "t": "fr0m a file"`, "{ ***"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, channels.Redact(tt.text, kind.Secrets(c)...)); diff != "" {
			t.Errorf("%s: %s", tt.text, diff)
		}
	}
	if got := channels.Redact("to ops", channels.Type{}.Secrets(c)...); got != "to ***" {
		t.Errorf("of an unknown kind: %s", got)
	}
}
