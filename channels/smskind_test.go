package channels_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rollcall-dev/rollcall/channels"
)

func TestValidateSMS(t *testing.T) {
	type settings = map[string]string
	account := "AC" + strings.Repeat("0f", 16)
	service := "MG" + strings.Repeat("A1", 16)
	with := func(more settings) settings {
		all := settings{"to": "+37120000000", "account_sid": account, "auth_token": secret}
		maps.Copy(all, more)
		return all
	}
	const sender = "sms: from is not a phone number, a short code, or a name of at most 11 letters, digits and spaces"
	tests := []struct {
		name  string
		given settings
		err   string
	}{
		{"account of the server", settings{"to": "+37120000000"}, ""},
		{"number", with(settings{"from": "+37129999999"}), ""},
		{"short code", with(settings{"from": "12345"}), ""},
		{"name", with(settings{"from": "Rollcall 24"}), ""},
		{"service", with(settings{"messaging_service_sid": service}), ""},
		{"name too long", with(settings{"from": "Rollcall 247"}), sender},
		{"name with other letters", with(settings{"from": "Žurka"}), sender},
		{"name of blanks", with(settings{"from": "   "}), sender},
		{"long code", with(settings{"from": "123456789"}), sender},
		{"name with a sign", with(settings{"from": "a&To=+1"}), sender},
		{"short account", with(settings{"from": "x", "account_sid": "AC1"}), "sms: account_sid is not AC and 32 hexadecimal digits"},
		{"account of another type", with(settings{"from": "x", "account_sid": service}), "sms: account_sid is not AC and 32 hexadecimal digits"},
		{"path as account", with(settings{"from": "x", "account_sid": "AC" + strings.Repeat("/", 32)}),
			"sms: account_sid is not AC and 32 hexadecimal digits"},
		{"wrong service", with(settings{"messaging_service_sid": account}), "sms: messaging_service_sid is not MG and 32 hexadecimal digits"},
		{"token with a blank", with(settings{"from": "x", "auth_token": "two words"}),
			"sms: auth_token contains a space, a control character or a non-ASCII character"},
		{"no token", with(settings{"from": "x", "auth_token": ""}), "sms: auth_token is missing, account_sid needs it"},
		{"no account", with(settings{"from": "x", "account_sid": ""}), "sms: account_sid is missing, auth_token needs it"},
		{"no sender", with(nil), "sms: from and messaging_service_sid are both missing, account_sid needs one"},
		{"two senders", with(settings{"from": "x", "messaging_service_sid": service}),
			"sms: from cannot be combined with messaging_service_sid"},
		{"sender alone", settings{"to": "+37120000000", "from": "x"}, "sms: account_sid is missing, from needs it"},
		{"service alone", settings{"to": "+37120000000", "messaging_service_sid": service},
			"sms: account_sid is missing, messaging_service_sid needs it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := channels.Validate(channels.Kinds(), channels.SMS, tt.given)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.err, text); diff != "" {
				t.Error(diff)
			}
		})
	}
}
